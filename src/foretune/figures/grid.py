"""The matched and the mismatched case over state sizes and ridges (appendix E.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import theory
from ..ssm import DiagonalSSM
from .mechanism import TEST, Arm, Task, tasks, tuned_and_not
from .tables import Step, Tables, rows, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["compute", "draw"]

STATES = (16, 64, 256)
RIDGES = (1e-6, 1e-4, 1e-2)
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000)
DRAWS, REPEATS = 4, 2
SAMPLES = 6000  # enough to train and test on


def compute(step: Step = silent) -> Tables:
    """Learning curves of the low-frequency system for every state size, ridge and task."""
    made, done, records, summary = tasks(), 0, [], []
    for name, task in made.items():
        for state in STATES:
            draws = []
            for seed in range(DRAWS):
                draws.append(tuned_and_not(DiagonalSSM.low_frequency(state=state, seed=seed), task))
                done += 1
                step(done, len(made) * len(STATES) * DRAWS)
            for ridge in RIDGES:
                curves = {arm: _mean([draw[arm] for draw in draws], task, ridge) for arm in ("before", "after")}
                place = {"task": name, "state": state, "ridge": ridge}
                for i, size in enumerate(SIZES):
                    errors = {f"{arm}{kind}": float(c[i]) for arm, pair in curves.items() for kind, c in pair.items()}
                    records.append(place | {"size": size} | errors)
                factor = curves["before"][""] / curves["after"][""]
                summary.append(
                    place | {f"factor at P = {size}": float(f) for size, f in zip(SIZES, factor, strict=True)}
                )
    return {"summary": rows(summary), "curves": rows(records)}


def _mean(arms: list[Arm], task: Task, ridge: float) -> dict[str, np.ndarray]:
    """Mean over draws of the measured and the predicted error."""
    measured, predicted = [], []
    for seed, arm in enumerate(arms):
        curve = theory.kernel_regression_curve(
            arm.h,
            task.U[:SAMPLES],
            task.Y[:SAMPLES],
            sizes=SIZES,
            ridge=ridge,
            repeats=REPEATS,
            test_size=TEST,
            seed=seed,
        )
        measured.append(curve.mean)
        predicted.append(theory.learning_curve(arm.eigenvalues, arm.power, sizes=SIZES, ridge=ridge))
    return {"": np.mean(measured, axis=0), ", theory": np.mean(predicted, axis=0)}


def draw(tables: Tables) -> Figure:
    """State sizes across, ridges down; lines are theory, points are regressions."""
    from .style import BLUE, SKY, VERMILION, ORANGE, panels  # isort: skip

    curves = tables["curves"]
    looks = {
        ("low", "before"): (SKY, "--", "matched, before"),
        ("low", "after"): (BLUE, "-", "matched, after"),
        ("high", "before"): (ORANGE, "--", "mismatched, before"),
        ("high", "after"): (VERMILION, "-", "mismatched, after"),
    }
    figure, axes = panels(3, 3, 5.2, sharex=True, sharey=True)
    for ax, (ridge, state) in zip(axes, ((r, s) for r in RIDGES for s in STATES), strict=True):
        here = (curves["ridge"] == ridge) & (curves["state"] == state)
        for (task, arm), (colour, line, label) in looks.items():
            part = here & (curves["task"] == task)
            ax.plot(curves["size"][part], curves[f"{arm}, theory"][part], line, color=colour, label=label)
            ax.plot(curves["size"][part], curves[arm][part], "o", color=colour, ms=2.5)
        ax.set(xscale="log", yscale="log")
        ax.set_title(f"N = {state}, ridge {ridge:g}", loc="right")
    for ax in axes[6:]:
        ax.set_xlabel("training samples P")
    for ax in axes[::3]:
        ax.set_ylabel("test error $E_g$")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure
