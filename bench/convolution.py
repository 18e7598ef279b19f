"""The S4D layer's SSM part, forward and backward, against the FFT + Vandermonde form of the minimal S4D."""

from functools import partial

import torch
from torch import Tensor

from foretune.nn import S4D

from .measure import Row, fastest, peak_memory

SIZES = [  # (batch, heads, states, length), target ratio
    ((16, 256, 64, 1024), 3.0),
    ((4, 256, 64, 4096), 4.0),
    ((1, 256, 64, 16384), 5.0),
    ((1, 4, 2, 8), 1.0),
    ((8, 16, 4, 32), 1.0),
    ((64, 64, 64, 128), 1.0),
    ((128, 8, 16, 784), 1.0),
    ((2, 2, 64, 997), 1.0),
]
MEMORY_SIZE = (1, 256, 64, 16384)
MEMORY_TARGET = 4.0


def plain(layer: S4D, u: Tensor) -> Tensor:
    """The textbook form: a table of all powers, and FFTs of twice the length."""
    kernel, length = layer.kernel, u.shape[-1]
    dt = kernel.log_dt.exp()
    A = -kernel.log_A_real.exp() + 1j * kernel.A_imag
    dtA = A * dt.unsqueeze(-1)
    C = torch.view_as_complex(kernel.C) * (torch.exp(dtA) - 1) / A
    powers = torch.exp(dtA.unsqueeze(-1) * torch.arange(length))
    k = 2 * torch.einsum("hn,hnl->hl", C, powers).real
    transformed = torch.fft.rfft(u, n=2 * length) * torch.fft.rfft(k, n=2 * length)
    return torch.fft.irfft(transformed, n=2 * length)[..., :length] + u * layer.D.unsqueeze(-1)


def step(form: str, size: tuple[int, int, int, int], layer: S4D | None = None, u: Tensor | None = None) -> None:
    """One forward and backward pass."""
    if layer is None or u is None:
        layer, u = _setup(size)
    y = layer.convolve(u) if form == "fast" else plain(layer, u)
    y.backward(torch.ones_like(y))


def _setup(size: tuple[int, int, int, int]) -> tuple[S4D, Tensor]:
    batch, heads, states, length = size
    torch.manual_seed(0)
    return S4D(heads, states), torch.randn(batch, heads, length, requires_grad=True)


def _error(layer: S4D, u: Tensor) -> float:
    """Largest deviation in float32 from the plain form in float64, relative to the largest output."""
    with torch.no_grad():
        mine = layer.convolve(u)
        exact = plain(layer.double(), u.double())
        layer.float()
    return float((mine - exact).abs().max() / exact.abs().max())


def rows() -> list[Row]:
    table = []
    for size, target in SIZES:
        layer, u = _setup(size)
        error = _error(layer, u)
        rounds = 3 if size[0] * size[1] * size[3] > 10**6 else 8
        sides = {form: partial(step, form, size, layer, u) for form in ("plain", "fast")}
        times = fastest(sides, rounds)
        table.append(
            Row(
                f"convolution (B,H,N,L) = {size}",
                f"{1e3 * times['plain']:.2f} ms",
                f"{1e3 * times['fast']:.2f} ms",
                times["plain"] / times["fast"],
                target,
                f"{error:.1e}",
            )
        )
    memory = {form: peak_memory(partial(step, form, MEMORY_SIZE)) for form in ("plain", "fast")}
    table.append(
        Row(
            f"its peak memory at {MEMORY_SIZE}",
            f"{memory['plain']:.0f} MiB",
            f"{memory['fast']:.0f} MiB",
            memory["plain"] / memory["fast"],
            MEMORY_TARGET,
        )
    )
    return table
