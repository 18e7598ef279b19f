"""Numbers of a figure as named tables of equally long columns: what `compute` returns, `draw` draws and the CSV holds."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

__all__ = ["Columns", "Step", "Tables", "rows", "save_tables", "show", "silent"]

Columns = dict[str, np.ndarray]
Tables = dict[str, Columns]
Step = Callable[[int, int], None]  # (done, total)


def silent(done: int, total: int) -> None:
    """No progress bar."""


def rows(records: list[dict[str, Any]]) -> Columns:
    """Columns from a list of rows with the same keys."""
    return {name: np.array([record[name] for record in records]) for name in records[0]}


def save_tables(tables: Tables, out: Path, name: str) -> None:
    """One CSV file for each table, with all digits."""
    for table, columns in tables.items():
        with (out / f"{name}-{table}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def show(columns: Columns, title: str | None = None) -> Table:
    """The table for the terminal, with four digits."""
    table = Table(title=title, title_justify="left")
    for name, column in columns.items():
        table.add_column(name, justify="left" if column.dtype.kind == "U" else "right", overflow="fold")
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
    return table
