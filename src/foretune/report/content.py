"""The content of a report as plain data, whatever renders it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Chart", "Dots", "Line", "Marks", "Matrix", "Picture", "Report", "Section", "Sheet", "Trace"]


@dataclass(frozen=True)
class Trace:
    """The runs that a number rests on: for each named column of the table of runs, the values that it may have there.

    `column` names the one that holds what was averaged.
    """

    where: tuple[tuple[str, tuple[str, ...]], ...]
    column: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table as text. The last `totals` rows sum up the others; `quiet` columns are there to compare with."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    traces: tuple[tuple[Trace | None, ...], ...] = ()  # one for each cell, where there are any
    totals: int = 0
    quiet: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A curve, with a band from `low` to `high` where these are given. NaN leaves a gap.

    `like` names another line whose colour it shares. `traces` holds one for each point, or one for all.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dashed: bool = False
    like: str = ""
    traces: tuple[Trace, ...] = ()


@dataclass(frozen=True)
class Chart:
    """Curves over one axis. Charts of one `group` are small multiples: they stand together under its name.

    The vertical axis shows at least `y_limits`.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    group: str = ""
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Marks:
    """One value with its interval for each row of `Dots`; NaN where there is none. `hollow` ones are to compare with."""

    name: str
    values: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    hollow: bool = False
    like: str = ""
    traces: tuple[Trace, ...] = ()


@dataclass(frozen=True)
class Dots:
    """Values with intervals, one row for each name, as in a forest plot; `centre` is where nothing would have changed.

    The last `totals` names sum up the others. With `signed` a number says + as well.
    """

    title: str
    label: str
    names: tuple[str, ...]
    marks: tuple[Marks, ...]
    centre: float | None = 0.0
    totals: int = 0
    signed: bool = True
    digits: int = 1  # after the point


@dataclass(frozen=True)
class Matrix:
    """Signed numbers in a coloured table: what helped and what did not in one look. NaN leaves a cell empty."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    row_label: str = ""
    column_label: str = ""
    unit: str = ""
    digits: int = 1  # after the point
    traces: tuple[tuple[Trace | None, ...], ...] = ()


Picture: TypeAlias = Chart | Dots | Matrix


@dataclass(frozen=True)
class Section:
    """A heading, sentences, charts and tables; `pictures` names a kind of pictures that are drawn elsewhere."""

    title: str
    sentences: tuple[str, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    charts: tuple[Picture, ...] = ()
    pictures: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that a renderer needs. `answer` is the one sentence that a reader came for.

    `runs` is the table of runs that traces lead to; `facts` (a name and what is to be said) tell where all of it comes
    from; `palette` names lines in the order in which they are given colours, the others follow.
    """

    title: str
    sections: tuple[Section, ...]
    answer: str = ""
    runs: Sheet | None = None
    facts: tuple[tuple[str, str], ...] = ()
    palette: tuple[str, ...] = ()
