"""How far a Fisher spectrum can be trusted at this many samples: resampled, halved, and with the labels permuted.

Every sample's log-power is computed once; a resample only weighs it anew, so all of them together are a few matrix
products. Log-power is first shifted by its class mean, so that no variance is the difference of large numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Band", "Features", "Reliability", "band", "fisher", "permuted", "reliability"]

RESAMPLES, PERMUTATIONS, SPLITS, TOP = 200, 200, 20, 8
RIDGE = 1e-4
BLOCK = 1 << 24  # values of the label matrices in flight at once


@dataclass(frozen=True, eq=False)
class Features:
    """Log-power `(P, K, C)` of every sample and the codes of their classes, `0 .. d-1`, each present."""

    z: np.ndarray
    codes: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        """`(P, K·C)`."""
        return self.z.reshape(len(self.z), -1)

    @property
    def counts(self) -> np.ndarray:
        """Samples of each class."""
        return np.bincount(self.codes)

    def over_channels(self, ratios: np.ndarray) -> np.ndarray:
        """`(B, K·C)` to the mean over channels, `(B, K)`."""
        return ratios.reshape(len(ratios), *self.z.shape[1:]).mean(-1)


@dataclass(frozen=True, eq=False)
class Band:
    """What chance does to the spectrum, one value for each frequency.

    `low` to `high` hold the middle 90 % of the resamples, each class resampled within itself, after taking off the
    upward shift that resampling itself causes. `chance` is what permuted labels give on average.
    """

    low: np.ndarray
    high: np.ndarray
    chance: np.ndarray


@dataclass(frozen=True)
class Reliability:
    """Whether the spectrum says anything at this P.

    Attributes:
        p_value: share of label permutations whose spectrum has at least as high a peak (the observed one counted in).
        level: the height that permuted labels reach anywhere in 5 % of the permutations.
        audible: share of the frequencies above that level.
        agreement: correlation of the spectra of two random halves, mean over splits; NaN where fewer than two classes
            have two samples.
        permuted_agreement: the same with permuted labels, 95 % quantile over splits.
        kept: share of the strongest frequencies that resamples find again, to one bin.
    """

    p_value: float
    level: float
    audible: float
    agreement: float
    permuted_agreement: float
    kept: float


def fisher(features: Features, weights: np.ndarray) -> np.ndarray:
    """Fisher ratios `(B, K)` under each row of sample weights `(B, P)`; a weight of 0 leaves the sample out."""
    z, total = features.flat, weights.sum(1)
    members = [np.flatnonzero(features.codes == code) for code in range(len(features.counts))]
    centres = np.array([z[member].mean(0) for member in members])
    priors = np.array([weights[:, member].sum(1) for member in members]) / total  # (d, B)
    within = np.zeros((len(weights), z.shape[1]))
    means = np.empty((len(members), *within.shape))
    for code, member in enumerate(members):
        residual, share = z[member] - centres[code], weights[:, member] / total[:, None]
        shift = share @ residual / np.maximum(priors[code], np.finfo(float).tiny)[:, None]
        within += share @ np.square(residual) - priors[code][:, None] * np.square(shift)
        means[code] = centres[code] + shift
    grand = np.einsum("db,dbf->bf", priors, means)
    between = np.einsum("db,dbf->bf", priors, np.square(means - grand))
    return features.over_channels(between / (np.maximum(within, 0) + RIDGE))


def permuted(features: Features, count: int, rng: np.random.Generator) -> np.ndarray:
    """Fisher ratios `(count, K)` with the labels permuted: what a spectrum looks like where there is nothing to see."""
    z, counts, P = features.flat, features.counts, len(features.codes)
    shifted = z - z.mean(0)
    total = np.square(shifted).mean(0)
    rows = max(1, BLOCK // (P * len(counts)))
    parts = []
    for start in range(0, count, rows):
        orders = np.array([rng.permutation(features.codes) for _ in range(min(rows, count - start))])
        member = (orders[:, None, :] == np.arange(len(counts))[:, None]).astype(np.float64)  # (B, d, P)
        means = (member.reshape(-1, P) @ shifted).reshape(len(orders), len(counts), -1) / counts[:, None]
        between = np.einsum("d,bdf->bf", counts / P, np.square(means))
        parts.append(between / (np.maximum(total - between, 0) + RIDGE))
    return features.over_channels(np.concatenate(parts))


def band(features: Features, observed: np.ndarray, null: np.ndarray, rng: np.random.Generator) -> tuple[Band, float]:
    """The band around the observed spectrum `(K,)`, and the share of its strongest frequencies that resamples keep."""
    weights = np.zeros((RESAMPLES, len(features.codes)))
    for code, count in enumerate(features.counts):
        member = np.flatnonzero(features.codes == code)
        weights[:, member] = rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    drawn = fisher(features, weights)
    shift = drawn.mean(0) - observed
    low, high = np.maximum(np.quantile(drawn, (0.05, 0.95), axis=0) - shift, 0)
    return Band(np.minimum(low, observed), np.maximum(high, observed), null.mean(0)), _kept(observed, drawn)


def _kept(observed: np.ndarray, drawn: np.ndarray) -> float:
    count = max(1, min(TOP, len(observed) // 4))
    top = np.argsort(-observed)[:count]
    found = np.argsort(-drawn, axis=1)[:, :count]
    return float((np.abs(found[:, None, :] - top[:, None]).min(-1) <= 1).mean())


def reliability(
    features: Features, observed: np.ndarray, null: np.ndarray, kept: float, rng: np.random.Generator
) -> Reliability:
    """How the observed spectrum `(K,)` compares with those of permuted labels `(B, K)`."""
    peaks = null.max(1)
    level = float(np.quantile(peaks, 0.95))
    halves = [_halves(features, rng) for _ in range(SPLITS)]
    shuffled = [_halves(Features(features.z, rng.permutation(features.codes)), rng) for _ in range(SPLITS)]
    return Reliability(
        p_value=float((1 + (peaks >= observed.max()).sum()) / (1 + len(peaks))),
        level=level,
        audible=float((observed > level).mean()),
        agreement=float(np.mean(halves)),
        permuted_agreement=float(np.quantile(shuffled, 0.95)),
        kept=kept,
    )


def _halves(features: Features, rng: np.random.Generator) -> float:
    """Correlation of the spectra of two halves that share every class evenly."""
    if (features.counts >= 2).sum() < 2 or features.z.shape[1] < 3:
        return float("nan")
    order = rng.permutation(len(features.codes))
    order = order[np.argsort(features.codes[order], kind="stable")]
    first = np.zeros(len(order))
    place = np.concatenate([np.arange(count) for count in features.counts])
    first[order] = place % 2 == 0
    a, b = fisher(features, np.array([first, 1 - first]))
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0
