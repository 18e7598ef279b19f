"""Task-dependent initialization as a pure function: a parameter set in, a parameter set and a record out (Algorithm 2)."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import torch

from ..errors import InputError
from ..spectra.spectrum import Spectrum
from ..ssm import DiagonalSSM, RealSSM
from .construct import complex_peaks, real_peaks
from .match import model_spectrum, spectral_loss
from .record import Initialization, Settings, Variant
from .refine import refine_complex, refine_real

__all__ = ["tune"]

SSM = TypeVar("SSM", DiagonalSSM, RealSSM)


def tune(
    ssm: SSM,
    spectrum: Spectrum,
    variant: Variant = "construct",
    settings: Settings | None = None,
    **options: Any,
) -> tuple[SSM, Initialization]:
    """Point the system's modes at the task's frequencies.

    Args:
        ssm: the system to start from. Its Δ, and what the task does not need of it, are kept.
        spectrum: the task's spectrum, from `task_spectrum`.
        variant: `"construct"` places modes at the peaks; `"refine"` then lowers L_spec by gradient descent.
        settings: everything the paper leaves open; or give single settings by name.

    Returns:
        A new system of the same type, and the record of what was done.
    """
    if settings is not None and options:
        raise InputError(f"both settings and {', '.join(options)} are given; put all into one Settings")
    if variant not in ("construct", "refine"):
        raise InputError(f"variant is {variant!r}; use 'construct' or 'refine'")
    if not isinstance(ssm, DiagonalSSM | RealSSM):
        raise InputError(
            f"ssm is a {type(ssm).__name__}; pass a DiagonalSSM or RealSSM, or use initialize_ for a module"
        )
    if not isinstance(spectrum, Spectrum) or spectrum.power.ndim != 1:
        raise InputError("spectrum must be one Spectrum with power (length // 2 + 1,); see task_spectrum")
    chosen = Settings.of(**options) if settings is None else settings
    if not isinstance(chosen, Settings):
        raise InputError(f"settings is a {type(chosen).__name__}; pass foretune.Settings, or single settings by name")
    started = time.perf_counter()
    with torch.no_grad():
        tuned, frequencies, strengths = _peaks(_detached(ssm), spectrum, chosen)
    if variant == "refine":
        tuned = _refined(tuned, spectrum, chosen)
    record = Initialization(
        variant=variant,
        frequencies=frequencies,
        strengths=strengths,
        length=spectrum.length,
        loss_before=_loss(ssm, spectrum),
        loss_after=_loss(tuned, spectrum),
        seconds=time.perf_counter() - started,
        settings=chosen,
    )
    return tuned, record


def _peaks(ssm: Any, spectrum: Spectrum, settings: Settings) -> Any:
    place = complex_peaks if isinstance(ssm, DiagonalSSM) else real_peaks
    return place(ssm, spectrum, settings)


def _refined(ssm: Any, spectrum: Spectrum, settings: Settings) -> Any:
    refine = refine_complex if isinstance(ssm, DiagonalSSM) else refine_real
    with torch.enable_grad():
        return refine(ssm, spectrum, settings)


def _detached(ssm: Any) -> Any:
    return ssm.replace(**{name: getattr(ssm, name).detach() for name in ("dt", "A", "B", "C")})


def _loss(ssm: DiagonalSSM | RealSSM, spectrum: Spectrum) -> float:
    """L_spec, or NaN where the system answers nothing at all."""
    measured = model_spectrum(ssm, spectrum.length)
    return spectral_loss(measured, spectrum) if measured.power.any() else float("nan")
