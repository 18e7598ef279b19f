"""What both priors are expected to make of the task: learning curves from theory, and a readout tried on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .. import theory
from ..ssm import RealSSM
from .priors import readout_kernel, states, unit_factors

__all__ = ["Curve", "HeldOut", "held_out", "predicted_curve"]

RIDGES = np.logspace(-5, 1, 13)
SIZES = 9


@dataclass(frozen=True, eq=False)
class Curve:
    """Expected squared error of kernel ridge regression after `sizes` samples; 1 is what guessing the classes' shares makes."""

    sizes: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True, eq=False)
class HeldOut:
    """One prior on samples that its readout has not seen: squared error (1: guessing), and which samples it gets right."""

    errors: np.ndarray
    hits: np.ndarray

    @property
    def accuracy(self) -> float:
        """Share of the samples that it gets right."""
        return float(self.hits.mean())

    @property
    def error(self) -> float:
        """Mean squared error; 1 is guessing."""
        return float(self.errors.mean())


def predicted_curve(ssm: RealSSM, X: Tensor, Y: Tensor, sizes: np.ndarray) -> Curve:
    """The theory's learning curve for the SSM kernel and a free constant, on these samples' own moments.

    The power of the target on a mode is what the samples show less what labels without any relation would show, `V / (P - 1)`,
    taken over blocks of modes that double in width: mode by mode, cutting off at 0 would let half of the noise through.
    What no mode explains counts as noise. At each size the best ridge counts.

    Args:
        ssm: the prior; its loudness does not matter, since the ridge goes with it.
        X: sequences `(P, L, C)`; the kernel of several channels is the mean of theirs.
        Y: one-hot labels `(P, d)`.
        sizes: numbers of training samples.
    """
    P, L, _ = X.shape
    h = ssm.impulse_response(L)[0]
    kernel = torch.stack([theory.gram(h, channel) for channel in (X - X.mean(0)).unbind(-1)]).mean(0)
    eta, vectors = (part.flip(-1) for part in torch.linalg.eigh(kernel / P))
    centred = Y - Y.mean(0)
    seen = (vectors.T @ centred).square().sum(1) / P
    total = float(centred.square().sum() / P)
    power = _without_chance(seen.numpy(), total / max(1, P - 1))
    noise = max(0.0, total - power.sum())
    values = eta.clamp(min=0).numpy()
    scale = values.sum() or 1.0
    errors = [
        theory.learning_curve(values / scale, power, sizes=sizes, ridge=ridge, noise=noise, offset=noise)
        for ridge in RIDGES
    ]
    return Curve(np.asarray(sizes), np.min(errors, axis=0) / total)


def _without_chance(seen: np.ndarray, chance: float) -> np.ndarray:
    """Target power without the `chance` that every mode shows, block by block."""
    power = np.empty_like(seen)
    start, width = 0, 1
    while start < len(seen):
        block = slice(start, start + width)
        power[block] = max(0.0, float(seen[block].mean()) - chance)
        start, width = start + width, 2 * width
    return power


def held_out(ssm: RealSSM, X: Tensor, Y: Tensor, test: np.ndarray) -> HeldOut:
    """Fit the readout's kernel on the other samples with the ridge that its own leave-one-out error asks for.

    Args:
        ssm: the prior before its gains.
        X: sequences `(P, L, C)`.
        Y: one-hot labels `(P, d)`.
        test: which samples are held out, `(P,)`.
    """
    held = torch.from_numpy(test)
    F = states(ssm, X)
    F = F * unit_factors(F[~held], X.shape[2])
    train, other, labels = F[~held], F[held], Y[~held]
    mean = labels.mean(0)
    weights = _ridge(readout_kernel(train, train), labels - mean)
    scores = readout_kernel(other, train) @ weights + mean
    guess = float((labels - mean).square().sum(1).mean())
    errors = (scores - Y[held]).square().sum(1) / guess
    return HeldOut(errors.numpy(), (scores.argmax(1) == Y[held].argmax(1)).numpy())


def _ridge(kernel: Tensor, targets: Tensor) -> Tensor:
    """Weights `(P, d)` of kernel ridge regression with the best leave-one-out error."""
    values, vectors = torch.linalg.eigh(kernel)
    rotated, squares = vectors.T @ targets, vectors.square()
    scale = values.clamp(min=0).mean() * len(values)
    best, found = float("inf"), torch.zeros_like(targets)
    for ridge in RIDGES:
        inverse = 1 / (values.clamp(min=0) + ridge * scale)
        weights = vectors @ (inverse[:, None] * rotated)
        loss = float((weights / (squares @ inverse)[:, None]).square().mean())
        if loss < best:
            best, found = loss, weights
    return found
