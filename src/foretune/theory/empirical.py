"""The kernel's eigensystem on a sample, by work on L×L matrices: P is never squared unless it is smaller than L."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from .. import checks
from ..errors import InputError
from .eigensystem import EPS, as_targets
from .kernel import as_response, as_samples, filtered

__all__ = ["EmpiricalEigensystem", "agreement", "empirical_eigensystem"]


@dataclass(frozen=True, eq=False)
class EmpiricalEigensystem:
    """`K = P Φ Λ Φᵀ` of the Gram matrix of P samples, largest eigenvalue first.

    Attributes:
        eigenvalues: the diagonal of Λ, `(min(P, L),)`; the other eigenvalues of the Gram matrix are 0.
        eigenfunctions: `√P Φ`, `(P, min(P, L))`, orthonormal under the empirical distribution; a column is 0 where the
            eigenvalue is.
    """

    eigenvalues: np.ndarray
    eigenfunctions: np.ndarray

    @property
    def eigenvectors(self) -> np.ndarray:
        """Φ: the unit eigenvectors of the Gram matrix, as columns."""
        return self.eigenfunctions / math.sqrt(len(self.eigenfunctions))

    @property
    def rank(self) -> int:
        """How many eigenvalues are above rounding."""
        return int(np.count_nonzero(self.eigenvalues))

    def target_power(self, Y: checks.Arrays) -> np.ndarray:
        """Squared weights of the targets `(P,)` or `(P, d)` of the same samples on each mode."""
        targets = as_targets(Y, "Y", len(self.eigenfunctions)).numpy()
        return np.square(targets.T @ self.eigenfunctions / len(targets)).sum(0)


def empirical_eigensystem(h: checks.Arrays, U: checks.Arrays) -> EmpiricalEigensystem:
    """Eigenvalues and eigenfunctions of the Gram matrix of the sequences `(P, L)`, divided by P.

    The Gram matrix `F Fᵀ` and the moment `Fᵀ F` have the same eigenvalues, and the eigenvectors of one give those of the
    other. Eigenvalues below the rounding of that product are 0.
    """
    samples = as_samples(U)
    P, L = samples.shape
    mapped = filtered(as_response(h), samples)
    moment = (mapped.T @ mapped if P >= L else mapped @ mapped.T) / (P * L)
    values, vectors = (part.flip(-1) for part in torch.linalg.eigh(moment))
    values[values <= max(P, L) * EPS * values[0]] = 0
    if P >= L:
        scale = torch.where(values > 0, (L * values).rsqrt(), 0)  # a unit vector w becomes F w / √Λ
        functions = mapped @ (vectors * scale)
    else:
        functions = vectors * math.sqrt(P) * (values > 0)
    return EmpiricalEigensystem(values.cpu().numpy(), functions.cpu().numpy())


def agreement(predicted: checks.Arrays, measured: checks.Arrays, neighbours: int = 0) -> np.ndarray:
    """How far two sets of eigenfunctions agree: for each mode a number from 0 to 1, whatever its sign.

    It is the length of the projection of the measured function on the predicted one of the same place; with
    `neighbours`, on the span of that one and as many before and after it. Functions whose eigenvalues are close mix with
    one another in any finite sample, while their span does not.

    Args:
        predicted: `(P, M)`, such as `Eigensystem.functions(U)`.
        measured: `(P, M')`, such as `EmpiricalEigensystem.eigenfunctions`.
        neighbours: how many modes on each side count as the same.

    Returns:
        `(min(M, M'),)`. A function that is 0 agrees with nothing.
    """
    left, right = as_samples(predicted, "predicted"), as_samples(measured, "measured")
    if len(left) != len(right):
        raise InputError(f"predicted has {len(left)} rows and measured {len(right)}; evaluate both at the same samples")
    if neighbours < 0:
        raise InputError(f"neighbours is {neighbours}; it must be at least 0")
    modes = min(left.shape[1], right.shape[1])
    columns = _unit(right[:, :modes])
    if neighbours == 0:
        return (_unit(left[:, :modes]) * columns).sum(0).abs().clamp(max=1).cpu().numpy()
    found = left.new_empty(modes)
    for mode in range(modes):
        span = left[:, max(0, mode - neighbours) : mode + neighbours + 1]
        found[mode] = (torch.linalg.qr(_unit(span))[0].T @ columns[:, mode]).norm()
    return found.clamp(max=1).cpu().numpy()


def _unit(functions: torch.Tensor) -> torch.Tensor:
    norm = functions.norm(dim=0)
    return functions * torch.where(norm > 0, 1 / norm, 0)
