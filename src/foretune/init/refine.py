"""The gradient stage of task-dependent initialization: Adam on L_spec (Algorithms 3 and 4, second half).

The best iterate is kept, so a refinement never ends above the peaks it started from.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..errors import ForetuneError
from ..spectra.spectrum import Spectrum
from ..ssm import DiagonalSSM, RealSSM
from ..ssm.dissipative import nearest_dissipative
from .match import distance, power_of
from .record import Settings

__all__ = ["refine_complex", "refine_real"]


def refine_complex(ssm: DiagonalSSM, spectrum: Spectrum, settings: Settings) -> DiagonalSSM:
    """Adam on Δ, A and C of every head at once, B fixed.

    The paper's coordinates are log Δ, log(-Re A), Im A and C. Im A is moved in units of one bin, 2π/(LΔ), log Δ in units
    that move the highest frequency by one bin, and C relative to its size, so that one learning rate fits any length.
    With `gains="balanced"` C moves by one factor for each mode, common to all heads.
    """
    target = torch.tensor(spectrum.power, dtype=ssm.dt.dtype, device=ssm.dt.device)
    rows, size = ssm.A.shape[0], ssm.C.abs().amax(-1, keepdim=True)
    bin_width = 2 * math.pi / (spectrum.length * ssm.step[:rows])
    shared = settings.gains == "balanced"
    log_dt, log_damping = torch.zeros_like(ssm.step[:rows]), (-ssm.A.real).clamp(min=1e-12).log()
    shift = torch.zeros_like(log_damping)
    weight = torch.zeros_like(ssm.C[:1].real) if shared else torch.view_as_real(ssm.C / size).clone()

    def assemble() -> DiagonalSSM:
        scale = (2 / spectrum.length * log_dt).exp()
        A = torch.complex(-log_damping.exp(), ssm.A.imag + shift * bin_width)
        C = ssm.C * weight.exp() if shared else torch.view_as_complex(weight) * size
        spread = ssm.step * scale.repeat(ssm.heads // rows, 1)
        return ssm.replace(dt=spread if ssm.dt.ndim == 2 else spread.squeeze(-1), A=A, C=C)

    def losses() -> Tensor:
        by_head = distance(power_of(assemble(), spectrum.length), target)
        if shared:
            return by_head.mean().unsqueeze(0)
        return by_head.unflatten(0, (-1, rows)).mean(0)  # heads that share a row of A stand or fall together

    # Rows of every parameter belong to one group of heads, which is how the best iterate of each is kept.
    _adam([log_dt, log_damping, shift, weight], losses, settings, groups=1 if shared else rows)
    with torch.no_grad():
        return assemble()


def refine_real(ssm: RealSSM, spectrum: Spectrum, settings: Settings) -> RealSSM:
    """Adam on Δ, A and B, with C fixed; A in units of one bin.

    After each step A is put back to the nearest dissipative matrix. L_spec does not see how loud a response is, so left
    alone it accepts states that grow over the sequence, and the first batch of training would overflow.
    """
    target = torch.tensor(spectrum.power, dtype=ssm.dt.dtype, device=ssm.dt.device)
    bin_width = 2 * math.pi / (spectrum.length * ssm.dt)
    log_dt, shift_A, B = torch.zeros_like(ssm.dt), torch.zeros_like(ssm.A), ssm.B.clone()

    def assemble() -> RealSSM:
        return ssm.replace(dt=ssm.dt * (2 / spectrum.length * log_dt).exp(), A=ssm.A + shift_A * bin_width, B=B)

    def losses() -> Tensor:
        return distance(power_of(assemble(), spectrum.length), target)

    def project() -> None:
        shift_A.copy_((nearest_dissipative(ssm.A + shift_A * bin_width) - ssm.A) / bin_width)

    _adam([log_dt, shift_A, B], losses, settings, groups=1, project=project)
    with torch.no_grad():
        return assemble()


def _adam(
    parameters: list[Tensor],
    losses: Callable[[], Tensor],
    settings: Settings,
    groups: int,
    project: Callable[[], None] | None = None,
) -> None:
    """Minimize the losses `(groups,)`; leave in `parameters` the best values met by each group.

    `project` puts the parameters back where they are allowed, after each step.
    """
    for parameter in parameters:
        parameter.requires_grad_()
    optimizer = torch.optim.Adam(parameters, lr=settings.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps, eta_min=settings.lr / 100)
    best = torch.full((groups,), torch.inf, dtype=parameters[0].dtype, device=parameters[0].device)
    kept = [parameter.detach().clone() for parameter in parameters]
    for step in range(settings.steps + 1):
        optimizer.zero_grad()
        loss = losses()
        better = loss.detach() < best
        best = torch.where(better, loss.detach(), best)
        for store, parameter in zip(kept, parameters, strict=True):
            _keep(store, parameter.detach(), better)
        if step == settings.steps or not torch.isfinite(loss).any():
            break
        torch.where(torch.isfinite(loss), loss, torch.zeros_like(loss)).sum().backward()
        optimizer.step()
        schedule.step()
        if project is not None:
            with torch.no_grad():
                project()
    if not torch.isfinite(best).all():
        raise ForetuneError("the spectral loss was never finite during refinement; lower lr or use variant='construct'")
    for store, parameter in zip(kept, parameters, strict=True):
        parameter.requires_grad_(False).copy_(store)


def _keep(store: Tensor, now: Tensor, better: Tensor) -> None:
    if len(better) == 1:
        if better:
            store.copy_(now)
        return
    mask = better.repeat(len(store) // len(better))
    store[mask] = now[mask]
