"""What a study says: spreads over seeds, regimes of data, paired improvements with bootstrap intervals.

Pure functions of rows. Failed runs never enter; every number carries the count that it rests on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .rows import Row

__all__ = [
    "Interval",
    "Spread",
    "bootstrap",
    "by_dataset",
    "by_ratio",
    "cells",
    "overall",
    "paired",
    "regime",
    "regimes",
]

RESAMPLES = 10_000
RANDOM_STATE = 111
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Spread:
    """A mean and its standard deviation (of the sample: n - 1); NaN for a single value."""

    mean: float
    std: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Of at least one value."""
        array = np.array(list(values), dtype=np.float64)
        return cls(float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else float("nan"), len(array))


@dataclass(frozen=True)
class Interval:
    """A mean over clusters and its 95 % interval; NaN bounds for a single cluster."""

    mean: float
    low: float
    high: float
    clusters: int


def regime(ratio: float, low: float) -> str:
    """Which regime a ratio belongs to."""
    return "low" if ratio <= low + 1e-9 else "high"


def cells(rows: Iterable[Row], measure: str) -> dict[tuple[str, float, str], Spread]:
    """Mean and spread over the seeds, for each data set, ratio and arm."""
    values = _grouped(
        ((row.dataset, row.ratio, row.arm), getattr(row, measure)) for row in rows if row.status == "done"
    )
    return {key: Spread.of(group) for key, group in values.items()}


def regimes(spreads: Mapping[tuple[str, float, str], Spread], low: float) -> dict[tuple[str, str, str], Spread]:
    """Mean over the ratios of a regime after averaging seeds, for each data set, regime and arm.

    The standard deviation is that of all its runs. So is the paper's, although its captions speak of ratio means.
    """
    groups: dict[tuple[str, str, str], list[Spread]] = defaultdict(list)
    for (dataset, ratio, arm), cell in spreads.items():
        groups[dataset, regime(ratio, low), arm].append(cell)
    return {key: _pooled(group) for key, group in groups.items()}


def _pooled(group: list[Spread]) -> Spread:
    counts = np.array([cell.count for cell in group])
    means = np.array([cell.mean for cell in group])
    within = sum((cell.count - 1) * cell.std**2 for cell in group if cell.count > 1)
    between = float((counts * (means - np.average(means, weights=counts)) ** 2).sum())
    freedom = counts.sum() - 1
    std = float(np.sqrt((within + between) / freedom)) if freedom else float("nan")
    return Spread(float(means.mean()), std, len(group))


def paired(rows: Iterable[Row], arm: str, baseline: str, measure: str) -> dict[tuple[str, float], float]:
    """Mean difference over the seeds that both arms have, for each data set and ratio."""
    found: dict[tuple[str, float, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        value = getattr(row, measure)
        if row.status == "done" and value is not None and row.arm in (arm, baseline):
            found[row.dataset, row.ratio, row.seed][row.arm] = value
    both = (((d, ratio), pair[arm] - pair[baseline]) for (d, ratio, _), pair in found.items() if len(pair) == 2)
    return {key: float(np.mean(group)) for key, group in _grouped(both).items()}


def by_ratio(deltas: Mapping[tuple[str, float], float]) -> dict[float, Interval]:
    """Improvement at each ratio, with the data sets as clusters."""
    groups = _grouped((ratio, delta) for (_, ratio), delta in deltas.items())
    return {ratio: bootstrap(groups[ratio]) for ratio in sorted(groups)}


def by_dataset(deltas: Mapping[tuple[str, float], float], low: float, where: str = "low") -> dict[str, Interval]:
    """Improvement on each data set within a regime, with the ratios as clusters."""
    groups = _grouped((d, delta) for (d, ratio), delta in deltas.items() if regime(ratio, low) == where)
    return {dataset: bootstrap(group) for dataset, group in groups.items()}


def overall(deltas: Mapping[tuple[str, float], float], low: float, where: str = "low") -> Interval | None:
    """Improvement over all data sets within a regime, with the data sets as clusters; None without any."""
    groups = by_dataset(deltas, low, where)
    return bootstrap([interval.mean for interval in groups.values()]) if groups else None


def bootstrap(values: Iterable[float], seed: int = RANDOM_STATE) -> Interval:
    """Percentile bootstrap of a mean over clusters."""
    array = np.array(list(values), dtype=np.float64)
    if len(array) < 2:
        return Interval(float(array.mean()), float("nan"), float("nan"), len(array))
    from scipy.stats import bootstrap as resampled

    random = np.random.default_rng(seed)
    found = resampled((array,), np.mean, n_resamples=RESAMPLES, method="percentile", random_state=random)
    bounds = found.confidence_interval
    return Interval(float(array.mean()), float(bounds.low), float(bounds.high), len(array))


def _grouped(pairs: Iterable[tuple[Key, float | None]]) -> dict[Key, list[float]]:
    groups: dict[Key, list[float]] = defaultdict(list)
    for key, value in pairs:
        if value is not None:
            groups[key].append(value)
    return dict(groups)
