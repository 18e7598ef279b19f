"""How many labelled examples the Fisher log-power spectrum needs (appendix C.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..init import spectral_loss
from ..spectra import Spectrum, task_spectrum
from .data import mnist_images
from .tables import Columns, Step, Tables, rows, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["compute", "draw"]

RATIOS = (0.001, 0.005, 0.01, 0.02, 0.1, 1.0)
TRAIN = 54_000
SEEDS = 10
PEAKS = 10


def compute(step: Step = silent) -> Tables:
    """Spectra of nested subsets of 54,000 training images, and how far they are from that of all."""
    images, labels = mnist_images()
    order = np.random.default_rng(0).permutation(len(images))[:TRAIN]
    whole = task_spectrum(images[order], labels[order])
    spectra: Columns = {"frequency": whole.frequencies}
    summary = []
    for done, ratio in enumerate(RATIOS):
        count = round(ratio * TRAIN)
        found = [whole] if ratio == 1 else [_subset(images, labels, order, count, seed) for seed in range(SEEDS)]
        spectra[f"{count}"] = found[0].power
        losses = np.array([spectral_loss(spectrum, whole) for spectrum in found])
        summary.append(
            {
                "ratio": ratio,
                "examples": count,
                "L_spec to all": float(losses.mean()),
                "its sd": float(losses.std()),
                "correlation": float(np.mean([np.corrcoef(s.power, whole.power)[0, 1] for s in found])),
                f"top {PEAKS} bins found again": float(np.mean([_shared(s, whole) for s in found])),
            }
        )
        step(done + 1, len(RATIOS))
    return {"summary": rows(summary), "spectra": spectra}


def _subset(images: np.ndarray, labels: np.ndarray, order: np.ndarray, count: int, seed: int) -> Spectrum:
    chosen = order[np.random.default_rng(seed).permutation(len(order))[:count]]
    return task_spectrum(images[chosen], labels[chosen])


def _shared(part: Spectrum, whole: Spectrum) -> float:
    """The share of the whole's strongest bins that are among the part's strongest, give or take one bin."""
    mine, theirs = (np.round(spectrum.peaks(PEAKS)[0] * spectrum.length) for spectrum in (part, whole))
    return float(np.mean([np.abs(mine - place).min() <= 1 for place in theirs]))


def draw(tables: Tables) -> Figure:
    """One panel for each subset size, over the spectrum of all examples."""
    from .style import BLUE, ORANGE, panels

    spectra, summary = tables["spectra"], tables["summary"]
    frequency = spectra["frequency"]
    names = [str(count) for count in summary["examples"]]
    whole = spectra[names[-1]]
    figure, axes = panels(2, 3, 3.3, sharex=True, sharey=True)
    for ax, name in zip(axes, names, strict=True):
        if name != names[-1]:
            ax.plot(frequency, spectra[name] / spectra[name].max(), color=ORANGE, lw=0.8, label="subset")
        ax.plot(frequency, whole / whole.max(), color=BLUE, lw=0.8, label="all")
        ax.set_title(f"{int(name):,} examples", loc="right")
    for ax in axes[3:]:
        ax.set_xlabel("cycles per step")
    for ax in axes[::3]:
        ax.set_ylabel("relative\nFisher log-power")
    axes[0].set(xlim=(0, 0.5), ylim=(0, 1.05))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure
