"""Which figures there are, and how one is made: compute its tables, draw them, save and print both."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import DependencyMissing, InputError
from . import eigendecomposition, frequency_bias, grid, mechanism, singular_values, stability
from .tables import Step, Tables, save_tables, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Plan", "make"]


@dataclass(frozen=True)
class Plan:
    """One figure: what it is, its numbers, its drawing, and which of its tables are printed."""

    title: str
    compute: Callable[[Step], Tables]
    draw: Callable[[Tables], Figure]
    printed: tuple[str, ...] = ("summary",)


FIGURES: dict[str, Plan] = {
    "eigendecomposition": Plan(
        "Kernel eigensystem on 15,000 whitened MNIST images",
        partial(eigendecomposition.compute, True),
        eigendecomposition.draw,
        ("summary", "curve"),
    ),
    "eigendecomposition-unwhitened": Plan(
        "The same on the images as they are",
        partial(eigendecomposition.compute, False),
        eigendecomposition.draw,
        ("summary", "curve"),
    ),
    "mechanism": Plan(
        "Kernel regression before and after tuning, matched and mismatched",
        mechanism.compute,
        mechanism.draw,
        ("summary", "curves"),
    ),
    "grid": Plan("The same over state sizes and ridges", grid.compute, grid.draw),
    "stability": Plan("Fisher log-power of MNIST from six subset sizes", stability.compute, stability.draw),
    "frequency-bias": Plan("What the default S4D listens to", frequency_bias.compute, frequency_bias.draw),
    "singular-values": Plan(
        "Singular values against the frequency response as L grows", singular_values.compute, singular_values.draw
    ),
}


def make(names: Sequence[str], out: Path, console: Console) -> list[Path]:
    """Make these figures: `NAME.png`, `NAME.pdf` and `NAME-TABLE.csv` in the folder `out`; returns the PNGs."""
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        raise InputError(f"there is no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise DependencyMissing("figures need matplotlib: pip install 'foretune[plot]'")
    out.mkdir(parents=True, exist_ok=True)
    return [_make(name, FIGURES[name], out, console) for name in dict.fromkeys(names)]


@contextmanager
def one_thread() -> Iterator[None]:
    """The matrices are so small that a second thread gains little, and on a busy machine waiting for it costs far more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _make(name: str, plan: Plan, out: Path, console: Console) -> Path:
    from .style import look

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress, one_thread():
        task = progress.add_task(name, total=None)
        tables = plan.compute(lambda done, total: progress.update(task, completed=done, total=total))
        elapsed = progress.tasks[0].elapsed
    with look():
        figure = plan.draw(tables)
        figure.savefig(out / f"{name}.pdf")
        figure.savefig(out / f"{name}.png", dpi=150)
    save_tables(tables, out, name)
    for table in plan.printed:
        console.print(show(tables[table], plan.title if table == plan.printed[0] else None))
    console.print(f"{out / name}.png, .pdf, .csv" + (f" ({elapsed:.0f} s)" if elapsed else "") + "\n")
    return out / f"{name}.png"
