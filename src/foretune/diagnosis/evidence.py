"""Everything that the verdict rests on, measured from labelled sequences alone. Nothing here is trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..init import tune
from ..init.adapters import Parameters
from ..spectra import Spectrum
from ..spectra.task import log_power
from .curves import Curve, HeldOut, held_out, predicted_curve
from .mismatch import Mismatch, linear_part, mismatch
from .priors import default_prior, default_s4d, tuned_prior, unit_variance
from .resampling import PERMUTATIONS, Band, Features, Reliability, band, fisher, permuted, reliability

__all__ = ["Trial", "curves", "features_of", "mismatches", "resampled", "subsample", "trial"]

EPS = 1e-6
NAMES = ("one-layer default", "one-layer tuned", "S4D default", "S4D tuned")
FOLDS, REPEATS, ENOUGH = 5, 3, 400  # below that many samples the folds are drawn several times


@dataclass(frozen=True)
class Trial:
    """Both priors on held-out samples, with a closed-form readout; the tuned one saw only what its readout saw.

    Attributes:
        samples: how many took part.
        default_error, tuned_error: squared error as a share of what guessing the classes' shares makes.
        half_error: the default's with half of these samples; NaN where every sample took part already.
        default_accuracy, tuned_accuracy: share of samples that they get right.
        gain: default_error less tuned_error, above 0 where tuning helps.
        spread: standard error of the gain over samples.
    """

    samples: int
    default_error: float
    tuned_error: float
    half_error: float
    default_accuracy: float
    tuned_accuracy: float
    gain: float
    spread: float

    def default_error_at(self, P: int) -> float:
        """The default's error with P samples: measured, or where fewer took part, drawn on by the power law of the halves."""
        if self.samples >= P or not 0 < self.default_error < self.half_error:
            return self.default_error
        return float(self.default_error * (self.default_error / self.half_error) ** np.log2(P / self.samples))


def subsample(codes: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Places of at most `limit` samples, drawn at random, in order."""
    if len(codes) <= limit:
        return np.arange(len(codes))
    return np.sort(rng.permutation(len(codes))[:limit])


def features_of(X: Tensor, codes: np.ndarray) -> Features:
    """Log-power of sequences `(P, L, C)`; classes that none of them has drop out."""
    return Features(log_power(X, EPS).numpy(), np.unique(codes, return_inverse=True)[1])


def observed(features: Features) -> np.ndarray:
    """The Fisher spectrum of all these samples, `(K,)`."""
    return fisher(features, np.ones((1, len(features.codes))))[0]


def resampled(features: Features, rng: np.random.Generator) -> tuple[Band, Reliability]:
    """Resamples, halves and permutations around the spectrum of these samples."""
    seen, null = observed(features), permuted(features, PERMUTATIONS, rng)
    found, kept = band(features, seen, null, rng)
    return found, reliability(features, seen, null, kept, rng)


def mismatches(X: Tensor, Y: Tensor, task: Spectrum, rng: np.random.Generator) -> tuple[Mismatch, ...]:
    """Both layers before and after tuning, beside the task."""
    linear, s4d = linear_part(X, Y, rng), default_s4d()
    priors: tuple[Parameters, ...] = (default_prior(task.length), tuned_prior(task), s4d, tune(s4d, task)[0])
    return tuple(mismatch(name, ssm, task, linear) for name, ssm in zip(NAMES, priors, strict=True))


def curves(X: Tensor, Y: Tensor, task: Spectrum) -> tuple[Curve, Curve]:
    """The theory's learning curves of the default and of the tuned prior, up to twice the samples at hand."""
    sizes = np.unique(np.geomspace(max(2, len(X) / 16), 2 * len(X), 9).round())
    default, tuned = (unit_variance(ssm, X) for ssm in (default_prior(task.length), tuned_prior(task)))
    return predicted_curve(default, X, Y, sizes), predicted_curve(tuned, X, Y, sizes)


def trial(X: Tensor, features: Features, rng: np.random.Generator, more: bool = False) -> Trial | None:
    """Fit both priors' readouts without a fifth of the samples and try them on it; None where no fold allows that.

    Args:
        X: sequences `(P, L, C)`.
        features: their log-power and codes.
        rng: deals the folds.
        more: whether there are more samples than these, so that the default is tried with half of these as well.
    """
    found = _tried(X, features, rng)
    if not found:
        return None
    default, tuned = (_joined([pair[side] for pair in found]) for side in (0, 1))
    half = float("nan")
    if more:
        part = rng.permutation(len(X))[: len(X) // 2]
        fewer = Features(features.z[part], np.unique(features.codes[part], return_inverse=True)[1])
        half = _joined([pair[0] for pair in _tried(X[part], fewer, rng)]).error
    gains = default.errors - tuned.errors
    # Repeats hold out the same samples again, so they do not count as more samples.
    spread = float(gains.std() / np.sqrt(min(len(gains), len(X))))
    return Trial(
        len(X), default.error, tuned.error, half, default.accuracy, tuned.accuracy, float(gains.mean()), spread
    )


def _tried(X: Tensor, features: Features, rng: np.random.Generator) -> list[tuple[HeldOut, HeldOut]]:
    P = len(X)
    Y = torch.from_numpy(np.eye(len(features.counts))[features.codes])
    pairs = []
    for _ in range(1 if P > ENOUGH else REPEATS):
        fold = _folds(features.codes, rng)
        pairs += [_pair(X, Y, features, fold == number) for number in range(min(FOLDS, P))]
    return [pair for pair in pairs if pair is not None]


def _folds(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fold for each sample, every class dealt out evenly."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), dtype=int)
    fold[order] = np.arange(len(codes)) % FOLDS
    return fold


def _pair(X: Tensor, Y: Tensor, features: Features, test: np.ndarray) -> tuple[HeldOut, HeldOut] | None:
    seen = np.flatnonzero(~test)
    if len(seen) < 2 or not test.any() or len(np.unique(features.codes[seen])) < 2:
        return None
    power = observed(Features(features.z[seen], np.unique(features.codes[seen], return_inverse=True)[1]))
    if not power.any() or not X[seen].any():
        return None
    priors = default_prior(X.shape[1]), tuned_prior(Spectrum(power, X.shape[1]))
    try:
        default, tuned = (held_out(ssm, X, Y, test) for ssm in priors)
    except InputError:  # the sequences of this fold leave a state without any variance
        return None
    return default, tuned


def _joined(parts: list[HeldOut]) -> HeldOut:
    return HeldOut(np.concatenate([part.errors for part in parts]), np.concatenate([part.hits for part in parts]))
