"""The head without gradient training: a bank of fixed filters, and a ridge on what they hear."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor

from ..errors import InputError
from ..spectra import Spectrum, task_spectrum
from .bank import Design, Filters, draw_bank
from .features import FeatureMap, fit_features, joined, mixing
from .ridge import Ridge, class_targets, fit_ridge, leave_one_out

__all__ = ["Evidence", "Init", "KernelHead", "fit_kernel", "place", "usable_spectrum"]

Init = Literal["auto", "default", "task"]
PLACEMENTS = ("default", "task", "both")
PROBE = Design(filters=200)  # the banks that are compared with each other
WEIGHED = 400  # training samples at most that choose between placements
PER_CLASS = 5  # samples for each class at least, before a task's spectrum is asked for by "auto"
DOUBT = 0.01  # chance of leaving the default for nothing


@dataclass(frozen=True)
class Evidence:
    """What chose the placement: leave-one-out squared errors, and each one's advantage in standard errors."""

    chosen: str
    errors: dict[str, float]
    advantages: dict[str, float]


@dataclass(frozen=True, eq=False)
class KernelHead:
    """Features, ridge, and why the filters are where they are."""

    features: FeatureMap
    ridge: Ridge
    evidence: Evidence

    @property
    def sharpness(self) -> float:
        return self.ridge.sharpness

    def __call__(self, X: Tensor) -> Tensor:
        """Scores `(P, classes)` in float64 of sequences `(P, L, C)`."""
        return torch.cat([self.ridge(part) for part in self.features.parts(X)])


def fit_kernel(X: Tensor, codes: np.ndarray, classes: int, init: Init, design: Design, seed: int) -> KernelHead:
    """Fit on `(P, L, C)` with class codes `(P,)`."""
    evidence = place(X, codes, classes, init, seed)
    rng = np.random.default_rng(seed)
    mix = mixing(X.shape[2], rng)
    spectrum = usable_spectrum(X, codes) if evidence.chosen != "default" else None
    features = fit_features(design, _bank(design, X.shape[1], len(mix), rng, evidence.chosen, spectrum), mix, X)
    return KernelHead(features, fit_ridge(features(X), codes, classes), evidence)


def place(X: Tensor, codes: np.ndarray, classes: int, init: Init, seed: int) -> Evidence:
    """Which placement to take: the one asked for where it is possible, or with `"auto"` what small banks say."""
    if init not in get_args(Init):
        raise InputError(f"init is {init!r}; use one of {', '.join(get_args(Init))}")
    if init == "default" or (init == "auto" and len(codes) < PER_CLASS * classes):
        return Evidence("default", {}, {})
    spectrum = usable_spectrum(X, codes)
    if init == "task" or spectrum is None:
        return Evidence("default" if spectrum is None else "task", {}, {})
    return _weigh(X, codes, classes, spectrum, np.random.default_rng([seed, PROBE.filters]))


def _bank(
    design: Design, length: int, sources: int, rng: np.random.Generator, placement: str, spectrum: Spectrum | None
) -> tuple[Filters, ...]:
    """A bank in one of the three placements; `"both"` draws half of its filters in each of the other two."""
    if placement == "default" or spectrum is None:
        return draw_bank(design, length, sources, rng)
    if placement == "task":
        return draw_bank(design, length, sources, rng, spectrum)
    half = replace(design, filters=max(1, design.filters // 2))
    return draw_bank(half, length, sources, rng) + draw_bank(half, length, sources, rng, spectrum)


def usable_spectrum(X: Tensor, codes: np.ndarray) -> Spectrum | None:
    """The task's spectrum on the training samples; None where these say nothing of any frequency but 0."""
    spectrum = task_spectrum(X, codes)
    return spectrum if spectrum.power[1:].sum() > 0 else None


def _weigh(X: Tensor, codes: np.ndarray, classes: int, spectrum: Spectrum, rng: np.random.Generator) -> Evidence:
    """Leave-one-out errors of each placement, on a part of the samples where there are many.

    The default stays unless a paired t-test at the level `DOUBT`, shared by the alternatives, says that another is better:
    with few samples the task's spectrum is noise, and the best of three noisy numbers flatters itself.
    """
    part = np.linspace(0, len(X) - 1, min(len(X), WEIGHED)).round().astype(int)
    mix, targets = mixing(X.shape[2], rng), class_targets(codes, classes)[part]
    banks = [_bank(PROBE, X.shape[1], len(mix), rng, placement, spectrum) for placement in PLACEMENTS[:2]]
    maps = [fit_features(PROBE, bank, mix, X[part]) for bank in banks]
    heard = list(joined(*maps)(X[part]).tensor_split(2, dim=1))
    heard.append(torch.cat([features[:, ::2] for features in heard], dim=1))
    errors = {
        placement: leave_one_out(features, targets).error.numpy()
        for placement, features in zip(PLACEMENTS, heard, strict=True)
    }
    gains = {name: errors["default"] - errors[name] for name in PLACEMENTS[1:]}
    spread = {name: gain.std(ddof=1) / len(gain) ** 0.5 for name, gain in gains.items()}
    advantages = {name: float(gain.mean() / spread[name]) if spread[name] > 0 else 0.0 for name, gain in gains.items()}
    needed = float(stdtrit(len(part) - 1, 1 - DOUBT / len(advantages)))
    best = max(advantages, key=lambda name: advantages[name])
    chosen = best if advantages[best] > needed else "default"
    return Evidence(chosen, {name: float(error.mean()) for name, error in errors.items()}, advantages)
