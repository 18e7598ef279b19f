"""Will tuning help? Everything that labelled sequences can say about it before any training."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import checks
from ..errors import InputError
from ..init import model_spectrum
from ..spectra import task_spectrum
from . import evidence
from .priors import default_prior, default_s4d, tuned_prior
from .result import Curves, Diagnosis, Models
from .samples import as_samples
from .verdict import FEWEST, Evidence, answer

__all__ = ["diagnose"]

RESAMPLED, TRIED = 4000, 800  # at most so many samples are resampled, and take part in what grows with their square


def diagnose(
    X: checks.Arrays,
    y: Any,
    length: int | None = None,
    sampling_rate: float | None = None,
    lengths: Any = None,
    seed: int = 0,
) -> Diagnosis:
    """Whether task-dependent initialization is expected to help on this task, and why; nothing is trained.

    Args:
        X: training sequences `(P, L)` or `(P, L, C)`, numpy or torch.
        y: their labels, of any hashable kind.
        length: use only the first so many steps.
        sampling_rate: steps per second; frequencies are then in Hz.
        lengths: steps of each sequence before padding, `(P,)`. Padding counts as 0, whatever it holds.
        seed: of the resamples, permutations and folds.

    The spectrum is that of all samples. At most 4,000 of them are resampled, and at most 800 take part in the held-out
    trial and the learning curves; larger sets are subsampled at random.
    """
    if sampling_rate is not None and not (np.isfinite(sampling_rate) and sampling_rate > 0):
        raise InputError(f"sampling_rate is {sampling_rate}; pass steps per second, a number above 0")
    samples = as_samples(X, y, length, lengths)
    task = task_spectrum(samples.X, samples.codes)
    if not task.power.any():
        raise InputError("at every frequency the classes have exactly the same power, so there is no spectrum; check X")
    rng = np.random.default_rng(seed)
    many = samples.take(evidence.subsample(samples.codes, RESAMPLED, rng))
    few = samples.take(evidence.subsample(samples.codes, TRIED, rng))
    band, reliability = evidence.resampled(evidence.features_of(many.X, many.codes), rng)
    P, tried = len(samples.codes), None
    if P >= FEWEST:  # below, nothing is said, and folds would hold a sample or two
        tried = evidence.trial(few.X, evidence.features_of(few.X, few.codes), rng, more=len(few.codes) < P)
    known = Evidence(P, reliability.p_value, float("nan") if tried is None else tried.default_error_at(P))
    priors = default_prior(task.length), tuned_prior(task), default_s4d()
    return Diagnosis(
        samples=P,
        classes=samples.classes,
        counts=tuple(np.bincount(samples.codes).tolist()),
        spectrum=task,
        band=band,
        reliability=reliability,
        models=Models(*(model_spectrum(ssm, task.length) for ssm in priors)),
        mismatch=evidence.mismatches(few.X, few.one_hot(), task, rng),
        trial=tried,
        curves=Curves(*evidence.curves(few.X, few.one_hot(), task)),
        verdict=answer(known),
        evidence=known,
        sampling_rate=sampling_rate,
    )
