"""One look for all figures: the width of a text column, type that stays legible there, colours for every eye."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["BLACK", "BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "SKY", "VERMILION", "WIDTH", "look", "panels"]

# Okabe and Ito's palette, told apart with every common colour blindness.
BLACK, GREY, ORANGE, SKY, GREEN = "#000000", "#8C8C8C", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
WIDTH = 5.5  # inches, a text column
LOOK: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,
}


def look() -> AbstractContextManager[None]:
    """The settings under which figures are drawn and saved."""
    return rc_context(LOOK)


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with that many panels, lettered, and its axes in reading order."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for letter, ax in zip("abcdefghijkl", axes, strict=False):
        ax.set_title(f"({letter})", loc="left", fontweight="bold")
    return figure, axes
