"""Matrices whose systems lose energy whatever their entries: how a recurrence is kept from exploding."""

import torch
from torch import Tensor

__all__ = ["dissipative", "generator_of"]


def dissipative(generator: Tensor) -> Tensor:
    """`A = (U - Uᵀ) - K Kᵀ` from one square matrix, U being its part above the diagonal and K the rest.

    `A + Aᵀ = -2 K Kᵀ` has no positive eigenvalue, so the state of `x' = A x` never grows, and neither does that of its
    bilinear discretization at any step: that has spectral norm at most 1.
    """
    upper, lower = generator.triu(1), generator.tril()
    return upper - upper.T - lower @ lower.T


def generator_of(A: Tensor) -> Tensor:
    """A generator of `A`, or of the nearest dissipative matrix where `A` is not one."""
    skew, symmetric = (A - A.T) / 2, (A + A.T) / 2
    values, vectors = torch.linalg.eigh(-symmetric)
    floor = 1e-12 * max(1.0, float(values.abs().max()))  # Cholesky wants strictly positive values
    damping = (vectors * values.clamp(min=floor)) @ vectors.T
    return skew.triu(1) + torch.linalg.cholesky(damping)
