"""From sequences to features: what each filter hears, pooled over time by the share of values above thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .bank import VIEWS, Design, Filters, View
from .product import times_transposed

__all__ = ["FeatureMap", "fit_features", "joined", "mixing"]

POSITIONS = 32  # positions within a support at which a filter is evaluated: each, for supports up to this
CALIBRATION = 32  # training samples that thresholds are taken from
DRAWS = 500  # values of each filter that its thresholds are taken from
BLOCK = 1 << 20  # values in flight at once
TOGETHER = 16  # samples at once in a block, at most; a power of two
ROW = 64  # torch adds up columns beyond the last multiple of this in another order
SAMPLES = 512  # samples at once whose features are wanted a part at a time
FAINT = 1e-4  # energy that is as good as none, for inputs and filters of unit energy
MIXTURES = 16  # sources at most
SHORT = 32  # sequences shorter than this are worked on in float64, which costs nothing there
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Ear:
    """All members of a bank that hear the same frames: reversed responses times gain, `(F, support)`, and their levels."""

    view: View
    source: int
    members: list[int]
    kernels: Tensor
    thresholds: Tensor  # (K, F)
    gain: Tensor  # (F,)


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A bank with its thresholds: `(P, L, C)` to `(P, features)`.

    `mix` `(sources, C)` makes sources of channels; `centre` and `spread` `(C,)` standardize channels; thresholds `(K, F)`
    and `gains` `(F,)`, one pair for each member of the bank, turn an output y into clamp(gain · y - threshold, 0, 1).
    """

    bank: tuple[Filters, ...]
    mix: Tensor
    centre: Tensor
    spread: Tensor
    thresholds: tuple[Tensor, ...]
    gains: tuple[Tensor, ...]
    energy: float
    peak: float

    def __call__(self, X: Tensor) -> Tensor:
        """Shares of values above thresholds, log-energies and largest values, `(P, (K + 2)·F)`.

        A sample's features do not depend on the samples beside it.
        """
        return self._heard(X, self._ears())

    def parts(self, X: Tensor) -> Iterator[Tensor]:
        """The same for a few samples after the other, where all features at once are not needed."""
        ears = self._ears()
        for part in X.split(SAMPLES):
            yield self._heard(part, ears)

    def views(self, X: Tensor) -> dict[View, list[Tensor]]:
        return _views(X, self.mix, self.centre, self.spread)

    def _heard(self, X: Tensor, ears: list[Ear]) -> Tensor:
        views = self.views(X)
        found: dict[int, Tensor] = {}
        for ear in ears:
            pooled = _pooled(views[ear.view][ear.source], ear, self.energy, self.peak)
            parts = pooled.split([len(self.gains[i]) for i in ear.members], dim=2)
            found |= {i: part.flatten(1) for i, part in zip(ear.members, parts, strict=True)}
        return torch.cat([found[i] for i in range(len(self.bank))], dim=1)

    def _ears(self) -> list[Ear]:
        groups: dict[tuple[View, int, int], list[int]] = {}
        for i, filters in enumerate(self.bank):
            groups.setdefault((filters.view, filters.source, filters.support), []).append(i)
        ears = []
        for (view, source, _), members in groups.items():
            gain = torch.cat([self.gains[i] for i in members])
            responses = torch.cat([self.bank[i].responses() for i in members])
            kernels = (responses * gain.unsqueeze(1)).to(self.centre.dtype).flip(1)
            thresholds = torch.cat([self.thresholds[i] for i in members], dim=1)
            ears.append(Ear(view, source, members, kernels, thresholds, gain))
        return ears


