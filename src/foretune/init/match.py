"""How far a model's spectrum is from a task's: model spectrum, spectral loss and the alignment J."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import torch
from torch import Tensor, nn

from ..checks import as_batch, as_length
from ..errors import InputError
from ..spectra.spectrum import Spectrum, bins
from ..ssm import DiagonalSSM, RealSSM
from ..ssm.convolution import causal_convolution
from ..ssm.values import as_real
from .adapters import Parameters, find_layers

__all__ = ["alignment", "distance", "model_spectrum", "power_of", "spectral_loss"]

HEADS = 256  # heads in flight at once


def model_spectrum(model: Parameters | nn.Module, length: int, per_head: bool = False, exact: bool = False) -> Spectrum:
    """`|rFFT(impulse response of this length)|²`, the mean over heads or, with `per_head`, `(heads, K)`.

    Args:
        model: a parameter set, a state-space layer, or a module whose first state-space layer is meant.
        length: sequence length L.
        per_head: keep one row for each head.
        exact: the closed form |H(ω)|² of the infinite response at the same frequencies.
    """
    ssm = find_layers(model)[0].read() if isinstance(model, nn.Module) else model
    length = as_length(length)
    if not isinstance(ssm, DiagonalSSM | RealSSM):
        raise InputError(f"model is a {type(model).__name__}; pass a parameter set or a torch module")
    with torch.no_grad():
        rows = torch.cat([power_of(part, length, exact) for part in _parts(ssm)])
    return Spectrum((rows if per_head else rows.mean(0)).double().cpu().numpy(), length)


def _parts(ssm: Parameters) -> list[Parameters]:
    """The same system in pieces of at most about `HEADS` heads, so that no response of all heads is ever held."""
    if isinstance(ssm, RealSSM) or ssm.heads <= HEADS:
        return [ssm]
    pieces = zip(
        *(tensor.split(HEADS) for tensor in (ssm.dt, ssm.per_head(ssm.A), ssm.per_head(ssm.B), ssm.C)),
        strict=True,
    )
    return [DiagonalSSM(dt, A, B, C, ssm.rule) for dt, A, B, C in pieces]


def power_of(ssm: Parameters, length: int, exact: bool = False) -> Tensor:
    """`(H, K)`, differentiable in the parameters."""
    if exact:
        omega = 2 * torch.pi * torch.arange(bins(length), dtype=torch.float64) / length
        transformed = ssm.frequency_response(omega)
    else:
        transformed = torch.fft.rfft(ssm.impulse_response(length))
    return torch.view_as_real(transformed).square().sum(-1)


@overload
def spectral_loss(model: Tensor, task: Spectrum | Tensor | np.ndarray) -> Tensor: ...
@overload
def spectral_loss(model: Spectrum | np.ndarray, task: Tensor) -> Tensor: ...
@overload
def spectral_loss(model: Spectrum | np.ndarray, task: Spectrum | np.ndarray) -> float: ...
def spectral_loss(model: Any, task: Any) -> float | Tensor:
    """`L_spec = ‖N(S_model) - N(S_task)‖²`, with N(S) = S/‖S‖: 0 for the same shape, 2 for disjoint ones.

    Takes spectra or bare power. Where either is a torch tensor, the answer is one too, and differentiable; leading axes
    are kept.
    """
    if isinstance(model, Spectrum) and isinstance(task, Spectrum) and model.length != task.length:
        raise InputError(f"the spectra are for lengths {model.length} and {task.length}; measure both at one length")
    tensors = [side for side in (model, task) if isinstance(side, Tensor)]
    like = tensors[0] if tensors else torch.zeros((), dtype=torch.float64)
    a, b = (_power(side, like) for side in (model, task))
    if a.shape[-1] != b.shape[-1]:
        raise InputError(f"the spectra have {a.shape[-1]} and {b.shape[-1]} frequencies; measure both at one length")
    loss = distance(a, b)
    return loss if tensors or loss.ndim else float(loss)


def _power(side: Any, like: Tensor) -> Tensor:
    """Power in float32 or better, of which every row has a shape."""
    power = as_real(side.power if isinstance(side, Spectrum) else side, "a spectrum")
    if power.ndim == 0 or power.shape[-1] == 0:
        raise InputError(f"a spectrum has shape {tuple(power.shape)}; pass one value for each frequency")
    if not torch.isfinite(power).all() or (power < 0).any():
        raise InputError("a spectrum holds a value that is not finite or below 0; power is finite and at least 0")
    if (power.amax(-1) == 0).any():
        raise InputError("a spectrum is 0 at every frequency, so it has no shape to compare")
    if isinstance(side, Tensor):
        return power
    # Into the tensor's precision only once it cannot over- or underflow there.
    precision = as_real(like, "a spectrum").dtype
    return (power / power.amax(-1, keepdim=True)).to(like.device, precision)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """L_spec over the last axis, for power that is not all 0."""
    return (_unit(a) - _unit(b)).square().sum(-1)


def _unit(power: Tensor) -> Tensor:
    scaled = power / power.detach().amax(-1, keepdim=True)  # the squares then neither over- nor underflow
    return scaled / scaled.norm(dim=-1, keepdim=True)


def alignment(h: Any, C: Any) -> float:
    """`J = ‖T_h C‖²_F / L`, the alignment objective, by FFT and never by building T_h.

    Args:
        h: impulse response `(L,)`.
        C: cross-covariance of input and target, `(L,)` or `(L, d)`.
    """
    response, columns = (_columns(side, name) for side, name in ((h, "h"), (C, "C")))
    if response.shape[1] != 1 or np.ndim(h) != 1 or len(columns) != len(response):
        raise InputError(f"h has shape {np.shape(h)} and C {np.shape(C)}; pass (L,) and (L, d)")
    filtered = causal_convolution(columns.T.contiguous(), response[:, 0].to(columns.device))
    return float(filtered.square().sum() / len(response))


def _columns(side: Any, name: str) -> Tensor:
    """As finite float64 `(L, d)`."""
    values = side if isinstance(side, Tensor) else np.asarray(side)
    return as_batch(values[:, None] if values.ndim == 1 else values, name)[:, :, 0]
