"""Impulse responses of diagonal SSMs, without the heads × modes × length table of powers.

The response of one mode is a geometric sequence. With t = i·T + j its powers factor into coarse and fine ones,
aᵗ = (aᵀ)ⁱ · aʲ, so the sum over modes is one product of an `(L/T, 2N)` with a `(2N, T)` table for each head, and so is
its gradient.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .values import full_precision

__all__ = ["geometric_sum"]

TINY = 1 << 9  # up to this size a backward pass of our own costs more than it saves
SMALL = 1 << 14  # up to this size one whole table is cheaper than two factors


def geometric_sum(coefficients: Tensor, exponents: Tensor, length: int) -> Tensor:
    """`2 Re Σ_n c_n exp(t z_n)` for `t = 0 .. length - 1`.

    Args:
        coefficients: c, complex `(H, N)`.
        exponents: z, complex `(H, N)`.
        length: L.

    Returns:
        Real `(H, L)`.
    """
    with full_precision(exponents):
        if exponents.numel() * length <= TINY:
            table = torch.exp(exponents.unsqueeze(-1) * torch.arange(length, device=exponents.device))
            return 2 * (coefficients.unsqueeze(1) @ table).real.squeeze(1)
        form = _TableSum if exponents.numel() * length <= SMALL else _FactoredSum
        response: Tensor = form.apply(coefficients, exponents, length)
        return response


class _TableSum(torch.autograd.Function):
    """With one table of all powers: for small sizes, where every operation counts."""

    @staticmethod
    def forward(ctx: Any, c: Tensor, z: Tensor, length: int) -> Tensor:
        steps = torch.arange(length, device=z.device, dtype=torch.float64)
        table = torch.exp(z.to(torch.complex128).unsqueeze(-1) * steps).to(z.dtype)  # (H, N, L)
        ctx.save_for_backward(c, table)
        return torch.bmm(c.unsqueeze(1), table).real.squeeze(1) * 2

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (gradient,) = gradients
        c, table = ctx.saved_tensors
        steps = torch.arange(table.shape[-1], dtype=gradient.dtype, device=gradient.device)
        both = torch.stack([gradient, gradient * steps], dim=-1).to(table.dtype)  # (H, L, 2)
        sums = torch.bmm(table, both).mul_(2)  # (H, N, 2): 2 S and 2 S', see below
        return sums[..., 0].conj_physical(), (c * sums[..., 1]).conj_physical_(), None


class _FactoredSum(torch.autograd.Function):
    """With coarse and fine powers."""

    @staticmethod
    def forward(ctx: Any, c: Tensor, z: Tensor, length: int) -> Tensor:
        fine = 1 << ((length - 1).bit_length() + 1) // 2
        coarse = -(-length // fine)
        right = _powers(z, fine, 1)  # (H, 2N, T)
        left = _powers(z, coarse, fine)  # (H, 2N, L/T)
        ctx.save_for_backward(c, left, right)
        ctx.length = length
        re, im = left.chunk(2, dim=-2)
        a, b = 2 * c.real.unsqueeze(-1), 2 * c.imag.unsqueeze(-1)
        weighted = torch.cat([re * a - im * b, -(re * b + im * a)], dim=-2)
        return (weighted.transpose(-1, -2) @ right).flatten(-2)[..., :length].contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """With S = Σ_t g_t aᵗ and S' = Σ_t t g_t aᵗ, the gradients are 2 S̄ for c and 2 (c S')‾ for z."""
        (gradient,) = gradients
        c, left, right = ctx.saved_tensors
        coarse, fine = left.shape[-1], right.shape[-1]
        padded = torch.nn.functional.pad(gradient, (0, coarse * fine - ctx.length)).unflatten(-1, (coarse, fine))
        with full_precision(gradient):
            plain = padded @ right.transpose(-1, -2)  # (H, L/T, 2N)
        for_c = for_z = None
        if ctx.needs_input_grad[0]:
            for_c = 2 * _contract(left, plain).conj_physical()
        if ctx.needs_input_grad[1]:
            j = torch.arange(fine, dtype=right.dtype, device=right.device)
            i = torch.arange(coarse, dtype=right.dtype, device=right.device) * fine
            with full_precision(gradient):
                moment = (padded * j) @ right.transpose(-1, -2) + plain * i.unsqueeze(-1)
            for_z = 2 * (c * _contract(left, moment)).conj_physical()
        return for_c, for_z, None


def _contract(left: Tensor, partial: Tensor) -> Tensor:
    """`Σ_i left_i · partial_i` as complex numbers, `(H, N)`; real parts first, then imaginary ones."""
    a, b = left.chunk(2, dim=-2)  # (H, N, L/T)
    x, y = partial.transpose(-1, -2).chunk(2, dim=-2)
    return torch.complex((a * x - b * y).sum(-1), (a * y + b * x).sum(-1))


def _powers(z: Tensor, count: int, stride: int) -> Tensor:
    """`exp(stride · j · z)` for `j = 0 .. count - 1`, real parts over imaginary ones, `(H, 2N, count)`.

    Phases reach thousands of radians on long sequences, where float32 has no digits left after the point; they are
    therefore formed in float64 and brought back to one turn first.
    """
    steps = torch.arange(count, device=z.device, dtype=torch.float64).mul_(stride)
    wide = z.to(torch.complex128).unsqueeze(-1)
    decay = (wide.real * steps).to(z.real.dtype).exp_()
    turns = (wide.imag * (0.5 / math.pi)) * steps
    phase = turns.sub_(turns.round()).mul_(2 * math.pi).to(z.real.dtype)
    return torch.cat([phase.cos().mul_(decay), phase.sin().mul_(decay)], dim=-2)
