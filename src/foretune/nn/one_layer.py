"""The paper's one-layer models: a linear SSM or a tanh RNN, read out at the last step by a small MLP."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..init.apply import load_mark
from ..ssm import RealSSM
from ..ssm.dissipative import contraction, generator_of
from ..ssm.final_state import final_state
from .recurrence import tanh_final_state

__all__ = ["ContractiveSSM", "LinearSSM", "StandardRNN"]

READOUT = 64


class LinearSSM(nn.Module):
    """`h_t = W h_{t-1} + W_in u_t`, `y = MLP(h_L)`, starting from HiPPO `foud` with zero-order hold.

    `W` and `W_in` are trained as they are, so training may carry `W` out of the unit circle; see `ContractiveSSM`.

    Args:
        classes: outputs.
        hidden: states N.
        dt: time step of the start. Its modes make 0, 1, 2, … turns in `1 / dt` steps.
    """

    W_in: Tensor
    dt: Tensor

    def __init__(self, classes: int, hidden: int = 128, dt: float = 1e-2) -> None:
        super().__init__()
        self.readout = _mlp(hidden, classes)
        start = RealSSM.fourier(hidden, dt)
        self.register_buffer("dt", start.dt.to(torch.get_default_dtype()))
        self._start(start)

    def _start(self, ssm: RealSSM) -> None:
        W, W_in, _ = ssm.discretized()
        self.W = nn.Parameter(W.to(self.dt.dtype))
        self.W_in = nn.Parameter(W_in.to(self.dt.dtype))

    def transition(self) -> Tensor:
        """The matrix that takes one state to the next, `(N, N)`."""
        return self.W

    def final_state(self, u: Tensor) -> Tensor:
        """`h_L`, `(B, N)`, for inputs `(B, L)` or `(B, L, 1)`, in O(log L) matrix products."""
        return final_state(_single_channel(u), self.transition(), self.W_in)

    def forward(self, u: Tensor) -> Tensor:
        """`(B, L)` or `(B, L, 1)` to `(B, classes)`."""
        scores: Tensor = self.readout(self.final_state(u))
        return scores

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)
        load_mark(self, local_metadata)


class ContractiveSSM(LinearSSM):
    """The same model with as many parameters, whose state cannot explode whatever training does to them.

    `W` is the bilinear step of `(U - Uᵀ) - K Kᵀ`, where U is the part of `generator` above the diagonal and K the rest:
    every generator gives a dissipative system, hence a `W` of spectral norm at most 1, up to rounding. It is in units of
    one step, so that a learning rate moves it as far as it would move `W`.
    """

    def _start(self, ssm: RealSSM) -> None:
        W, W_in, _ = ssm.discretized()
        self.generator = nn.Parameter(generator_of(W).to(self.dt.dtype))
        self.W_in = nn.Parameter(W_in.to(self.dt.dtype))

    def transition(self) -> Tensor:
        return contraction(self.generator)


class StandardRNN(nn.Module):
    """`h_t = tanh(W_in u_t + W h_{t-1} + b)`, `y = MLP(h_L)`: the parameters and the start of `torch.nn.RNN`."""

    def __init__(self, classes: int, hidden: int = 128) -> None:
        super().__init__()
        self.readout = _mlp(hidden, classes)
        self.rnn = nn.RNN(1, hidden, batch_first=True)

    def final_state(self, u: Tensor) -> Tensor:
        """`h_L`, `(B, N)`, for inputs `(B, L)` or `(B, L, 1)`."""
        inputs = _single_channel(u)
        if inputs.device.type != "cpu":
            last: Tensor = self.rnn(inputs.unsqueeze(-1))[1].squeeze(0)
            return last
        W_in, W, *biases = self.rnn.parameters()
        return tanh_final_state(inputs, W_in.squeeze(-1), W, biases[0] + biases[1])

    def forward(self, u: Tensor) -> Tensor:
        """`(B, L)` or `(B, L, 1)` to `(B, classes)`."""
        scores: Tensor = self.readout(self.final_state(u))
        return scores


def _mlp(hidden: int, classes: int) -> nn.Sequential:
    if classes < 1 or hidden < 1:
        raise InputError(f"classes is {classes} and hidden is {hidden}; both must be at least 1")
    return nn.Sequential(nn.Linear(hidden, READOUT), nn.ReLU(), nn.Linear(READOUT, classes))


def _single_channel(u: Tensor) -> Tensor:
    if u.ndim == 3 and u.shape[-1] == 1:
        u = u.squeeze(-1)
    if u.ndim != 2 or u.shape[-1] == 0:
        raise InputError(f"u has shape {tuple(u.shape)}; this model takes (batch, length) with one channel")
    return u
