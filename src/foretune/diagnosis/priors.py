"""The two priors that are compared, and what each of them makes of a sequence before any training.

They are the arms `default+gain` and `tdi+gain` of the one-layer study: the same layer with modes of unit variance, which
differ in where the modes are and in nothing else.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..init import tune
from ..nn.gain import mode_factors
from ..spectra import Spectrum
from ..ssm import DiagonalSSM, RealSSM
from ..ssm.final_state import final_state

__all__ = ["default_prior", "default_s4d", "readout_kernel", "states", "tuned_prior", "unit_factors", "unit_variance"]

STATES, MODES, HEADS, DAMPING, FLOOR = 128, 32, 16, (0.5, 0.5), 1e-2  # as in study/plans/one-layer.toml


def default_prior(length: int) -> RealSSM:
    """The default of the one-layer model, HiPPO `foud`, whose modes make 0, 1, 2, … 63 turns in a sequence."""
    return RealSSM.fourier(STATES, 1.0 / length)


def tuned_prior(spectrum: Spectrum) -> RealSSM:
    """The same layer with 32 modes at the strongest frequencies of the task; the other states stay silent."""
    return tune(default_prior(spectrum.length), spectrum, modes=MODES, real_damping=DAMPING)[0]


def default_s4d() -> DiagonalSSM:
    """The default of S4D layers: 16 heads with time steps from 1e-3 to 1e-1."""
    return DiagonalSSM.s4d_lin(heads=HEADS)


def states(ssm: RealSSM, X: Tensor) -> Tensor:
    """The state after the last step of each channel of `(P, L, C)`, side by side: `(P, C·N)`."""
    W, W_in, _ = ssm.discretized()
    return torch.cat([final_state(channel, W, W_in) for channel in X.unbind(-1)], dim=1)


def unit_factors(F: Tensor, channels: int) -> Tensor:
    """What to multiply the states `(P, C·N)` with for modes of unit variance over samples and channels, `(C·N,)`."""
    return mode_factors(F.reshape(len(F) * channels, -1).var(0), FLOOR).repeat(channels)


def unit_variance(ssm: RealSSM, X: Tensor) -> RealSSM:
    """The system with modes of unit variance over the samples and channels of `X`."""
    return ssm.replace(B=ssm.B * unit_factors(states(ssm, X), X.shape[2])[: ssm.state])


def readout_kernel(left: Tensor, right: Tensor) -> Tensor:
    """The kernel of an infinitely wide ReLU layer on two sets of states (arc-cosine, first order): the model's readout."""
    norms = torch.outer(left.norm(dim=1), right.norm(dim=1))
    cosine = (left @ right.T / norms.clamp(min=torch.finfo(norms.dtype).tiny)).clamp(-1, 1)
    angle = torch.acos(cosine)
    return norms * (torch.sin(angle) + (math.pi - angle) * cosine) / (math.pi * left.shape[1])
