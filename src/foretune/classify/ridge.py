"""Ridge regression on class codes in closed form; leave-one-out errors choose its strength and calibrate it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .product import times_transposed

__all__ = ["LeftOut", "Ridge", "class_targets", "fit_ridge", "leave_one_out", "probabilities", "temperature"]

STRENGTHS = [10.0 ** (k / 2) for k in range(-8, 9)]  # of the mean squared norm of the features
CHOOSING = 1000  # samples at most that choose the strength
BLOCK = 1024  # features at once
SAMPLES = 256  # samples at once
SUMMED = 256  # products summed in the precision of the features


@dataclass(frozen=True, eq=False)
class Ridge:
    """`scores = features @ weights + offset`, one column for each class; `sharpness` calibrates them."""

    weights: Tensor  # (D, d)
    offset: Tensor  # (d,)
    sharpness: float

    def __call__(self, features: Tensor) -> Tensor:
        return torch.cat([part.double() @ self.weights for part in features.split(SAMPLES)]) + self.offset


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The ridge of one strength, and what it says of each training sample without that sample."""

    strength: float  # in units of the mean squared norm of the centred features
    weights: Tensor  # (D, d)
    scores: Tensor  # (P, d)
    error: Tensor  # (P,), squared, mean over classes


def leave_one_out(features: Tensor, targets: Tensor) -> LeftOut:
    """The strength with the smallest mean squared leave-one-out error.

    The errors of all samples come from one factorization for each strength (the hat matrix of a ridge with a free
    offset), and the search goes downhill along the grid from a moderate strength. Beyond `CHOOSING` samples, evenly
    spaced ones choose the strength for all.
    """
    if len(features) > CHOOSING:
        part = torch.linspace(0, len(features) - 1, CHOOSING).round().long()
        chosen = leave_one_out(features[part], targets[part]).strength
        return _search(features, targets, [chosen])
    return _search(features, targets, STRENGTHS)


def _search(features: Tensor, targets: Tensor, strengths: Sequence[float]) -> LeftOut:
    centred = features - features.mean(0)
    dual = len(centred) <= centred.shape[1]
    kernel = _gram(centred if dual else centred.T)
    scale = float(kernel.trace()) / len(centred) or 1.0
    tried: dict[int, LeftOut] = {}

    def at(index: int) -> LeftOut:
        if index not in tried:
            solve = _dual if dual else _primal
            tried[index] = solve(centred, kernel, targets, strengths[index], scale)
        return tried[index]

    def better(index: int, than: int) -> bool:
        return 0 <= index < len(strengths) and bool(at(index).error.mean() < at(than).error.mean())

    here = len(strengths) * 3 // 8  # 0.1 on the whole grid
    step = 1 if better(here + 1, here) else -1
    while better(here + step, here):
        here += step
    best = at(here)
    if dual:
        weights = torch.cat([part.T.double() @ best.weights for part in centred.split(BLOCK, dim=1)])
        return LeftOut(best.strength, weights, best.scores, best.error)
    return best


def _gram(rows: Tensor) -> Tensor:
    """`rows @ rows.T`, added up in float64: the weakest strengths feel what one long float32 sum would round off."""
    kernel = rows.new_zeros(len(rows), len(rows), dtype=torch.float64)
    for part in rows.split(SUMMED, dim=1):
        part = part.contiguous()
        kernel += times_transposed(part, part)
    return kernel


def _dual(centred: Tensor, kernel: Tensor, targets: Tensor, strength: float, scale: float) -> LeftOut:
    """With G = K + αI and centred Y: residuals αG⁻¹Y, leverages 1/P + 1 - α diag G⁻¹; the weights are still dual."""
    alpha = strength * scale
    shifted = kernel.clone()
    shifted.diagonal().add_(alpha)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(shifted))
    weights = inverse @ (targets - targets.mean(0))
    return _judged(strength, weights, targets, alpha * weights, alpha * inverse.diagonal())


def _primal(centred: Tensor, kernel: Tensor, targets: Tensor, strength: float, scale: float) -> LeftOut:
    """With M = AᵀA + αI: weights M⁻¹AᵀY, leverages 1/P + diag A M⁻¹ Aᵀ."""
    shifted = kernel.clone()
    shifted.diagonal().add_(strength * scale)
    root = torch.linalg.cholesky(shifted)
    parts = [part.double() for part in centred.split(SAMPLES)]
    offset = targets.mean(0)
    moment = sum(a.T @ (y - offset) for a, y in zip(parts, targets.split(SAMPLES), strict=True))
    weights = torch.cholesky_solve(moment, root)
    fitted = torch.cat([a @ weights for a in parts]) + offset
    hats = [torch.linalg.solve_triangular(root, a.T, upper=False).square().sum(0) for a in parts]
    return _judged(strength, weights, targets, targets - fitted, 1 - torch.cat(hats))


def _judged(strength: float, weights: Tensor, targets: Tensor, residual: Tensor, free: Tensor) -> LeftOut:
    """A sample's residual without it is its residual over 1 - leverage; `free` lacks the offset's share 1/P of it."""
    left = residual / (free - 1 / len(targets)).clamp(min=1e-9).unsqueeze(1)
    return LeftOut(strength, weights, targets - left, left.square().mean(1))


def fit_ridge(features: Tensor, codes: np.ndarray, classes: int) -> Ridge:
    """The ridge of the strength that leave-one-out prefers, calibrated on the scores of samples left out."""
    targets = class_targets(codes, classes)
    found = leave_one_out(features, targets)
    offset = targets.mean(0) - features.mean(0).double() @ found.weights
    return Ridge(found.weights, offset, temperature(found.scores.numpy(), codes))


def class_targets(codes: np.ndarray, classes: int) -> Tensor:
    """+1 for a sample's class, -1 for the others, `(P, classes)`."""
    return 2 * torch.nn.functional.one_hot(torch.from_numpy(codes), classes).double() - 1


def temperature(scores: np.ndarray, codes: np.ndarray) -> float:
    """The factor on scores that makes their softmax most likely, by golden-section search of its logarithm.

    One right and one wrong sample of unit margin are imagined beside the real ones, so that no finite data says infinity.
    """
    margins = scores - scores[np.arange(len(codes)), codes][:, None]
    other = np.full((2, scores.shape[1]), -np.inf)
    other[:, 0], other[:, 1] = 0.0, (-1.0, 1.0)
    margins = np.concatenate([margins, other])

    def loss(log_factor: float) -> float:
        z = np.exp(log_factor) * margins
        top = z.max(axis=1)
        return float((top + np.log(np.exp(z - top[:, None]).sum(axis=1))).sum())

    low, high = np.log(1e-2), np.log(1e2)
    golden = (5**0.5 - 1) / 2
    for _ in range(40):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))


def probabilities(scores: np.ndarray, sharpness: float) -> np.ndarray:
    """Softmax of `sharpness · scores`, `(P, classes)`."""
    z = sharpness * (scores - scores.max(axis=1, keepdims=True))
    weights = np.exp(z)
    return weights / weights.sum(axis=1, keepdims=True)
