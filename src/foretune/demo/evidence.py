"""What the demo knows beside its runs: the diagnoses, how each arm starts, and the gains with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..diagnosis import Diagnosis, diagnose
from ..init import model_spectrum, spectral_loss
from ..spectra import Spectrum
from ..study import Plan, deep
from ..study.rows import Row, Table
from ..study.statistics import Interval, bootstrap, paired
from . import tasks

__all__ = [
    "CLAIMS",
    "HELPED",
    "Claim",
    "Gain",
    "Start",
    "claims",
    "diagnosed",
    "gains",
    "happened",
    "interval",
    "labels",
    "middle",
    "signed",
    "starts",
    "word",
]

HELPED = 1.0  # points of a mean gain that count as help, as in the calibration of the verdict


@dataclass(frozen=True)
class Claim:
    """A pair of arms, what sets them apart, and the same at the head of a sentence."""

    arm: str
    baseline: str
    what: str
    subject: str

    def __str__(self) -> str:
        return f"{self.arm} over {self.baseline}"


CLAIMS = (
    Claim("tdi+gain", "default+gain", "tuning", "At equal loudness, tuning to the task"),
    Claim("default+gain", "default", "control", "The control alone, a first layer of unit variance,"),
    Claim("tdi", "default", "published", "Tuning as published"),
)


@dataclass(frozen=True)
class Gain:
    """Differences of matched runs of one task: their mean and its interval, in points, and how many there are."""

    mean: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Start:
    """A model before training: how loud its state-space layer is on the samples, and what it listens to."""

    deviation: float  # of what the layer adds to its skip
    spectrum: Spectrum
    loss: float  # L_spec


def claims(rows: Iterable[Row]) -> list[Claim]:
    """The pairs of which both arms have finished runs."""
    there = {row.arm for row in rows if row.status == "done"}
    return [claim for claim in CLAIMS if {claim.arm, claim.baseline} <= there]


def labels(ratio: float) -> int:
    """How many labelled sequences a fraction stands for."""
    return max(1, round(ratio * tasks.TRAIN))


def gains(rows: Iterable[Row], claim: Claim) -> dict[str, Gain]:
    """For each task, over all its matched runs (same labels, same seed): percentile bootstrap of the mean."""
    rows, found = list(rows), {}
    for task in dict.fromkeys(row.dataset for row in rows):
        deltas = []
        for seed in dict.fromkeys(row.seed for row in rows):
            matched = (row for row in rows if (row.dataset, row.seed) == (task, seed))
            deltas += [100 * delta for delta in paired(matched, claim.arm, claim.baseline, "final_acc").values()]
        if deltas:
            known: Interval = bootstrap(deltas)
            found[task] = Gain(known.mean, known.low, known.high, len(deltas))
    return found


def word(gain: Gain) -> str:
    """What the interval says."""
    if gain.low > 0:
        return "helped"
    return "hurt" if gain.high < 0 else "unclear"


def signed(points: float) -> str:
    """With its sign, and none for what rounds to 0."""
    rounded = round(points, 1)
    return f"{rounded:+.1f}" if rounded else "0.0"


def interval(gain: Gain) -> str:
    """A mean and its interval."""
    if math.isnan(gain.low):
        return f"{signed(gain.mean)} (one pair of runs)"
    return f"{signed(gain.mean)} [{signed(gain.low)}, {signed(gain.high)}]"


@contextmanager
def one_thread() -> Iterator[None]:
    """Many small steps only wait for each other on more than one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_thread()
def diagnosed(task: str, ratio: float, seed: int) -> Diagnosis:
    """The diagnosis of the very sequences that the runs of this fraction and seed learn from."""
    train = tasks.load(task).subset(ratio, seed).train
    return diagnose(np.asarray(train.X), train.y, sampling_rate=tasks.TASKS[task].sampling_rate)


@one_thread()
def starts(plan: Plan, found: Mapping[tuple[str, float], Diagnosis], seed: int) -> dict[tuple[str, str], Start]:
    """Every arm of each task before training, on the middle one of its fractions."""
    measured = {}
    for run in plan.runs:
        settings = run.settings
        task, ratio = settings["dataset"], middle(found, settings["dataset"])
        if (settings["ratio"], settings["seed"]) == (ratio, seed):
            measured[task, settings["arm"]] = _start(settings, found[task, ratio].spectrum)
    return measured


def middle(found: Mapping[tuple[str, float], Diagnosis], task: str) -> float:
    """The fraction that stands for a task in pictures."""
    ratios = sorted(ratio for name, ratio in found if name == task)
    return ratios[len(ratios) // 2]


def _start(settings: Mapping[str, Any], task: Spectrum) -> Start:
    data = tasks.load(settings["dataset"]).subset(settings["ratio"], settings["seed"])
    torch.manual_seed(settings["seed"])
    model, _ = deep.build(settings, data, torch.device("cpu"))
    (layer,) = model.layers
    with torch.no_grad():
        heard = model.heard(torch.as_tensor(np.asarray(data.train.X)))
        added = layer.convolve(heard) - layer.D.unsqueeze(-1) * heard
        deviation = math.sqrt(float(added.var((0, 2)).mean()))
        spectrum = model_spectrum(model, data.length)
    return Start(deviation, spectrum, float(spectral_loss(spectrum, task)))


def happened(table: Table, task: str, ratio: float) -> Gain | None:
    """What tuning the controlled model came to at one fraction; the interval is over its seeds."""
    return gains([row for row in table.rows if row.ratio == ratio], CLAIMS[0]).get(task)
