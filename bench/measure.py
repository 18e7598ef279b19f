"""How everything here is timed: both sides take turns in one process, and the fastest of several rounds counts."""

import gc
import multiprocessing
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Row", "fastest", "peak_memory"]


TURN = 0.05


@dataclass(frozen=True)
class Row:
    """One line of the table: what was compared, and whether the ratio reaches its target."""

    what: str
    slow: str
    fast: str
    ratio: float
    target: float
    error: str = ""

    @property
    def good(self) -> bool:
        return self.ratio >= self.target


def fastest(sides: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Seconds of each side: the fastest of several rounds in which the sides alternate, each for `TURN` seconds."""
    best = dict.fromkeys(sides, float("inf"))
    number = {name: max(1, int(TURN / _seconds(side, 1))) for name, side in sides.items()}
    for _ in range(rounds):
        for name, side in sides.items():
            best[name] = min(best[name], _seconds(side, number[name]) / number[name])
    return best


def _seconds(side: Callable[[], object], number: int) -> float:
    gc.collect()
    side()  # the caches that the other side left are nobody's fault
    start = time.perf_counter()
    for _ in range(number):
        side()
    return time.perf_counter() - start


def peak_memory(work: Callable[[], object]) -> float:
    """MiB that the work adds to the peak memory of a fresh process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_watch, args=(work, queue))
    process.start()
    added: float = queue.get()
    process.join()
    return added


def _watch(work: Callable[[], object], queue: "multiprocessing.Queue[float]") -> None:
    import torch

    torch.fft.rfft(torch.ones(64))  # the libraries' own start-up belongs to neither side
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew (Linux)
    before = _high_water()
    work()
    queue.put(_high_water() - before)


def _high_water() -> float:
    """Peak resident memory so far in MiB; `getrusage` would still remember the parent's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
