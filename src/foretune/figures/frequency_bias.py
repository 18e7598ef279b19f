"""What the default S4D listens to before it has seen any data (appendix B, frequency bias)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ..init import model_spectrum
from ..ssm import DiagonalSSM
from ..ssm.defaults import bandwidth, bandwidth_probability
from .tables import Step, Tables, rows, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["compute", "draw"]

HEADS, STATE, LENGTH = 4000, 64, 1024
SHOWN = 512  # heads whose spectra are averaged
LIMITS = {0.1: 0.25, 0.3: 0.49, 0.6: 0.64}  # the paper's probabilities


def compute(step: Step = silent) -> Tables:
    """Band edges Δ⌊N/2⌋ of many default heads against the formula, and the mean power that the heads pass."""
    ssm = DiagonalSSM.s4d_lin(HEADS, STATE, seed=0)
    edges = np.sort(bandwidth(ssm.dt, STATE).numpy())
    some = DiagonalSSM.s4d_lin(SHOWN, STATE, seed=0)
    power = model_spectrum(some, LENGTH, per_head=True, exact=True)
    step(1, 1)
    relative = power.power / power.power.sum(axis=1, keepdims=True)
    at = 2 * power.frequencies  # ω/π
    summary = [
        {
            "x": limit,
            "P(edge < x), paper": paper,
            "formula": bandwidth_probability(limit, STATE),
            f"{HEADS} heads": float(np.mean(edges < limit)),
            "mean share of power below x": float(relative[:, at < limit].sum(1).mean()),
        }
        for limit, paper in LIMITS.items()
    ]
    limits = np.geomspace(0.03, 3.2, 60)
    probability = {
        "x": limits,
        "formula": np.array([bandwidth_probability(x, STATE) for x in limits]),
        "heads": np.searchsorted(edges, limits) / HEADS,
    }
    percentiles = {f"{q} %": np.percentile(relative, q, axis=0) for q in (10, 50, 90)}
    steps = torch.tensor([0.003, 0.01, 0.03], dtype=torch.float64)
    single = {f"dt = {dt:g}": _single(float(dt)) for dt in steps}
    spectra = {"omega/pi": at, "mean": relative.mean(0)} | percentiles | single
    return {"summary": rows(summary), "probability": probability, "spectra": spectra}


def _single(dt: float) -> np.ndarray:
    """The mean spectrum of heads with one time step."""
    ssm = DiagonalSSM.s4d_lin(64, STATE, seed=1, dt=dt)
    power = model_spectrum(ssm, LENGTH, exact=True).power
    return power / power.sum()


def draw(tables: Tables) -> Figure:
    """(a) mean spectra, (b) the probability that a head's fastest mode lies below x."""
    from .style import BLACK, BLUE, GREEN, ORANGE, VERMILION, panels

    spectra, probability, summary = (tables[name] for name in ("spectra", "probability", "summary"))
    figure, (a, b) = panels(1, 2, 2.4)
    for name, colour in (("dt = 0.003", BLUE), ("dt = 0.01", GREEN), ("dt = 0.03", ORANGE)):
        a.semilogy(spectra["omega/pi"], spectra[name], color=colour, lw=0.9, label=name.replace("dt", "Δ"))
    a.semilogy(spectra["omega/pi"], spectra["mean"], color=BLACK, label="default Δ, all heads")
    a.set(xlabel="frequency ω/π", ylabel="share of power", xlim=(0, 1), ylim=(1e-10, 0.2))
    a.legend(loc="lower right")
    b.semilogx(probability["x"], probability["heads"], color=ORANGE, lw=3, label=f"{HEADS} default heads")
    b.semilogx(probability["x"], probability["formula"], color=BLUE, label="log-uniform Δ")
    b.plot(summary["x"], summary["P(edge < x), paper"], "x", color=VERMILION, ms=6, label="paper")
    b.set(xlabel="x", ylabel="P($ω_n$/π < x)", ylim=(0, 1.02))
    b.legend(loc="upper left")
    return figure
