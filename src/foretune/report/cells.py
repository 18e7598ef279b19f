"""Tables for the page: which columns hold numbers, what a cell's first number is, and which runs it rests on."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import quote

from ..errors import InputError
from .content import Matrix, Sheet, Trace
from .scales import MINUS, fixed

__all__ = ["Board", "Cell", "Column", "Grid", "Tracer", "board", "grid"]

NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?(?=$|[\s%])")
MISSING = re.compile(r"(–|-|nan|n/a)?($|\s)")
LONG = 24  # rows; longer tables are folded
SHADES = 5


@dataclass(frozen=True)
class Column:
    """A column's name, and how it is set."""

    name: str
    style: str


@dataclass(frozen=True)
class Cell:
    """The text of a cell: its number, what follows it, and the query of the runs behind it."""

    text: str
    rest: str = ""
    runs: str = ""
    style: str = ""


@dataclass(frozen=True)
class Grid:
    """A table, ready for the template."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    totals: tuple[tuple[Cell, ...], ...]
    folded: bool
    kind: str = "table"


@dataclass(frozen=True)
class Board:
    """A coloured table, ready for the template."""

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    caption: str
    kind: str = "board"


@dataclass(frozen=True)
class Tracer:
    """Writes a trace as a query of the table of runs, such as `0=FordA&1=0.01|0.02&v=4`: columns by their places."""

    runs: Sheet | None

    def query(self, trace: Trace | None) -> str:
        """The query; nothing without a trace or a table of runs."""
        if trace is None or self.runs is None:
            return ""
        named: list[tuple[int | str, str]] = [
            (self._place(name), "|".join(quote(value, safe="") for value in values)) for name, values in trace.where
        ]
        if trace.column:
            named.append(("v", str(self._place(trace.column))))
        return "&".join(f"{name}={values}" for name, values in named)

    def _place(self, name: str) -> int:
        header = self.runs.header if self.runs else ()
        if name not in header:
            raise InputError(f"a trace names the column {name!r}; the table of runs has {', '.join(header)}")
        return header.index(name)


def grid(sheet: Sheet, tracer: Tracer) -> Grid:
    """The view of a table."""
    width = len(sheet.header)
    if bad := [row for row in sheet.rows if len(row) != width]:
        raise InputError(
            f"the table {sheet.title!r} has {width} columns, but a row {bad[0]!r}; give every row as many cells"
        )
    numeric = [_numeric([row[column] for row in sheet.rows]) for column in range(width)]
    columns = tuple(
        Column(name, " ".join(s for s, on in (("n", numeric[i]), ("quiet", name in sheet.quiet)) if on))
        for i, name in enumerate(sheet.header)
    )
    rows = []
    for index, row in enumerate(sheet.rows):
        traces = sheet.traces[index] if sheet.traces else (None,) * width
        rows.append(tuple(_cell(row[i], columns[i], numeric[i], tracer.query(traces[i])) for i in range(width)))
    body = len(rows) - sheet.totals
    return Grid(sheet.title, columns, tuple(rows[:body]), tuple(rows[body:]), len(rows) > LONG)


def board(matrix: Matrix, tracer: Tracer) -> Board:
    """The view of a coloured table: the strongest colour belongs to the largest absolute value."""
    top = max((abs(value) for row in matrix.values for value in row if math.isfinite(value)), default=0.0)
    rows = []
    for index, (name, values) in enumerate(zip(matrix.rows, matrix.values, strict=True)):
        traces = matrix.traces[index] if matrix.traces else (None,) * len(values)
        cells = (
            Cell(
                fixed(value, matrix.digits, sign=True) if math.isfinite(value) else "",
                runs=tracer.query(trace),
                style=_shade(value, top),
            )
            for value, trace in zip(values, traces, strict=True)
        )
        rows.append((name, tuple(cells)))
    corner = " \\ ".join(label for label in (matrix.row_label, matrix.column_label) if label)
    return Board(matrix.title, corner, matrix.columns, tuple(rows), matrix.unit)


def _shade(value: float, top: float) -> str:
    """One of the classes `l5` (loss) to `g5` (gain), by the root of the size, so that small ones are seen too."""
    if not math.isfinite(value) or top == 0 or value == 0:
        return ""
    level = min(SHADES, int(SHADES * math.sqrt(abs(value) / top) + 0.5))
    return f"{'g' if value > 0 else 'l'}{level}" if level else ""


def _numeric(texts: list[str]) -> bool:
    told = [text for text in texts if not MISSING.match(text)]
    return bool(told) and all(NUMBER.match(text) for text in told)


def _cell(text: str, column: Column, numeric: bool, runs: str) -> Cell:
    found = NUMBER.match(text) if numeric else None
    if found is None:
        return Cell(text, "", runs, column.style)
    end = found.end()
    return Cell(text[:end].replace("-", MINUS), re.sub(r"-(?=\d)", MINUS, text[end:]), runs, column.style)
