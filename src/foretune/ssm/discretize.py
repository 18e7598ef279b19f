"""From continuous time to steps: zero-order hold and the bilinear rule, for diagonal and for dense state matrices."""

from typing import Literal

import torch
from torch import Tensor

from ..errors import InputError

__all__ = ["RULES", "Rule", "dense", "diagonal"]

Rule = Literal["zoh", "bilinear"]
RULES = ("zoh", "bilinear")


def diagonal(dt: Tensor, A: Tensor, rule: Rule = "zoh") -> tuple[Tensor, Tensor]:
    """`(log Ā, factor)` with `B̄ = factor · B`, elementwise over modes; `dt` broadcasts against `A`."""
    z = dt * A
    if rule == "zoh":
        return z, dt * _expm1_ratio(z)
    if rule == "bilinear":
        return torch.log((1 + z / 2) / (1 - z / 2)), dt / (1 - z / 2)
    raise InputError(f"discretization is {rule!r}; use one of {RULES}")


def _expm1_ratio(z: Tensor) -> Tensor:
    """`(eᶻ - 1) / z`, which is 1 at 0, for complex z; `expm1` keeps the digits that the subtraction would lose."""
    small = z.abs() < 1e-7
    safe = torch.where(small, torch.ones_like(z), z)
    return torch.where(small, 1 + z / 2, torch.expm1(safe) / safe)


def dense(dt: Tensor, A: Tensor, B: Tensor, rule: Rule = "zoh") -> tuple[Tensor, Tensor]:
    """`(Ā, B̄)` of a dense system `A` `(N, N)`, `B` `(N,)`."""
    n = A.shape[-1]
    if rule == "zoh":
        # One exponential of [[A, B], [0, 0]] gives both, also where A is singular.
        block = torch.cat([torch.cat([A, B.unsqueeze(-1)], dim=-1), A.new_zeros(1, n + 1)])
        stepped = torch.linalg.matrix_exp(dt * block)
        return stepped[:n, :n], stepped[:n, n]
    if rule == "bilinear":
        eye = torch.eye(n, dtype=A.dtype, device=A.device)
        solved = torch.linalg.solve(eye - dt / 2 * A, torch.cat([eye + dt / 2 * A, (dt * B).unsqueeze(-1)], -1))
        return solved[:, :n], solved[:, n]
    raise InputError(f"discretization is {rule!r}; use one of {RULES}")
