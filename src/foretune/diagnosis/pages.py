"""A diagnosis as the content of a report: the answer, two pictures, and the numbers behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..report import Chart, Line, Report, Section, Sheet
from .wording import percent, reasons, sentence

if TYPE_CHECKING:
    from .result import Diagnosis

__all__ = ["report", "spectra"]

PEAKS = 8


def report(found: Diagnosis) -> Report:
    """Everything about one diagnosis."""
    what = Section("Why", reasons(found), charts=(spectra(found), _learning(found)))
    return Report("Will it help?", (what, _spectrum(found), _mismatch(found), _trial(found)), sentence(found))


def spectra(found: Diagnosis) -> Chart:
    """Task with band and chance level, and the models, each relative to its own highest value."""
    rate = found.sampling_rate or 1.0
    x = tuple((found.spectrum.frequencies * rate).tolist())
    top = found.spectrum.power.max()

    def scaled(power: np.ndarray, height: float) -> tuple[float, ...]:
        return tuple((power / (height or 1.0)).tolist())

    lines = (
        Line(
            "task",
            x,
            scaled(found.spectrum.power, top),
            scaled(found.band.low, top),
            scaled(found.band.high, top),
        ),
        Line("permuted labels", x, scaled(found.band.chance, top), dashed=True),
        *(
            Line(name, x, scaled(model.power, model.power.max()))
            for name, model in zip(("default", "tuned", "S4D default"), found.models, strict=True)
        ),
    )
    unit = "frequency (Hz)" if found.sampling_rate else "frequency (cycles per step)"
    return Chart("What the task needs and what the layers hear", unit, "power, relative to its peak", lines)


def _learning(found: Diagnosis) -> Chart:
    lines = tuple(
        Line(name, tuple(curve.sizes.tolist()), tuple(curve.errors.tolist()))
        for name, curve in zip(("default", "tuned"), found.curves, strict=True)
    )
    title = "Learning curves that theory predicts for a linear readout"
    return Chart(title, "training samples", "error (1: guessing)", lines, log_x=True, y_limits=(0, 1))


def _spectrum(found: Diagnosis) -> Section:
    trust, rate = found.reliability, found.sampling_rate
    places, strengths = found.spectrum.peaks(PEAKS)
    bins = np.round(places * found.spectrum.length).astype(int)
    header = ("frequency (Hz)" if rate else "cycles per step", "turns per sequence", "strength", "power", "90 % band")
    rows = tuple(
        (
            f"{place * (rate or 1.0):.4g}",
            str(k),
            f"{strength:.2f}",
            f"{found.spectrum.power[k]:.3g}",
            f"{found.band.low[k]:.3g} to {found.band.high[k]:.3g}",
        )
        for place, strength, k in zip(places, strengths, bins, strict=True)
    )
    reliability = (
        ("p-value of the highest peak", f"{trust.p_value:.3g}"),
        ("height that permuted labels reach in 5 % of the draws", f"{trust.level:.3g}"),
        ("frequencies above that height", percent(trust.audible)),
        ("correlation of two halves", f"{trust.agreement:.2f}"),
        ("the same, permuted labels, 95 % quantile", f"{trust.permuted_agreement:.2f}"),
        ("strongest frequencies found again in resamples", percent(trust.kept)),
    )
    return Section(
        "Where the task is, and how sure that is",
        (f"{found.samples} samples: " + ", ".join(f"{n} of {c}" for c, n in _largest(found)) + ".",),
        (
            Sheet("Strongest frequencies", header, rows),
            Sheet("Stability at this number of samples", ("measure", "value"), reliability),
        ),
    )


def _largest(found: Diagnosis) -> list[tuple[str, int]]:
    pairs = sorted(zip(map(str, found.classes), found.counts, strict=True), key=lambda pair: -pair[1])
    rest = [count for _, count in pairs[10:]]
    return pairs[:10] + ([(f"{len(rest)} more classes", sum(rest))] if rest else [])


def _mismatch(found: Diagnosis) -> Section:
    rows = tuple((each.name, f"{each.loss:.3f}", percent(each.alignment)) for each in found.mismatch)
    ratios = [
        f"{after.name} over {before.name}: J ratio {after.alignment / before.alignment:.2f}."
        for before, after in (found.mismatch[:2], found.mismatch[2:])
        if before.alignment > 0
    ]
    return Section(
        "Mismatch",
        (
            (
                "L_spec is 0 for the same shape and 2 for disjoint ones. The share of J is that of the best filter of the same "
                "energy, after taking off what permuted labels give; at 0 %, class means carry nothing, and J says nothing."
            ),
            *ratios,
        ),
        (Sheet("Priors beside the task", ("prior", "L_spec", "share of the best J"), rows),),
    )


def _trial(found: Diagnosis) -> Section:
    curve = (
        "The curves are those of kernel ridge regression on the samples' own moments: a linear readout of the whole "
        "filtered sequence, at the best ridge, on as many samples as the axis says. They see class means, not class "
        "powers, stay at 1 where these carry nothing, and are optimistic where samples are few."
    )
    if found.trial is None:
        return Section("Both priors before training", ("There were too few samples for a held-out trial.", curve))
    trial = found.trial
    rows = (
        ("default", f"{trial.default_error:.3f}", percent(trial.default_accuracy)),
        ("tuned", f"{trial.tuned_error:.3f}", percent(trial.tuned_accuracy)),
    )
    held = (
        f"{trial.samples} samples, a fifth held out in turn; the kernel of the model's readout is fitted in closed form, "
        "and the tuned prior comes from the other four fifths."
    )
    sheet = Sheet("Held-out samples, no training", ("prior", "error (1: guessing)", "accuracy"), rows)
    return Section("Both priors before training", (held, curve), (sheet,))
