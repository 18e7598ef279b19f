"""Singular values and vectors of `T_h` against the frequency response as the length grows (theorems of appendix B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from .. import theory
from ..ssm import DiagonalSSM
from ..theory.asymptotics import grid_response
from .tables import Columns, Step, Tables, rows, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["compute", "draw"]

LENGTHS = (32, 64, 128, 256, 512, 1024)
STEPS = {"short memory": 0.2, "long memory": 0.02}  # Δ of an S4D-Lin head
SHOWN = 128


def compute(step: Step = silent) -> Tables:
    """Deviations at each length for a short and a long memory, and the values themselves at one length."""
    summary, done = [], 0
    values: Columns = {}
    for name, dt in STEPS.items():
        h = DiagonalSSM.s4d_lin(1, 16, seed=3, dt=dt).impulse_response(int(80 / dt))[0]  # down to e^-40
        for L in LENGTHS:
            summary.append(
                {
                    "system": name,
                    "L": L,
                    "singular values against |H|": theory.singular_value_deviation(h, L),
                    "T'T off the Fourier diagonal": theory.fourier_deviation(h, L),
                    "single vectors: power at one frequency": _purity(h, L),
                }
            )
            done += 1
            step(done, len(STEPS) * len(LENGTHS))
        values |= _values(name, h)
    return {"summary": rows(summary), "values": values}


def _purity(h: torch.Tensor, L: int) -> float:
    """The mean share of a right singular vector's power that its strongest frequency (with its negative) holds."""
    vectors = torch.from_numpy(theory.eigensystem(h, L).eigenvectors)
    power = torch.fft.rfft(vectors, dim=0).abs().square()
    power[1 : (L + 1) // 2] *= 2
    return float((power.max(0).values / power.sum(0)).mean())


def _values(name: str, h: torch.Tensor) -> Columns:
    found = {f"{name}, L = {L}": theory.singular_values(h, L) for L in (SHOWN,)}
    response = np.sort(grid_response(h, SHOWN).abs().numpy())[::-1]
    return {"rank": np.arange(1, SHOWN + 1)} | found | {f"{name}, |H|": response}


def draw(tables: Tables) -> Figure:
    """(a) sorted singular values and sorted |H| at one length, (b) deviations over the length."""
    from .style import BLUE, GREY, VERMILION, panels

    values, summary = tables["values"], tables["summary"]
    colours = dict(zip(STEPS, (BLUE, VERMILION), strict=True))
    figure, (a, b) = panels(1, 2, 2.7)
    for name, colour in colours.items():
        a.semilogy(values["rank"], values[f"{name}, |H|"], color=GREY, lw=3)
        a.semilogy(values["rank"], values[f"{name}, L = {SHOWN}"], "--", color=colour, label=name)
        here = summary["system"] == name
        length = summary["L"][here]
        b.loglog(length, summary["singular values against |H|"][here], "o-", color=colour, label=f"values, {name}")
        off = summary["T'T off the Fourier diagonal"][here]
        b.loglog(length, off, "s--", color=colour, mfc="white", label=f"vectors, {name}")
    a.plot([], [], color=GREY, lw=3, label="|H(ω)|, sorted")
    a.set(xlabel=f"rank, L = {SHOWN}", ylabel="singular value of $T_h$", ylim=(1e-6, 10))
    b.set(xlabel="length L", ylabel="deviation", ylim=(2e-4, 1))
    a.legend(loc="lower left")
    b.legend(loc="lower left")
    return figure
