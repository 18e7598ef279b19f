"""A diagnosis in sentences and in a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from .verdict import FEW, FEWEST, HELP, MANY, NONE, P_VALUE, RECORD, THRESHOLD

if TYPE_CHECKING:
    from .result import Diagnosis

__all__ = ["frequency", "percent", "reasons", "sentence", "summary"]

WIDTH, BARS = 80, "▁▂▃▄▅▆▇█"


def percent(value: float) -> str:
    """A share in whole percent; a dash where there is none."""
    return f"{100 * value:.0f} %" if np.isfinite(value) else "–"


def frequency(found: Diagnosis, cycles: float) -> str:
    """A frequency in Hz, or in cycles per step where no sampling rate is known."""
    if found.sampling_rate is None:
        return f"{cycles:.4g} cycles per step"
    return f"{cycles * found.sampling_rate:.4g} Hz"


def sentence(found: Diagnosis) -> str:
    """The verdict in one sentence."""
    if found.verdict == HELP:
        return (
            "Help expected: the labels shape the spectrum, and with this many samples the default "
            f"{_missed(found.evidence.default_error)}."
        )
    if found.verdict == FEW:
        return f"Too few samples to tell: {_lack(found)}."
    if found.evidence.p_value > P_VALUE:
        return "No benefit expected: no frequency tells the classes apart better than permuted labels do."
    return (
        "No benefit expected: with this many samples the default misses only "
        f"{percent(found.evidence.default_error)} of the task, which leaves little to gain."
    )


def _missed(error: float) -> str:
    return "does no better than guessing" if error >= 1 else f"still misses {percent(error)} of the task"


def _lack(found: Diagnosis) -> str:
    if found.samples < FEWEST:
        return f"there are {found.samples}, and nothing is said below {FEWEST}"
    if found.trial is None:
        return "no fold of them leaves two classes to learn from"
    return f"permuting the labels of {found.samples} samples often gives as high a peak"


def reasons(found: Diagnosis) -> tuple[str, ...]:
    """Why the verdict is what it is, the numbers in it, and how often such a verdict was right."""
    trust = found.reliability
    cycles, _ = found.spectrum.peaks(1)
    peak = frequency(found, float(cycles[0]))
    chance = "more than chance" if trust.p_value <= P_VALUE else "what chance gives as well"
    lines = [
        (
            f"The spectrum's peak, at {peak}, is {chance}: permuted labels reach it with p = {trust.p_value:.2g}. "
            f"{percent(trust.audible)} of the frequencies lie above all that permuted labels reach in 95 % of the draws."
        )
    ]
    if np.isfinite(trust.agreement):
        lines.append(
            f"Spectra of two halves of the samples correlate by {trust.agreement:.2f} (permuted labels: up to "
            f"{trust.permuted_agreement:.2f}); resamples find {percent(trust.kept)} of the strongest peaks again."
        )
    lines += _trial(found)
    before, after = found.mismatch[:2]
    lines.append(f"Tuning takes L_spec of the one-layer default from {before.loss:.2f} to {after.loss:.2f}.")
    if found.verdict == NONE and found.evidence.p_value > P_VALUE:
        lines.append(f"With {found.samples} samples (at least {MANY}) a peak that matters would have shown.")
    elif found.verdict != FEW:
        right, given = RECORD[found.verdict]
        lines.append(
            f"In the calibration, with the data set in question left out, {right} of {given} such verdicts were right."
        )
    return tuple(lines)


def _trial(found: Diagnosis) -> list[str]:
    trial = found.trial
    if trial is None:
        return []
    drawn = f" (estimated from {trial.samples} samples)" if found.evidence.samples > trial.samples else ""
    change = "lower" if trial.gain > 0 else "higher"
    side = "above" if found.evidence.default_error > THRESHOLD else "not above"
    return [
        (
            f"On held-out samples the default misses {percent(found.evidence.default_error)} of what guessing misses{drawn}, "
            f"{side} the limit of {percent(THRESHOLD)}."
        ),
        (
            f"A closed-form readout gets {percent(trial.default_accuracy)} right with the default and "
            f"{percent(trial.tuned_accuracy)} with the tuned prior "
            f"(error {change} by {abs(trial.gain):.2f} ± {trial.spread:.2f}). In the calibration this difference did not tell "
            "gain from loss, so the verdict does not use it."
        ),
    ]


def summary(found: Diagnosis) -> str:
    """The text that `print` shows."""
    many = f"{found.samples} samples of {found.spectrum.length} steps, {len(found.classes)} classes"
    top = found.spectrum.frequencies[-1]
    blocks = [
        *textwrap.wrap(sentence(found), WIDTH),
        "",
        f"{many} (the smallest has {min(found.counts)})",
        "",
        f"  task     {_bars(found.spectrum.power)}",
        f"  default  {_bars(found.models.default.power)}",
        f"  tuned    {_bars(found.models.tuned.power)}",
        f"           0{frequency(found, float(top)):>{WIDTH - 20}}",
        "",
    ]
    for reason in found.reasons:
        blocks += textwrap.wrap(reason, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(blocks)


def _bars(power: np.ndarray, columns: int = WIDTH - 19) -> str:
    """The highest power in each of at most so many equal parts of the axis, as blocks."""
    edges = np.linspace(0, len(power), min(columns, len(power)) + 1).astype(int)
    heights = np.maximum.reduceat(power, edges[:-1]) / (power.max() or 1.0)
    return "".join(BARS[round(height * (len(BARS) - 1))] for height in heights)
