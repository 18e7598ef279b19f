"""The eigenvalues and eigenfunctions of the SSM-induced kernel, from the SVD of `T_h` or of `T_h Σ^{1/2}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import InputError
from .kernel import as_response, as_samples, toeplitz_matrix

__all__ = ["Eigensystem", "as_targets", "cross_moment", "eigensystem", "second_moment"]

EPS = torch.finfo(torch.float64).eps


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """`K(u, u') = Σ_ρ η_ρ φ_ρ(u) φ_ρ(u')`, largest η first; the φ are orthonormal under the input's distribution.

    Attributes:
        eigenvalues: η `(L,)`.
        eigenvectors: right singular vectors as columns `(L, L)`, in whitened coordinates.
        directions: columns `(L, L)` with `φ_ρ(u) = directions[:, ρ]·u`; the eigenvectors where the input is white.
    """

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    directions: np.ndarray

    @property
    def rank(self) -> int:
        """How many eigenvalues are above rounding."""
        return int(np.count_nonzero(self.eigenvalues))

    def functions(self, U: checks.Arrays) -> np.ndarray:
        """Eigenfunctions at the sequences `(P, L)`: `(P, L)`, one column for each mode."""
        samples = as_samples(U, "U", len(self.eigenvalues))
        return (samples.cpu() @ torch.from_numpy(self.directions)).numpy()

    def target_power(self, C: checks.Arrays) -> np.ndarray:
        """Squared target weights `w̄²_ρ = Σ_j φ_ρ(C_j)²`, `(L,)`, from the cross moment `C = E[u Yᵀ]`, `(L,)` or `(L, d)`."""
        columns = as_targets(C, "C", len(self.eigenvalues))
        return (columns.T @ torch.from_numpy(self.directions)).square().sum(0).numpy()


def eigensystem(h: checks.Arrays, L: int, covariance: checks.Arrays | None = None) -> Eigensystem:
    """The kernel's eigensystem for sequences of length L: `η = σ(T_h Σ^{1/2})² / L`.

    Args:
        h: impulse response; values beyond L do not matter, a shorter one is taken to end there.
        L: sequence length.
        covariance: Σ = E[u uᵀ] `(L, L)` (see `second_moment`); the identity, so whitened input, where it is not given.

    Eigenvalues that are lost in the rounding of the SVD are 0.
    """
    operator = toeplitz_matrix(as_response(h).cpu(), checks.as_length(L, "L"))
    inverse = None
    if covariance is not None:
        root, inverse = _roots(_as_covariance(covariance, len(operator)))
        operator = operator @ root
    _, singular, V = torch.linalg.svd(operator)
    singular[singular <= L * EPS * singular[0]] = 0
    vectors = V.T.contiguous()
    directions = vectors if inverse is None else inverse @ vectors
    return Eigensystem((singular.square() / L).numpy(), vectors.numpy(), directions.numpy())


def second_moment(U: checks.Arrays) -> np.ndarray:
    """`E[u uᵀ]` `(L, L)`: the covariance where the sequences are centred, and what Mercer's theorem asks for in any case."""
    samples = as_samples(U)
    return (samples.T @ samples / len(samples)).cpu().numpy()


def cross_moment(U: checks.Arrays, Y: checks.Arrays) -> np.ndarray:
    """`E[u Yᵀ]` `(L, d)` of sequences `(P, L)` and real targets `(P,)` or `(P, d)`."""
    samples = as_samples(U)
    return (samples.T @ as_targets(Y, "Y", len(samples)).to(samples.device) / len(samples)).cpu().numpy()


def as_targets(Y: Any, name: str, rows: int) -> Tensor:
    """Real values as float64 `(rows, d)`, all finite."""
    values = Y if isinstance(Y, Tensor) else np.asarray(Y)
    columns = values[:, None] if values.ndim == 1 else values
    if columns.ndim != 2 or len(columns) != rows:
        raise InputError(f"{name} has shape {tuple(values.shape)}; pass ({rows},) or ({rows}, d)")
    return checks.as_batch(columns, name)[:, :, 0].cpu()


def _as_covariance(covariance: Any, L: int) -> Tensor:
    matrix = as_samples(covariance, "covariance").cpu()
    if matrix.shape != (L, L):
        raise InputError(f"covariance has shape {tuple(matrix.shape)}; pass ({L}, {L})")
    if (matrix - matrix.T).abs().max() > 1e-8 * matrix.abs().max():
        raise InputError("covariance is not symmetric; pass E[u uᵀ], such as second_moment(U)")
    return (matrix + matrix.T) / 2


def _roots(covariance: Tensor) -> tuple[Tensor, Tensor]:
    """`Σ^{1/2}` and its pseudo-inverse."""
    values, Q = torch.linalg.eigh(covariance)
    if values[0] < -1e-8 * values[-1].abs():
        raise InputError(f"covariance has the eigenvalue {values[0].item():.3g}; it must not have any below 0")
    kept = values > len(values) * EPS * values[-1]
    root = torch.where(kept, values, 0).sqrt()
    inverse = torch.where(kept, 1 / root, 0)
    return Q * root @ Q.T, Q * inverse @ Q.T
