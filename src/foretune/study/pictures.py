"""The pictures of a report: accuracy over the ratio, and over the epochs."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DependencyMissing
from .paper import Published
from .rows import Row, Table
from .statistics import cells
from .tables import arms, unique

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")


def draw(table: Table, published: Published, folder: Path) -> dict[str, list[str]]:
    """Write every picture; their file names by section, `ratio` and `epochs`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DependencyMissing("the report's pictures need matplotlib: pip install 'foretune[plot]'") from error
    colours = {arm: OKABE_ITO[index % len(OKABE_ITO)] for index, arm in enumerate(arms(table))}
    names: dict[str, list[str]] = {"ratio": ["ratio.png"], "epochs": []}
    _save(_ratios(table, published, colours, Figure), folder / "ratio.png")
    for dataset in unique(row.dataset for row in table.rows if len(row.accuracy) > 1):
        stem = f"epochs-{re.sub(r'[^A-Za-z0-9]+', '-', dataset).strip('-').lower() or 'data'}"
        name = f"{stem}.png"
        while name in names["epochs"]:
            stem += "-"
            name = f"{stem}.png"
        rows = [row for row in table.rows if row.dataset == dataset and len(row.accuracy) > 1]
        _save(_epochs(rows, colours, dataset, Figure), folder / name)
        names["epochs"].append(name)
    return names


def _ratios(table: Table, published: Published, colours: dict[str, str], figure_type: type[Figure]) -> Figure:
    """One panel for each data set: mean and spread over seeds, the paper's means dashed."""
    datasets = unique(row.dataset for row in table.rows)
    spreads = cells(table.rows, "final_acc")
    figure, panels = _panels(len(datasets), figure_type)
    for ax, dataset in zip(panels, datasets, strict=True):
        for arm, colour in colours.items():
            ratios = sorted(ratio for d, ratio, a in spreads if (d, a) == (dataset, arm))
            ours = [spreads[dataset, ratio, arm] for ratio in ratios]
            heights = [100 * cell.mean for cell in ours]
            bars = [0.0 if math.isnan(cell.std) else 100 * cell.std for cell in ours]
            ax.errorbar(
                ratios, heights, bars, color=colour, label=arm, lw=1.4, marker="o", ms=3, capsize=2, elinewidth=0.7
            )
            theirs = [(ratio, published.cell("final_acc", dataset, ratio, arm)) for ratio in ratios]
            dashed = [(ratio, 100 * cell.mean) for ratio, cell in theirs if cell is not None]
            if dashed:
                ax.plot(*zip(*dashed, strict=True), color=colour, lw=1, ls="--")
        if all(row.ratio > 0 for row in table.rows):
            ax.set_xscale("log")
        _dress(ax, dataset, "training ratio", "test accuracy (%)")
    _legend(figure, panels)
    return figure


def _epochs(rows: list[Row], colours: dict[str, str], title: str, figure_type: type[Figure]) -> Figure:
    """One panel for each ratio: the mean over seeds, and each seed faintly."""
    ratios = sorted({row.ratio for row in rows})
    figure, panels = _panels(len(ratios), figure_type)
    for ax, ratio in zip(panels, ratios, strict=True):
        for arm, colour in colours.items():
            curves = [row.accuracy for row in rows if (row.ratio, row.arm) == (ratio, arm)]
            for curve in curves:
                ax.plot(range(1, len(curve) + 1), 100 * np.array(curve), color=colour, lw=0.6, alpha=0.35)
            shared = min(map(len, curves), default=0)
            if shared:
                mean = 100 * np.mean([curve[:shared] for curve in curves], axis=0)
                ax.plot(range(1, shared + 1), mean, color=colour, lw=1.6, label=arm)
        _dress(ax, f"{title}, ratio {ratio:g}", "epoch", "test accuracy (%)")
    _legend(figure, panels)
    return figure


def _panels(count: int, figure_type: type[Figure]) -> tuple[Figure, list[Axes]]:
    columns = min(count, 4)
    lines = math.ceil(count / columns)
    figure = figure_type(figsize=(1 + 3 * columns, 0.6 + 2.5 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for ax in grid[count:]:
        ax.remove()
    return figure, grid[:count]


def _dress(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, panels: list[Axes]) -> None:
    found = {}
    for ax in panels:
        handles, labels = ax.get_legend_handles_labels()
        found.update(dict(zip(labels, handles, strict=True)))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 6), frameon=False
    )


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=110, metadata={"Software": None})
