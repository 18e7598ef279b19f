"""What a diagnosis found, and how it shows itself: as text, as a picture, as the content of a report."""

from __future__ import annotations

import importlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..report import Report
from ..spectra import Spectrum
from .curves import Curve
from .evidence import Trial
from .mismatch import Mismatch
from .resampling import Band, Reliability
from .verdict import Answer, Evidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curves", "Diagnosis", "Models"]


class Models(NamedTuple):
    """Spectra of the one-layer default, of the same layer tuned to the task, and of the default of S4D layers."""

    default: Spectrum
    tuned: Spectrum
    s4d: Spectrum


class Curves(NamedTuple):
    """Predicted learning curves of the one-layer default and of the same layer tuned to the task."""

    default: Curve
    tuned: Curve


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Whether tuning is expected to help; `print` it, `.plot()` it, or make a `.report()` of it.

    Attributes:
        verdict: "help expected", "no benefit expected" or "too few samples to tell".
        evidence: the three numbers that the verdict rests on.
        samples: P.
        classes: the labels, and `counts` how many samples each has.
        spectrum: of the task, from all samples.
        band: what resampling and permuting the labels make of it.
        reliability: whether it says anything at this P.
        models: spectra of the default priors and of the tuned one.
        mismatch: L_spec and alignment of four priors.
        trial: both priors on held-out samples; None where there are too few.
        curves: predicted by theory for both priors.
        sampling_rate: steps per second, where it was given.
    """

    verdict: Answer
    evidence: Evidence
    samples: int
    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    spectrum: Spectrum
    band: Band
    reliability: Reliability
    models: Models
    mismatch: tuple[Mismatch, ...]
    trial: Trial | None
    curves: Curves
    sampling_rate: float | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is what it is, in sentences."""
        from .wording import reasons

        return reasons(self)

    def __str__(self) -> str:
        from .wording import summary

        return summary(self)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.samples} samples in {len(self.classes)} classes: {self.verdict}; print() says why>"

    def report(self) -> Report:
        """The whole diagnosis as the content of a report."""
        from .pages import report

        return report(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the task's spectrum with its band, and both models' spectra."""
        from .pages import spectra

        chart = spectra(self)
        ax = self.spectrum.plot(ax, self.sampling_rate, alpha=0)
        for line in chart.lines:
            (drawn,) = ax.plot(line.x, line.y, label=line.name, ls="--" if line.dashed else "-")
            if line.low:
                ax.fill_between(line.x, line.low, line.high, color=drawn.get_color(), alpha=0.25, lw=0)
        ax.set_title(self.verdict)
        ax.legend(frameon=False)
        return ax

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("foretune.report").notebook(self.report())
        return html
