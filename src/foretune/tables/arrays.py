"""Arrays of numpy: `.npz` with sequences and labels, and pairs of `.npy` files."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ..errors import DataError, DataMissing
from .labelled import Raw

__all__ = ["NPY", "array_rows", "load_npy", "read_npz", "sibling"]

NPY = b"\x93NUMPY"
PICKLED = (
    "holds Python objects, which could run code when opened; save text as y.astype(str) and X as one array of numbers"
)
DAMAGED = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
PAIRS = {
    "train": (("x", "y"), ("x_train", "y_train"), ("data", "labels"), ("data", "target"), ("x", "labels")),
    "test": (("x_test", "y_test"), ("x", "y"), ("data", "labels"), ("data", "target"), ("x", "labels")),
}


def load_npy(content: bytes, source: str) -> np.ndarray:
    """One array, never unpickled."""
    try:
        array: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
    except DAMAGED as error:
        raise DataError(_reason(source, error)) from error
    return array


def read_npz(content: bytes, source: str, label: int | str | None, part: str, labelled: bool) -> Raw:
    """The arrays `X` and `y`, or `x_train` and `y_train`; for the test those of the test, where both are there."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            names = {name.lower(): name for name in archive.files}
            X_name, y_name = _choose(names, source, label, part, labelled)
            X, y = archive[X_name], None if y_name is None else archive[y_name]
    except DataError:
        raise
    except DAMAGED as error:
        raise DataError(_reason(source, error)) from error
    used = f"the arrays {X_name} and {y_name}" if labelled else f"the array {X_name}"
    unused = sorted(set(names.values()) - {X_name, y_name})
    note = f"{used}; {', '.join(unused)} left out" if unused else used
    return array_rows(X, y, source, note)


def _choose(
    names: dict[str, str], source: str, label: int | str | None, part: str, labelled: bool
) -> tuple[str, str | None]:
    if label is not None and str(label).lower() in names:
        others = [name for name in names if name != str(label).lower()]
        X = next(
            (name for name in others if name in {x for x, _ in PAIRS[part]}), others[0] if len(others) == 1 else None
        )
        if X is not None:
            return names[X], names[str(label).lower()]
    for X, y in PAIRS[part]:
        if X in names and (y in names or not labelled):
            return names[X], names[y] if labelled else None
    there = ", ".join(names.values()) or "no arrays"
    wanted = "X and y (or x_train and y_train)" if labelled else "X"
    raise DataError(f"{source} holds {there}; name its arrays {wanted}, or give the labels apart (--labels)")


def sibling(path: Path) -> Path:
    """The file of labels beside one of sequences: `y.npy` beside `X.npy`, `name_y.npy` beside `name_X.npy`."""
    for word, other in (("X", "y"), ("x", "y"), ("data", "labels")):
        stem, found = re.subn(rf"(?<![A-Za-z]){word}(?![A-Za-z])", other, path.name, count=1)
        if found and path.with_name(stem).exists():
            return path.with_name(stem)
    raise DataMissing(
        f"{path} holds sequences without labels; name the file of labels (--labels), or put y.npy beside X.npy"
    )


def array_rows(X: np.ndarray, y: np.ndarray | list[str] | None, source: str, note: str = "") -> Raw:
    """Arrays in memory as the rows of a file."""
    if X.dtype.kind not in "biuf":
        raise DataError(f"{source}: the sequences have the type {X.dtype}; save them as an array of numbers")
    if X.ndim not in (2, 3):
        raise DataError(
            f"{source}: the sequences have shape {X.shape}; save (samples, steps) or (samples, steps, channels)"
        )
    notes = [note] if note else []
    if X.ndim == 3:
        notes.append(f"{X.shape[1]} steps of {X.shape[2]} channels each")
        if X.shape[1] == 1 or X.shape[2] == 1:  # (samples, 1, steps) as aeon writes it, or one channel
            X = X.reshape(len(X), -1)
            notes[-1] = "one channel"
    X = X.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)

    def cell(row: int, step: int, channel: int) -> str:
        return f"X[{row}, {step}]" if X.ndim == 2 else f"X[{row}, {step}, {channel}]"

    return Raw(X, y, lambda row: f"sample {row} (the first is 0)", cell, tuple(notes))


def _reason(source: str, error: Exception) -> str:
    if "pickle" in str(error):
        return f"{source} {PICKLED}"
    return f"{source} cannot be read ({' '.join(str(error).split())}); it is damaged or cut short, save it again"
