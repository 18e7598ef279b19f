"""A plan is a list of runs, read from a small TOML file; a run is a task and its settings."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Plan", "Run", "Task", "canonical", "matches", "parse_filter"]

BUILT_IN = Path(__file__).parent / "plans"
TABLES = {"name", "task", "version", "settings", "grid", "overrides", "report"}


def canonical(value: Any) -> str:
    """One spelling of a JSON value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Run:
    """One call of a task: everything that its result depends on."""

    task: str
    version: int
    settings: dict[str, Any]
    stage: int = field(default=0, compare=False)  # the grid table that it comes from; stages run in order

    @cached_property
    def key(self) -> str:
        """sha256 of what the result depends on; the name of its file."""
        identity = {"task": self.task, "version": self.version, "settings": self.settings}
        return hashlib.sha256(canonical(identity).encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """The function behind `module:function`."""

    function: Callable[..., Mapping[str, Any]]
    accepts: frozenset[str]  # of `progress` and `scratch`
    cost: Callable[[Mapping[str, Any]], float] | None

    @classmethod
    def find(cls, name: str, folder: Path | None = None) -> Task:
        """Import the task; a module beside the plan is found as well."""
        module_name, separator, attribute = name.partition(":")
        if not separator or not module_name or not attribute:
            raise InputError(f'task = "{name}" is not of the form "module:function"')
        if folder is not None and str(folder) not in sys.path:
            sys.path.append(str(folder))
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # whatever the user's module does
            raise InputError(f'task = "{name}" cannot be imported: {type(error).__name__}: {error}') from error
        function = getattr(module, attribute, None)
        if not callable(function):
            raise InputError(f'task = "{name}": the module {module_name} has no function {attribute}')
        try:
            parameters = set(inspect.signature(function).parameters)
        except ValueError as error:
            raise InputError(f'task = "{name}": {attribute} is no Python function; write one around it') from error
        accepts = frozenset({"progress", "scratch"} & parameters)
        return cls(function, accepts, getattr(module, "cost", None))


@dataclass(frozen=True)
class Plan:
    """A named list of runs of one task."""

    name: str
    task: str
    runs: tuple[Run, ...]
    version: int = 1
    report: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @classmethod
    def load(cls, source: str | Path) -> Plan:
        """Read a TOML file, or the built-in plan of that name."""
        path = Path(source)
        built_in = BUILT_IN / f"{source}.toml"
        if not path.is_file() and built_in.is_file():
            path = built_in
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError) as error:
            names = ", ".join(sorted(file.stem for file in BUILT_IN.glob("*.toml")))
            raise InputError(f"there is no plan {str(source)!r}; pass a TOML file or one of: {names}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is no text ({error.reason}); a plan is a TOML file in UTF-8") from error
        try:
            return cls.parse(text, path.resolve().parent)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, text: str, folder: Path | None = None) -> Plan:
        """Read the text of a TOML file."""
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"not valid TOML: {error}") from error
        if unknown := set(table) - TABLES:
            raise InputError(f"unknown key {min(unknown)!r}; a plan has {', '.join(sorted(TABLES))}")
        name, task, version = _string(table, "name"), _string(table, "task"), table.get("version", 1)
        if not isinstance(version, int) or isinstance(version, bool):
            raise InputError(f"version = {version!r}; pass a whole number")
        for key in ("settings", "overrides", "report"):
            if not isinstance(table.get(key, {}), dict):
                raise InputError(f"{key} = {table[key]!r}; write a table [{key}]")
        runs: dict[str, Run] = {}
        for stage, settings in _expand(table):
            run = Run(task, version, settings, stage)
            runs.setdefault(run.key, run)
        return cls(name, task, tuple(runs.values()), version, table.get("report", {}), folder)

    def __repr__(self) -> str:
        return f"<Plan {self.name}: {len(self.runs)} runs of {self.task} over {', '.join(self.axes) or 'nothing'}>"

    @cached_property
    def hash(self) -> str:
        """sha256 over the keys of its runs, in order."""
        return hashlib.sha256("\n".join(run.key for run in self.runs).encode()).hexdigest()

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The settings that differ between runs, in the order of the plan."""
        names = dict.fromkeys(name for run in self.runs for name in run.settings)
        missing = object()
        return tuple(n for n in names if len({_spelled(run.settings.get(n, missing)) for run in self.runs}) > 1)


def parse_filter(text: str) -> dict[str, set[str]]:
    """`arm=tdi,arm=default,dataset=FordA`: the same name twice means either."""
    wanted: dict[str, set[str]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = part.partition("=")
        if not separator:
            raise InputError(f"filter {part!r} is not of the form name=value")
        wanted.setdefault(name.strip(), set()).add(value.strip())
    return wanted


def matches(settings: Mapping[str, Any], wanted: Mapping[str, set[str]]) -> bool:
    """Whether a run has the settings that a filter asks for; numbers are compared as numbers."""
    return all(
        name in settings and any(_same(settings[name], value) for value in values) for name, values in wanted.items()
    )


def _same(value: Any, text: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value) == float(text)
        except ValueError:
            return False
    return str(value) == text or str(value).lower() == text


def _string(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f'{key} is {value!r}; write {key} = "…"')
    return value


def _expand(table: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every run's settings: common ones, then a grid's product, then the overrides."""
    grids = table.get("grid", [{}])
    if not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
        raise InputError("grid is not a list of tables; write [[grid]]")
    overrides = _overrides(table.get("overrides", {}))
    used = set()
    for stage, grid in enumerate(grids):
        for name, values in grid.items():
            if values == []:
                raise InputError(f"grid[{stage}].{name} is empty; list at least one value")
        choices = [values if isinstance(values, list) else [values] for values in grid.values()]
        for combination in itertools.product(*choices):
            settings = {**table.get("settings", {}), **dict(zip(grid, combination, strict=True))}
            for (axis, value), extra in overrides.items():
                if axis not in settings or not _same(settings[axis], value):
                    continue
                used.add((axis, value))
                if clash := sorted(set(extra) & {n for n, v in grid.items() if isinstance(v, list)}):
                    raise InputError(f"overrides.{axis}.{value}.{clash[0]} would undo grid[{stage}].{clash[0]}")
                settings.update(extra)
            _check(settings, f"grid[{stage}]")
            yield stage, settings
    if unused := set(overrides) - used:
        axis, value = min(unused)
        raise InputError(f'overrides.{axis}."{value}" meets no run; check the spelling')


def _overrides(table: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    flat = {}
    for axis, values in table.items():
        if not isinstance(values, dict):
            raise InputError(f"overrides.{axis} = {values!r}; write a table [overrides.{axis}.value]")
        for value, extra in values.items():
            if not isinstance(extra, dict):
                raise InputError(f"overrides.{axis}.{value} = {extra!r}; write a table [overrides.{axis}.{value}]")
            flat[axis, value] = extra
    return flat


def _check(value: Any, place: str) -> None:
    """Refuse what JSON cannot hold, naming the place."""
    if isinstance(value, dict):
        for name, item in value.items():
            _check(item, f"{place}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, f"{place}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{place} = {value}; settings must be finite")
    elif not isinstance(value, str | int | float):
        raise InputError(f"{place} = {value!r} is a {type(value).__name__}; use strings, numbers, true and false")


def _spelled(value: Any) -> str:
    return canonical(value) if isinstance(value, str | int | float | list | dict) else ""
