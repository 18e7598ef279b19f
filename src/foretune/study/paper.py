"""The published tables, in the names of a plan and in fractions of 1."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError
from .rows import Row
from .statistics import Interval, Spread, overall, paired

__all__ = ["Published"]

FOLDER = Path(__file__).parent / "published"
# The paper calls some data sets by other names in its summaries than in its full tables, which count here.
ALIASES = {
    "one_layer": {"sMNIST": "MNIST"},
    "deep": {"Freq. Classification": "Freq. Cls.", "Speech Commands": "SC"},
}
Called = Callable[[str], str]
LOW = {"one_layer": 0.16, "deep": 0.1}
SEEDS = {"one_layer": 3, "deep": 5}
MEASURES = {"final_acc": "final", "first5_acc": "early5", "first10_acc": "early10"}


@dataclass(frozen=True)
class Published:
    """What the paper reports: each cell's means as rows of one seed, spreads, summaries and paired improvements."""

    rows: tuple[Row, ...] = ()
    cells: Mapping[tuple[str, str, float, str], Spread] = field(default_factory=dict)  # measure, data set, ratio, arm
    summary: Mapping[tuple[str, str, str, str], Spread] = field(default_factory=dict)  # measure, data set, regime, arm
    paired: Mapping[tuple[str, str], Interval] = field(default_factory=dict)  # measure, data set or ratio
    pair: tuple[str, str] | None = None  # the arm and the baseline of `paired`

    @classmethod
    def load(cls, name: str, names: Mapping[str, str] | None = None) -> Published:
        """The tables `one_layer` or `deep`; `names` maps a plan's names to the paper's."""
        if not name:
            return cls()
        if name not in ALIASES:
            raise InputError(f"report.published = {name!r}; the paper has {', '.join(ALIASES)}")
        ours = {theirs: own for own, theirs in (names or {}).items()}
        alias = ALIASES[name]

        def called(theirs: str) -> str:
            return ours.get(theirs, ours.get(alias.get(theirs, theirs), alias.get(theirs, theirs)))

        rows: list[Row] = []
        cells: dict[tuple[str, str, float, str], Spread] = {}
        for item in _read(name, "full"):
            dataset, ratio, arm = called(item["dataset"]), float(item["ratio"]), called(item["arm"])
            for measure in ("final_acc", "first5_acc"):
                mean, std = (float(item[f"{measure}_{part}"]) / 100 for part in ("mean", "std"))
                cells[measure, dataset, ratio, arm] = Spread(mean, std, SEEDS[name])
            final, first = (cells[measure, dataset, ratio, arm].mean for measure in ("final_acc", "first5_acc"))
            rows.append(Row(dataset, ratio, "mean", arm, final_acc=final, first5_acc=first))
        pair = called("tdi"), called("baseline")
        improvements = _paired(name, called)
        for measure in ("final_acc", "first5_acc"):  # over all data sets the paper prints none, so from its cells
            total = overall(paired(rows, *pair, measure), LOW[name])
            if total is not None:
                improvements[measure, ""] = total
        return cls(tuple(rows), cells, _summary(name, called), improvements, pair)

    def cell(self, measure: str, dataset: str, ratio: float, arm: str) -> Spread | None:
        """One cell; the paper prints its ratios with two or three digits."""
        for digits in (6, 3, 2):
            found = self.cells.get((measure, dataset, round(ratio, digits), arm))
            if found is not None:
                return found
        return None

    def spreads(self, measure: str) -> dict[tuple[str, float, str], Spread]:
        """Every cell of one measure."""
        return {key[1:]: spread for key, spread in self.cells.items() if key[0] == measure}

    def improvement(self, measure: str, key: str | float) -> Interval | None:
        """One paired improvement, by data set or by ratio."""
        return self.paired.get((measure, key if isinstance(key, str) else f"{key:.3f}"))


def _summary(name: str, called: Called) -> dict[tuple[str, str, str, str], Spread]:
    found = {}
    for item in _read(name, "summary"):
        for where in ("low", "high"):
            for arm in ("baseline", "tdi"):
                for measure, theirs, unit in (("final_acc", "acc", 100), ("final_loss", "loss", 1)):
                    mean, std = (float(item[f"{where}_{arm}_{theirs}_{part}"]) / unit for part in ("mean", "std"))
                    found[measure, called(item["dataset"]), where, called(arm)] = Spread(mean, std, 0)
    return found


def _paired(name: str, called: Called) -> dict[tuple[str, str], Interval]:
    found = {}
    for item in _read(name, "paired"):
        key = item["key"]
        key = f"{float(key):.3f}" if key[0].isdigit() else called(key)
        for measure, theirs in MEASURES.items():
            mean, low, high = (float(item[f"{theirs}_{part}"]) / 100 for part in ("delta", "lo", "hi"))
            found[measure, key] = Interval(mean, low, high, 0)
    return found


def _read(name: str, table: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}_{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
