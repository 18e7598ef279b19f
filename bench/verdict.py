"""How far the verdict of `ft.diagnose` can be trusted: its calibration on the one-layer study, one data set left out at a time.

`python -m bench.verdict` diagnoses every training subset of the study (minutes; needs FORETUNE_DATA), writes
`results/verdict.csv` and prints the tables; with `--csv` it prints them from that file.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

import foretune as ft
from foretune.diagnosis.verdict import FEW, HELP, NONE, THRESHOLD, Evidence, answer, threshold
from foretune.study.rows import read_csv
from foretune.study.statistics import paired

STUDY, PATH = Path("results/one-layer.csv"), Path("results/verdict.csv")
SEEDS = (42, 123, 1024)
POINTS = 1.0  # a gain is a mean over seeds of more than this many points
CLAIMS = {  # what counts as help: (arm, baseline, measure); the first is what the verdict is calibrated on
    "final": ("tdi+gain", "default+gain", "final_acc"),
    "first5": ("tdi+gain", "default+gain", "first5_acc"),
    "published final": ("tdi", "default", "final_acc"),
    "published first5": ("tdi", "default", "first5_acc"),
}
FEATURES = (
    "default_error",
    "tuned_error",
    "gain",
    "L_spec",
    "L_spec_fall",
    "theory_fall",
    "agreement",
    "beyond",
    "samples",
)
APART = "TwoPatterns"  # whose gains are far larger than all others, and rule the correlations
RESAMPLES = 10_000
Case = Mapping[str, Any]


def measure() -> list[dict[str, Any]]:
    """Features and truth of every data set, ratio and seed."""
    table = read_csv(STUDY)
    truth = {name: paired(table.rows, *claim) for name, claim in CLAIMS.items()}
    cells = sorted({(row.dataset, row.ratio) for row in table.rows})
    return [
        {
            "dataset": dataset,
            "ratio": ratio,
            "seed": seed,
            **_features(dataset, ratio, seed),
            **{name: round(100 * deltas[dataset, ratio], 3) for name, deltas in truth.items()},
        }
        for dataset, ratio in track(cells, "diagnosing", console=Console(stderr=True))
        for seed in SEEDS
    ]


def _features(dataset: str, ratio: float, seed: int) -> dict[str, float]:
    train = ft.datasets.load(dataset, ratio=ratio, seed=seed).train
    found = ft.diagnose(np.asarray(train.X), train.y)
    beyond = found.spectrum.power[64:].sum() / found.spectrum.power.sum()
    nan = float("nan")
    tried = found.trial
    values = {
        "p_value": found.evidence.p_value,
        "default_error": found.evidence.default_error,
        "tuned_error": nan if tried is None else tried.tuned_error,
        "gain": nan if tried is None else tried.gain,
        "spread": nan if tried is None else tried.spread,
        "agreement": found.reliability.agreement,
        "L_spec": found.mismatch[0].loss,
        "L_spec_fall": found.mismatch[0].loss - found.mismatch[1].loss,
        "theory_fall": float(np.mean(found.curves[0].errors - found.curves[1].errors)),
        "beyond": beyond,
    }
    return {"samples": found.samples, **{name: float(f"{value:.5g}") for name, value in values.items()}}


def evidence_of(case: Case) -> Evidence:
    """What the verdict looks at."""
    return Evidence(int(case["samples"]), case["p_value"], case["default_error"])


def helped(cases: Sequence[Case], claim: str = "final", points: float = POINTS) -> np.ndarray:
    """The truth: whether the gain is above so many points."""
    return np.array([case[claim] > points for case in cases])


def calibrated(cases: Sequence[Case], claim: str = "final", points: float = POINTS) -> float:
    """The limit that these cases give."""
    truth = helped(cases, claim, points)
    return threshold((evidence_of(case), bool(t)) for case, t in zip(cases, truth, strict=True))


def left_out(cases: Sequence[Case], claim: str = "final", points: float = POINTS) -> np.ndarray:
    """The answer to each case with the limit that the other data sets give."""
    limits = {
        dataset: calibrated([case for case in cases if case["dataset"] != dataset], claim, points)
        for dataset in {case["dataset"] for case in cases}
    }
    return np.array([answer(evidence_of(case), limits[case["dataset"]]) for case in cases])


def score(said: np.ndarray, truth: np.ndarray) -> float:
    """Balanced accuracy: the mean share of right answers on cases with and without a gain."""
    return float(np.mean([(said == truth)[truth == side].mean() for side in (True, False) if (truth == side).any()]))


def interval(names: np.ndarray, said: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """95 % of the balanced accuracies when the data sets are drawn again."""
    rng = np.random.default_rng(0)
    places = [np.flatnonzero(names == name) for name in np.unique(names)]
    drawn = []
    for _ in range(RESAMPLES):
        chosen = np.concatenate([places[k] for k in rng.integers(len(places), size=len(places))])
        drawn.append(score(said[chosen], truth[chosen]))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def cut(values: np.ndarray, truth: np.ndarray) -> tuple[float, int, float]:
    """The best threshold on any feature: its balanced accuracy, the side on which help lies, the value."""
    known = np.unique(values[np.isfinite(values)])
    middles = (known[1:] + known[:-1]) / 2
    found = [(score(side * values > side * at, truth), side, float(at)) for at in middles for side in (1, -1)]
    return max(found, default=(0.5, 1, float("inf")))


def by_feature(features: Mapping[str, np.ndarray], names: np.ndarray, truth: np.ndarray, feature: str) -> np.ndarray:
    """Whether help is said of each case by one threshold on one feature, fitted to the other data sets."""
    said = np.zeros(len(truth), dtype=bool)
    for name in np.unique(names):
        rest, held = names != name, names == name
        _, side, at = cut(features[feature][rest], truth[rest])
        said[held] = side * features[feature][held] > side * at
    return said


def by_any_feature(features: Mapping[str, np.ndarray], names: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The same where the other data sets choose the feature too, by leaving each of them out in turn."""
    said = np.zeros(len(truth), dtype=bool)
    for name in np.unique(names):
        rest, held = names != name, names == name
        part = {key: values[rest] for key, values in features.items()}
        inner = {key: score(by_feature(part, names[rest], truth[rest], key), truth[rest]) for key in features}
        chosen = max(inner, key=lambda key: inner[key])
        _, side, at = cut(features[chosen][rest], truth[rest])
        said[held] = side * features[chosen][held] > side * at
    return said


