"""Which frequencies of the input tell the targets apart: the two task spectra of the paper.

Road (`Estimator`): batch -> features (`log_power`, or the sequence itself) -> moments -> spectrum. In memory and
streaming are the same code; in memory, the batches are slices of the array.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import InputError
from .moments import ClassMoments, CrossMoments
from .spectrum import Spectrum

__all__ = ["Method", "fisher_ratio", "log_power", "task_spectrum", "task_spectrum_from_batches"]

Method = Literal["fisher", "cross"]
BLOCK = 1 << 21  # values in flight at once: stays in cache, and bounds memory whatever the number of samples


def task_spectrum(
    X: checks.Arrays, y: Any, method: Method = "fisher", eps: float = 1e-6, ridge: float = 1e-4
) -> Spectrum:
    """The task's spectrum from labelled sequences.

    `"fisher"` (Fisher log-power, Algorithm 1) is, at each frequency, the variance between classes of the log-power over
    its variance within classes. `"cross"` is the power of the cross-covariance of input and target.

    Args:
        X: sequences `(P, L)` or `(P, L, C)`, numpy or torch; a tensor is worked on where it lies.
        y: one label of any hashable kind for each sample, or real targets `(P, d)` for `"cross"` (one-dimensional
            floats that are not all whole numbers also count as real targets).
        method: `"fisher"` or `"cross"`.
        eps: added to the power before the logarithm (Fisher).
        ridge: added to the variance within classes (Fisher).

    Several channels give one spectrum each, in `.channels`, and their mean over channels in `.power`.
    """
    sequences = checks.as_sequences(X)
    checks.same_length(sequences, y)
    if method == "fisher" and checks.is_real_target(y) and np.ndim(y[0]) == 0:
        raise InputError(f"y holds real targets such as {y[0]}; use method='cross', or turn them into classes first")
    estimator = Estimator(method, eps, ridge)
    size = max(1, BLOCK // sequences[0].numel())
    real = method == "cross" and checks.is_real_target(y)
    targets = checks.as_real_targets(y) if real else estimator.code(y)
    for start in range(0, len(sequences), size):
        estimator.update(checks.as_batch(sequences[start : start + size], first=start), targets[start : start + size])
    return estimator.spectrum()


def task_spectrum_from_batches(
    batches: Iterable[tuple[checks.Arrays, Any]],
    classes: Sequence[Hashable] | None = None,
    method: Method = "fisher",
    eps: float = 1e-6,
    ridge: float = 1e-4,
) -> Spectrum:
    """The same from an iterable of `(X, y)`, in one pass and in memory that does not grow with the number of samples.

    `classes` lists the labels that may occur; without it they are collected on the way. One that never occurs has prior
    0 and drops out. Batches may come in any order.
    """
    estimator = Estimator(method, eps, ridge, classes)
    for X, y in _pairs(batches):
        batch = checks.as_batch(X, first=estimator.samples)
        checks.same_length(batch, y)
        real = method == "cross" and classes is None and (estimator.real or checks.is_real_target(y))
        estimator.update(batch, checks.as_real_targets(y) if real else estimator.code(y))
    return estimator.spectrum()


def _pairs(batches: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(batches, Iterable):
        raise InputError(f"batches is a {type(batches).__name__}; pass an iterable of (X, y)")
    for batch in batches:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise InputError(f"a batch is a {type(batch).__name__}; pass an iterable of (X, y) pairs")
        yield batch[0], batch[1]


class Estimator:
    """The running sums of one task spectrum: `update` with each batch, then `spectrum`."""

    def __init__(self, method: Method, eps: float, ridge: float, classes: Sequence[Hashable] | None = None) -> None:
        if method not in ("fisher", "cross"):
            raise InputError(f"method is {method!r}; use 'fisher' or 'cross'")
        if not (eps > 0 and ridge >= 0):  # NaN is neither
            raise InputError(f"eps is {eps} and ridge {ridge}; eps must be above 0 and ridge at least 0")
        self.method, self.eps, self.ridge = method, eps, ridge
        self.closed = classes is not None
        self.known: dict[Hashable, int] = {}
        if classes is not None:
            checks.code_labels(classes, self.known)
        self.samples = 0
        self.shape: torch.Size | None = None  # (L, C)
        self.moments: ClassMoments | CrossMoments | None = None

    @property
    def real(self) -> bool:
        return isinstance(self.moments, CrossMoments)

    def code(self, y: Any) -> np.ndarray:
        """Labels as integers, by one table for all batches."""
        return checks.code_labels(y, self.known, self.closed)

    def update(self, batch: Tensor, targets: np.ndarray) -> None:
        """Take in `(P, L, C)` in float64 with integer codes `(P,)` or real targets `(P, d)`."""
        if self.shape is not None and batch.shape[1:] != self.shape:
            raise InputError(
                f"a batch has sequences of (length, channels) {tuple(batch.shape[1:])}, those before it "
                f"{tuple(self.shape)}; pad or cut all to one length"
            )
        if self.moments is not None and self.real != (targets.ndim == 2):
            raise InputError(
                "some batches have labels and others real targets; pass targets as floats (samples, d) in every batch"
            )
        self.shape, self.samples = batch.shape[1:], self.samples + len(batch)
        features = (log_power(batch, self.eps) if self.method == "fisher" else batch).flatten(1)
        wanted = torch.from_numpy(targets).to(features.device)
        if self.moments is None:
            self.moments = ClassMoments() if wanted.ndim == 1 else CrossMoments()
        if isinstance(self.moments, ClassMoments):
            self.moments.update(features, wanted, len(self.known))
        else:
            self.moments.update(features, wanted)

    def spectrum(self) -> Spectrum:
        """The spectrum of everything seen."""
        if self.samples < 2 or self.shape is None or self.moments is None:
            raise InputError(f"there are {self.samples} samples; a task spectrum needs at least 2")
        length, channels = self.shape
        if isinstance(self.moments, CrossMoments):
            power = _cross_power(self.moments.covariance.unflatten(0, (length, channels)))
        else:
            _at_least_two_classes(self.moments, self.known)
            if self.method == "fisher":
                power = fisher_ratio(self.moments, self.ridge).unflatten(0, (-1, channels)).T
            else:
                power = _cross_power(_label_covariance(self.moments).unflatten(0, (length, channels)))
        return _spectrum(power, length)


def log_power(batch: Tensor, eps: float) -> Tensor:
    """`z = log(|rFFT(u)|² + eps)` of `(P, L, C)`, as `(P, K, C)`.

    The mean of each sequence is taken off before the transform, which changes bin 0 only, and put back there: otherwise
    a large offset drowns the other frequencies in rounding.
    """
    mean = batch.mean(dim=1, keepdim=True)
    transformed = torch.fft.rfft(batch - mean, dim=1)
    transformed[:, 0] = batch.sum(dim=1)
    return torch.view_as_real(transformed).square_().sum(-1).add_(eps).log_()


def fisher_ratio(moments: ClassMoments, ridge: float) -> Tensor:
    """Variance between classes over variance within classes, weighted by the class priors, `(F,)`."""
    prior = (moments.counts / moments.counts.sum())[:, None]
    centre = (prior * moments.mean).sum(0)
    between = (prior * (moments.mean - centre).square()).sum(0)
    within = (moments.scatter / moments.counts.sum()).sum(0)  # Σ π_j σ_j², since σ_j² = scatter_j / N_j
    if ridge == 0 and bool((within == 0).any()):
        raise InputError("some frequency has no variance within classes, so ridge must be above 0, such as 1e-4")
    return between / (within + ridge)


def _label_covariance(moments: ClassMoments) -> Tensor:
    """Cross-covariance with one-hot labels, `(F, d)`: column r is π_r (μ_r - ū)."""
    prior = (moments.counts / moments.counts.sum())[:, None]
    centre = (prior * moments.mean).sum(0)
    return (prior * (moments.mean - centre))[moments.present].T


def _cross_power(covariance: Tensor) -> Tensor:
    """(1/d) Σ_r |rFFT(C_r)|² of `(L, C, d)`, as `(C, K)`."""
    return torch.fft.rfft(covariance, dim=0).abs().square().mean(-1).T


def _spectrum(power: Tensor, length: int) -> Spectrum:
    each = power.cpu().numpy()  # (C, K)
    if len(each) == 1:
        return Spectrum(each[0], length)
    return Spectrum(each.mean(axis=0), length, tuple(Spectrum(channel, length) for channel in each))


def _at_least_two_classes(moments: ClassMoments, known: dict[Hashable, int]) -> None:
    seen = [label for label, present in zip(known, moments.present.tolist(), strict=False) if present]
    if len(seen) < 2:
        raise InputError(f"every sample has the label {seen[0]!r}; a task needs at least two classes")
