"""Which column of a table holds the labels, and which the values."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DataError, InputError
from .labelled import REAL
from .text import Dialect

__all__ = ["LABEL_NAMES", "Layout", "column_name", "label_last", "layout_of", "refuse_unlikely", "value_columns"]

LABEL_NAMES = {"label", "labels", "class", "classes", "target"}
UNNAMED = {"", "unnamed: 0"}  # how R and pandas head the row numbers that they write
ENOUGH = 10  # rows from which labels that all differ are taken for a mistake


@dataclass(frozen=True)
class Layout:
    """Where the label stands, from the front or (negative) from the end, and whether row numbers come before all."""

    label: int | None
    numbered: bool = False


def label_last(dialect: Dialect, label: int | str | None) -> bool:
    """Whether the label is known to end each row."""
    last = dialect.header[-1] if dialect.header else None
    return label in (-1, "-1") or (
        last is not None and (label == last or (label is None and last.lower() in LABEL_NAMES))
    )


def layout_of(dialect: Dialect, label: int | str | None, labelled: bool, width: int, source: str) -> Layout:
    """The column that is asked for, or the one that the header calls a label, or the first."""
    names = dialect.header or ()
    numbered = bool(names) and names[0].lower() in UNNAMED and len(names) > 2 and label not in (0, "0")
    if not labelled:
        return Layout(None, numbered)
    if label is None:
        known = [place for place, name in enumerate(names) if name.lower() in LABEL_NAMES]
        place = known[0] if len(known) == 1 else int(numbered)
    else:
        place = _place(label, names, width, source)
    return Layout(-1 if place == width - 1 else place, numbered)


def _place(label: int | str, names: Sequence[str], width: int, source: str) -> int:
    """The column that is meant, by its name or counted from 0, or from the end when negative."""
    same = [place for place, name in enumerate(names) if name == label]
    if len(same) == 1:
        return same[0]
    if same:
        raise InputError(f"{source} names {len(same)} columns {label!r}; rename one, or pass --label {same[0]}")
    try:
        place = int(label)
    except ValueError:
        if not names:
            raise InputError(
                f"{source} has no header, so no column is named {label!r}; pass its number, counted from 0, or -1 for the last"
            ) from None
        close = difflib.get_close_matches(str(label), names, 1)
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        hint = f"did you mean {close[0]!r}?" if close else f"the header names {shown}"
        raise InputError(f"{source} has no column {label!r}; {hint}") from None
    if not -width <= place < width:
        raise InputError(
            f"{source} has {width} columns, so none has the number {place}; count from 0, or pass -1 for the last"
        )
    return place % width


def value_columns(layout: Layout, width: int) -> np.ndarray:
    """The column in the file of each step."""
    columns = np.arange(width)
    leave = [] if layout.label is None else [layout.label]
    return np.delete(columns, [*leave, 0] if layout.numbered else leave)


def refuse_unlikely(labels: list[str], layout: Layout, dialect: Dialect, source: str) -> None:
    """Refuse a column that nobody named as labels and that looks like measurements or row numbers."""
    distinct = set(labels)
    real = any(REAL.fullmatch(label) and not float(label).is_integer() for label in distinct)
    if len(labels) >= ENOUGH and (len(distinct) == len(labels) or (real and 2 * len(distinct) > len(labels))):
        shown = ", ".join(labels[:3])
        raise DataError(
            f"{source}: {column_name(layout.label, dialect)} holds {len(distinct)} different labels in {len(labels)} rows "
            f"({shown}, …); name the column of the labels, for instance --label -1 for the last"
        )


def column_name(label: int | None, dialect: Dialect) -> str:
    """A column in words."""
    place = {0: "the first column", -1: "the last column"}.get(label or 0, f"column {(label or 0) + 1}")
    return place if dialect.header is None else f"{place} ({dialect.header[label or 0]!r})"
