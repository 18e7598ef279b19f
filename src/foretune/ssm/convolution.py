"""Causal convolution of many sequences with one kernel for each head.

The FFT form, done in blocks of heads that fit the cache, with a backward pass of its own: three transforms instead of the
full-size complex ones that automatic differentiation of a real FFT falls back to.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .values import full_precision

__all__ = ["causal_convolution", "transform_length"]

BLOCK = 1 << 20  # transformed values in flight at once on a CPU
TINY = 1 << 8  # up to this many inputs a plain product is faster than any transform
SMALL = 1 << 12  # below this many inputs the bookkeeping of blocks costs more than it saves


@cache
def transform_length(length: int) -> int:
    """The least 2^a·3^b·5^c (for short ones: 2^a) that holds a causal convolution of this length without wrapping."""
    target = max(1, 2 * length - 1)
    best = 1 << (target - 1).bit_length()
    five = 1 if best > 128 else best
    while five < best:
        three = five
        while three < best:
            best = min(best, three << max(0, (-(-target // three) - 1).bit_length()))
            three *= 3
        five *= 5
    return best


def causal_convolution(u: Tensor, kernel: Tensor) -> Tensor:
    """`y_t = Σ_{s ≤ t} k_{t-s} u_s` for inputs `(..., H, L)` and kernels `(H, L)`, or any `(..., L)` that broadcast."""
    if kernel.ndim == 2 and u.ndim >= 2 and u.shape[-2:] == kernel.shape and u.numel() > SMALL:
        result: Tensor = _HeadwiseConvolution.apply(u.reshape(-1, *kernel.shape), kernel)
        return result.view(u.shape)
    length = u.shape[-1]
    if u.numel() <= TINY:
        rows = torch.nn.functional.pad(kernel, (length - 1, 0)).unfold(-1, length, 1)  # (..., L, L): k_{t-L+1} .. k_t
        with full_precision(u):
            return (rows @ u.flip(-1).unsqueeze(-1)).squeeze(-1)
    size = transform_length(length)
    transformed = torch.fft.rfft(u, n=size) * torch.fft.rfft(kernel, n=size)
    return torch.fft.irfft(transformed, n=size)[..., :length]


def _blocks(u: Tensor, size: int) -> list[slice]:
    batch, heads, _ = u.shape
    width = heads if u.device.type != "cpu" else max(1, BLOCK // (batch * size))
    return [slice(start, start + width) for start in range(0, heads, width)]


class _HeadwiseConvolution(torch.autograd.Function):
    """`(B, H, L)` with `(H, L)`."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, kernel: Tensor) -> Tensor:
        length, size = u.shape[-1], transform_length(u.shape[-1])
        ctx.save_for_backward(u, kernel)
        y = torch.empty_like(u)
        for part in _blocks(u, size):
            transformed = torch.fft.rfft(u[:, part], n=size).mul_(torch.fft.rfft(kernel[part], n=size))
            y[:, part] = torch.fft.irfft(transformed, n=size)[..., :length]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """A convolution's adjoint is a correlation: the other factor's transform, conjugated."""
        (gradient,) = gradients
        u, kernel = ctx.saved_tensors
        length, size = u.shape[-1], transform_length(u.shape[-1])
        for_u = torch.empty_like(u) if ctx.needs_input_grad[0] else None
        for_kernel = torch.empty_like(kernel) if ctx.needs_input_grad[1] else None
        for part in _blocks(u, size):
            transformed = torch.fft.rfft(gradient[:, part], n=size)
            if for_kernel is not None:
                product = torch.fft.rfft(u[:, part], n=size).conj_physical_().mul_(transformed).sum(0)
                for_kernel[part] = torch.fft.irfft(product, n=size)[..., :length]
            if for_u is not None:
                transformed.mul_(torch.fft.rfft(kernel[part], n=size).conj_physical_())
                for_u[:, part] = torch.fft.irfft(transformed, n=size)[..., :length]
        return for_u, for_kernel
