"""Labelled sequences from a file, and what every format asks of them: no gaps, one length, a label for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..errors import DataError, InputError

__all__ = ["Labelled", "Raw", "check_training", "match_test", "settle", "typed_labels"]

WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")
REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
PADDED_CODE = re.compile(r"[+-]?0\d")  # 007 is a name, not a number
UNLABELLED = {"", "?", "nan", "na", "n/a"}
SHOWN = 6
LARGEST = 1e100  # what is larger has no finite power


@dataclass(frozen=True, eq=False)
class Labelled:
    """Sequences and their labels.

    `X` is float `(P, L)`, or `(P, L, C)` with channels; `y` holds one label each, text or numbers as in the file, and is
    empty where the file was read without labels. `lengths` counts the steps before the padding; None where no row is padded.
    """

    X: np.ndarray
    y: np.ndarray
    lengths: np.ndarray | None
    source: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.X)

    def __str__(self) -> str:
        P, L, *C = self.X.shape
        steps = _count(L, "step") if self.lengths is None else f"{self.lengths.min()} to {L} steps, padded"
        channels = f" and {C[0]} channels" if C else ""
        return f"{self.source}: {_count(P, 'sample')} of {steps}{channels}{self._classes()}"

    def __repr__(self) -> str:
        return f"<Labelled: {self}>"

    def _classes(self) -> str:
        if not len(self.y):
            return ""
        names, counts = np.unique(self.y, return_counts=True)
        shown = [f"{name} ({count})" for name, count in zip(names[:SHOWN].tolist(), counts, strict=False)]
        return f", {_count(len(names), 'class')}: {', '.join(shown)}{', …' if len(names) > SHOWN else ''}"


@dataclass(frozen=True, eq=False)
class Raw:
    """What a format's parser hands over: NaN where a value is missing, and how to name a row or a cell."""

    X: np.ndarray
    labels: list[str] | np.ndarray | None
    row: Callable[[int], str]
    cell: Callable[[int, int, int], str]
    notes: tuple[str, ...] = ()


def settle(raw: Raw, source: str, pad: bool) -> Labelled:
    """Refuse gaps, infinite values and missing labels; trim or pad what is missing at the ends of rows."""
    X, lengths = _without_gaps(raw, source, pad)
    if raw.labels is None:
        y = np.empty(0)
    elif isinstance(raw.labels, np.ndarray):
        y = _array_labels(raw.labels, raw.row, source)
    else:
        y = typed_labels(raw.labels, raw.row, source)
    if len(y) not in (0, len(X)) or (raw.labels is not None and not len(y)):
        raise DataError(f"{source} has {len(X)} samples but {len(y)} labels; give one label for each sample")
    return Labelled(X, y, lengths, source, raw.notes)


def _without_gaps(raw: Raw, source: str, pad: bool) -> tuple[np.ndarray, np.ndarray | None]:
    X = raw.X
    if 0 in X.shape:
        raise DataError(f"{source} has no values beside its labels; give each row its sequence of numbers")
    limit = min(LARGEST, float(np.finfo(X.dtype).max))
    if X.min() > -limit and X.max() < limit:  # false where a value is missing
        return X, None
    _refuse_first(np.isinf(X), raw, source, "an infinite value", "replace it or remove that row")
    _refuse_first(np.abs(X) >= limit, raw, source, f"a value beyond {limit:g}", "rescale the values")
    missing = np.isnan(X)
    absent = missing if X.ndim == 2 else missing.all(2)
    lengths = X.shape[1] - np.logical_and.accumulate(absent[:, ::-1], axis=1).sum(1)
    refuse_ragged(lengths, raw.row, source, pad=True)
    inside = np.arange(X.shape[1]) < lengths[:, None]
    gap = missing & (inside if X.ndim == 2 else inside[:, :, None])
    _refuse_first(gap, raw, source, "a missing value", "fill it in, for instance by interpolation, or remove that row")
    X = X[:, : lengths.max()]
    if (lengths == X.shape[1]).all():
        return X, None
    refuse_ragged(lengths, raw.row, source, pad)
    X[~inside[:, : X.shape[1]]] = 0.0
    return X, lengths


def refuse_ragged(lengths: np.ndarray, row: Callable[[int], str], source: str, pad: bool) -> None:
    """Refuse empty rows, and unequal lengths unless padding is allowed; names the first row that differs from most."""
    if (lengths < 1).any():
        raise DataError(f"{source}, {row(int(np.argmax(lengths < 1)))}: no values; fill them in, or remove that row")
    usual = Counter(lengths.tolist()).most_common(1)[0][0]
    odd = np.flatnonzero(lengths != usual)
    if len(odd) and not pad:
        raise DataError(
            f"{source}, {row(int(odd[0]))}: {_count(int(lengths[odd[0]]), 'value')} where most rows have {usual}; "
            "pad the shorter rows with zeros (--pad, or pad=True), or cut all to one length"
        )


