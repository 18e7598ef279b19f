"""From sequences to features: what each filter hears, pooled over time by the share of values above thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .bank import VIEWS, Design, Filters, View

__all__ = ["FeatureMap", "fit_features", "mixing"]

POSITIONS = 32  # positions within a support at which a filter is evaluated: each, for supports up to this
CALIBRATION = 32  # training samples that thresholds are taken from
DRAWS = 500  # values of each filter that its thresholds are taken from
BLOCK = 1 << 20  # values in flight at once
FAINT = 1e-4  # energy that is as good as none, for inputs and filters of unit energy
MIXTURES = 16  # sources at most
SHORT = 32  # sequences shorter than this are worked on in float64, which costs nothing there
GOLDEN = (5**0.5 - 1) / 2


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
        views = self.views(X)
        found = []
        for filters, gain, thresholds in zip(self.bank, self.gains, self.thresholds, strict=True):
            kernels = (filters.responses() * gain.unsqueeze(1)).to(self.centre.dtype)
            found.append(
                _pooled(views[filters.view][filters.source], kernels, thresholds, gain, self.energy, self.peak)
            )
        return torch.cat(found, dim=1)

    def views(self, X: Tensor) -> dict[View, list[Tensor]]:
        return _views(X, self.mix, self.centre, self.spread)


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
        u = views[filters.view][filters.source]
        y = torch.cat(list(_outputs(u, filters.responses().to(dtype)))).flatten(0, 1)
        ordered = y[:: -(-len(y) // DRAWS)].sort(dim=0).values
        gain = 1 / (design.ramp * ordered.std(dim=0, correction=0)).clamp(min=1e-6)
        # A low-discrepancy sequence of quantiles, which goes on from filter to filter.
        share = torch.arange(1, design.thresholds * y.shape[1] + 1, dtype=torch.float64).mul(GOLDEN).remainder(1.0)
        places = (share.view(design.thresholds, -1) * (len(ordered) - 1)).round().long()
        thresholds.append(ordered.gather(0, places) * gain - 0.5)
        gains.append(gain)
    return FeatureMap(bank, mix, centre, spread, tuple(thresholds), tuple(gains), design.energy, design.peak)


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


def _outputs(u: Tensor, kernels: Tensor) -> Iterator[Tensor]:
    """Outputs `(p, positions, F)` of a few samples at a time, for inputs `(P, L)` and kernels `(F, support)`.

    A product for each sample: its values are then the same to the last bit in whatever company it comes.
    """
    count, support = kernels.shape
    stride = max(1, support // POSITIONS)
    reversed_ = kernels.flip(1).T.contiguous()
    positions = -(-u.shape[1] // stride)
    for part in u.split(max(1, BLOCK // (positions * max(count, support)))):
        frames = pad(part, (support // 2, support - 1 - support // 2)).unfold(1, support, stride).contiguous()
        yield torch.bmm(frames, reversed_.expand(len(part), support, count))


def _pooled(u: Tensor, kernels: Tensor, thresholds: Tensor, gain: Tensor, energy: float, peak: float) -> Tensor:
    """Shares of values above each threshold, energies and largest values: `(P, (K + 2)·F)`."""
    found = []
    for y in _outputs(u, kernels):
        ramp = torch.empty_like(y)
        shares = [torch.sub(y, at, out=ramp).clamp_(0, 1).mean(1) for at in thresholds]
        loudness = torch.mul(y, y, out=ramp).mean(1).div_(gain.square()).add_(FAINT).log_().mul_(energy)
        largest = _largest(y, ramp).div_(gain).mul_(peak)
        found.append(torch.cat([*shares, loudness, largest], dim=1))
    return torch.cat(found)


def _largest(y: Tensor, room: Tensor) -> Tensor:
    """`y.amax(1)` by halving, which runs on whole vectors; `room` is overwritten."""
    count = y.shape[1]
    while count > 1:
        half = count // 2
        torch.maximum(y[:, :half], y[:, half : 2 * half], out=room[:, :half])
        if count % 2:
            torch.maximum(room[:, :1], y[:, count - 1 : count], out=room[:, :1])
        y, count = room, half
    return y[:, 0].clone()
