"""Tables as text: one labelled sequence in each row, its cells apart by commas, tabs, semicolons or white space."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..errors import DataError, InputError
from .columns import Layout, column_name, label_last, layout_of, refuse_unlikely, value_columns
from .labelled import Raw, refuse_ragged
from .text import MISSING, NUMBER, Dialect, dialect_of, lines_of, readable, sniff, split

__all__ = ["read_delimited", "read_rows"]

QUOTED = b"\0"  # stands for a delimiter inside quotes


def read_delimited(
    content: bytes,
    source: str,
    label: int | str | None,
    delimiter: str | None,
    header: bool | None,
    pad: bool,
    labelled: bool,
    decimal_comma: bool = False,
) -> Raw:
    """A whole file."""
    content, notes = readable(content, source)
    try:
        dialect = dialect_of(content, delimiter, header, label, decimal_comma)
    except (DataError, InputError) as error:
        raise type(error)(f"{source}: {error}") from error
    raw = read_rows(content, source, dialect, label, pad, labelled)
    form = f"{dialect.name} between the cells{', decimal commas' if dialect.decimal_comma else ''}"
    return replace(raw, notes=(f"{form}, {_words(dialect)}", *notes, *raw.notes))


def read_rows(content: bytes, source: str, dialect: Dialect, label: int | str | None, pad: bool, labelled: bool) -> Raw:
    """The rows of a text in a known dialect."""
    numbers, counts, width = _survey(content, dialect, source, labelled and label_last(dialect, label))
    if labelled and width < 2:
        _refuse_one_column(content, dialect, source)
    layout = layout_of(dialect, label if labelled else None, labelled, width, source)
    lead = layout.numbered + (layout.label is not None)

    def row(place: int) -> str:
        return f"line {numbers[place]}"

    refuse_ragged(counts - lead, row, source, pad)
    X = np.full((len(counts), max(int(counts.max()) - lead, 0)), np.nan)
    columns = value_columns(layout, int(counts.max()))
    labels = _fill(X, content, source, dialect, layout, columns)
    _doubt_comments(content, source, dialect, layout, X.shape[1])
    if label is None and layout.label is not None:
        refuse_unlikely(labels, layout, dialect, source)
    notes = [f"label in {column_name(layout.label, dialect)}"] if layout.label is not None else []
    if layout.numbered:
        notes.append("left out the first column, which has no name and holds the rows' numbers")

    def cell(place: int, step: int, _: int) -> str:
        return f"line {numbers[place]}, column {columns[step] + 1}"

    return Raw(X, labels if labelled else None, row, cell, tuple(notes))


def _rows(content: bytes, dialect: Dialect) -> Iterator[tuple[int, bytes]]:
    lines = lines_of(content)
    if dialect.header is not None:
        next(lines, None)
    return lines


def _survey(content: bytes, dialect: Dialect, source: str, keep_last: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Line numbers and cell counts of all rows, missing values at the end left out, and the columns in all."""
    found = [(number, _cell_count(line, dialect.delimiter, keep_last)) for number, line in _rows(content, dialect)]
    if not found:
        what = "a header but no rows" if dialect.header is not None else "no rows"
        raise DataError(f"{source} holds {what}; give one labelled sequence in each row")
    numbers, counts = (np.array(column) for column in zip(*found, strict=True))
    names = 0 if dialect.header is None else len(dialect.header)
    if names and counts.max() > names:
        line = numbers[np.argmax(counts > names)]
        raise DataError(
            f"{source}, line {line}: {counts.max()} cells but the header names {names} columns; "
            "name every column, or remove the header"
        )
    return numbers, counts, max(names, int(counts.max()))


def _refuse_one_column(content: bytes, dialect: Dialect, source: str) -> None:
    sample = [line for _, (_, line) in zip(range(5), _rows(content, dialect), strict=False)]
    found = Dialect(sniff(sample), False, None)
    columns = _cell_count(sample[0], found.delimiter, False)
    hint = f" when its lines are cut at {dialect.name}, but {columns} at {found.name}" if columns > 1 else ""
    raise DataError(
        f"{source} has one column{hint}; give a label and its sequence in each row, or name the delimiter (--delimiter)"
    )


def _cell_count(line: bytes, mark: bytes | None, keep_last: bool) -> int:
    if b'"' in line or mark is None:
        cells = split(line, mark)
        while not keep_last and len(cells) > 1 and cells[-1].strip().lower() in MISSING:
            cells.pop()
        return len(cells)
    end, start = len(line), line.rfind(mark)
    while not keep_last and start > 0 and line[start + 1 : end].strip().lower() in MISSING:
        end, start = start, line.rfind(mark, 0, start)
    return line.count(mark, 0, end) + 1


