"""`foretune demo` from its first line to the path of its page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as Grid

from ..errors import StudyError
from ..study import Plan, Store, Summary
from ..study import run as run_plan
from ..study.progress import watcher
from ..study.rows import Table, collect
from ..study.statistics import Spread, cells
from . import tasks
from .evidence import claims, diagnosed, gains, interval, labels, starts, word
from .pages import answer, compose

if TYPE_CHECKING:
    from ..diagnosis import Diagnosis

__all__ = ["built_in", "run"]


def built_in() -> Plan:
    """The runs of the demo."""
    return Plan.parse(Path(__file__).with_name("plan.toml").read_text(encoding="utf-8"))


def run(out: Path, console: Console, plan: Plan | None = None) -> Path:
    """Diagnose, train, print, and write the page; returns its path. A run that is in the folder is not done again."""
    plan = _at_hand(plan or built_in(), console)
    store = Store(out / "demo").create()  # before the work, so that a folder that cannot be is known at once
    names = list(dict.fromkeys(run.settings["dataset"] for run in plan.runs))
    ratios = sorted({run.settings["ratio"] for run in plan.runs})
    seed = plan.runs[0].settings["seed"]
    console.print(
        f"{len(plan.runs)} small models learn from {' or '.join(str(labels(r)) for r in ratios)} labels each."
    )
    found: dict[tuple[str, float], Diagnosis] = {}
    for task in names:
        console.print(f"\n[bold]{task}[/]: {tasks.TASKS[task].question}", highlight=False)
        for ratio in ratios:
            with _busy(console, f"diagnosing {labels(ratio)} sequences"):
                found[task, ratio] = diagnosed(task, ratio, seed)
            console.print(f"  diagnosis of {labels(ratio):3} labels: {found[task, ratio].verdict}", highlight=False)
    with _busy(console, "looking at each model before training"):
        before = starts(plan, found, seed)
    console.print()
    _train(plan, store, console)
    table = collect(plan, store)
    _print(table, console)
    from ..report.html import save

    path = save(compose(table, found, before), out / "demo.html")
    console.print(f"\n{answer(table)}\n", highlight=False, markup=False)
    console.print(str(path), highlight=False, markup=False, soft_wrap=True)
    return path


def _at_hand(plan: Plan, console: Console) -> Plan:
    """The runs on tasks whose data are there."""
    known = tasks.available()
    runs = tuple(run for run in plan.runs if run.settings["dataset"] in known)
    if len(runs) < len(plan.runs):
        console.print(
            "Without digits, which come with scikit-learn: pip install 'foretune[classifier]'",
            markup=False,
            soft_wrap=True,
        )
    return replace(plan, runs=runs)


def _busy(console: Console, words: str) -> AbstractContextManager[object]:
    """Says what is going on, where there is a terminal."""
    return console.status(words) if console.is_terminal else nullcontext()


def _train(plan: Plan, store: Store, console: Console) -> Summary:
    """Do what is missing, with a bar where there is a terminal."""
    try:
        if console.is_terminal:
            with watcher(console) as watch:
                summary = run_plan(plan, store.folder, watcher=watch)
        else:
            summary = run_plan(plan, store.folder)
    except KeyboardInterrupt:
        console.print(f"stopped; every finished run is kept in {store.folder}, the same command goes on", markup=False)
        raise
    if not summary.done:
        raise StudyError(f"no run of the demo came to its end: {', '.join(summary.reasons)}; remove {store.folder}")
    kept = summary.done + summary.failed - summary.performed
    failed = f", {summary.failed} failed" if summary.failed else ""
    again = f", {kept} were in {store.folder} already" if kept else ""
    console.print(
        f"{summary.performed} runs in {summary.seconds:.0f} s{failed}{again}\n", highlight=False, markup=False
    )
    return summary


def _print(table: Table, console: Console) -> None:
    """Accuracies, then differences."""
    spreads = cells(table.rows, "final_acc")
    names = list(dict.fromkeys(row.arm for row in table.rows))
    seeds = len({row.seed for row in table.rows})
    grid = _grid(f"Test accuracy (%), mean ± std over {seeds} seeds", ("task", "labels", *names))
    for task, ratio in dict.fromkeys((row.dataset, row.ratio) for row in table.rows):
        grid.add_row(task, str(labels(ratio)), *(_spread(spreads.get((task, ratio, arm))) for arm in names))
    console.print(grid)
    grid = _grid("Paired differences in points, with 95 % intervals", ("change", "task", "difference", "it"))
    for claim in claims(table.rows):
        for task, gain in gains(table.rows, claim).items():
            grid.add_row(str(claim), task, interval(gain), word(gain))
    console.print(grid)


def _spread(cell: Spread | None) -> str:
    if cell is None:
        return "–"
    wide = "" if math.isnan(cell.std) else f" ± {100 * cell.std:.1f}"
    return f"{100 * cell.mean:.1f}{wide}"


def _grid(title: str, columns: Iterable[str]) -> Grid:
    grid = Grid(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        grid.add_column(column, no_wrap=True)
    return grid
