"""How far a prior's spectrum is from the task's, and from the task's linear part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..init import alignment, model_spectrum, spectral_loss
from ..init.adapters import Parameters
from ..spectra import Spectrum

__all__ = ["Linear", "Mismatch", "linear_part", "mismatch"]

PERMUTATIONS = 20


@dataclass(frozen=True, eq=False)
class Linear:
    """The cross-covariance of input and label, and what permuted labels make of it.

    Attributes:
        C: `(L, channels · d)`.
        permuted: the same with permuted labels, one for each permutation.
        best: no impulse response of unit energy has a higher J: the highest power of C over frequency, over L.
    """

    C: Tensor
    permuted: tuple[Tensor, ...]
    best: float


@dataclass(frozen=True)
class Mismatch:
    """One prior beside the task.

    Attributes:
        name: of the prior.
        loss: L_spec, from 0 for the same shape to 2.
        alignment: J of its impulse response at unit energy, less what permuted labels give, as a share of the best that
            any filter could have; 0 where class means carry no more than permuted labels do.
    """

    name: str
    loss: float
    alignment: float


def linear_part(X: Tensor, Y: Tensor, rng: np.random.Generator) -> Linear:
    """Of sequences `(P, L, C)` and one-hot labels `(P, d)`."""
    centred = (X - X.mean(0)).flatten(1)

    def cross(labels: Tensor) -> Tensor:
        return (centred.T @ (labels - labels.mean(0)) / len(X)).unflatten(0, X.shape[1:]).flatten(1)

    C = cross(Y)
    shuffled = tuple(cross(Y[torch.from_numpy(rng.permutation(len(Y)))]) for _ in range(PERMUTATIONS))
    L = len(C)
    power = torch.fft.rfft(C, n=4 * L, dim=0).abs().square().sum(1)
    return Linear(C, shuffled, float(power.max() / L))


def mismatch(name: str, ssm: Parameters, task: Spectrum, linear: Linear) -> Mismatch:
    """The prior `ssm` beside the task's spectrum and its linear part."""
    measured = model_spectrum(ssm, task.length)
    responses = ssm.impulse_response(task.length).double()
    responses = responses / responses.norm(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    share = 0.0
    if linear.best > 0:
        J = [_mean(responses, C) for C in (linear.C, *linear.permuted)]
        share = max(0.0, J[0] - float(np.mean(J[1:]))) / linear.best
    return Mismatch(name, spectral_loss(measured, task), share)


def _mean(responses: Tensor, C: Tensor) -> float:
    return float(np.mean([alignment(h, C) for h in responses]))
