"""Does tuning move a target into modes that are learned early? (section 4.2, appendix E.2)

Every run draws its own output weights C of the system as well as its own training set, so the error bars hold both. All
kernels are scaled to a mean value K(u, u) of 1, so that one ridge means the same to each and only the shape is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import theory
from ..init import model_spectrum, spectral_loss, tune
from ..spectra import Spectrum, task_spectrum
from ..ssm import DiagonalSSM
from .data import split
from .tables import Columns, Step, Tables, rows, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Arm", "Task", "compute", "draw", "measure", "tasks", "tuned_and_not"]

SYSTEMS = {"low": DiagonalSSM.low_frequency, "high": DiagonalSSM.high_frequency}
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
STATE, RIDGE = 64, 1e-4
DRAWS, REPEATS, TEST = 6, 8, 3000


@dataclass(frozen=True)
class Task:
    """Labels `Y = U p` of unit variance, with what theory and tuning need to know of them."""

    U: np.ndarray
    Y: np.ndarray
    covariance: np.ndarray
    cross: np.ndarray
    spectrum: Spectrum


@dataclass(frozen=True)
class Arm:
    """One kernel of unit trace on a task: its eigenvalues and the task's power on them."""

    h: np.ndarray
    spectrum: Spectrum
    eigenvalues: np.ndarray
    power: np.ndarray


def tasks() -> dict[str, Task]:
    """The paper's low- and high-frequency labels of mean-centred images."""
    images = split()[0]
    U = images - images.mean(0)
    covariance = theory.second_moment(U)
    t = np.linspace(0, 1, U.shape[1])
    patterns = {
        "low": np.cos(2 * np.pi * 20 * t) + np.cos(2 * np.pi * 40 * t),
        "high": np.cos(2 * np.pi * 300 * t) + np.sin(2 * np.pi * 350 * t),
    }
    made = {}
    for name, pattern in patterns.items():
        Y = U @ (pattern / np.linalg.norm(pattern))
        Y /= np.sqrt(np.square(Y).mean())
        spectrum = task_spectrum(U, Y[:, None], method="cross")
        made[name] = Task(U, Y, covariance, theory.cross_moment(U, Y), spectrum)
    return made


def tuned_and_not(ssm: DiagonalSSM, task: Task) -> dict[str, Arm]:
    """The system as it is and after `tune(..., "refine")`."""
    tuned, _ = tune(ssm, task.spectrum, "refine")
    return {"before": measure(ssm, task), "after": measure(tuned, task)}


def measure(ssm: DiagonalSSM, task: Task) -> Arm:
    """The kernel that the system induces, scaled to a mean K(u, u) of 1."""
    length = task.U.shape[1]
    h = ssm.impulse_response(length)[0].numpy()
    system = theory.eigensystem(h, length, task.covariance)
    trace = system.eigenvalues.sum()
    power = system.target_power(task.cross)
    return Arm(h / np.sqrt(trace), model_spectrum(ssm, length), system.eigenvalues / trace, power)


def compute(step: Step = silent) -> Tables:
    """Low- and high-frequency systems on low- and high-frequency tasks, before and after tuning."""
    spectra: list[Columns] = []
    power: list[Columns] = []
    curves: list[Columns] = []
    summary: list[dict[str, object]] = []
    made, done = tasks(), 0
    for system in SYSTEMS:
        for task_name, task in made.items():
            draws = []
            errors: dict[str, list[np.ndarray]] = {"before": [], "after": []}
            for seed in range(DRAWS):
                draws.append(tuned_and_not(SYSTEMS[system](state=STATE, seed=seed), task))
                for arm, kernel in draws[-1].items():
                    errors[arm].append(_regression(kernel, task, seed))
                done += 1
                step(done, DRAWS * len(SYSTEMS) * len(made))
            place = {"system": system, "task": task_name}
            curves.append(_with(place, _curves(draws, errors)))
            spectra.append(_with(place, _spectra(draws[0], task)))
            power.append(_with(place, _power(draws)))
            summary.append(place | _row(draws, curves[-1], task))
    joined = {"spectra": spectra, "power": power, "curves": curves}
    return {"summary": rows(summary)} | {name: _join(parts) for name, parts in joined.items()}


def _regression(arm: Arm, task: Task, seed: int) -> np.ndarray:
    curve = theory.kernel_regression_curve(
        arm.h, task.U, task.Y, sizes=SIZES, ridge=RIDGE, repeats=REPEATS, test_size=TEST, seed=seed
    )
    return curve.errors


