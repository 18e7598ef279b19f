"""The default modes of the literature, as plain tensors, and what the default S4D hears (the paper's frequency bias)."""

import math

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError

__all__ = [
    "bandwidth",
    "bandwidth_probability",
    "biased_heads",
    "count",
    "fourier",
    "inv",
    "legs",
    "lin",
    "random_heads",
]

Steps = tuple[float, float] | float


def count(state: int) -> int:
    """How many complex modes `state` states are."""
    if not isinstance(state, int | np.integer) or state < 2 or state % 2:
        raise InputError(f"state is {state}; it counts modes with their conjugates, so it must be even and at least 2")
    return state // 2


def lin(state: int) -> Tensor:
    """S4D-Lin: `-1/2 + iπn`, complex128 `(N/2,)`."""
    return _damped(math.pi * np.arange(count(state)))


def inv(state: int) -> Tensor:
    """S4D-Inv: `-1/2 + i (N/π)(N/(2n+1) - 1)`."""
    return _damped(state / math.pi * (state / (2 * np.arange(count(state)) + 1) - 1))


def legs(state: int) -> Tensor:
    """S4D-LegS: eigenvalues with positive imaginary part of `A + p pᵀ`, A the HiPPO-LegS matrix, `p_n = √(n + 1/2)`.

    That sum is `-1/2` times the identity plus a skew-symmetric matrix, so its eigenvalues are `-1/2 + i w`.
    """
    root = np.sqrt(1 + 2 * np.arange(state))
    skew = -0.5 * (np.tril(np.outer(root, root), -1) - np.triu(np.outer(root, root), 1))
    w = np.linalg.eigvalsh(1j * skew)
    return _damped(np.sort(w[w > 0])[: count(state)])


def _damped(imaginary: np.ndarray) -> Tensor:
    return torch.from_numpy(-0.5 + 1j * imaginary)


def random_heads(heads: int, modes: int, seed: int, dt: Steps) -> tuple[Tensor, Tensor]:
    """Log-uniform time steps `(H,)` and complex normal output weights `(H, modes)`."""
    _check_heads(heads)
    low, high = (dt, dt) if isinstance(dt, float | int) else dt
    if not 0 < low <= high < math.inf:
        raise InputError(f"dt is {dt}; pass one step above 0, or (smallest, largest)")
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(heads, generator=generator, dtype=torch.float64)
    steps = torch.exp(math.log(low) + uniform * (math.log(high) - math.log(low)))
    return steps, torch.randn(heads, modes, generator=generator, dtype=torch.complex128)


def _check_heads(heads: int) -> None:
    if not isinstance(heads, int | np.integer) or heads < 1:
        raise InputError(f"heads is {heads!r}; there must be at least one")


def biased_heads(heads: int, first: int, modes: int, seed: int) -> tuple[Tensor, Tensor]:
    """`Im A = π {first, first + 1, …}` for each head, `(H, modes)`, and real normal output weights `(H, modes)`."""
    _check_heads(heads)
    C = torch.randn(heads, modes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.pi * torch.arange(first, first + modes, dtype=torch.float64).repeat(heads, 1), C


def fourier(state: int) -> tuple[Tensor, Tensor]:
    """HiPPO `foud` `(A, B)`, real `(N, N)` and `(N,)`: rotations at 2πn with the damping of S4D, one pair of states each."""
    pairs = count(state)
    B = torch.zeros(state, dtype=torch.float64)
    B[0::2] = math.sqrt(2)
    B[0] = 1.0
    A = -0.5 * torch.eye(state, dtype=torch.float64)
    even = torch.arange(0, state, 2)
    omega = 2 * math.pi * torch.arange(pairs, dtype=torch.float64)
    A[even, even + 1], A[even + 1, even] = -omega, omega
    return A, B


def bandwidth(dt: Tensor, state: int = 64) -> Tensor:
    """`ω_n / π` of the fastest mode of S4D-Lin, `Δ · ⌊N/2⌋` (Theorem on the location of the extrema, ω = Δ Im A)."""
    return dt * (state // 2)


def bandwidth_probability(limit: float, state: int = 64, dt: tuple[float, float] = (1e-3, 1e-1)) -> float:
    """P(ω_n / π < limit) of a default S4D head, whose Δ is log-uniform in `dt`."""
    low, high = (math.log(step * (state // 2)) for step in dt)
    return min(1.0, max(0.0, (math.log(limit) - low) / (high - low)))
