"""The peak stage of task-dependent initialization: modes at the task's frequencies (Algorithms 3 and 4, first half)."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..spectra.spectrum import Spectrum
from ..ssm import DiagonalSSM, RealSSM
from .record import Settings

__all__ = ["complex_peaks", "real_peaks"]

SHARPEST = 6  # Algorithm 4 gives the first six blocks the small damping


def _select(spectrum: Spectrum, room: int, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    if room < 1:
        raise InputError("the state has room for no frequency, which takes two states; enlarge it")
    wanted = room if settings.modes is None else settings.modes
    if wanted > room:
        raise InputError(f"modes is {wanted}, but the state has room for {room}; ask for fewer or enlarge the state")
    return spectrum.peaks(wanted, settings.min_separation)


def complex_peaks(
    ssm: DiagonalSSM, spectrum: Spectrum, settings: Settings
) -> tuple[DiagonalSSM, np.ndarray, np.ndarray]:
    """Algorithm 3, peak initialization. Modes beyond the last peak keep their place and fall silent (C = 0).

    Heads that share A need one common Δ to hear the same frequencies: they get the geometric mean of theirs.
    """
    frequencies, strengths = _select(spectrum, ssm.state // 2, settings)
    real = ssm.dt.dtype
    f, r = (torch.as_tensor(side, dtype=real, device=ssm.dt.device) for side in (frequencies, strengths))
    dt = _shared_steps(ssm)  # (S, 1) or (S, N/2)
    used = len(f)
    step = dt[:, :used] if dt.shape[1] > 1 else dt
    low, high = settings.damping
    gamma = (low + (high - low) * (1 - r)).expand(len(dt), used)
    if settings.max_width is not None:
        gamma = torch.minimum(gamma, settings.max_width * 2 * math.pi / (spectrum.length * step))
    sign = -1.0 if ssm.A.imag.sum() < 0 else 1.0
    ratio = torch.complex(-gamma * step, (sign * 2 * math.pi * f).expand_as(gamma))  # log Ā
    A, B, C = ssm.A.clone(), ssm.B.clone(), torch.zeros_like(ssm.C)
    A[:, :used] = ratio / step if ssm.rule == "zoh" else 2 * torch.tanh(ratio / 2) / step
    gain = settings.gain[0] + (settings.gain[1] - settings.gain[0]) * r
    B[:, :used] = gain * ssm.B[:, :used] if settings.gains == "scaled" else gain.to(B)
    C[:, :used] = gain * _carrier(ssm.C[:, :used], settings)
    if dt.shape[1] > 1:  # modes with steps of their own would ring at heights of their own
        height = -torch.expm1(-gamma * step * spectrum.length) / gamma.clamp(min=1e-12)
        C[:, :used] *= (height.amin() / height).repeat(ssm.heads // len(dt), 1)
    spread = dt.repeat(ssm.heads // len(dt), 1)
    return (
        ssm.replace(dt=spread if ssm.dt.ndim == 2 else spread.squeeze(-1), A=A, B=B, C=C),
        frequencies,
        strengths,
    )


def _carrier(C: Tensor, settings: Settings) -> Tensor:
    """What the gains are multiplied with: see `Settings.gains`."""
    if settings.gains == "literal":
        return torch.ones_like(C)
    if settings.gains == "scaled":
        return C
    if settings.gains == "balanced":
        return C / C.abs().square().mean(0, keepdim=True).sqrt().clamp(min=torch.finfo(C.real.dtype).tiny)
    return torch.polar(torch.ones_like(C.real), C.angle())


def _shared_steps(ssm: DiagonalSSM) -> Tensor:
    rows = ssm.A.shape[0]
    if rows == ssm.heads:
        return ssm.step
    return ssm.step.log().unflatten(0, (-1, rows)).mean(0).exp()


def real_peaks(ssm: RealSSM, spectrum: Spectrum, settings: Settings) -> tuple[RealSSM, np.ndarray, np.ndarray]:
    """Algorithm 4, peak initialization: a resonant block for each of the top frequencies, damped rest, C = 1."""
    frequencies, strengths = _select(spectrum, ssm.state // 2, settings)
    count = len(frequencies)
    first = 2 * torch.arange(count, device=ssm.A.device)
    f = torch.as_tensor(frequencies, dtype=ssm.A.dtype, device=ssm.A.device)
    sharp, wide = settings.real_damping
    alpha = torch.full_like(f, wide)
    alpha[:SHARPEST] = sharp
    A = -0.5 * torch.eye(ssm.state, dtype=ssm.A.dtype, device=ssm.A.device)
    if ssm.rule == "zoh":
        damping, omega = alpha, 2 * math.pi * f / ssm.dt
    else:
        ratio = 2 * torch.tanh(torch.complex(-alpha * ssm.dt, 2 * math.pi * f) / 2) / ssm.dt
        damping, omega = -ratio.real, ratio.imag
    A[first, first], A[first + 1, first + 1] = -damping, -damping
    A[first, first + 1], A[first + 1, first] = omega, -omega
    B = torch.zeros_like(ssm.B)
    # A default such as HiPPO's weighs only every other state; a block must not start deaf.
    B[first] = torch.where(ssm.B[first] == 0, torch.ones_like(f), ssm.B[first])
    low, high = settings.real_gain
    B[first] *= low + (high - low) * torch.as_tensor(strengths).to(f)
    return ssm.replace(A=A, B=B, C=torch.ones_like(ssm.C)), frequencies, strengths
