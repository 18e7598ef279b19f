"""Adapters for the one-layer models, which hold a discrete recurrence or the generator of a dissipative one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..ssm import RealSSM
from ..ssm.dissipative import contraction, generator_of
from .adapters import Adapter, assign, has_tensors, recognise
from .s4_layers import wide

__all__ = ["CONTRACTIVE", "LINEAR"]

EDGE = 1e-9  # how close to -1 an eigenvalue may come
REAL = 1e-6  # a real logarithm gives the matrix back up to this, relative to its size


def _read_linear(layer: Any) -> RealSSM:
    return _continuous(wide(layer.dt).double(), wide(layer.W).double(), wide(layer.W_in).double())


def _continuous(dt: Tensor, W: Tensor, W_in: Tensor) -> RealSSM:
    """The continuous system whose zero-order hold the layer is, with C = 1 since the readout sees the state."""
    if not (W.isfinite().all() and W_in.isfinite().all()):
        raise InputError("the recurrence holds a value that is not finite; initialize_ before training")
    found = _logarithm(W, W_in)
    if found is None:  # an eigenvalue on the negative half axis turns by π, which only the bilinear rule expresses
        eye = torch.eye(len(W), dtype=W.dtype, device=W.device)
        if float(torch.linalg.svdvals(W + eye)[-1]) < EDGE:  # and that one not at -1 itself
            W = W * (1 - EDGE)
        A = torch.linalg.solve(W + eye, 2 / dt * (W - eye))
        return RealSSM(dt, A, (W_in - dt / 2 * (A @ W_in)) / dt, torch.ones_like(W_in), "bilinear")
    A, B = found
    return RealSSM(dt, A / dt, B / dt, torch.ones_like(B))


def _logarithm(W: Tensor, W_in: Tensor) -> tuple[Tensor, Tensor] | None:
    """`(ΔA, ΔB)` of the block matrix whose exponential `[[W, W_in], [0, 1]]` is; None if there is no real one."""
    from scipy import linalg  # importing it takes longer than importing all of foretune

    n = len(W_in)
    block = np.eye(n + 1)
    block[:n, :n], block[:n, n] = W.cpu().numpy(), W_in.cpu().numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may be inaccurate or not exist, which is measured here
        try:
            logarithm = linalg.logm(block)
        except ValueError:  # so far from having one that it overflowed on the way
            return None
    if not np.isfinite(logarithm).all():
        return None
    if not np.abs(linalg.expm(logarithm.real) - block).max() <= REAL * np.abs(block).max():
        return None
    real = torch.as_tensor(np.ascontiguousarray(logarithm.real), dtype=W.dtype, device=W.device)
    return real[:n, :n], real[:n, n]


def _write_linear(layer: Any, ssm: RealSSM) -> None:
    W, W_in, _ = ssm.discretized()
    assign(layer, dt=ssm.dt, W=W, W_in=W_in)


def _read_contractive(layer: Any) -> RealSSM:
    return _continuous(wide(layer.dt).double(), contraction(wide(layer.generator).double()), wide(layer.W_in).double())


def _write_contractive(layer: Any, ssm: RealSSM) -> None:
    W, W_in, _ = ssm.discretized()
    assign(layer, dt=ssm.dt, generator=generator_of(W), W_in=W_in)


LINEAR = Adapter(_read_linear, _write_linear, ("W", "W_in", "dt"))
CONTRACTIVE = Adapter(_read_contractive, _write_contractive, ("generator", "W_in", "dt"))


def _single_input(module: Any, recurrence: str) -> bool:
    """Whether it has a square recurrence, one input and one step: others may use the same names for other things."""
    if not has_tensors(module, recurrence, "W_in", "dt"):
        return False
    states = module.W_in.numel()
    shapes = {name: tuple(getattr(module, name).shape) for name in (recurrence, "W_in", "dt")}
    return shapes == {recurrence: (states, states), "W_in": (states,), "dt": ()}


recognise(lambda module: _single_input(module, "W"), LINEAR)
recognise(lambda module: _single_input(module, "generator"), CONTRACTIVE)
