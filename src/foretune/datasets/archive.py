"""Files inside a folder or a tar archive, one after another, and rows kept in a memory-mapped store."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .store import Store

__all__ = ["Kept", "keep", "members"]


def members(source: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each wanted file in a folder, in the order of the names, or in a tar archive, in its own."""
    if source.is_dir():
        for folder, folders, files in os.walk(source):
            folders.sort()
            for file in sorted(files):
                path = Path(folder, file)
                name = path.relative_to(source).as_posix()
                if wanted(name):
                    yield name, path.read_bytes()
        return
    with open(source, "rb") as beginning:
        packed = beginning.read(2) == b"\x1f\x8b"
    try:
        with (gzip.open if packed else open)(source, "rb") as raw, tarfile.open(fileobj=raw, mode="r|") as archive:
            while (member := archive.next()) is not None:
                # tarfile remembers every member, and there can be millions.
                archive.members = []  # type: ignore[attr-defined]
                name = member.name.removeprefix("./")
                if member.isfile() and wanted(name):
                    stream = archive.extractfile(member)
                    assert stream is not None
                    yield name, stream.read()
            while raw.read(1 << 20):  # gzip's checksum comes last
                pass
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{source} cannot be unpacked ({error}); it is damaged or cut short, fetch it again") from error


@dataclass(frozen=True)
class Kept:
    """Rows of one length in a memory-mapped file, each with a name, and notes on the whole."""

    rows: np.ndarray
    names: list[str]
    notes: dict[str, Any]


def keep(
    store: Store,
    name: str,
    source: Path | None,
    build: Callable[[dict[str, Any]], Iterable[tuple[str, np.ndarray]]],
) -> Kept:
    """The rows that `build` yields, from the store if they were kept before.

    `build` gets a dictionary to leave its notes in. What is kept belongs to this version of `source`: its path, size and
    time (of a folder, those of the folders in it). It appears all at once or not at all.
    """
    place = f"prepared/{name}-{_key(source)}"
    folder = store.find(place) or store.target / place
    if not folder.exists():
        _prepare(folder, build)
    notes = json.loads((folder / "notes.json").read_text())
    names = (folder / "names.txt").read_text().splitlines()
    rows = np.memmap(folder / "rows.bin", notes.pop("dtype"), "r", shape=(len(names), notes.pop("columns")))
    return Kept(np.asarray(rows), names, notes)  # a plain array on the same map


def _prepare(folder: Path, build: Callable[[dict[str, Any]], Iterable[tuple[str, np.ndarray]]]) -> None:
    unfinished = None
    try:
        folder.parent.mkdir(exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        _write(unfinished, build)
        if not folder.exists():  # another process may have been faster
            unfinished.rename(folder)
    except OSError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{folder} cannot be written ({error.strerror or error}); make room there") from error
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)


def _write(folder: Path, build: Callable[[dict[str, Any]], Iterable[tuple[str, np.ndarray]]]) -> None:
    notes: dict[str, Any] = {}
    row = None
    with open(folder / "rows.bin", "wb") as rows, open(folder / "names.txt", "w") as names:
        for name, row in _watched(build(notes), folder):
            rows.write(row.tobytes())
            names.write(name + "\n")
    if row is None:
        raise DataError("there is nothing to read in the data set's files; fetch them again")
    (folder / "notes.json").write_text(json.dumps({"dtype": row.dtype.str, "columns": len(row), **notes}))


def _watched(pairs: Iterable[tuple[str, np.ndarray]], folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The same pairs, counted on a terminal."""
    if not sys.stderr.isatty():
        yield from pairs
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        for number, pair in enumerate(pairs):
            if number % 1000 == 0:
                status.update(f"preparing {folder.name.lstrip('.').rpartition('-')[0]}, once: {number} sequences")
            yield pair


def _key(source: Path | None) -> str:
    if source is None:
        return "1"  # generated: the version of the generator
    stats = [(str(path), path.stat()) for path in (source.resolve(), *_folders(source, 3))]
    text = " ".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _folders(folder: Path, levels: int) -> list[Path]:
    """The folders below one, so many levels deep: their times show where files came or went."""
    if levels == 0 or not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        inner = sorted(Path(entry.path) for entry in entries if entry.is_dir())
    return inner + [deeper for path in inner for deeper in _folders(path, levels - 1)]
