"""The formats of the archives with a header of `@` lines: `.ts` (sktime, aeon) and `.arff` (Weka)."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ..datasets.ucr import ts_parts
from ..errors import DataError
from .columns import LABEL_NAMES
from .delimited import read_rows
from .labelled import Raw
from .text import Dialect, readable

__all__ = ["read_arff", "read_ts"]


def read_ts(content: bytes, source: str, labelled: bool) -> Raw:
    """`channel:channel:label` in each line, the values of a channel apart by commas; `?` is a missing value."""
    content, notes = readable(content, source)
    settings, numbers, body = ts_parts(content.decode(), source, labelled)
    with_label = settings.get("classlabel", "").startswith("true")
    rows = [line.split(":") for line in body]
    labels = [row.pop().strip() for row in rows] if with_label else None
    channels = len(rows[0])
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != channels or not channels:
            raise DataError(
                f"{source}, line {number}: {len(row)} channels where the first sequence has {channels}; "
                "give each sequence all channels, apart by colons, and then its label"
            )
    X = np.full((len(rows), max(part.count(",") + 1 for row in rows for part in row), channels), np.nan)
    for place, row in enumerate(rows):
        for channel, part in enumerate(row):
            values = _values(part, f"{source}, line {numbers[place]}, channel {channel + 1}")
            X[place, : len(values), channel] = values

    def cell(place: int, step: int, channel: int) -> str:
        return f"line {numbers[place]}, channel {channel + 1}, value {step + 1}"

    return Raw(
        X[:, :, 0] if channels == 1 else X, labels if labelled else None, lambda p: f"line {numbers[p]}", cell, notes
    )


def _values(part: str, place: str) -> np.ndarray:
    cells = [cell.strip() for cell in part.split(",")]
    try:
        return np.array([np.nan if cell in ("?", "") else float(cell) for cell in cells])
    except ValueError as error:
        raise DataError(f"{place}: {error}; write numbers, or ? for missing values at the end") from error


def read_arff(content: bytes, source: str, label: int | str | None, pad: bool, labelled: bool) -> Raw:
    """Rows after `@data` as a table whose columns the `@attribute` lines name; the label comes last by default."""
    content, notes = readable(content, source)
    content = re.sub(rb"^[ \t]*%.*$", b"", content, flags=re.M)
    start = re.search(rb"^[ \t]*@data[ \t\r]*\n", content, flags=re.M | re.I)
    if start is None:
        raise DataError(f"{source} has no @data line; it is no .arff file, or cut short")
    head = content[: start.start()].decode()
    if re.search(r"^\s*@attribute\s+.*\srelational", head, flags=re.M | re.I):
        raise DataError(f"{source} has relational attributes (several channels); save it as .ts or .npz")
    quoted = re.findall(r"^\s*@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", head, flags=re.M | re.I)
    names = tuple(re.sub(r"[,'\"]", "", name) for name in quoted)
    if label is None and not any(name.lower() in LABEL_NAMES for name in names):
        label = -1
    above = content.count(b"\n", 0, start.end()) - 1
    # The names stand where @data stood, so that lines keep their numbers.
    rows = b"\n" * above + ",".join(names).encode() + b"\n" + content[start.end() :].replace(b"'", b"")
    raw = read_rows(rows, source, Dialect(b",", False, names), label, pad, labelled)
    return replace(raw, notes=(*notes, *raw.notes))
