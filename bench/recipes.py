"""The recipes of the deep study on this machine: seconds of a step, peak memory, and the hours of the whole.

`python -m bench.recipes [--profile compact] [--device cuda] [--steps 20] [--set bf16=true] [data set ...]`: needs no data,
its inputs are random.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from foretune.datasets import Dataset, Split, registry
from foretune.datasets.listops import VOCABULARY
from foretune.nn.optim import parameter_groups
from foretune.study import Plan, deep, training

from .measure import peak_memory

__all__ = ["Measured", "measure", "random_data"]

ARM = "tdi+gain"  # does everything that an arm may do before training


@dataclass(frozen=True)
class Measured:
    """Seconds of one batch in training and in evaluation, of an arm's preparation per batch, and MiB at the peak."""

    training: float
    evaluation: float
    preparation: float
    memory: float

    def hours(self, runs: Sequence[Mapping[str, Any]]) -> float:
        """What these runs take."""
        seconds = 0.0
        for settings in runs:
            trained, tested = deep.passes(settings)
            prepared = trained / settings["epochs"] * (settings["arm"] != "default")
            seconds += trained * self.training + tested * self.evaluation + prepared * self.preparation
        return seconds / 3600


def random_data(name: str, samples: int, seed: int = 0) -> Dataset:
    """Random inputs and labels in a data set's shape."""
    entry, rng = registry.find(name), np.random.default_rng(seed)
    y = np.arange(samples) % entry.classes
    if "listops" in entry.name:
        lengths = rng.integers(entry.length // 4, entry.length + 1, samples)
        tokens = rng.integers(1, len(VOCABULARY), (samples, entry.length), dtype=np.int16)
        split = Split(tokens, y, lengths)
    else:
        split = Split(rng.standard_normal((samples, entry.length), dtype=np.float32), y)
    words = VOCABULARY if split.lengths is not None else ()
    return Dataset(name, split, None, split, tuple(range(entry.classes)), entry.length, 1, "random", words)


def measure(settings: Mapping[str, Any], steps: int, device: torch.device) -> Measured:
    """A few real steps of a recipe, after two that do not count."""
    data = random_data(settings["dataset"], steps * settings["batch"])
    warm = random_data(settings["dataset"], 2 * settings["batch"])
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    torch.manual_seed(0)
    deep.build(settings, warm, device)
    model, preparation = _timed(lambda: deep.build(settings, data, device)[0], device)
    groups = parameter_groups(model, settings["lr"], settings["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=settings["lr"])

    def train(part: Split) -> float:
        return training.one_epoch(model, optimizer, part, np.arange(len(part)), settings, device)

    def test(part: Split) -> tuple[float, float]:
        return training.evaluate(model, part, settings, device)

    train(warm.train)
    one = _timed(lambda: train(data.train), device)[1]
    test(warm.train)
    evaluation = _timed(lambda: test(data.train), device)[1]
    memory = torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else 0.0
    return Measured(one / steps, evaluation / steps, preparation / steps, memory)


def _timed(work: Any, device: torch.device) -> tuple[Any, float]:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    result = work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - start


def _once(settings: Mapping[str, Any]) -> None:
    measure(settings, 2, torch.device("cpu"))


def _recipes(plan: Plan, profile: str) -> dict[str, list[dict[str, Any]]]:
    """The runs of a profile by data set; without any profile, all runs."""
    found: dict[str, list[dict[str, Any]]] = {}
    for run in plan.runs:
        if run.settings.get("profile", profile) == profile:
            found.setdefault(run.settings["dataset"], []).append(run.settings)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="data sets; all of the plan by default")
    parser.add_argument("--plan", default="deep")
    parser.add_argument("--profile", default="paper")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], help="a setting to change, such as bf16=true")
    options = parser.parse_args()
    plan, device = Plan.load(options.plan), torch.device(options.device)
    changes = {name: json.loads(value) for name, _, value in (text.partition("=") for text in options.set)}
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    title = f"{plan.name} on {kind}, {options.steps} steps each {' '.join(options.set)}"
    table = Table(
        "recipe", "ms a step", "ms a test batch", "ms of TDI a batch", "peak MiB", "runs", "hours", title=title
    )
    console, whole = Console(width=130), 0.0
    for name, runs in _recipes(plan, options.profile).items():
        if options.names and name not in options.names:
            continue
        chosen = {**next(settings for settings in runs if settings["arm"] == ARM), **changes}
        found = measure(chosen, options.steps, device)
        memory = found.memory or peak_memory(partial(_once, chosen))
        hours = found.hours([{**settings, **changes} for settings in runs])
        whole += hours
        times = (f"{1e3 * value:.1f}" for value in (found.training, found.evaluation, found.preparation))
        table.add_row(name, *times, f"{memory:.0f}", str(len(runs)), f"{hours:.1f}")
        console.print(f"{name}: {1e3 * found.training:.1f} ms a step, {memory:.0f} MiB, {hours:.1f} h")
    console.print(table)
    console.print(f"{whole:.1f} hours in all on one such device")


if __name__ == "__main__":
    main()
