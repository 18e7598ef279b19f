"""Banks of fixed filters: few complex diagonal modes each, at log-spaced time scales and frequencies or at a task's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..spectra import Spectrum
from ..ssm.geometric import geometric_sum

__all__ = ["VIEWS", "Design", "Filters", "Placement", "draw_bank"]

View = Literal["values", "differences"]
Placement = Literal["default", "task"]
VIEWS: tuple[View, ...] = ("values", "differences")


@dataclass(frozen=True)
class Design:
    """What a bank looks like, whatever the task; `docs/classifier.md` says how each default was chosen.

    Args:
        filters: how many in all; supports and views share them evenly.
        modes: fewest and most complex modes of one filter.
        cycles: fewest and most cycles of a mode within the filter's support.
        decay: a mode has decayed by exp(-decay) at the end of its support, where it is cut.
        shortest: the shortest support; the others double it up to the sequence's length.
        thresholds: shares of values above a threshold that are pooled from each filter.
        ramp: width of a threshold in standard deviations of the filter's output.
        energy, peak: weights of a filter's log-energy and of its largest value, beside shares of values.
    """

    filters: int = 1500
    modes: tuple[int, int] = (1, 3)
    cycles: tuple[float, float] = (0.5, 16.0)
    decay: float = 2.5
    shortest: int = 8
    thresholds: int = 2
    ramp: float = 0.3
    energy: float = 0.15
    peak: float = 0.1

    def __post_init__(self) -> None:
        if isinstance(self.filters, bool) or not isinstance(self.filters, int | np.integer) or self.filters < 1:
            raise InputError(f"filters is {self.filters!r}; pass a whole number of at least 1")

    def supports(self, length: int) -> list[int]:
        """Supports in steps, shortest first."""
        doublings = max(0, int(math.log2(length / self.shortest))) if length > self.shortest else 0
        return [min(self.shortest, length) * 2**k for k in range(doublings + 1)]


@dataclass(frozen=True, eq=False)
class Filters:
    """Filters of one support that hear one view of one source: `k_t = 2 Re Σ_n c_n exp(t z_n)`, `t < support`.

    A source is a mixture of input channels. `coefficients` c and `exponents` z are complex, `(F, modes)`.
    """

    view: View
    source: int
    support: int
    coefficients: Tensor
    exponents: Tensor

    def responses(self) -> Tensor:
        """Impulse responses, `(F, support)`."""
        return geometric_sum(self.coefficients, self.exponents, self.support)


def draw_bank(
    design: Design, length: int, sources: int, rng: np.random.Generator, spectrum: Spectrum | None = None
) -> tuple[Filters, ...]:
    """A bank for sequences of this length.

    Without a spectrum, the frequencies of each support are drawn log-uniformly; with one, they are drawn with the task's
    spectrum as their density, each within half a bin of the frequency drawn.
    """
    supports = design.supports(length)
    cells = [(view, n, source) for view in VIEWS for n in supports for source in range(sources)]
    counts = np.diff(np.linspace(0, max(design.filters, len(VIEWS) * len(supports)), len(cells) + 1).astype(int))
    return tuple(
        _draw(design, view, source, n, int(count), rng, spectrum)
        for (view, n, source), count in zip(cells, counts, strict=True)
        if count
    )


def _draw(
    design: Design,
    view: View,
    source: int,
    support: int,
    count: int,
    rng: np.random.Generator,
    spectrum: Spectrum | None,
) -> Filters:
    """`count` filters of random modes and one real mode that takes off their answer to a constant."""
    shape = (count, design.modes[1])
    frequency = _log_spaced(design, support, shape, rng) if spectrum is None else _from_task(spectrum, shape, rng)
    used = np.arange(shape[1]) < rng.integers(design.modes[0], design.modes[1] + 1, (count, 1))
    c = (rng.normal(size=shape) + 1j * rng.normal(size=shape)) * used
    rate = design.decay / support
    z = -rate + 2j * np.pi * frequency
    # The real mode stands last: Σ_t k_t = 0.
    z = np.concatenate([z, np.full((count, 1), -rate)], axis=1)
    sums = np.expm1(support * z) / np.expm1(z)
    flat = -(c * sums[:, :-1]).real.sum(1, keepdims=True) / sums[:, -1:].real
    c = np.concatenate([c, flat], axis=1)
    filters = Filters(view, source, support, torch.from_numpy(c), torch.from_numpy(z))
    size = filters.responses().norm(dim=1, keepdim=True).clamp(min=1e-9)
    return Filters(view, source, support, filters.coefficients / size, filters.exponents)


def _log_spaced(design: Design, support: int, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    high = min(0.5, design.cycles[1] / support)
    low = min(design.cycles[0] / support, high)
    return np.exp(rng.uniform(np.log(low), np.log(high), shape))


def _from_task(spectrum: Spectrum, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    power = spectrum.power[1:]
    if not power.sum() > 0:
        power = np.ones(len(spectrum.power) - 1)
    bins = rng.choice(np.arange(1, len(power) + 1), shape, p=power / power.sum())
    return np.clip((bins + rng.uniform(-0.5, 0.5, shape)) / spectrum.length, 0.0, 0.5)
