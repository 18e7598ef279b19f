"""What every data set is made of: splits, and nested subsets of the training split."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError

__all__ = ["Dataset", "Rows", "Split", "subset_indices"]


class Rows:
    """Rows of a large stored array, scaled to float32 when they are read: `(stored[rows] * scale) + shift`.

    Has the shape, length and indexing by samples of a numpy array; `np.asarray` reads it all.
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, stored: np.ndarray, rows: np.ndarray, scale: float, shift: float = 0.0) -> None:
        self._stored, self._rows, self._scale, self._shift = stored, rows, np.float32(scale), np.float32(shift)
        self.shape: tuple[int, int] = (len(rows), stored.shape[1])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, samples: Any) -> np.ndarray:
        """The samples asked for by number, slice, mask or list of numbers, in memory."""
        values: np.ndarray = self._stored[self._rows[samples]].astype(np.float32)
        values *= self._scale
        values += self._shift
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self[:]
        return values if dtype is None else values.astype(dtype)

    def take(self, indices: np.ndarray) -> Rows:
        """Fewer rows of the same stored array; nothing is read."""
        return Rows(self._stored, self._rows[indices], float(self._scale), float(self._shift))


@dataclass(frozen=True)
class Split:
    """Sequences and the codes of their classes.

    `X` is float32 `(P, L)` or `(P, L, C)`, or integer tokens `(P, L)`; where the set is too large for memory, `Rows`.
    `lengths` counts the tokens of each sequence before padding; None where all have the same length.
    """

    X: np.ndarray | Rows
    y: np.ndarray
    lengths: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"<Split: X {'×'.join(map(str, self.X.shape))} {self.X.dtype}, y of {len(np.unique(self.y))} classes>"

    def take(self, indices: np.ndarray) -> Split:
        """The samples with these numbers, in this order."""
        X = self.X.take(indices) if isinstance(self.X, Rows) else self.X[indices]
        return Split(X, self.y[indices], None if self.lengths is None else self.lengths[indices])


@dataclass(frozen=True)
class Dataset:
    """A data set with its fixed splits; `classes[code]` is the original label, `vocabulary[token]` the symbol."""

    name: str
    train: Split
    validation: Split | None
    test: Split
    classes: tuple[Hashable, ...]
    length: int
    channels: int
    provenance: str
    vocabulary: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = {"training": self.train, "validation": self.validation, "test": self.test}
        counts = ", ".join(f"{len(split):,} {name}" for name, split in parts.items() if split is not None)
        channels = f" in {self.channels} channels" if self.channels > 1 else ""
        return (
            f"<Dataset {self.name}: {counts} sequences of {self.length:,} steps{channels}, {len(self.classes)} classes>"
        )

    def subset(self, ratio: float, seed: int, stratified: bool = False) -> Dataset:
        """The same set with a part of its training split; validation and test stay as they are."""
        labels = self.train.y if stratified else None
        return replace(self, train=self.train.take(subset_indices(len(self.train), ratio, seed, labels)))


def subset_indices(P: int, ratio: float, seed: int, labels: np.ndarray | None = None) -> np.ndarray:
    """The first `max(1, round(ratio * P))` places of one permutation of `P` samples that `seed` decides.

    Subsets of one seed are therefore nested. With `labels`, the permutation deals the classes out evenly, so that each
    subset has every class in its proportion, up to rounding.
    """
    if P < 1:
        raise InputError(f"P is {P}; there is nothing to take a subset of")
    if not isinstance(ratio, int | float | np.number) or not 0 < ratio <= 1:
        raise InputError(f"ratio is {ratio!r}; pass a number above 0 and at most 1")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {seed!r}; pass a whole number of at least 0")
    order = np.random.default_rng(seed).permutation(P)
    if labels is not None:
        order = _deal(order, np.asarray(labels))
    return order[: max(1, round(ratio * P))]


def _deal(order: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Reorder so that sample j of a class with n members comes at the place (j + 1/2) / n of the whole."""
    place = np.empty(len(order))
    for label in np.unique(labels):
        members = np.flatnonzero(labels[order] == label)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return order[np.argsort(place, kind="stable")]
