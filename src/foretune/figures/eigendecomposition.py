"""Does the predicted eigensystem hold on real images, and does it predict kernel regression? (section 4.1, appendix E.1)

Every prediction is made twice: from the second moments of the 15,000 images themselves, as the paper does, where theory
and measurement are the same matrix in two forms and may differ by rounding only; and from the other 45,000 images, where
they differ by what a finite sample does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import theory
from ..ssm import DiagonalSSM
from .data import split
from .tables import Columns, Step, Tables, rows, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["compute", "draw"]

DIMENSIONS = 550  # kept by the whitening
TOP = 500  # modes that the summary covers
NEAR = 10
SIZES = (10, 20, 50, 100, 200, 400, 800, 1500, 3000, 6000, 10000)
RIDGE = 1e-3  # of the sum of eigenvalues
REPEATS = 50


@dataclass(frozen=True)
class Inputs:
    """Sequences of the 15,000 images `(P, L)`, with the prediction's moments from one set of images."""

    U: np.ndarray
    covariance: np.ndarray | None  # white where it is None
    cross: np.ndarray  # with the centred one-hot labels, (L, 10)
    label_power: float

    @property
    def length(self) -> int:
        return self.U.shape[1]


def compute(whitened: bool, step: Step = silent) -> Tables:
    """Modes, learning curve and summary; `whitened` takes the images to 550 principal components of unit variance.

    The sequence axis is then the rank of the component, not time: Theorem 3.3 asks for E[u uᵀ] = I_L, which no
    whitening to fewer dimensions than pixels gives on the pixel axis.
    """
    images, labels, other_images, other_labels = split()
    one_hot = np.eye(10)
    Y = one_hot[labels] - one_hot[labels].mean(0)
    own = _inputs(images, images, labels, whitened)
    held_out = _inputs(images, other_images, other_labels, whitened)
    h = DiagonalSSM.s4d_lin(1, 64, seed=0).impulse_response(own.length)[0]
    modes: Columns = {"mode": np.arange(1, own.length + 1)}
    systems = {}
    for name, inputs in (("own", own), ("held out", held_out)):
        systems[name] = theory.eigensystem(h, inputs.length, inputs.covariance)
        modes |= _compare(name, systems[name], h, inputs, Y)
    curve = _curve(h, own, Y, step)
    for name, inputs in (("own", own), ("held out", held_out)):
        curve |= _predict(name, systems[name], inputs)
    return {"summary": _summary(modes, curve, own, systems["own"]), "modes": modes, "curve": curve}


def _inputs(images: np.ndarray, source: np.ndarray, labels: np.ndarray, whitened: bool) -> Inputs:
    """The images with mean, whitening and moments taken from `source`."""
    mean = source.mean(0)
    centred, U = source - mean, images - mean
    moment = theory.second_moment(centred)
    covariance = None if whitened else moment
    if whitened:
        values, vectors = np.linalg.eigh(moment)
        whitening = vectors[:, ::-1][:, :DIMENSIONS] / np.sqrt(values[::-1][:DIMENSIONS])
        centred, U = centred @ whitening, U @ whitening
    one_hot = np.eye(10)[labels]
    Y = one_hot - one_hot.mean(0)
    return Inputs(U, covariance, theory.cross_moment(centred, Y), float(np.square(Y).sum(1).mean()))


def _compare(name: str, system: theory.Eigensystem, h: object, inputs: Inputs, Y: np.ndarray) -> Columns:
    measured = theory.empirical_eigensystem(h, inputs.U)  # type: ignore[arg-type]
    functions = system.functions(inputs.U)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(measured.eigenvalues / system.eigenvalues - 1)
    return {
        f"predicted eigenvalue, {name}": system.eigenvalues,
        f"measured eigenvalue, {name}": measured.eigenvalues,
        f"relative error, {name}": error,
        f"agreement, {name}": theory.agreement(functions, measured.eigenfunctions),
        f"agreement within {NEAR} modes, {name}": theory.agreement(functions, measured.eigenfunctions, NEAR),
        f"predicted C, {name}": np.cumsum(system.target_power(inputs.cross)) / inputs.label_power,
        f"measured C, {name}": np.cumsum(measured.target_power(Y)) / np.square(Y).sum(1).mean(),
    }


def _curve(h: object, own: Inputs, Y: np.ndarray, step: Step) -> Columns:
    scale = float(theory.eigensystem(h, own.length, own.covariance).eigenvalues.sum())  # type: ignore[arg-type]
    curve = theory.kernel_regression_curve(
        h,  # type: ignore[arg-type]
        own.U,
        Y,
        sizes=SIZES,
        ridge=RIDGE * scale,
        repeats=REPEATS,
        progress=step,
    )
    return {"size": curve.sizes, "regression": curve.mean, "sd": curve.std}


