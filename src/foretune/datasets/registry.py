"""The data sets by name: `load`, `fetch_files`, and whether a set is at hand."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from ..errors import DataError, DataMissing, DownloadFailed, InputError
from .base import Dataset
from .download import fetch
from .entries import ENTRIES, Entry
from .store import Store, open_store

__all__ = ["at_hand", "catalogue", "fetch_files", "find", "load", "names"]


def catalogue() -> tuple[Entry, ...]:
    """Every data set that `load` knows: the paper's, and the generated ones."""
    return ENTRIES


def names() -> list[str]:
    """The names of all data sets."""
    return [entry.name for entry in ENTRIES]


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
    entry, store = find(name), open_store(root)
    data = entry.read(_located(entry, store, download))
    _check(entry, data)
    return data.subset(ratio, seed, stratified)


def at_hand(name: str, root: str | Path | None = None) -> bool:
    """Whether the files of a set are there, or none are needed."""
    entry = find(name)
    try:
        entry.locate(open_store(root))
    except DataMissing:
        return False
    return True


def fetch_files(name: str, root: str | Path | None = None, again: bool = False) -> None:
    """Fetch the files of a set unless they are there, or in any case with `again`; nothing is read."""
    entry, store = find(name), open_store(root)
    if again:
        _fetch_any(entry, store.target, again)
    _located(entry, store, download=True)


def _located(entry: Entry, store: Store, download: bool) -> Any:
    try:
        return entry.locate(store)
    except DataMissing as missing:
        if not download:
            urls = " or ".join(files[0].urls[0] for files in entry.sources)
            raise DataMissing(
                f"{missing}. Pass download=True, run `foretune data fetch {entry.name}`, or get it from {urls}"
            ) from None
    _fetch_any(entry, store.target)
    return entry.locate(Store((*store.roots, store.target)))


def _fetch_any(entry: Entry, folder: Path, again: bool = False) -> None:
    failures: list[str] = []
    for files in entry.sources:
        try:
            for remote in files:
                fetch(remote, folder, again=again)
            return
        except DownloadFailed as failure:
            failures.append(str(failure))
    if failures:
        raise DownloadFailed(f"{entry.title}: " + ". Nor its alternative: ".join(failures))


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


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
