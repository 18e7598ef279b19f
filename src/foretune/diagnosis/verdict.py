"""The verdict and its reasons: one threshold, calibrated on the one-layer study (`python -m bench.verdict`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["FEW", "HELP", "NONE", "RECORD", "THRESHOLD", "Answer", "Evidence", "answer", "threshold"]

Answer = Literal["help expected", "no benefit expected", "too few samples to tell"]
HELP: Answer = "help expected"
NONE: Answer = "no benefit expected"
FEW: Answer = "too few samples to tell"

THRESHOLD = 0.63  # of the default's held-out error; the calibration gives it from results/verdict.csv
P_VALUE = 0.05  # above it, permuted labels give as high a peak
RECORD = {
    HELP: (28, 39),
    NONE: (79, 105),
}  # verdicts that were right, and given, each data set left out of its calibration
FEWEST, MANY = 12, 200  # below the first nothing is said; from the second on, the lack of a peak says something
GRID = np.arange(0.05, 1.5, 0.01).round(2)


@dataclass(frozen=True)
class Evidence:
    """What the verdict looks at: the samples, the p-value of the spectrum's peak, the default's held-out error."""

    samples: int
    p_value: float
    default_error: float


def answer(evidence: Evidence, limit: float = THRESHOLD) -> Answer:
    """Help is expected where labels shape the spectrum and the default still misses much of the task at this P."""
    if evidence.samples < FEWEST or not np.isfinite(evidence.default_error):
        return FEW
    if evidence.p_value > P_VALUE:
        return NONE if evidence.samples >= MANY else FEW
    return HELP if evidence.default_error > limit else NONE


def threshold(cases: Iterable[tuple[Evidence, bool]]) -> float:
    """The limit with the best balanced accuracy over the cases that get an answer; the middle one of those as good."""
    given = [(evidence.default_error, truth) for evidence, truth in cases if _depends(evidence)]
    errors, helped = np.array([e for e, _ in given]), np.array([truth for _, truth in given])
    said = errors > GRID[:, None]
    score = (said & helped).sum(1) / max(1, helped.sum()) + (~said & ~helped).sum(1) / max(1, (~helped).sum())
    best = np.flatnonzero(score >= score.max() - 1e-12)
    return float(GRID[best[len(best) // 2]])


def _depends(evidence: Evidence) -> bool:
    return answer(evidence, -np.inf) != answer(evidence, np.inf)
