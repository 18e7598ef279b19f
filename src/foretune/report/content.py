"""The content of a report as plain data, whatever renders it afterwards."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Chart", "Line", "Report", "Section", "Sheet"]


@dataclass(frozen=True)
class Sheet:
    """A table as text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Line:
    """A curve, with a band from `low` to `high` where these are given."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves over one axis; the vertical one shows at least `y_limits`."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Section:
    """A heading, sentences, charts and tables; `pictures` names a kind of pictures that are drawn elsewhere."""

    title: str
    sentences: tuple[str, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    charts: tuple[Chart, ...] = ()
    pictures: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that a renderer needs. `answer` is the one sentence that a reader came for."""

    title: str
    sections: tuple[Section, ...]
    answer: str = ""
