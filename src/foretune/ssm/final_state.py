"""The state of a linear recurrence after a whole sequence, in O(log L) matrix products and without a loop over time."""

import torch
from torch import Tensor

__all__ = ["final_state", "krylov"]


def krylov(A: Tensor, b: Tensor, length: int) -> Tensor:
    """`[b, A b, A² b, …]` as `(N, length)`, by doubling: from the first m columns, times A^m, come the next m."""
    columns, power = b.unsqueeze(-1), A
    while columns.shape[-1] < length:
        missing = length - columns.shape[-1]
        columns = torch.cat([columns, power @ columns[:, :missing]], dim=-1)
        if columns.shape[-1] < length:
            power = power @ power
    return columns


def final_state(u: Tensor, A: Tensor, b: Tensor) -> Tensor:
    """`h_L` of `h_t = A h_{t-1} + b u_t` from `h_0 = 0`, `(B, N)`, for inputs `(B, L)`.

    The last input has met A no times, the first L-1 times, so `h_L = Σ_t A^{L-1-t} b u_t`.
    """
    return u.flip(-1) @ krylov(A, b, u.shape[-1]).T
