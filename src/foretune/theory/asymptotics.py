"""What remains of the frequency response in `T_h` at a finite length: deviations that go to 0 as L grows.

Both compare `T_h` with the circulant matrix `C_h` whose eigenvalues are `H(ω_j)`, `ω_j = 2πj/L`. For an absolutely
summable h the two are asymptotically equivalent, `‖T_h - C_h‖_F / √L → 0` (Gray 2006, Lemma 4.6), and so are `T_hᵀ T_h`
and `C_hᵀ C_h`. That bounds means over all modes, not single ones: a few singular values may stay far from every |H(ω_j)|
at any length (`h = [1, 2]` has one of about 2^-L, while |H| ≥ 1), and vectors of neighbouring frequencies mix.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import InputError
from .kernel import as_response, toeplitz_matrix

__all__ = ["fourier_deviation", "grid_response", "singular_value_deviation", "singular_values"]


def singular_values(h: checks.Arrays, L: int) -> np.ndarray:
    """Singular values of `T_h`, largest first, `(L,)`."""
    return torch.linalg.svdvals(toeplitz_matrix(as_response(h).cpu(), checks.as_length(L, "L"))).numpy()


def singular_value_deviation(h: checks.Arrays, L: int) -> float:
    """`√(Σ_j (σ_j - |H|_j)² / Σ_j |H|_j²)` with both sides sorted: 0 where the singular values are the response.

    At most `‖T_h - C_h‖_F / ‖C_h‖_F` (Hoffman and Wielandt), so it vanishes as L grows.

    Args:
        h: impulse response, all of it that matters: `H` is its transform, also beyond L.
        L: sequence length.
    """
    magnitude = np.sort(np.abs(grid_response(as_response(h).cpu(), checks.as_length(L, "L")).numpy()))[::-1]
    return float(np.linalg.norm(singular_values(h, L) - magnitude) / np.linalg.norm(magnitude))


def fourier_deviation(h: checks.Arrays, L: int) -> float:
    """`√(1 - Σ_j ‖T_h f_j‖⁴ / ‖T_hᵀ T_h‖²_F)`, f_j the Fourier vectors: 0 where these are right singular vectors.

    That is the part of `T_hᵀ T_h` that lies off the diagonal in the Fourier basis. It is at most
    `‖T_hᵀ T_h - C_hᵀ C_h‖_F / ‖T_hᵀ T_h‖_F`, so it vanishes as L grows. How well a single singular vector resembles a
    single frequency is not such a measure: within a nearly constant stretch of |H| any mixture will do.
    """
    T = _nonzero(toeplitz_matrix(as_response(h).cpu(), checks.as_length(L, "L")))
    gains = torch.fft.fft(T, dim=1, norm="ortho").abs().square().sum(0)  # ‖T_h f_j‖²
    total = (T.T @ T).square().sum()
    return math.sqrt(max(0.0, float(1 - gains.square().sum() / total)))


def grid_response(response: Tensor, L: int) -> Tensor:
    """`H(2πj/L)` of the whole response, complex `(L,)`: on this grid the response may be folded at L."""
    _nonzero(response)
    folded = torch.nn.functional.pad(response, (0, -len(response) % L)).view(-1, L).sum(0)
    return torch.fft.fft(folded)


def _nonzero(values: Tensor) -> Tensor:
    if not values.any():
        raise InputError("h is 0 at every step, so it has no frequency response to compare with")
    return values