def _curves(draws: list[dict[str, Arm]], errors: dict[str, list[np.ndarray]]) -> Columns:
    columns: Columns = {"size": np.array(SIZES)}
    for arm in ("before", "after"):
        runs = np.concatenate(errors[arm])
        predicted = [theory.learning_curve(d[arm].eigenvalues, d[arm].power, sizes=SIZES, ridge=RIDGE) for d in draws]
        columns |= {arm: runs.mean(0), f"{arm}, sd": runs.std(0, ddof=1), f"{arm}, theory": np.mean(predicted, axis=0)}
    each = np.array([before.mean(0) / after.mean(0) for before, after in zip(*errors.values(), strict=True)])
    columns["factor"] = columns["before"] / columns["after"]
    columns["factor, least draw"], columns["factor, greatest draw"] = each.min(0), each.max(0)
    overlap = np.abs(columns["before"] - columns["after"]) <= columns["before, sd"] + columns["after, sd"]
    columns["bars overlap"] = np.where(overlap, "yes", "no")
    return columns


def _spectra(arms: dict[str, Arm], task: Task) -> Columns:
    shown = {"task spectrum": task.spectrum} | {arm: kernel.spectrum for arm, kernel in arms.items()}
    power = {name: spectrum.power / spectrum.power.max() for name, spectrum in shown.items()}
    return {"frequency": task.spectrum.frequencies} | power


def _power(draws: list[dict[str, Arm]]) -> Columns:
    columns: Columns = {"mode": np.arange(1, len(draws[0]["before"].power) + 1)}
    for arm in ("before", "after"):
        columns[arm] = np.mean([theory.cumulative_power(d[arm].power, total=1.0) for d in draws], axis=0)
    return columns


def _row(draws: list[dict[str, Arm]], curves: Columns, task: Task) -> dict[str, object]:
    loss = {
        arm: float(np.mean([spectral_loss(d[arm].spectrum, task.spectrum) for d in draws]))
        for arm in ("before", "after")
    }
    both = np.concatenate([np.abs(curves[f"{arm}, theory"] / curves[arm] - 1) for arm in ("before", "after")])
    return {
        "L_spec before": loss["before"],
        "L_spec after": loss["after"],
        "least factor": float(curves["factor"].min()),
        "greatest factor": float(curves["factor"].max()),
        "sizes with overlapping bars": f"{(curves['bars overlap'] == 'yes').sum()} of {len(SIZES)}",
        "theory: median gap": float(np.median(both)),
    }


def _with(place: dict[str, str], columns: Columns) -> Columns:
    count = len(next(iter(columns.values())))
    return {name: np.full(count, value) for name, value in place.items()} | columns


def _join(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def draw(tables: Tables) -> Figure:
    """The low-frequency system: (a) to (c) on the low-frequency task, (d) to (f) on the high-frequency one."""
    from .style import BLUE, GREY, VERMILION, panels

    colours = {"before": BLUE, "after": VERMILION}
    figure, axes = panels(2, 3, 3.9)
    for task, (a, b, c) in (("low", axes[:3]), ("high", axes[3:])):
        spectra, power, curves = (_select(tables[name], "low", task) for name in ("spectra", "power", "curves"))
        a.plot(spectra["frequency"], spectra["task spectrum"], color=GREY, lw=2.2, label="task")
        for arm, colour in reversed(colours.items()):
            a.plot(spectra["frequency"], spectra[arm], color=colour, lw=0.8, label=arm)
            b.plot(power["mode"], power[arm], color=colour, label=arm)
            c.errorbar(curves["size"], curves[arm], curves[f"{arm}, sd"], fmt="o", color=colour, capsize=2)
            c.plot(curves["size"], curves[f"{arm}, theory"], color=colour, label=arm)
        a.set(ylabel=f"{task}-frequency task\nrelative power", xlim=(0, 0.15 if task == "low" else 0.5), ylim=(0, 1.05))
        b.set(ylabel="cumulative power C(ρ)", xscale="log", ylim=(0, 1.05))
        c.set(ylabel="test error $E_g$", xscale="log", yscale="log")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    for ax, label in zip(axes[3:], ("cycles per step", "mode ρ", "training samples P"), strict=True):
        ax.set_xlabel(label)
    return figure


def _select(columns: Columns, system: str, task: str) -> Columns:
    here = (columns["system"] == system) & (columns["task"] == task)
    return {name: column[here] for name, column in columns.items()}