def _fill(
    X: np.ndarray, content: bytes, source: str, dialect: Dialect, layout: Layout, columns: np.ndarray
) -> list[str]:
    """Write the numbers of every row into `X`; returns the labels."""
    labels = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy below 2.3 warns of text where it now refuses it
        for place, (number, line) in enumerate(_rows(content, dialect)):
            label, rest = _without_label(line, dialect.delimiter, layout)
            labels.append(label)
            values = _fast(rest, dialect)
            if values is None:
                values = _careful(rest, dialect, f"{source}, line {number}", columns)
            X[place, : len(values)] = values
    return labels


def _without_label(line: bytes, mark: bytes | None, layout: Layout) -> tuple[str, bytes]:
    cells: list[bytes]
    if layout.label is None and not layout.numbered:
        return "", line
    if b'"' in line or layout.label not in (0, -1) or layout.numbered:
        cells = split(line, mark)
        label = b"" if layout.label is None or len(cells) <= layout.label else cells.pop(layout.label)
        if mark is not None:  # what a quoted cell holds would be cut again
            cells = [cell.replace(mark, QUOTED) for cell in cells]
        return label.decode().strip(), (mark or b" ").join(cells[layout.numbered :])
    cells = line.split(mark, 1) if layout.label == 0 else line.rsplit(mark, 1)[::-1]
    return cells[0].decode().strip(), cells[1] if len(cells) > 1 else b""


def _fast(rest: bytes, dialect: Dialect) -> np.ndarray | None:
    """The numbers of a row that holds nothing else; None where it does."""
    mark = dialect.delimiter
    text = rest if mark is None else rest.rstrip(mark + b" ")
    if (
        not text
        or (b"." in text and dialect.decimal_comma)
        or (b"," in text and mark != b"," and not dialect.decimal_comma)
    ):
        return None
    count = None if mark is None else text.count(mark) + 1
    if dialect.decimal_comma:
        text = text.replace(b",", b".")
    if mark not in (None, b","):
        text = text.replace(mark, b",")
    try:
        values = np.fromstring(text, sep=" " if mark is None else ",")
    except (ValueError, DeprecationWarning):
        return None
    return values if count in (None, len(values)) else None


def _careful(rest: bytes, dialect: Dialect, line: str, columns: np.ndarray) -> np.ndarray:
    """The numbers of a row cell by cell, NaN where one is missing; names the first that is neither."""
    values = []
    for step, cell in enumerate(rest.split(dialect.delimiter)):
        text = cell.strip()
        if text.lower() in MISSING:
            values.append(np.nan)
            continue
        point = text.replace(b",", b".") if dialect.decimal_comma else text
        if not NUMBER.fullmatch(point) or (dialect.decimal_comma and b"." in text):
            place = f"{line}, column {columns[step] + 1}" if step < len(columns) else line
            raise DataError(f"{place}: {_short(text, dialect)} is no number{_remedy(text, dialect)}")
        values.append(float(point))
    while values and np.isnan(values[-1]):
        values.pop()
    return np.array(values)


def _short(text: bytes, dialect: Dialect) -> str:
    shown = text.replace(QUOTED, dialect.delimiter or b" ").decode()
    return repr(shown if len(shown) < 30 else shown[:30] + "…")


def _remedy(text: bytes, dialect: Dialect) -> str:
    if not any(byte in b"0123456789" for byte in text):
        return "; if this is the label, name its column (--label), without --no-label; else correct it, or remove the column"
    if QUOTED in text or (dialect.delimiter != b"," and (dialect.decimal_comma or b"," in text)):
        return "; write numbers with decimal points, without quotes, in the whole file"
    if any(mark in text for mark in (b";", b"\t", b"|", b",")):
        return f" when cells are cut at {dialect.name}; name the right delimiter (--delimiter)"
    if dialect.header is None and b"." not in text:
        return "; correct it, or name the column of the labels (--label) if this is one"
    return "; correct it, or leave it empty at the end of a row where the sequence is shorter"


def _doubt_comments(content: bytes, source: str, dialect: Dialect, layout: Layout, length: int) -> None:
    """Refuse a comment that reads like a row: a label such as #1 must not vanish."""
    for found in re.finditer(rb"^[ \t]*#.*$", content, re.M):
        line = found[0].strip()
        if line.count(dialect.delimiter or b" ") >= length:
            values = _fast(_without_label(line, dialect.delimiter, layout)[1], dialect)
            if values is not None and len(values) == length:
                number = content.count(b"\n", 0, found.start()) + 1
                raise DataError(f"{source}, line {number}: a row behind a #; remove the row, or the # before it")


def _words(dialect: Dialect) -> str:
    return "no header" if dialect.header is None else "first line taken as header"
