"""The data sets by name, and `load`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DataError, InputError
from .base import Dataset, Split
from .mnist import locate_mnist, read_mnist, read_permuted, read_sequential
from .store import Store, open_store
from .synthetic import binary_frequency
from .ucr import locate_ucr, read_ucr

__all__ = ["Entry", "catalogue", "find", "load", "names"]


@dataclass(frozen=True)
class Entry:
    """A data set of the catalogue: what the paper's tables say of it, and how it is found and read."""

    name: str
    title: str
    counts: tuple[int, int, int]  # training, validation, test
    length: int
    classes: int
    read: Callable[[Any], Dataset]
    locate: Callable[[Store], Any] = lambda store: None  # generated sets need no files
    aliases: tuple[str, ...] = ()


def _binary_frequency(_: None) -> Dataset:
    # The generator's seeds are fixed: the `seed` of `load` chooses the subset and nothing else.
    train, test = (Split(*binary_frequency(samples, seed)) for samples, seed in ((40_000, 1), (10_000, 2)))
    return Dataset("binary-frequency", train, None, test, (0, 1), 256, 1, "generated as the paper describes")


def _ucr(name: str, train: int, test: int, length: int, classes: int) -> Entry:
    read, locate = partial(read_ucr, name=name), partial(locate_ucr, name=name)
    return Entry(name.lower(), name, (train, 0, test), length, classes, read, locate)


ENTRIES = (
    Entry("binary-frequency", "Binary Freq.", (40_000, 0, 10_000), 256, 2, _binary_frequency, aliases=("binary-freq",)),
    _ucr("ECG5000", 500, 4500, 140, 5),
    _ucr("FordA", 3601, 1320, 500, 2),
    _ucr("FordB", 3636, 810, 500, 2),
    Entry("mnist", "MNIST", (60_000, 0, 10_000), 784, 10, read_mnist, locate_mnist),
    _ucr("TwoPatterns", 1000, 4000, 128, 4),
    _ucr("Wafer", 1000, 6164, 152, 2),
    Entry(
        "smnist",
        "sMNIST",
        (54_000, 6000, 10_000),
        784,
        10,
        read_sequential,
        locate_mnist,
        ("sequential-mnist",),
    ),
    Entry(
        "pmnist",
        "pMNIST",
        (54_000, 6000, 10_000),
        784,
        10,
        read_permuted,
        locate_mnist,
        ("permuted-mnist", "psmnist"),
    ),
)


def catalogue() -> tuple[Entry, ...]:
    """Every data set that `load` knows."""
    return ENTRIES


def names() -> list[str]:
    """The names of all data sets."""
    return [entry.name for entry in ENTRIES]


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def find(name: str) -> Entry:
    """The entry of a name; capitals and punctuation do not matter."""
    if not isinstance(name, str):
        raise InputError(f"the data set's name is {name!r}; pass one of {', '.join(names())}")
    table = {_key(alias): entry for entry in ENTRIES for alias in (entry.name, entry.title, *entry.aliases)}
    if _key(name) in table:
        return table[_key(name)]
    close = difflib.get_close_matches(_key(name), table, n=1)
    hint = f"did you mean {table[close[0]].name!r}? " if close else ""
    raise InputError(f"there is no data set {name!r}; {hint}known are {', '.join(names())}")


def load(
    name: str,
    root: str | Path | None = None,
    ratio: float = 1.0,
    seed: int = 0,
    download: bool = True,
    stratified: bool = False,
) -> Dataset:
    """A data set of the paper, with a part of its training split.

    Args:
        name: as in `names()` or as in the paper; capitals and punctuation do not matter.
        root: folder that holds the files; without it the one FORETUNE_DATA names, then the user's cache folder.
        ratio, seed: train on the first `max(1, round(ratio * P))` samples of the permutation that `seed` decides.
        download: fetch what is missing from its official source.
        stratified: keep the classes' proportions in the subset; the paper does not.
    """
    entry = find(name)
    data = _read(entry, open_store(root), download)
    return data.subset(ratio, seed, stratified)


def _read(entry: Entry, store: Store, download: bool) -> Dataset:
    data = entry.read(entry.locate(store))
    _check(entry, data)
    return data


def _check(entry: Entry, data: Dataset) -> None:
    """Refuse a set that is not the one of the paper's table."""
    sizes = (len(data.train), len(data.validation or ()), len(data.test))
    seen = (*sizes, data.length, len(data.classes))
    due = (*entry.counts, entry.length, entry.classes)
    labels = ("training sequences", "validation sequences", "test sequences", "steps", "classes")
    for label, have, want in zip(labels, seen, due, strict=True):
        if have != want:
            raise DataError(
                f"{entry.title} has {have} {label} where {want} are due ({data.provenance}); "
                "its files are cut short or of another version, fetch them again"
            )
