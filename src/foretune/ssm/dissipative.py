"""Matrices whose systems lose energy whatever their entries: how a recurrence is kept from exploding."""

import torch
from torch import Tensor

__all__ = ["contraction", "dissipative", "generator_of", "nearest_dissipative"]


def dissipative(generator: Tensor) -> Tensor:
    """`A = (U - Uᵀ) - K Kᵀ` from one square matrix, U being its part above the diagonal and K the rest.

    `A + Aᵀ = -2 K Kᵀ` has no positive eigenvalue, so the state of `x' = A x` never grows, and neither does that of its
    bilinear discretization at any step: that has spectral norm at most 1.
    """
    upper, lower = generator.triu(1), generator.tril()
    return upper - upper.T - lower @ lower.T


def contraction(generator: Tensor) -> Tensor:
    """The bilinear step `(I - A/2)⁻¹ (I + A/2)` of the dissipative A of a generator: spectral norm at most 1."""
    A, eye = dissipative(generator), torch.eye(len(generator), dtype=generator.dtype, device=generator.device)
    return torch.linalg.solve(eye - A / 2, eye + A / 2)


def nearest_dissipative(A: Tensor) -> Tensor:
    """The closest matrix, by Frobenius norm, whose symmetric part has no positive eigenvalue."""
    skew, damping = _parts(A)
    return skew - damping


def generator_of(W: Tensor) -> Tensor:
    """A generator whose contraction is `W`, or the one of the nearest dissipative system where `W` is not one.

    `W` must not turn by exactly π per step, which no bilinear step does.
    """
    eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
    A = 2 * torch.linalg.solve(W + eye, W - eye)
    skew, damping = _parts(A, floor=1e-12)  # Cholesky wants strictly positive eigenvalues
    return skew.triu(1) + torch.linalg.cholesky(damping)


def _parts(A: Tensor, floor: float = 0.0) -> tuple[Tensor, Tensor]:
    """The skew part, and minus the symmetric part with its eigenvalues at least `floor` times the largest."""
    values, vectors = torch.linalg.eigh((A + A.T) / -2)
    least = floor * max(1.0, float(values.abs().max()))
    return (A - A.T) / 2, (vectors * values.clamp(min=least)) @ vectors.T
