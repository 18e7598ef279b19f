"""Which runs a number of a study rests on."""

from __future__ import annotations

from collections.abc import Iterable

from ..report import Trace

__all__ = ["COLUMNS", "MEASURES", "trace"]

COLUMNS = {  # of the table of runs
    "dataset": "data set",
    "ratio": "ratio",
    "seed": "seed",
    "arm": "arm",
    "final_acc": "final accuracy (%)",
    "first5_acc": "first 5 epochs (%)",
    "first10_acc": "first 10 epochs (%)",
    "final_loss": "final loss",
}
MEASURES = {
    "final_acc": "final accuracy (%)",
    "first5_acc": "mean accuracy of the first 5 epochs (%)",
    "first10_acc": "mean accuracy of the first 10 epochs (%)",
    "final_loss": "final loss",
}


def trace(
    measure: str = "",
    *,
    datasets: Iterable[str] = (),
    ratios: Iterable[float] = (),
    arms: Iterable[str] = (),
) -> Trace:
    """The runs of these data sets, ratios and arms; of all where none is named."""
    named = (
        (COLUMNS["dataset"], tuple(datasets)),
        (COLUMNS["ratio"], tuple(f"{ratio:g}" for ratio in ratios)),
        (COLUMNS["arm"], tuple(arms)),
    )
    return Trace(tuple((name, values) for name, values in named if values), COLUMNS.get(measure, ""))