def mixing(channels: int, rng: np.random.Generator) -> Tensor:
    """Sources of channels, `(sources, C)`: each alone and random mixtures of them; mixtures alone where C is large."""
    if channels == 1:
        return torch.ones(1, 1, dtype=torch.float64)
    alone = np.eye(channels) if channels <= MIXTURES // 2 else np.empty((0, channels))
    count = MIXTURES - len(alone) if len(alone) == 0 else channels
    kept = rng.random((count, channels)) < max(2.0, channels**0.5) / channels
    kept[np.arange(count), rng.integers(channels, size=count)] = True
    mixed = rng.normal(size=(count, channels)) * kept
    rows = np.concatenate([alone, mixed])
    return torch.from_numpy(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def fit_features(design: Design, bank: tuple[Filters, ...], mix: Tensor, X: Tensor) -> FeatureMap:
    """Thresholds at quantiles of what each filter says of the training samples."""
    dtype = torch.float64 if X.shape[1] < SHORT else torch.float32
    centre, spread = X.double().mean((0, 1)), X.double().std((0, 1), correction=0)
    centre, spread, mix = (part.to(dtype) for part in (centre, torch.where(spread > 0, spread, 1.0), mix))
    views = _views(_spread_out(X), mix, centre, spread)
    thresholds, gains = [], []
    for filters in bank:
        frames = _frames(views[filters.view][filters.source], filters.support)
        positions = frames.shape[1]
        drawn = torch.arange(0, len(frames) * positions, -(-len(frames) * positions // DRAWS))
        y = frames[drawn // positions, drawn % positions] @ filters.responses().to(dtype).flip(1).T
        ordered = torch.from_numpy(np.sort(y.T.numpy(), axis=1)).T  # numpy's sort is several times faster
        spread_of = (ordered - ordered.mean(0)).square().mean(0).sqrt()
        gain = 1 / (design.ramp * spread_of).clamp(min=1e-6)
        # A low-discrepancy sequence of quantiles, which goes on from filter to filter.
        share = torch.arange(1, design.thresholds * y.shape[1] + 1, dtype=torch.float64).mul(GOLDEN).remainder(1.0)
        places = (share.view(design.thresholds, -1) * (len(ordered) - 1)).round().long()
        thresholds.append(ordered.gather(0, places) * gain - 0.5)
        gains.append(gain)
    return FeatureMap(bank, mix, centre, spread, tuple(thresholds), tuple(gains), design.energy, design.peak)


def joined(a: FeatureMap, b: FeatureMap) -> FeatureMap:
    """Both banks with one hearing: the features of `a`, then those of `b`, which were fitted to the same samples."""
    return replace(a, bank=a.bank + b.bank, thresholds=a.thresholds + b.thresholds, gains=a.gains + b.gains)


def _spread_out(X: Tensor) -> Tensor:
    """Up to `CALIBRATION` samples that do not depend on the samples' order."""
    if len(X) <= CALIBRATION:
        return X
    weights = torch.linspace(0.5, 1.5, X[0].numel(), dtype=torch.float64).view_as(X[0])
    order = torch.argsort((X.double() * weights).sum((1, 2)))
    return X[order[torch.linspace(0, len(X) - 1, CALIBRATION).round().long()]]


def _views(X: Tensor, mix: Tensor, centre: Tensor, spread: Tensor) -> dict[View, list[Tensor]]:
    """Each view as one `(P, L)` for each source; differences have unit variance in each sample."""
    standard = (X.to(centre.dtype) - centre) / spread
    values = standard @ mix.T  # (P, L, S)
    differences = torch.diff(values, dim=1, prepend=values[:, :1])
    size = differences.std(dim=1, correction=0, keepdim=True)
    differences = differences / torch.where(size > 0, size, 1.0)
    return {VIEWS[0]: list(values.unbind(-1)), VIEWS[1]: list(differences.unbind(-1))}


def _frames(u: Tensor, support: int) -> Tensor:
    """What a filter of this support sees of `(P, L)` from each position, `(P, positions, support)`: a view."""
    stride = max(1, support // POSITIONS)
    return pad(u, (support // 2, support - 1 - support // 2)).unfold(1, support, stride)


def _pooled(u: Tensor, ear: Ear, energy: float, peak: float) -> Tensor:
    """Shares of values above each threshold, energies and largest values, `(P, K + 2, F)`, of inputs `(P, L)`.

    A few samples at a time, so that their outputs stay in the cache, with time first, so that every operation runs on
    long rows. Every block has the same shape, so that each sample is rounded alike in whatever company it comes.
    """
    (count, support), levels = ear.kernels.shape, len(ear.thresholds)
    frames = _frames(u, support)
    positions = frames.shape[1]
    samples = min(TOGETHER, 1 << max(1, BLOCK // (positions * max(count, support))).bit_length() - 1)
    extra = -count % (ROW // samples)
    kernels, thresholds = pad(ear.kernels, (0, 0, 0, extra)), pad(ear.thresholds, (0, extra)).repeat(1, samples)
    pooled = u.new_empty(-(-len(u) // samples), levels + 2, samples * len(kernels))
    x = u.new_zeros(positions, samples, support)
    room = u.new_empty(positions, samples * len(kernels))
    for part, into in zip(frames.split(samples), pooled, strict=True):
        x[:, : len(part)] = part.transpose(0, 1)
        y = times_transposed(x.view(-1, support), kernels).view(positions, -1)
        torch.sum(torch.mul(y, y, out=room), 0, out=into[levels])
        torch.amax(y, 0, out=into[levels + 1])
        for level, at in enumerate(thresholds):
            ramp = torch.sub(y, at, out=room if level < levels - 1 else y).clamp_(0, 1)
            torch.sum(ramp, 0, out=into[level])
    found = pooled.unflatten(2, (samples, -1)).transpose(1, 2).flatten(0, 1)[: len(u), :, :count]
    found[:, : levels + 1] /= positions
    found[:, levels].div_(ear.gain.square()).add_(FAINT).log_().mul_(energy)
    found[:, levels + 1].div_(ear.gain).mul_(peak)
    return found
