"""The S4D layer, with the parameters and names of the minimal one and a faster convolution."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..init.apply import load_mark
from ..ssm import DiagonalSSM
from ..ssm.convolution import causal_convolution
from ..ssm.defaults import Steps
from ..ssm.geometric import geometric_sum

__all__ = ["S4D", "S4DKernel"]


class S4DKernel(nn.Module):
    """Diagonal SSM parameters `(log_dt, log_A_real, A_imag, C)`, B being 1, and the convolution kernel they give.

    `A` has `n_ssm` rows, which the `d_model` heads share in turn.
    """

    def __init__(self, d_model: int, d_state: int = 64, dt: Steps = (1e-3, 1e-1), n_ssm: int | None = None) -> None:
        super().__init__()
        rows = d_model if n_ssm is None else n_ssm
        if rows < 1 or d_model % rows:
            raise InputError(f"n_ssm is {n_ssm}; it must divide d_model, {d_model}")
        home = torch.empty(0).device
        with torch.device("cpu"):  # a parameter set needs values, which the meta device has not
            seed = int(torch.randint(2**31, ()))  # so that torch.manual_seed decides
            ssm = DiagonalSSM.s4d_lin(d_model, d_state, seed, dt).to(dtype=torch.get_default_dtype())
        self.log_dt = nn.Parameter(ssm.dt.log().to(home))  # (H,)
        self.log_A_real = nn.Parameter((-ssm.A[:rows].real).log().to(home))  # (S, N/2)
        self.A_imag = nn.Parameter(ssm.A[:rows].imag.clone().to(home))  # (S, N/2)
        self.C = nn.Parameter(torch.view_as_real(ssm.C).clone().to(home))  # (H, N/2, 2)

    def forward(self, length: int) -> Tensor:
        """The kernel `k_0 .. k_{L-1}` of each head, `(H, L)`, in float32 or better."""
        log_dt, damping, imag, C = (_wide(p) for p in (self.log_dt, self.log_A_real, self.A_imag, self.C))
        A = torch.complex(-damping.exp(), imag)  # never 0, so zero-order hold needs no special case
        if len(A) < len(log_dt):
            A = A.repeat(len(log_dt) // len(A), 1)
        exponents = A * log_dt.exp().unsqueeze(-1)
        return geometric_sum(torch.view_as_complex(C) * torch.expm1(exponents) / A, exponents, length)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)
        load_mark(self, local_metadata)


class S4D(nn.Module):
    """One S4D layer: SSM, GELU, dropout, and a gated mix of the heads; `(B, H, L)` in and out.

    Args:
        d_model: heads H.
        d_state: states N of each head, counting conjugates.
        dropout: its probability.
        dt: the smallest and largest default time step.
        n_ssm: rows of A that the heads share; as many as heads by default.
    """

    def __init__(
        self,
        d_model: int,
        d_state: int = 64,
        dropout: float = 0.0,
        dt: Steps = (1e-3, 1e-1),
        n_ssm: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel = S4DKernel(d_model, d_state, dt, n_ssm)
        self.D = nn.Parameter(torch.randn(d_model))
        self.activation = nn.GELU()
        self.dropout = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.output_linear = nn.Sequential(nn.Conv1d(d_model, 2 * d_model, kernel_size=1), nn.GLU(dim=-2))

    def convolve(self, u: Tensor) -> Tensor:
        """The SSM part with the skip: `k * u + D u`."""
        if u.ndim < 2 or u.shape[-2] != len(self.D):
            raise InputError(f"u has shape {tuple(u.shape)}; this layer takes (..., {len(self.D)}, length)")
        if u.shape[-1] == 0 or not u.is_floating_point():
            raise InputError(
                f"u is {u.dtype} {tuple(u.shape)}; pass real floats with at least one step, as by u.float()"
            )
        inputs = _wide(u)
        y = causal_convolution(inputs, self.kernel(u.shape[-1]))
        return torch.addcmul(y, inputs, _wide(self.D).unsqueeze(-1)).to(u.dtype)

    def forward(self, u: Tensor) -> Tensor:
        """`(B, H, L)` to `(B, H, L)`."""
        mixed: Tensor = self.output_linear(self.dropout(self.activation(self.convolve(u))))
        return mixed


def _wide(tensor: Tensor) -> Tensor:
    """FFTs and complex numbers need at least float32."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
