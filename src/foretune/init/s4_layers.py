"""Adapters for the diagonal kernels of the s4 repository: the minimal S4D, and the full one with `inv_dt` and `n_ssm`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..errors import InputError, UnknownLayer
from ..ssm import DiagonalSSM
from .adapters import Adapter, assign, has_tensors, recognise

__all__ = ["FULL", "MINIMAL"]

TINY = 1e-12


def wide(tensor: Tensor) -> Tensor:
    """At least float32: half precision has no complex arithmetic worth the name."""
    return tensor.detach().float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor.detach()


def as_complex(tensor: Tensor) -> Tensor:
    """Complex, from complex or from a last axis of (real, imaginary)."""
    return tensor.detach() if tensor.is_complex() else torch.view_as_complex(wide(tensor).contiguous())


def like(value: Tensor, tensor: Tensor) -> Tensor:
    """A complex value in the representation that a layer's tensor has."""
    return value if tensor.is_complex() else torch.view_as_real(value)


def _read_minimal(kernel: Any) -> DiagonalSSM:
    A = torch.complex(-wide(kernel.log_A_real).exp(), wide(kernel.A_imag))
    return DiagonalSSM(wide(kernel.log_dt).exp(), A, torch.ones_like(A), as_complex(kernel.C))


def _write_minimal(kernel: Any, ssm: DiagonalSSM) -> None:
    # The layer's B is 1, so B goes into C.
    C = like(ssm.per_head(ssm.B) * ssm.C, kernel.C)
    damping = (-ssm.A.real).clamp(min=TINY).log()
    assign(kernel, log_dt=ssm.dt.log(), log_A_real=damping, A_imag=ssm.A.imag, C=C)


MINIMAL = Adapter(_read_minimal, _write_minimal, ("log_dt", "log_A_real", "A_imag", "C"))


def _forward(value: Tensor, transform: str) -> Tensor:
    """A parameter's meaning under the transform that the full kernel stores it with."""
    functions = {
        "none": lambda x: x,
        "exp": torch.exp,
        "relu": torch.relu,
        "sigmoid": torch.sigmoid,
        "softplus": torch.nn.functional.softplus,
    }
    if transform not in functions:
        raise InputError(f"the layer stores a parameter under {transform!r}; known are {', '.join(functions)}")
    return functions[transform](value)


def _inverse(value: Tensor, transform: str) -> Tensor:
    if transform in ("none", "relu"):
        return value
    positive = value.clamp(min=TINY)
    if transform == "exp":
        return positive.log()
    if transform == "sigmoid":
        return torch.logit(positive.clamp(max=1 - 1e-6))
    return positive + torch.log(-torch.expm1(-positive))


def _transforms(kernel: Any) -> tuple[str, str, str]:
    defaults = {"dt_transform": "exp", "real_transform": "exp", "imag_transform": "none"}
    dt, real, imag = (str(getattr(kernel, name, default)) for name, default in defaults.items())
    return dt, real, imag


def _rule(kernel: Any) -> str:
    rule = str(getattr(kernel, "disc", "zoh"))
    if rule == "dss" or getattr(kernel, "is_real", False):
        raise UnknownLayer(f"this kernel has disc={rule!r}, is_real={getattr(kernel, 'is_real', False)}; "
                           "use disc 'zoh' or 'bilinear' with complex modes")  # fmt: skip
    return rule


def _read_full(kernel: Any) -> DiagonalSSM:
    rule = _rule(kernel)
    dt_transform, real, imag = _transforms(kernel)
    stored = wide(kernel.inv_dt)
    dt = _forward(torch.sinh(stored) if getattr(kernel, "dt_fast", False) else stored, dt_transform)
    A = -torch.complex(_forward(wide(kernel.A_real), real), _forward(wide(kernel.A_imag), imag))
    B, C = as_complex(kernel.B)[0], as_complex(kernel.C)  # (S, N/2), (channels, H, N/2)
    steps = dt if dt.ndim == 2 else dt.unsqueeze(-1)
    limit = getattr(kernel, "bandlimit", None)
    if limit is not None:
        rows = A.imag.abs().repeat(C.shape[1] // len(A), 1)
        C = C * (steps * rows / (2 * torch.pi) < limit / 2)
    return DiagonalSSM(steps.repeat(C.shape[0], 1), A, B, C.flatten(0, 1), rule)  # type: ignore[arg-type]


def _write_full(kernel: Any, ssm: DiagonalSSM) -> None:
    dt_transform, real, imag = _transforms(kernel)
    limit = getattr(kernel, "bandlimit", None)
    if limit is not None and bool((ssm.peak_frequencies()[ssm.C.abs() > 0] >= limit / 2).any()):
        raise InputError(f"the layer's bandlimit of {limit} silences some task frequencies; build it without one")
    dt = ssm.step[: kernel.inv_dt.shape[0]]  # channels repeat the heads
    stored = _inverse(dt, dt_transform)
    assign(
        kernel,
        inv_dt=torch.asinh(stored) if getattr(kernel, "dt_fast", False) else stored,
        A_real=_inverse((-ssm.A.real).clamp(min=TINY), real),
        A_imag=_inverse(-ssm.A.imag, imag),
        B=like(ssm.B, kernel.B),
        C=like(ssm.C, kernel.C),
    )


FULL = Adapter(_read_full, _write_full, ("inv_dt", "A_real", "A_imag", "B", "C"))

recognise(lambda m: has_tensors(m, *MINIMAL.names) and not has_tensors(m, "B"), MINIMAL)
recognise(lambda m: has_tensors(m, *FULL.names) and not has_tensors(m, "P"), FULL)
