"""Adapters for layers with one state for all inputs and outputs: LRU (`nu_log`, `theta_log`) and S5 (`Lambda`).

Their parameter set has one head for each pair of output and input, all sharing the modes. Since C and B are then
products, a tuned set can be written back only as new modes and one factor for each mode (`joint=True`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..ssm import DiagonalSSM
from .adapters import Adapter, assign, has_tensors, recognise
from .s4_layers import TINY, as_complex, like, wide

__all__ = ["LRU", "S5"]

PAIRS = 1024  # more pairs than this are sampled evenly: they share their modes, so a part shows the mean spectrum


def _pairs(C: Tensor, B: Tensor) -> Tensor:
    """`C_on B_ni` for pairs of output and input, `(pairs, N)`, from `(O, N)` and `(N, I)`."""
    total = C.shape[0] * B.shape[1]
    index = torch.linspace(0, total - 1, min(total, PAIRS), dtype=torch.float64, device=C.device).round().long()
    return C[index // B.shape[1]] * B.T[index % B.shape[1]]


def _complex_parts(layer: Any, name: str) -> Tensor:
    if has_tensors(layer, f"{name}_re", f"{name}_im"):
        return torch.complex(wide(getattr(layer, f"{name}_re")), wide(getattr(layer, f"{name}_im")))
    return as_complex(getattr(layer, name))


def _scale_output(layer: Any, factor: Tensor) -> None:
    """Multiply column n of C by `factor[n]`, in whichever representation the layer has."""
    scaled = _complex_parts(layer, "C") * factor
    if has_tensors(layer, "C_re", "C_im"):
        assign(layer, C_re=scaled.real, C_im=scaled.imag)
    else:
        assign(layer, C=like(scaled, layer.C))


def _mode_factor(old: DiagonalSSM, new: DiagonalSSM) -> Tensor:
    """How the residue of each mode changed; taken at the pair where it is largest, since all pairs change alike."""
    before, after = old.modes()[0], new.modes()[0].to(old.C)
    return _ratio(after, before)


def _ratio(after: Tensor, before: Tensor) -> Tensor:
    """Of each column, where it is largest; 1 for a mode that no pair hears, which no factor can change."""
    row = before.abs().argmax(0, keepdim=True)
    top, bottom = after.gather(0, row).squeeze(0), before.gather(0, row).squeeze(0)
    deaf = bottom == 0
    return torch.where(deaf, torch.ones_like(bottom), top / torch.where(deaf, torch.ones_like(bottom), bottom))


def _read_lru(layer: Any) -> DiagonalSSM:
    z = torch.complex(-wide(layer.nu_log).exp(), wide(layer.theta_log).exp())  # log Ā
    B, C = _complex_parts(layer, "B"), _complex_parts(layer, "C")
    if has_tensors(layer, "gamma_log"):
        B = B * wide(layer.gamma_log).exp().reshape(-1, 1)
    # Its steps are discrete: undo the factor that zero-order hold would put on B; y = Re(C x) is half of 2 Re(C x).
    weights = _pairs(C, B) / 2 * (z / torch.expm1(z))
    dt = torch.ones(len(weights), dtype=z.real.dtype, device=z.device)
    return DiagonalSSM(dt, z.unsqueeze(0), torch.ones_like(z).unsqueeze(0), weights)


def _write_lru(layer: Any, ssm: DiagonalSSM) -> None:
    factor = _mode_factor(_read_lru(layer).to(dtype=ssm.dt.dtype), ssm)
    z = (ssm.step[:1] * ssm.A).squeeze(0)
    theta = torch.remainder(z.imag, 2 * torch.pi).clamp(min=TINY)
    assign(layer, nu_log=(-z.real).clamp(min=TINY).log(), theta_log=theta.log())
    _scale_output(layer, factor)


LRU = Adapter(
    _read_lru,
    _write_lru,
    ("nu_log", "theta_log", "gamma_log", "B", "C", "B_re", "B_im", "C_re", "C_im"),
    True,
)


def _read_s5(layer: Any) -> DiagonalSSM:
    A = _complex_parts(layer, "Lambda")
    weights = _pairs(_complex_parts(layer, "C"), _complex_parts(layer, "B"))
    steps = wide(layer.log_step).exp().reshape(1, -1).expand(len(weights), len(A))
    return DiagonalSSM(steps.contiguous(), A.unsqueeze(0), torch.ones_like(A).unsqueeze(0), weights)


def _write_s5(layer: Any, ssm: DiagonalSSM) -> None:
    old = _read_s5(layer).to(dtype=ssm.dt.dtype)
    factor = _ratio(ssm.B * ssm.C, old.C)
    assign(layer, log_step=ssm.step[0].log())
    A = ssm.A.squeeze(0)
    if has_tensors(layer, "Lambda_re", "Lambda_im"):
        assign(layer, Lambda_re=A.real, Lambda_im=A.imag)
    else:
        assign(layer, Lambda=like(A, layer.Lambda))
    _scale_output(layer, factor)


S5 = Adapter(
    _read_s5,
    _write_s5,
    ("Lambda", "Lambda_re", "Lambda_im", "log_step", "B", "C", "B_re", "B_im", "C_re", "C_im"),
    True,
)


def _has_output(module: nn.Module) -> bool:
    return all(has_tensors(module, n) or has_tensors(module, f"{n}_re", f"{n}_im") for n in ("B", "C"))


recognise(lambda m: has_tensors(m, "nu_log", "theta_log") and _has_output(m), LRU)
recognise(
    lambda m: (
        has_tensors(m, "log_step")
        and (has_tensors(m, "Lambda") or has_tensors(m, "Lambda_re", "Lambda_im"))
        and _has_output(m)
    ),
    S5,
)
