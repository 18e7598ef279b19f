"""What a study shows while it runs: a bar in a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .plan import Run
from .worker import Outcome

__all__ = ["Estimate", "watcher"]

LINES = 20  # in all, where there is no terminal
SILENCE = 60.0  # seconds after which another one comes in any case


class Estimate:
    """Counts and the time left, from the cost of what remains and the speed measured in this session."""

    def __init__(self) -> None:
        self.runs = self.over = self.failed = 0
        self.total = self.finished_cost = self.running_cost = self.spent_cost = self.spent_seconds = 0.0
        self.workers = 1
        self.start = time.monotonic()

    def started(self, total: float, runs: int, workers: int) -> None:
        """See `engine.Watcher`."""
        self.total, self.runs, self.workers = total, runs, workers

    def advanced(self, finished: float, running: float) -> None:
        """See `engine.Watcher`."""
        self.finished_cost, self.running_cost = finished, running

    def finished(self, run: Run, outcome: Outcome, cost: float) -> None:
        """See `engine.Watcher`."""
        self.over += 1
        self.failed += outcome.status == "failed"
        if outcome.seconds > 0:
            self.spent_cost += cost
            self.spent_seconds += outcome.seconds

    @property
    def left(self) -> float | None:
        """Seconds left; None while nothing is known of the speed."""
        done = self.finished_cost + self.running_cost
        remaining = max(self.total - done, 0.0)
        if self.spent_cost:
            return remaining * self.spent_seconds / self.spent_cost / min(self.workers, max(self.runs - self.over, 1))
        if self.running_cost:  # no run is over yet, but some say how far they are
            return remaining * (time.monotonic() - self.start) / done
        return None

    def words(self) -> str:
        """One line."""
        left = "unknown" if self.left is None else str(timedelta(seconds=round(self.left)))
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.over}/{self.runs} runs{failed}, time left {left}"


class _Bar(Estimate):
    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress
        self.bar = progress.add_task("starting", total=None)

    def advanced(self, finished: float, running: float) -> None:
        super().advanced(finished, running)
        self.progress.update(self.bar, total=self.total, completed=finished + running, description=self.words())


class _Lines(Estimate):
    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self.spoke = self.start

    def advanced(self, finished: float, running: float) -> None:
        super().advanced(finished, running)
        if time.monotonic() - self.spoke > SILENCE:
            self._speak()

    def finished(self, run: Run, outcome: Outcome, cost: float) -> None:
        super().finished(run, outcome, cost)
        self.finished_cost += cost
        if self.over % max(self.runs // LINES, 1) == 0 or self.over == self.runs:
            self._speak()

    def _speak(self) -> None:
        self.spoke = time.monotonic()
        elapsed = timedelta(seconds=round(self.spoke - self.start))
        self.console.print(f"{self.words()}, {elapsed} so far", highlight=False, soft_wrap=True)


@contextmanager
def watcher(console: Console) -> Iterator[Estimate]:
    """The way to show a study on this console."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress)
