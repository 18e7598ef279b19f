"""Write docs/api.md: every public name, its signature and its docstring, as the code has them."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Name", "names", "text", "undocumented"]

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/api.md"
WIDTH = 100  # a longer signature gets a line for each parameter

# The rooms of the library as its users call them; those without a name of their own stand under `ft`.
ROOMS = {
    "ft": ("foretune", ""),
    "ft.nn": ("foretune.nn", ""),
    "ft.theory": ("foretune.theory", ""),
    "ft.datasets": ("foretune.datasets", ""),
    "ft.tables": ("foretune.tables", ""),
    "ft.study": ("foretune.study", ""),
    "ft.report": ("foretune.report", ""),
    "ft.report.html": ("foretune.report.html", "A report as one file; `ft.report` holds what goes into it."),
}
ROAD = ("spectra", "ssm", "init", "nn", "diagnosis", "classify", "errors")  # the order of names under `ft`
INTRODUCTION = """# API reference

Written by `make docs` from the docstrings; a test compares the two. `import foretune as ft`. P counts samples, L steps,
C channels, H heads, N states. `Arrays` are numpy arrays or torch tensors. What is not listed here may change without
notice.
"""


@dataclass(frozen=True)
class Name:
    """One public name: how users write it, and what it is."""

    room: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.room}.{self.name}"


def names() -> Iterator[Name]:
    """Every public name, room by room."""
    for room, (module_name, _) in ROOMS.items():
        module = importlib.import_module(module_name)
        lazy = getattr(module, "__all__", []) if room != "ft" else ["SSMClassifier"]
        found = {name: getattr(module, name) for name in [*vars(module), *lazy] if not name.startswith("_")}
        if room == "ft.report.html":
            found = {name: found[name] for name in lazy}
        own = [Name(room, name, value) for name, value in found.items() if _is_ours(value)]
        yield from sorted(own, key=_place) if room == "ft" else own


def undocumented() -> Iterator[str]:
    """Public names, methods and properties without a docstring of their own."""
    for item in names():
        if not _own_docstring(item.value):
            yield item.full
        if inspect.isclass(item.value):
            yield from (f"{item.full}.{name}" for name, member in _members(item.value) if not inspect.getdoc(member))


def text() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    found = list(names())
    anchors = _anchors(found)
    for room in ROOMS:
        links = ", ".join(f"[`{item.name}`](#{anchors[item]})" for item in found if item.room == room)
        parts.append(f"- **`{room}`**: {links}")
    for room, (module_name, about) in ROOMS.items():
        summary = about or inspect.getdoc(importlib.import_module(module_name)) or ""
        parts.append(f"\n## {room}\n\n{'The main road, in its order.' if room == 'ft' else summary}")
        parts += [_entry(item) for item in found if item.room == room]
    return "\n".join(parts) + "\n"


def main() -> int:
    lacking = list(undocumented())
    for name in lacking:
        print(f"no docstring: {name}")
    TARGET.write_text(text(), encoding="utf-8")
    print(TARGET.relative_to(ROOT))
    return 1 if lacking else 0


def _anchors(found: list[Name]) -> dict[Name, str]:
    """How GitHub links to headings: in lower case without dots; where that is taken, with a number."""
    plain = [item.full.replace(".", "").lower() for item in found]
    taken = [plain[:place].count(anchor) for place, anchor in enumerate(plain)]
    return {item: f"{a}-{n}" if n else a for item, a, n in zip(found, plain, taken, strict=True)}


def _is_ours(value: Any) -> bool:
    return (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith("foretune")


def _place(item: Name) -> tuple[int, bool]:
    room = item.value.__module__.split(".")[1]
    return ROAD.index(room), inspect.isclass(item.value)


def _own_docstring(value: Any) -> str:
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    made_by_dataclass = own and own.startswith(f"{value.__name__}(")
    return "" if not own or made_by_dataclass else own


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the class itself defines."""
    for name, member in vars(cls).items():
        if not name.startswith("_") and (callable(member) or _is_property(member) or _is_bound(member)):
            yield name, member.__func__ if _is_bound(member) else member


def _is_property(member: Any) -> bool:
    return isinstance(member, property) or type(member).__name__ == "cached_property"


def _is_bound(member: Any) -> bool:
    return isinstance(member, classmethod | staticmethod)


def _entry(item: Name) -> str:
    value = item.value
    file = Path(sys.modules[value.__module__].__file__ or "").relative_to(ROOT)
    lines = [f"\n### {item.full}", "", f"```py\n{_signature(item.full, value)}\n```", ""]
    lines += [_rendered(inspect.cleandoc(_own_docstring(value))), ""]
    if inspect.isclass(value):
        members = [_member(name, member) for name, member in _members(value)]
        lines += ["**Methods and properties**", "", *members, ""] if members else []
    return "\n".join([*lines, f"<sub>[{file.as_posix()}](../{file.as_posix()})</sub>"])


def _member(name: str, member: Any) -> str:
    about = _flat((inspect.getdoc(member) or "").split("\n\n")[0])
    call = f".{name}" if _is_property(member) else "." + _signature(name, member, wrap=False)
    return f"- `{call}`: {about}"


def _signature(name: str, value: Any, wrap: bool = True) -> str:
    if inspect.isclass(value) and issubclass(value, Exception):
        return f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
    signature = inspect.signature(value)
    parameters = [_parameter(p) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    kinds = [p.kind for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returned = signature.return_annotation
    arrow = "" if inspect.isclass(value) or returned is signature.empty else f" -> {_annotation(returned)}"
    line = f"{name}({', '.join(parameters)}){arrow}"
    if len(line) <= WIDTH or not wrap or not parameters:
        return line
    return f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){arrow}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "*" * (parameter.kind == parameter.VAR_POSITIONAL) + "**" * (parameter.kind == parameter.VAR_KEYWORD)
    typed = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{typed}"
    default = repr(parameter.default).replace("'", '"')
    default = "…" if "<" in default else default  # a factory or a function
    return f"{parameter.name}{typed}{' = ' if typed else '='}{default}"


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return re.sub(r"\b(checks|defaults|discretize)\.", "", annotation)
    return inspect.formatannotation(annotation)


def _rendered(docstring: str) -> str:
    """Headed lists such as `Args:` as lists of Markdown; everything else as it is."""
    lines: list[str] = []
    for line in docstring.split("\n"):
        entry = re.fullmatch(r"    (\w[\w, *]*): (.*)", line)
        if re.fullmatch(r"(Args|Attributes):", line):
            lines += ["", "**Arguments**" if line == "Args:" else "**Attributes**", ""]
        elif line == "Returns:":
            lines += ["", "**Returns**", ""]
        elif entry:
            shown = ", ".join(f"`{name.strip()}`" for name in entry[1].split(","))
            lines.append(f"- {shown}: {entry[2]}")
        elif line.startswith("    "):
            lines.append(f"  {line.strip()}" if lines and re.match(r"- |  \S", lines[-1]) else line)
        else:
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _flat(paragraph: str) -> str:
    return " ".join(paragraph.split())


if __name__ == "__main__":
    sys.exit(main())
