"""Sums over samples that can be taken in any order and in parts without losing digits (Chan, Golub and LeVeque).

Every value is first shifted by the first sample seen, so that a large common offset never meets a small variance.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import InputError

__all__ = ["ClassMoments", "CrossMoments"]


class ClassMoments:
    """Count, mean and variance of features `(F,)` for each class, in one pass."""

    def __init__(self) -> None:
        self.pivot: Tensor | None = None  # (F,)
        self.counts: Tensor = torch.zeros(0, dtype=torch.float64)  # (d,)
        self.mean: Tensor = torch.zeros(0, 0, dtype=torch.float64)  # (d, F), relative to the pivot
        self.scatter: Tensor = torch.zeros(0, 0, dtype=torch.float64)  # (d, F), sum of squared deviations

    def update(self, values: Tensor, codes: Tensor, classes: int) -> None:
        """Take in `values` `(P, F)` whose classes are `codes` `(P,)` out of `classes` known so far."""
        if self.pivot is None:
            self.pivot = values[0].clone()
            self.mean = values.new_zeros(0, values.shape[1])
            self.scatter, self.counts = self.mean.clone(), values.new_zeros(0)
        self._grow(classes)
        member = torch.nn.functional.one_hot(codes, classes).to(values)  # (P, d)
        shifted = values - self.pivot
        counts = member.sum(0)
        mean = member.T @ shifted / counts.clamp(min=1)[:, None]
        scatter = member.T @ shifted.sub_(mean[codes]).square_()
        self._merge(counts, mean, scatter)

    def _grow(self, classes: int) -> None:
        more = classes - len(self.counts)
        if more > 0:
            rows = self.mean.new_zeros(more, self.mean.shape[1])
            self.counts = torch.cat([self.counts, self.counts.new_zeros(more)])
            self.mean, self.scatter = torch.cat([self.mean, rows]), torch.cat([self.scatter, rows])

    def _merge(self, counts: Tensor, mean: Tensor, scatter: Tensor) -> None:
        total = (self.counts + counts).clamp(min=1)[:, None]
        step = mean - self.mean
        both = (self.counts * counts)[:, None] / total
        # A class that is new here adopts the other side's mean without rounding: its own count is 0.
        self.mean = self.mean + step * (counts[:, None] / total)
        self.scatter = self.scatter + scatter + step.square() * both
        self.counts = self.counts + counts

    @property
    def present(self) -> Tensor:
        """Which classes have at least one sample."""
        return self.counts > 0


class CrossMoments:
    """The covariance of features `(F,)` with real targets `(d,)`, in one pass."""

    def __init__(self) -> None:
        self.pivot: tuple[Tensor, Tensor] | None = None
        self.count = 0
        self.mean_x = self.mean_y = self.comoment = torch.zeros(0)

    def update(self, values: Tensor, targets: Tensor) -> None:
        """Take in `values` `(P, F)` with their `targets` `(P, d)`."""
        if self.pivot is None:
            self.pivot = values[0].clone(), targets[0].clone()
            self.mean_x, self.mean_y = torch.zeros_like(values[0]), torch.zeros_like(targets[0])
            self.comoment = values.new_zeros(values.shape[1], targets.shape[1])
        if targets.shape[1:] != self.pivot[1].shape:
            raise InputError(
                f"a batch has targets of {targets.shape[1]} columns, those before it {len(self.pivot[1])}; make them equal"
            )
        x, y = values - self.pivot[0], targets - self.pivot[1]
        mean_x, mean_y, count = x.mean(0), y.mean(0), len(x)
        total = self.count + count
        step_x, step_y = mean_x - self.mean_x, mean_y - self.mean_y
        self.comoment = (
            self.comoment + (x - mean_x).T @ (y - mean_y) + torch.outer(step_x, step_y) * (self.count * count / total)
        )
        self.mean_x = self.mean_x + step_x * (count / total)
        self.mean_y = self.mean_y + step_y * (count / total)
        self.count = total

    @property
    def covariance(self) -> Tensor:
        """`(F, d)`: (1/P) Σ (u - ū)(Y - Ȳ)ᵀ."""
        return self.comoment / max(self.count, 1)
