"""The head without gradient training: a bank of fixed filters, and a ridge on what they hear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..spectra import Spectrum, task_spectrum
from .bank import Design, Filters, draw_bank
from .features import FeatureMap, fit_features, mixing
from .ridge import Ridge, class_targets, fit_ridge, leave_one_out

__all__ = ["Evidence", "Init", "KernelHead", "fit_kernel", "usable_spectrum"]

Init = Literal["auto", "default", "task"]
WEIGHED = 512  # training samples at most that choose between placements
LEAST = 2.0  # standard errors by which another placement must beat the default


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
        return self.ridge(self.features(X))


def fit_kernel(X: Tensor, codes: np.ndarray, classes: int, init: Init, design: Design, seed: int) -> KernelHead:
    """Fit on `(P, L, C)` with class codes `(P,)`."""
    if init not in get_args(Init):
        raise InputError(f"init is {init!r}; use one of {', '.join(get_args(Init))}")
    rng = np.random.default_rng(seed)
    mix = mixing(X.shape[2], rng)
    banks = _banks(design, X, codes, len(mix), rng, init)
    if len(banks) == 1:
        evidence = Evidence(next(iter(banks)), {}, {})
    else:
        evidence = _weigh(design, banks, mix, X, codes, classes)
    features = fit_features(design, banks[evidence.chosen], mix, X)
    return KernelHead(features, fit_ridge(features(X), codes, classes), evidence)


def _banks(
    design: Design, X: Tensor, codes: np.ndarray, sources: int, rng: np.random.Generator, init: Init
) -> dict[str, tuple[Filters, ...]]:
    """The candidates, each of about as many filters; `"both"` takes half of the filters of the other two."""
    found = {}
    if init != "task":
        found["default"] = draw_bank(design, X.shape[1], sources, rng)
    spectrum = usable_spectrum(X, codes) if init != "default" else None
    if spectrum is not None:
        found["task"] = draw_bank(design, X.shape[1], sources, rng, spectrum)
    if len(found) == 2:
        found["both"] = tuple(half for bank in found.values() for filters in bank for half in filters.halved())
    return found or {"default": draw_bank(design, X.shape[1], sources, rng)}


def usable_spectrum(X: Tensor, codes: np.ndarray) -> Spectrum | None:
    """The task's spectrum on the training samples; None where these say nothing of any frequency but 0."""
    spectrum = task_spectrum(X, codes)
    return spectrum if spectrum.power[1:].sum() > 0 else None


def _weigh(
    design: Design,
    banks: dict[str, tuple[Filters, ...]],
    mix: Tensor,
    X: Tensor,
    codes: np.ndarray,
    classes: int,
) -> Evidence:
    """Leave-one-out errors of each placement, on a part of the samples where there are many.

    The default stays unless another beats it by `LEAST` standard errors of the difference: with few samples the task's
    spectrum is noise, and the best of three noisy numbers flatters itself.
    """
    part = np.linspace(0, len(X) - 1, min(len(X), WEIGHED)).round().astype(int)
    targets = class_targets(codes, classes)[part]
    errors = {}
    for name, bank in banks.items():
        features = fit_features(design, bank, mix, X[part])
        errors[name] = leave_one_out(features(X[part]), targets).error.numpy()
    gains = {name: errors["default"] - error for name, error in errors.items() if name != "default"}
    spread = {name: gain.std(ddof=1) / len(gain) ** 0.5 for name, gain in gains.items()}
    advantages = {name: float(gain.mean() / spread[name]) if spread[name] > 0 else 0.0 for name, gain in gains.items()}
    best = max(advantages, key=lambda name: advantages[name])
    chosen = best if advantages[best] > LEAST else "default"
    return Evidence(chosen, {name: float(error.mean()) for name, error in errors.items()}, advantages)
