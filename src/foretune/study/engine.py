"""Spreads the missing runs of a plan over worker processes, and survives the death of any of them."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol

from ..errors import InputError, StudyError
from .plan import Plan, Run, Task, matches
from .store import Record, Store
from .worker import Outcome, serve, single_thread, versions

__all__ = ["Session", "Summary", "Watcher", "chosen_runs", "ordered", "run", "summarize"]

RETRIES = 1  # of a run whose worker died, and of workers that do not start
POLL = 1.0  # seconds between looks at the runs that someone else is doing


class Watcher(Protocol):
    """Whoever wants to know how a study goes."""

    def started(self, total: float, runs: int, workers: int) -> None:
        """The cost and the number of the runs to do."""

    def advanced(self, finished: float, running: float) -> None:
        """The cost of what is finished since the start, and of what is running, by its reported progress."""

    def finished(self, run: Run, outcome: Outcome, cost: float) -> None:
        """One run came to its end."""


@dataclass(frozen=True)
class Summary:
    """What the chosen runs came to."""

    done: int
    failed: int
    left: int
    reasons: Counter[str]
    performed: int  # in this session
    seconds: float  # of this session


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    up: bool = False
    gone: bool = False
    run: Run | None = None
    fraction: float = 0.0


@dataclass
class Session:
    """The state of one engine: what waits, what runs, what is over."""

    store: Store
    costs: dict[str, float]
    watcher: Watcher | None
    waiting: deque[Run]
    deaths: Counter[str] = field(default_factory=Counter)
    elsewhere: list[Run] = field(default_factory=list)
    finished: float = 0.0
    performed: int = 0
    false_starts: int = 0

    def settle(self, run: Run, outcome: Outcome) -> None:
        """Take note of what became of a run."""
        if outcome.status == "busy":
            self.elsewhere.append(run)
            return
        self.finished += self.costs[run.key]
        self.performed += outcome.seconds > 0
        if self.watcher:
            self.watcher.finished(run, outcome, self.costs[run.key])

    def reconsider(self) -> None:
        """Ask again for the runs that someone else was doing."""
        self.waiting.extend(self.elsewhere)
        self.elsewhere.clear()

    def bury(self, run: Run, code: int | None) -> None:
        """Try the run of a dead worker once more, then record it as failed."""
        self.deaths[run.key] += 1
        if self.deaths[run.key] <= RETRIES:
            self.waiting.appendleft(run)
            return
        reason = f"its worker died {self.deaths[run.key]} times ({_cause(code)})"
        with self.store.claim(run.key) as mine:
            if mine:
                self.store.write(Record(run, "failed", reason, {}, versions()), {"seconds": 0.0})
                self.store.discard_scratch(run.key)
        self.settle(run, Outcome(run.key, "failed", reason))


def run(
    plan: Plan,
    folder: str | Path,
    *,
    workers: int | None = None,
    backend: str = "processes",
    retry_failed: bool = False,
    shard: tuple[int, int] | None = None,
    only: dict[str, set[str]] | None = None,
    limit: int | None = None,
    watcher: Watcher | None = None,
) -> Summary:
    """Do the runs of a plan that the folder lacks. Restarted after any interruption, it does exactly the missing ones.

    Several engines may share the folder; none does what another is doing or has done.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers = {workers}; pass at least 1")
    if backend not in ("processes", "ray"):
        raise InputError(f"backend {backend!r}; choose 'processes' or 'ray'")
    task, store = Task.find(plan.task, plan.folder), Store(folder).create()
    chosen = chosen_runs(plan, shard, only)
    kept = store.records()
    missing = [r for r in chosen if r.key not in kept or (retry_failed and kept[r.key].status == "failed")]
    costs = {r.key: _cost(task, r) for r in chosen}
    queue = ordered(missing, costs)[:limit]
    count = min(workers or available_cores(), max(len(queue), 1))
    session = Session(store, costs, watcher, deque(queue))
    if watcher:
        watcher.started(sum(costs[r.key] for r in queue), len(queue), count)
    start = time.monotonic()
    if queue and backend == "ray":
        from .ray_backend import drive as drive_ray

        drive_ray(session, plan, retry_failed, workers)
    elif queue:
        _drive(session, plan, retry_failed, count)
    return summarize(store, chosen, session.performed, time.monotonic() - start)