def tables(cases: Sequence[Case]) -> list[Table]:
    """Everything that `main` prints."""
    return [_rules(cases), _confusion(cases), _datasets(cases), _definitions(cases), _features_table(cases)]


def _row(table: Table, name: str, names: np.ndarray, said: np.ndarray, truth: np.ndarray) -> None:
    low, high = interval(names, said, truth)
    precision = f"{100 * truth[said].mean():.0f} %" if said.any() else "–"
    right = f"{100 * (said == truth).mean():.0f} %"
    table.add_row(name, str(len(truth)), right, f"{score(said, truth):.2f} [{low:.2f}, {high:.2f}]", precision)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table


def _answered(cases: Sequence[Case], answers: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Case]]:
    kept = answers != FEW
    return kept, answers[kept] == HELP, [case for case, keep in zip(cases, kept, strict=True) if keep]


def _rules(cases: Sequence[Case]) -> Table:
    answers = left_out(cases)
    kept, said, rest = _answered(cases, answers)
    names, truth = np.array([case["dataset"] for case in rest]), helped(rest)
    title = f"Each data set left out; {kept.sum()} of {len(cases)} cases answered ({100 * kept.mean():.0f} %)"
    table = _table(title, "rule", "cases", "right", "balanced accuracy", "right where it says help")
    _row(table, "verdict", names, said, truth)
    _row(table, "always yes", names, np.ones_like(said), truth)
    _row(table, "always no", names, np.zeros_like(said), truth)
    _row(table, "feature chosen as well", names, by_any_feature(_columns(rest), names, truth), truth)
    table.caption = f"limit {calibrated(cases):.2f} from all data sets, {THRESHOLD:.2f} shipped; a coin has 0.50"
    return table


def _confusion(cases: Sequence[Case]) -> Table:
    answers, truth = left_out(cases), helped(cases)
    table = _table("Answers and truth", "answer", "gain above 1 point", "no such gain", "mean gain (points)")
    gains = np.array([case["final"] for case in cases])
    for said in (HELP, NONE, FEW):
        here = answers == said
        mean = f"{gains[here].mean():+.1f}" if here.any() else "–"
        table.add_row(said, str((here & truth).sum()), str((here & ~truth).sum()), mean)
    return table


def _datasets(cases: Sequence[Case]) -> Table:
    answers, truth = left_out(cases), helped(cases)
    names = np.array([case["dataset"] for case in cases])
    table = _table("By data set", "data set", "with a gain", "help", "no benefit", "too few", "right of answered")
    for name in np.unique(names):
        here = names == name
        counts = [int((answers[here] == said).sum()) for said in (HELP, NONE, FEW)]
        right = ((answers == HELP) == truth)[here & (answers != FEW)].sum()
        table.add_row(name, f"{truth[here].sum()} of {here.sum()}", *map(str, counts), f"{right} of {sum(counts[:2])}")
    return table


def _definitions(cases: Sequence[Case]) -> Table:
    columns = ("what counts as help", "cases", "right", "balanced accuracy", "right where it says help")
    table = _table("Other meanings of help, each calibrated on itself", *columns)
    for claim, (arm, baseline, measure) in CLAIMS.items():
        for points in (0.0, 1.0):
            _, said, rest = _answered(cases, left_out(cases, claim, points))
            names = np.array([case["dataset"] for case in rest])
            title = f"{arm} over {baseline}, {measure} > {points:g}"
            _row(table, title, names, said, helped(rest, claim, points))
    return table


def _features_table(cases: Sequence[Case]) -> Table:
    _, _, rest = _answered(cases, left_out(cases))
    names, truth, columns = np.array([case["dataset"] for case in rest]), helped(rest), _columns(rest)
    gains = np.array([case["final"] for case in rest])
    heads = ("feature", "correlation with gain", f"without {APART}", "balanced accuracy", "help is")
    table = _table("One threshold on one feature", *heads)
    for feature, values in columns.items():
        known = np.isfinite(values)
        both = [np.corrcoef(values[here], gains[here])[0, 1] for here in (known, known & (names != APART))]
        said = by_feature(columns, names, truth, feature)
        side = "above" if cut(values, truth)[1] > 0 else "below"
        table.add_row(feature, *(f"{related:+.2f}" for related in both), f"{score(said, truth):.2f}", side)
    return table


def _columns(cases: Sequence[Case]) -> dict[str, np.ndarray]:
    return {feature: np.array([case[feature] for case in cases]) for feature in FEATURES}


def load(path: Path = PATH) -> list[dict[str, Any]]:
    """The cases of a file that `main` wrote."""
    with path.open(newline="") as file:
        return [{k: v if k == "dataset" else float(v) for k, v in row.items()} for row in csv.DictReader(file)]


def main(arguments: list[str]) -> None:
    """Diagnose all subsets unless `--csv` is given, and print the tables."""
    torch.set_num_threads(1)
    if "--csv" not in arguments:
        cases = measure()
        with PATH.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(cases[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(cases)
    console = Console(width=110 if not sys.stdout.isatty() else None)
    for table in tables(load()):
        console.print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
