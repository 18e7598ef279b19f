"""The catalogue as a table, and fetching by name: what the command line shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..errors import InputError
from .entries import Entry
from .registry import at_hand, catalogue, fetch_files, find

__all__ = ["fetch_all", "overview"]


def overview(root: Path | None = None) -> Table:
    """One row for each data set; it fits into 80 columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("name", "train", "valid.", "test", "length", "classes", "files"):
        table.add_column(title, no_wrap=True, justify="left" if title in ("name", "files") else "right")
    for entry in catalogue():
        counts = [f"{count:,}" if count else "–" for count in entry.counts]
        table.add_row(entry.name, *counts, f"{entry.length:,}", str(entry.classes), _files(entry, root))
    return table


def fetch_all(names: Sequence[str], root: Path | None, again: bool, console: Console) -> None:
    """Fetch each set; an unknown name is refused before anything is fetched."""
    if not names:
        raise InputError("no data set is named; `foretune data list` shows them")
    for entry in [find(name) for name in names]:
        if entry.generated:
            console.print(f"{entry.name}: generated, needs no files")
            continue
        fetch_files(entry.name, root, again)
        console.print(f"{entry.name}: at hand")


def _files(entry: Entry, root: Path | None) -> str:
    if entry.generated:
        return "generated"
    if at_hand(entry.name, root):
        return "at hand"
    size = f"{entry.megabytes / 1000:.1f} GB" if entry.megabytes >= 1000 else f"{entry.megabytes} MB"
    return f"fetch {size}"