def _refuse_first(bad: np.ndarray, raw: Raw, source: str, what: str, remedy: str) -> None:
    if bad.any():
        row, step, *channel = (int(place) for place in np.argwhere(bad)[0])
        raise DataError(f"{source}, {raw.cell(row, step, channel[0] if channel else 0)}: {what}; {remedy}")


def typed_labels(labels: list[str], row: Callable[[int], str], source: str) -> np.ndarray:
    """Labels as int64 or float64 where all of them are such numbers, else as text."""
    for place, label in enumerate(labels):
        if label.lower() in UNLABELLED:
            raise DataError(f"{source}, {row(place)}: the label is missing ({label!r}); add it or remove that row")
    if any(PADDED_CODE.match(label) for label in set(labels)):
        return np.array(labels)
    if all(WHOLE.fullmatch(label) for label in set(labels)):
        return _integers(labels)
    if all(REAL.fullmatch(label) for label in set(labels)):
        return _whole_if_possible(np.array(labels, dtype=np.float64), labels)
    return np.array(labels)


def _integers(labels: list[str]) -> np.ndarray:
    try:
        return np.array([int(label) for label in labels], dtype=np.int64)
    except (OverflowError, ValueError):  # beyond int64, or beyond the digits that Python converts
        return np.array(labels)


def _whole_if_possible(values: np.ndarray, text: list[str] | None = None) -> np.ndarray:
    if not (np.isfinite(values).all() and (np.abs(values) < 2**53).all()):
        return values if text is None else np.array(text)
    return values.astype(np.int64) if (values == np.floor(values)).all() else values


def _array_labels(y: np.ndarray, row: Callable[[int], str], source: str) -> np.ndarray:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(
            f"{source}: the labels have shape {y.shape}; save one label for each sample, of shape (samples,)"
        )
    if y.dtype.kind == "S":
        y = np.char.decode(y, "latin-1")
    if y.dtype.kind == "U":
        return typed_labels([str(label).strip() for label in y], row, source)
    if y.dtype.kind not in "biuf":
        raise DataError(f"{source}: the labels have the type {y.dtype}; save text (y.astype(str)) or numbers")
    if y.dtype.kind != "f":
        return y
    if np.isnan(y).any():
        place = row(int(np.argmax(np.isnan(y))))
        raise DataError(f"{source}, {place}: the label is missing (nan); add it or remove that sample")
    return _whole_if_possible(y)


def check_training(data: Labelled) -> None:
    """Refuse what no classifier can learn from."""
    if len(data) < 2:
        raise InputError(f"{data.source} holds {_count(len(data), 'sample')}; give at least two of each class")
    classes = np.unique(data.y)
    if len(classes) < 2:
        raise InputError(
            f"{data.source} holds the one class {classes[0]} alone; give samples of two classes or more, "
            "or name the right label column (--label)"
        )


def match_test(train: Labelled, test: Labelled) -> tuple[Labelled, Labelled]:
    """Both with labels of one type and, where a shorter test file is padded, of one length."""
    count, test_count = (data.X.shape[2] if data.X.ndim == 3 else 1 for data in (train, test))
    if count != test_count:
        raise InputError(
            f"{test.source} has {_count(test_count, 'channel')} but {train.source} has {count}; "
            "give both the same channels"
        )
    test = fit_length(test, train.X.shape[1], train.source, padded=train.lengths is not None)
    if (train.y.dtype.kind == "U") != (test.y.dtype.kind == "U"):
        train, test = (replace(data, y=data.y.astype(str)) for data in (train, test))
    if not np.isin(test.y, train.y).any():
        raise InputError(
            f"{test.source} shares no class with {train.source}: {_some(test.y)} against {_some(train.y)}; "
            "use the same labels in both, or name the label column (--label)"
        )
    return train, test


def fit_length(data: Labelled, length: int, source: str, padded: bool) -> Labelled:
    """Sequences of the length that `source` has; shorter ones are padded where `padded` says that all are."""
    P, steps, *channels = data.X.shape
    if steps == length:
        return data
    if steps > length or not (padded or data.lengths is not None):
        raise InputError(
            f"{data.source} has {_count(steps, 'step')} a sequence but {source} has {length}; give both the same length"
        )
    X = np.zeros((P, length, *channels), dtype=data.X.dtype)
    X[:, :steps] = data.X
    lengths = np.full(P, steps) if data.lengths is None else data.lengths
    return replace(data, X=X, lengths=lengths)


def _some(labels: np.ndarray) -> str:
    names = np.unique(labels).tolist()
    return ", ".join(map(str, names[:3])) + (", …" if len(names) > 3 else "")


def _count(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
