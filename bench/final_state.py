"""The final state of a one-layer SSM, forward and backward, against a loop over time."""

from functools import partial

import torch
from torch import Tensor

from foretune.ssm.final_state import final_state

from .measure import Row, fastest

BATCH, LENGTH, STATES = 128, 784, 128


def loop(u: Tensor, A: Tensor, b: Tensor) -> Tensor:
    """`h_t = A h_{t-1} + b u_t`, one step at a time."""
    h = torch.zeros(len(u), len(b), dtype=u.dtype)
    for t in range(u.shape[1]):
        h = h @ A.T + u[:, t : t + 1] * b
    return h


def step(form: str, u: Tensor, A: Tensor, b: Tensor) -> None:
    A.grad = b.grad = None
    h = final_state(u, A, b) if form == "fast" else loop(u, A, b)
    h.square().sum().backward()


def rows() -> list[Row]:
    torch.manual_seed(0)
    u = torch.randn(BATCH, LENGTH)
    A = torch.linalg.qr(torch.randn(STATES, STATES))[0].mul(0.99).requires_grad_()
    b = torch.randn(STATES, requires_grad=True)
    with torch.no_grad():
        exact = loop(u.double(), A.double(), b.double())
        error = float((final_state(u, A, b) - exact).abs().max() / exact.abs().max())
    times = fastest({form: partial(step, form, u, A, b) for form in ("loop", "fast")})
    return [
        Row(
            f"final state (B,L,N) = {(BATCH, LENGTH, STATES)}",
            f"{1e3 * times['loop']:.1f} ms",
            f"{1e3 * times['fast']:.2f} ms",
            times["loop"] / times["fast"],
            30.0,
            f"{error:.1e}",
        )
    ]
