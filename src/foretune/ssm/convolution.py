"""Impulse responses of diagonal SSMs and causal convolution, without the heads × modes × length table.

The response of mode n is a geometric sequence. Written as t = i·T + j, its powers factor into coarse and fine ones,
aᵗ = (aᵀ)ⁱ · aʲ, so the sum over modes is one matrix product of a `(L/T, N)` with an `(N, T)` table for each head.
"""

import math

import torch
from torch import Tensor

__all__ = ["causal_convolution", "geometric_sum", "transform_length"]

DIRECT_LENGTH = 16  # below this length one plain table is smaller than the two factors


def geometric_sum(coefficients: Tensor, log_ratios: Tensor, length: int) -> Tensor:
    """`2 Re Σ_n c_n exp(t · z_n)` for `t = 0 .. length - 1`.

    Args:
        coefficients: complex `(..., N)`.
        log_ratios: the exponents z, complex `(..., N)`, of the same shape.
        length: L.

    Returns:
        Real `(..., L)`.
    """
    fine = length if length <= DIRECT_LENGTH else 1 << ((length - 1).bit_length() + 1) // 2
    coarse = -(-length // fine)
    fine_re, fine_im = _powers(log_ratios, fine, 1)  # (..., N, T)
    twice = 2 * coefficients
    if coarse == 1:
        re, im = twice.real.unsqueeze(-1), twice.imag.unsqueeze(-1)
    else:
        re, im = _times(_powers(log_ratios, coarse, fine), twice)  # (..., N, L/T)
    left = torch.cat([re, -im], dim=-2).transpose(-1, -2)
    right = torch.cat([fine_re, fine_im], dim=-2)
    return (left @ right).flatten(-2)[..., :length]


def _powers(log_ratios: Tensor, count: int, stride: int) -> tuple[Tensor, Tensor]:
    """Real and imaginary parts of `exp(stride · j · z)`, `j = 0 .. count - 1`.

    Phases reach thousands of radians on long sequences, where float32 has no digits left after the point; they are
    therefore formed in float64 and brought back to one turn first.
    """
    steps = torch.arange(count, device=log_ratios.device, dtype=torch.float64) * stride
    real = log_ratios.real.dtype
    decay = (log_ratios.real.double().unsqueeze(-1) * steps).to(real).exp()
    phase = log_ratios.imag.double().unsqueeze(-1) * steps
    turn = 2 * math.pi
    phase = (phase - turn * (phase.detach() / turn).round()).to(real)
    return decay * phase.cos(), decay * phase.sin()


def _times(powers: tuple[Tensor, Tensor], factor: Tensor) -> tuple[Tensor, Tensor]:
    re, im = powers
    a, b = factor.real.unsqueeze(-1), factor.imag.unsqueeze(-1)
    return re * a - im * b, re * b + im * a


def transform_length(length: int) -> int:
    """The least 2^a·3^b·5^c that holds a causal convolution of this length without wrapping around."""
    target = max(1, 2 * length - 1)
    best = 1 << (target - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            size = three << max(0, (-(-target // three) - 1).bit_length())
            best = min(best, size) if size >= target else best
            three *= 3
        five *= 5
    return best


def causal_convolution(u: Tensor, kernel: Tensor) -> Tensor:
    """`y_t = Σ_{s ≤ t} k_{t-s} u_s` for inputs `(..., L)` and kernels `(..., L)` that broadcast against them."""
    length = u.shape[-1]
    size = transform_length(length)
    transformed = torch.fft.rfft(u, n=size) * torch.fft.rfft(kernel[..., :length], n=size)
    return torch.fft.irfft(transformed, n=size)[..., :length]
