"""The same engine over a ray cluster. Its machines share the folder of the study; ray is imported only here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DependencyMissing
from .plan import Plan, Run, Task
from .store import Store
from .worker import Outcome, perform, single_thread

if TYPE_CHECKING:
    from .engine import Session

__all__ = ["drive"]


def drive(session: Session, plan: Plan, again: bool, workers: int | None) -> None:
    """Keep the cluster's cores busy, one for each run, until nothing is left."""
    try:
        import ray
    except ImportError as error:
        raise DependencyMissing("the ray backend needs ray: pip install 'foretune[ray]'") from error
    if not ray.is_initialized():
        with single_thread():
            ray.init(num_cpus=workers, log_to_driver=False)
    remote = ray.remote(num_cpus=1, max_retries=0)(_perform)
    slots = int(ray.cluster_resources().get("CPU", 1))
    running: dict = {}
    while session.waiting or session.elsewhere or running:
        if not session.waiting and not running:
            time.sleep(1.0)
            session.reconsider()
        while session.waiting and len(running) < slots:
            run = session.waiting.popleft()
            running[remote.remote(session.store.folder.resolve(), run, plan.folder, again)] = run
        over, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
        for reference in over:
            run = running.pop(reference)
            try:
                session.settle(run, ray.get(reference))
            except ray.exceptions.RayTaskError as error:  # a full disk and the like, not the run's own failure
                raise error.cause from error
            except ray.exceptions.RayError:
                session.bury(run, None)
        if session.watcher:
            session.watcher.advanced(session.finished, 0.0)


def _perform(folder: Path, run: Run, plan_folder: Path | None, again: bool) -> Outcome:
    return perform(Store(folder), Task.find(run.task, plan_folder), run, again)