def chosen_runs(plan: Plan, shard: tuple[int, int] | None, only: dict[str, set[str]] | None) -> list[Run]:
    """The runs that pass the filter, and every n-th of them for a shard `(i, n)`, `i` from 1."""
    wanted = only or {}
    if unknown := sorted(name for name in wanted if not any(name in run.settings for run in plan.runs)):
        raise InputError(f"filter on {unknown[0]!r}, but no run has such a setting; there is {', '.join(plan.axes)}")
    chosen = [run for run in plan.runs if matches(run.settings, wanted)]
    if not chosen:
        raise InputError(f"no run of the plan {plan.name!r} passes the filter")
    if shard is None:
        return chosen
    index, count = shard
    if not 1 <= index <= count:
        raise InputError(f"shard {index}/{count}; the first is 1/{count} and the last {count}/{count}")
    return chosen[index - 1 :: count]


def ordered(runs: list[Run], costs: dict[str, float]) -> list[Run]:
    """Stage by stage, the longest first within each, so that no long run is left for the end."""
    return sorted(runs, key=lambda run: (run.stage, -costs[run.key]))


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cost(task: Task, run: Run) -> float:
    try:
        cost = 1.0 if task.cost is None else float(task.cost(run.settings))
    except Exception as error:
        raise InputError(f"cost({run.settings}) fails: {type(error).__name__}: {error}") from error
    if not (math.isfinite(cost) and cost > 0):
        raise InputError(f"cost({run.settings}) is {cost}; return a positive number")
    return cost


def _drive(session: Session, plan: Plan, again: bool, count: int) -> None:
    """Keep `count` workers busy until nothing is left."""
    start = _starter(session.store.folder, plan, again)
    team = [start() for _ in range(count)]
    try:
        while session.waiting or session.elsewhere or any(worker.run for worker in team):
            if not session.waiting and not any(worker.run for worker in team):
                time.sleep(POLL)
                session.reconsider()
            for worker in team:
                if worker.up and worker.run is None and session.waiting:
                    _give(worker, session.waiting.popleft())
            _listen(session, team)
            for index, worker in enumerate(team):
                if worker.gone:
                    _replace(session, team, index, start)
            if session.watcher:
                running = sum(worker.fraction * session.costs[worker.run.key] for worker in team if worker.run)
                session.watcher.advanced(session.finished, running)
    finally:
        _dismiss(team)


def _starter(folder: Path, plan: Plan, again: bool) -> Callable[[], _Worker]:
    context = multiprocessing.get_context("spawn")

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        arguments = (theirs, folder.resolve(), plan.task, plan.folder, again)
        process = context.Process(target=serve, args=arguments)
        with single_thread():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    return start


def _give(worker: _Worker, run: Run) -> None:
    worker.run, worker.fraction = run, 0.0
    with contextlib.suppress(OSError):  # it is dead, which the caller finds out
        worker.connection.send(run)


def _listen(session: Session, team: list[_Worker]) -> None:
    """Wait for any worker to speak or die, and hear everything that was said."""
    sources = [source for worker in team for source in (worker.connection, worker.process.sentinel)]
    wait(sources, timeout=POLL)
    for worker in team:
        for kind, content in _messages(worker):
            if kind == "stop":
                raise StudyError(content)
            if kind == "up":
                worker.up = True
            elif kind == "progress":
                worker.fraction = min(max(content, 0.0), 1.0)
            elif worker.run is not None:
                run, worker.run = worker.run, None
                session.settle(run, content)


def _messages(worker: _Worker) -> Iterator[tuple[str, Any]]:
    """What a worker has said; one that is dead and has nothing more to say is gone."""
    dead = not worker.process.is_alive()  # asked first: its last words may come in between
    try:
        while worker.connection.poll():
            yield worker.connection.recv()
    except (EOFError, OSError):
        dead = True
    worker.gone = dead


def _replace(session: Session, team: list[_Worker], index: int, start: Callable[[], _Worker]) -> None:
    worker = team[index]
    worker.process.join()
    session.false_starts += not worker.up
    if session.false_starts > RETRIES:
        raise StudyError(
            f"a worker could not start ({_cause(worker.process.exitcode)}); "
            'a script that runs a study needs `if __name__ == "__main__":` around the call'
        )
    if worker.run is not None:
        session.bury(worker.run, worker.process.exitcode)
    worker.connection.close()
    team[index] = start()


def _dismiss(team: list[_Worker]) -> None:
    for worker in team:
        worker.process.terminate()
    for worker in team:
        worker.process.join(2)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()


def _cause(code: int | None) -> str:
    if code is None:
        return "it left no word"
    if code == -9:
        return "signal 9, as when memory runs out"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def summarize(store: Store, chosen: list[Run], performed: int = 0, seconds: float = 0.0) -> Summary:
    """Count what the folder holds of these runs."""
    kept = store.records()
    records = [kept[run.key] for run in chosen if run.key in kept]
    failed = [record.reason for record in records if record.status == "failed"]
    return Summary(
        len(records) - len(failed), len(failed), len(chosen) - len(records), Counter(failed), performed, seconds
    )
