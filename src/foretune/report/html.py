"""A report as one HTML file that needs nothing else, and as a fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from . import charts, forest
from .cells import Board, Grid, Tracer, board, grid
from .content import Chart, Dots, Line, Marks, Matrix, Picture, Report, Section, Sheet
from .scales import MINUS
from .svg import Palette

__all__ = ["fragment", "render", "save"]

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("note", "runs", "curves", "marks", "sort", "theme")  # each may use what those before it define
NARROW = 350.0


@dataclass(frozen=True)
class Key:
    """One entry of a legend."""

    name: str
    style: str
    dashed: bool = False


@dataclass(frozen=True)
class Figure:
    """A picture in the widths of a desk and of a phone (or in one for both), with what hovering shows."""

    title: str
    svgs: tuple[tuple[str, Markup], ...]  # class and picture
    legend: tuple[tuple[str, tuple[Key, ...]], ...] = ()  # class and entries
    data: str = ""


@dataclass(frozen=True)
class Panels:
    """Pictures that stand together."""

    kind: str
    title: str
    figures: tuple[Figure, ...]
    legend: tuple[Key, ...] = ()
    open: bool = True


@dataclass(frozen=True)
class Boards:
    """Coloured tables that stand together."""

    boards: tuple[Board, ...]
    kind: str = "boards"


@dataclass(frozen=True)
class Part:
    """A section, ready for the template."""

    title: str
    sentences: tuple[str, ...]
    blocks: tuple[Panels | Boards, ...]
    grids: tuple[Grid, ...]


def render(report: Report) -> str:
    """The report as a page."""
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    tracer, palette = Tracer(report.runs), _palette(report)
    return (
        _templates()
        .get_template("page.html")
        .render(
            report=report,
            parts=[_part(section, palette, tracer) for section in report.sections],
            runs=None if report.runs is None else grid(report.runs, Tracer(None)),
            script=Markup(script),
            digest=digest,
        )
    )


def _script() -> str:
    """All scripts as one, which leaves no names behind."""
    parts = "".join((ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();'


def save(report: Report, path: str | Path) -> Path:
    """Write the page; folders are made where they are missing."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(report), encoding="utf-8", errors="replace")
    return path


def fragment(content: Report | Section | Sheet | Picture) -> str:
    """A piece of HTML whose styles touch nothing outside it; without script."""
    if isinstance(content, Sheet):
        content = Section("", sheets=(content,))
    elif isinstance(content, Chart | Dots | Matrix):
        content = Section("", charts=(content,))
    report = content if isinstance(content, Report) else Report("", (content,))
    palette = _palette(report)
    parts = [_part(section, palette, Tracer(None)) for section in report.sections]
    return _templates().get_template("fragment.html").render(report=report, parts=parts)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=lambda name: bool(name and name.endswith(".html")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["typeset"] = _typeset
    return environment


def _typeset(words: str) -> str:
    """With minus signs, and no line break between a number and its interval."""
    words = re.sub(r"(?<![\w–-])-(?=\d)", MINUS, words)
    return re.sub(r"(?<=\d) (?=\[|±)|(?<=±) (?=\d)", "\u00a0", words)


def _palette(report: Report) -> Palette:
    pictures: dict[str, list[str]] = {"": list(report.palette)}
    for number, section in enumerate(report.sections):
        for index, picture in enumerate(section.charts):
            if isinstance(picture, Chart | Dots):
                group = picture.group if isinstance(picture, Chart) else ""
                names = pictures.setdefault(f"{number} {group or index}", [])
                names += [each.like or each.name for each in _members(picture)]
    return Palette.of(pictures.values())


def _members(picture: Chart | Dots) -> Iterator[Line | Marks]:
    yield from picture.lines if isinstance(picture, Chart) else picture.marks


def _part(section: Section, palette: Palette, tracer: Tracer) -> Part:
    grids = tuple(grid(sheet, tracer) for sheet in section.sheets)
    return Part(section.title, section.sentences, tuple(_blocks(section, palette, tracer)), grids)


def _blocks(section: Section, palette: Palette, tracer: Tracer) -> Iterator[Panels | Boards]:
    """Single charts first stand side by side, then the groups, in the order in which they are given."""
    groups: dict[str, list[Chart]] = {}
    for picture in section.charts:
        if isinstance(picture, Chart):
            groups.setdefault(picture.group, []).append(picture)
    many, shown = sum(map(len, groups.values())) > 16, set()
    matrices = tuple(board(picture, tracer) for picture in section.charts if isinstance(picture, Matrix))
    for picture in section.charts:
        if isinstance(picture, Matrix):
            if matrices:
                yield Boards(matrices)
            matrices = ()
        elif isinstance(picture, Dots):
            yield Panels("single", "", (_forest(picture, palette, tracer),))
        elif picture.group not in shown:
            shown.add(picture.group)
            members = groups[picture.group]
            if picture.group:
                yield _multiples(picture.group, members, palette, tracer, not many or len(shown) == 1)
            else:
                width = 760.0 if len(members) == 1 else 500.0
                figures = tuple(_chart(member, palette, tracer, width) for member in members)
                yield Panels("single" if len(members) == 1 else "pair", "", figures)


def _multiples(title: str, members: list[Chart], palette: Palette, tracer: Tracer, opened: bool) -> Panels:
    legend = {key.name: key for member in members for key in _legend(member, palette)}
    figures = []
    for member in members:
        svg = Markup(charts.draw(member, palette, labels=False).svg)
        figures.append(Figure(member.title, (("", svg),), data=Markup(charts.data(member, palette, tracer.query))))
    return Panels("multiples", title, tuple(figures), tuple(legend.values()), opened)


def _chart(chart: Chart, palette: Palette, tracer: Tracer, width: float) -> Figure:
    drawn = {
        "wide": charts.draw(chart, palette, width, 340.0 if width > 600 else 300.0),
        "slim": charts.draw(chart, palette, NARROW, 260.0),
    }
    legend = tuple((name, _legend(chart, palette)) for name, each in drawn.items() if not each.labelled)
    svgs = tuple((name, Markup(each.svg)) for name, each in drawn.items())
    return Figure(chart.title, svgs, legend, Markup(charts.data(chart, palette, tracer.query)))


def _forest(dots: Dots, palette: Palette, tracer: Tracer) -> Figure:
    svgs = tuple(
        (name, Markup(forest.draw(dots, palette, tracer.query, width)))
        for name, width in (("wide", 760.0), ("slim", NARROW))
    )
    keys = tuple(
        Key(m.name, palette.style(m.like or m.name) + (" hollow" if m.hollow else " full")) for m in dots.marks
    )
    return Figure(dots.title, svgs, (("", keys),) if len(keys) > 1 else ())


def _legend(chart: Chart, palette: Palette) -> tuple[Key, ...]:
    return tuple(Key(line.name, palette.style(line.like or line.name), line.dashed) for line in chart.lines)
