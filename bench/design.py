"""How the classifier's filters were chosen: on training splits and generated tasks alone, never on a test split.

`python -m bench.design` (with the data sets in FORETUNE_DATA, where they are at hand) compares the bank that is used with
banks that differ in one setting: mean accuracy on what is left of each training split beside small parts of it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import mean

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import foretune as ft
from foretune.classify.bank import Design
from foretune.classify.kernel import fit_kernel

SEEDS = (1, 2)
LEFT = 200  # sequences at most that are classified in each cell
VARIANTS: dict[str, dict[str, object]] = {
    "as used, default placement": {},
    "1000 filters, 4 thresholds": {"filters": 1000, "thresholds": 4},
    "500 filters": {"filters": 500},
    "one mode": {"modes": (1, 1)},
    "up to 5 modes": {"modes": (1, 5)},
    "up to 64 cycles": {"cycles": (0.5, 64.0)},
    "decay 4": {"decay": 4.0},
    "no peaks": {"peak": 0.0},
    "no energies": {"energy": 0.0},
    "ramp 1": {"ramp": 1.0},
    "placed by the task": {"init": "task"},
    "placed by evidence": {"init": "auto"},
}


@dataclass(frozen=True)
class Cell:
    """A small training part, and sequences of the same split to classify."""

    group: str
    X: np.ndarray
    y: np.ndarray
    left_X: np.ndarray
    left_y: np.ndarray


def cells() -> Iterator[Cell]:
    """UCR training splits at the ratios 0.01, 0.04 and 0.16, and generated tasks of the same sizes."""
    for name in ("ecg5000", "forda", "fordb", "twopatterns", "wafer"):
        if ft.datasets.at_hand(name):
            train = ft.datasets.load(name).train
            yield from _parts("UCR training splits", np.asarray(train.X), train.y, (0.01, 0.04, 0.16))
    for X, y in (ft.datasets.binary_frequency(800, 3), ft.datasets.frequency_classification(800, 3, 512), shapes(800)):
        yield from _parts("generated", X, y, (0.025, 0.1, 0.2))


def _parts(group: str, X: np.ndarray, y: np.ndarray, ratios: tuple[float, ...]) -> Iterator[Cell]:
    for ratio in ratios:
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(len(y))
            P = round(ratio * len(y))
            kept, left = order[:P], order[P:][:LEFT]
            if len(np.unique(y[kept])) > 1:
                yield Cell(group, X[kept], y[kept], X[left], y[left])


def shapes(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """A half wave, a rising or a falling ramp, somewhere in noise."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(0, 0.35, (samples, 128)), rng.integers(0, 3, samples)
    for row, label in zip(X, y, strict=True):
        width = int(rng.uniform(0.15, 0.35) * 128)
        start, u = rng.integers(0, 128 - width), np.linspace(0, 1, width)
        row[start : start + width] += rng.uniform(0.7, 1.5) * (np.sin(np.pi * u), u, 1 - u)[label]
    return X.astype(np.float32), y


def accuracy(cell: Cell, seed: int, settings: dict[str, object]) -> float:
    options = dict(settings)
    init = options.pop("init", "default")
    classes, codes = np.unique(cell.y, return_inverse=True)
    X, left = (torch.from_numpy(part)[:, :, None] for part in (cell.X, cell.left_X))
    head = fit_kernel(X, codes, len(classes), init, replace(Design(), **options), seed)  # type: ignore[arg-type]
    return 100 * float(np.mean(classes[head(left).argmax(1).numpy()] == cell.left_y))


def main() -> int:
    torch.set_num_threads(1)
    everything = list(cells())
    groups = list(dict.fromkeys(cell.group for cell in everything))
    table = Table("bank", *groups, title="mean accuracy in percent, by cross-validation within training splits")
    for name, settings in VARIANTS.items():
        found = [accuracy(cell, i, settings) for i, cell in enumerate(everything)]
        means = (mean(a for a, cell in zip(found, everything, strict=True) if cell.group == g) for g in groups)
        table.add_row(name, *(f"{value:.1f}" for value in means))
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
