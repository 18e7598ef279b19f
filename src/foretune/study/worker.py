"""One run, from its settings to its file; and the process that does one after another."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection, wait
from multiprocessing.process import parent_process
from pathlib import Path
from typing import Any

import torch

from ..errors import ForetuneError, StudyError
from .plan import Run, Task
from .store import Record, Store, is_full, strict

__all__ = ["Outcome", "perform", "serve", "single_thread", "versions"]

THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class Outcome:
    """What became of one run: done, failed, busy (someone else does it) or ready (someone else has done it)."""

    key: str
    status: str
    reason: str = ""
    seconds: float = 0.0


def versions() -> dict[str, str]:
    """What a result may depend on beside its settings."""
    from .. import __version__  # not yet there while foretune itself is imported

    found = {"foretune": __version__, "python": platform.python_version()}
    found["platform"] = f"{platform.system()} {platform.machine()}"
    for name in ("torch", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    if torch.cuda.is_available():
        found["accelerator"] = torch.cuda.get_device_name()
    return found


def perform(
    store: Store, task: Task, run: Run, again: bool = False, progress: Callable[[float], None] | None = None
) -> Outcome:
    """Do one run and keep its result, unless it is there already or someone else is at it.

    With `again`, a failed result does not count as being there.
    """
    with store.claim(run.key) as mine:
        if not mine:
            return Outcome(run.key, "busy")
        kept = store.read(run.key)
        if kept is not None and not (again and kept.status == "failed"):
            return Outcome(run.key, "ready" if kept.status == "done" else "failed", kept.reason)
        started, clock = datetime.now(timezone.utc), time.perf_counter()
        record, trace = _record(store, task, run, progress)
        seconds = time.perf_counter() - clock
        timing: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "started": started.isoformat(timespec="seconds"),
            "worker": os.getpid(),
        }
        store.write(record, {**timing, "traceback": trace} if trace else timing)
        store.discard_scratch(run.key)
        return Outcome(run.key, record.status, record.reason, seconds)


def _record(store: Store, task: Task, run: Run, progress: Callable[[float], None] | None) -> tuple[Record, str]:
    """The result of calling the task, or why there is none, and the traceback of the latter."""
    extras: dict[str, Any] = {"progress": progress} if "progress" in task.accepts else {}
    if "scratch" in task.accepts:
        extras["scratch"] = store.scratch(run.key)
    try:
        result = task.function(dict(run.settings), **extras)
        if not isinstance(result, Mapping):
            raise TypeError(f"the task returned a {type(result).__name__}; return a dictionary")
        clean, reason = strict(result)
    except Exception as error:
        if isinstance(error, StudyError):
            raise
        if is_full(error):  # the machine's failure, not the run's: nothing is recorded
            raise StudyError(f"{error}; every finished run is kept, make room and start again to go on") from error
        text = " ".join(str(error).split())
        reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return Record(run, "failed", reason, {}, versions()), traceback.format_exc()
    return Record(run, "failed" if reason else "done", reason, clean, versions()), ""


@contextlib.contextmanager
def single_thread() -> Iterator[None]:
    """Processes started inside compute with one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def serve(connection: Connection, folder: Path, task_name: str, plan_folder: Path | None, again: bool) -> None:
    """The life of a worker: take a run, do it, say so; end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _one_thread()
        store, task = Store(folder), Task.find(task_name, plan_folder)
        connection.send(("up", None))
        while (run := connection.recv()) is not None:
            connection.send(("outcome", perform(store, task, run, again, _Reporter(connection))))
    except (EOFError, BrokenPipeError):
        return
    except (ForetuneError, OSError) as error:
        with contextlib.suppress(OSError):
            connection.send(("stop", str(error)))


class _Reporter:
    """Passes a run's progress on, at most twice a second."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.last = time.monotonic()

    def __call__(self, fraction: float) -> None:
        now = time.monotonic()
        if now - self.last >= 0.5:
            self.last = now
            with contextlib.suppress(OSError):
                self.connection.send(("progress", float(fraction)))


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