def _predict(name: str, system: theory.Eigensystem, inputs: Inputs) -> Columns:
    """The part of the labels that no linear function of the input reaches is the tail: an offset, and noise to the fit."""
    power = system.target_power(inputs.cross)
    tail = inputs.label_power - power.sum()
    ridge = RIDGE * float(system.eigenvalues.sum())
    both, offset = (
        theory.learning_curve(system.eigenvalues, power, sizes=SIZES, ridge=ridge, noise=noise, offset=tail)
        for noise in (tail, 0.0)
    )
    return {f"theory, {name}": both, f"offset only, {name}": offset}


def _summary(modes: Columns, curve: Columns, own: Inputs, system: theory.Eigensystem) -> Columns:
    records = []
    for name in ("own", "held out"):
        error, single = modes[f"relative error, {name}"][:TOP], modes[f"agreement, {name}"][:TOP]
        near = modes[f"agreement within {NEAR} modes, {name}"][:TOP]
        gap = np.abs(curve[f"theory, {name}"] / curve["regression"] - 1)
        literal = np.abs(curve[f"offset only, {name}"] / curve["regression"] - 1)
        records += [
            (f"eigenvalues: median relative error, top {TOP}", name, np.median(error)),
            (f"eigenvalues: largest relative error, top {TOP}", name, error.max()),
            ("eigenfunctions: share of modes above 0.9", name, np.mean(single > 0.9)),
            ("eigenfunctions: mean agreement", name, single.mean()),
            (f"eigenfunctions: mean agreement within {NEAR} modes", name, near.mean()),
            ("largest gap in C(ρ)", name, np.abs(modes[f"predicted C, {name}"] - modes[f"measured C, {name}"]).max()),
            ("theory against regression: median relative gap", name, np.median(gap)),
            ("theory against regression: largest relative gap", name, gap.max()),
            ("the same with the tail as offset only: median", name, np.median(literal)),
        ]
    records.append(("modes above rounding", "own", float(system.rank)))
    records.append(("share of label power in the tail", "own", 1 - modes["predicted C, own"][-1]))
    return rows([{"what": what, "moments from": name, "value": float(value)} for what, name, value in records])


def draw(tables: Tables) -> Figure:
    """(a) eigenvalues, (b) agreement of eigenfunctions, (c) cumulative power, (d) learning curves."""
    from .style import BLACK, BLUE, GREY, ORANGE, VERMILION, panels

    modes, curve = tables["modes"], tables["curve"]
    number = modes["mode"]
    figure, (a, b, c, d) = panels(2, 2, 4.3)
    shown = modes["predicted eigenvalue, held out"] > 0
    a.loglog(number[shown], modes["measured eigenvalue, held out"][shown], "o", color=ORANGE, ms=2.5, label="measured")
    a.loglog(number[shown], modes["predicted eigenvalue, held out"][shown], color=BLUE, label="predicted")
    top = modes["predicted eigenvalue, held out"].max()
    a.set(xlabel="mode ρ", ylabel="eigenvalue η", ylim=(1e-7 * top, 3 * top))
    b.plot(number, modes["agreement, own"], color=BLACK, label="same images")
    near = modes[f"agreement within {NEAR} modes, held out"]
    b.plot(number, near, ".", color=BLUE, ms=2, label=f"other images, within {NEAR} modes")
    b.plot(number, modes["agreement, held out"], ".", color=VERMILION, ms=2, label="other images, single mode")
    b.set(xlabel="mode ρ", ylabel="agreement of eigenfunctions", ylim=(0, 1.55), yticks=(0, 0.5, 1), xlim=(0, TOP))
    b.legend(loc="upper left", markerscale=3)
    c.plot(number, modes["predicted C, held out"], color=BLUE, label="predicted")
    c.plot(number, modes["measured C, held out"], "--", color=ORANGE, label="measured")
    c.axhline(1, color=GREY, lw=0.8, ls=":")
    c.set(xlabel="mode ρ", ylabel="cumulative power C(ρ)", ylim=(0, 1.05))
    d.errorbar(
        curve["size"], curve["regression"], curve["sd"],
        fmt="o", color=ORANGE, capsize=2, label=f"regression, {REPEATS} runs",
    )  # fmt: skip
    d.plot(curve["size"], curve["theory, held out"], color=BLUE, label="theory")
    literal = curve["offset only, held out"]
    d.plot(curve["size"], literal, ":", color=GREY, label="theory, tail as offset only")
    d.set(xlabel="training samples P", ylabel="test error $E_g$", xscale="log", ylim=(0, None))
    for ax in (a, c, d):
        ax.legend(loc="lower left" if ax is not c else "lower right")
    return figure
