"""Where data files lie: the folders that are searched, and the one that is written to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError, InputError

__all__ = ["Store", "cache_folder", "open_store"]


@dataclass(frozen=True)
class Store:
    """Folders that hold data sets, in the order in which they are searched."""

    roots: tuple[Path, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.roots))

    def find(self, *candidates: str) -> Path | None:
        """The first of these relative paths that exists in any of the folders."""
        paths = (root / candidate for root in self.roots for candidate in candidates)
        return next((path for path in paths if path.exists()), None)

    @property
    def target(self) -> Path:
        """The folder that new files go to: the first that can be written."""
        for root in (*self.roots, cache_folder()):
            try:
                root.mkdir(parents=True, exist_ok=True)
            except OSError:
                continue
            # The superuser may write anywhere; a folder that is marked read-only is to stay as it is all the same.
            if os.access(root, os.W_OK) and root.stat().st_mode & 0o222:
                return root
        raise DataError(f"none of the data folders {', '.join(map(str, self.roots))} can be written; pass another root")


def cache_folder() -> Path:
    """The user's cache folder for data sets."""
    import pooch

    return Path(pooch.os_cache("foretune"))


def open_store(root: str | Path | None) -> Store:
    """The store at `root`; without it, the folder that FORETUNE_DATA names, then the user's cache folder."""
    if root is not None:
        return Store((Path(root).expanduser(),))
    named = os.environ.get("FORETUNE_DATA")
    if not named:
        return Store((cache_folder(),))
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InputError(f"FORETUNE_DATA is {named!r}, which is no folder; create it, correct it or unset it")
    return Store((folder, cache_folder()))
