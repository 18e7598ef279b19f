"""The last state of a tanh recurrence on a CPU, at less than half the time of `torch.nn.RNN`.

Three things make it fast: all steps live in one buffer that holds the projected input and is overwritten in place; tanh is
written as a sigmoid, `tanh(z) = 2σ(2z) - 1`, with the factors folded into the weights, since torch's sigmoid is several
times faster than its tanh; and the backward pass stops where the gradient has vanished below what float32 can add.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["tanh_final_state"]

VANISHED = 1e-12  # of the gradient at the end: far below one rounding of the sums that it would enter
BLOCK = 64  # steps held at once when no gradient is wanted
LOOK = 16  # steps between two looks at the size of the gradient


def tanh_final_state(u: Tensor, W_in: Tensor, W: Tensor, bias: Tensor) -> Tensor:
    """`h_L` of `h_t = tanh(W_in u_t + W h_{t-1} + bias)` from 0, `(B, H)`, for inputs `(B, L)` and `W_in` `(H,)`."""
    state: Tensor = _FinalState.apply(u, W_in, W, bias)
    return state


class _FinalState(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, W_in: Tensor, W: Tensor, bias: Tensor) -> Tensor:
        inputs = u.T.contiguous()  # (L, B)
        keep = any(ctx.needs_input_grad)
        gates = _gates(inputs, W_in, W, bias) if keep else None
        last = gates[-1] if gates is not None else _last_gate(inputs, W_in, W, bias)
        ctx.save_for_backward(inputs, W_in, W, gates)
        return 2 * last - 1

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, W_in, W, gates = ctx.saved_tensors
        slopes, first = _backward_through_time(gates, W, grads[0])
        before = 2 * gates[max(first - 1, 0) : -1] - 1  # h_{t-1} for the steps that still have a gradient
        steps = slopes[len(slopes) - len(before) :].flatten(0, 1)
        dW = steps.T @ before.flatten(0, 1)
        reached = slopes.flatten(0, 1)
        dW_in, d_bias = reached.T @ inputs[first:].flatten(), reached.sum(0)
        du = None
        if ctx.needs_input_grad[0]:
            du = torch.zeros_like(inputs)
            du[first:] = slopes @ W_in
            du = du.T
        return du, dW_in, dW, d_bias


def _gates(inputs: Tensor, W_in: Tensor, W: Tensor, bias: Tensor, before: Tensor | None = None) -> Tensor:
    """`σ_t = (h_t + 1) / 2` for all steps, `(L, B, H)`, after the gate `before`, which is 1/2 where h is 0.

    What enters the sigmoid is `2 (W_in u + bias) - 2 W 1`, plus `4 W` times the gate before.
    """
    constant, recurrent = 2 * bias - 2 * W.sum(-1), (4 * W.T).contiguous()
    gates = torch.addmm(constant, inputs.reshape(-1, 1), 2 * W_in.unsqueeze(0)).unflatten(0, inputs.shape)
    if before is None:
        before = torch.full_like(gates[0], 0.5)
    for now in gates:
        torch.sigmoid(now.addmm_(before, recurrent), out=now)
        before = now
    return gates


def _last_gate(inputs: Tensor, W_in: Tensor, W: Tensor, bias: Tensor) -> Tensor:
    """The same without keeping the steps."""
    gate = None
    for block in inputs.split(BLOCK):
        gate = _gates(block, W_in, W, bias, gate)[-1].clone()
    assert gate is not None
    return gate


def _backward_through_time(gates: Tensor, W: Tensor, grad: Tensor) -> tuple[Tensor, int]:
    """Gradients before each tanh, `(steps, B, H)`, from step `first` to the last."""
    slopes = torch.empty_like(gates)
    limit = VANISHED * float(grad.abs().max())
    dh = grad.clone()
    for t in range(len(gates) - 1, -1, -1):
        gate, slope = gates[t], slopes[t]
        torch.addcmul(gate, gate, gate, value=-1, out=slope)  # σ (1 - σ), a quarter of 1 - h²
        slope.mul_(dh).mul_(4)
        torch.mm(slope, W, out=dh)
        if t % LOOK == 0 and float(dh.abs().max()) <= limit:
            return slopes[t:], t
    return slopes, 0
