"""`SSMClassifier` beside aeon's MiniRocket: the same subsets, in one process, on one thread, taking turns.

`python -m bench.compare` needs the environment that `make compare` sets up, and the data sets in FORETUNE_DATA. It writes
`results/classifier.csv` and the tables of `docs/classifier.md`, which `python -m bench.compare tables` renews from the CSV.
"""

import csv
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "results/classifier.csv", ROOT / "docs/classifier.md"
SETS = {"ecg5000": "ECG5000", "forda": "FordA", "fordb": "FordB", "twopatterns": "TwoPatterns", "wafer": "Wafer"}
RATIOS = (0.01, 0.04, 0.16, 1.0)
SEEDS = (42, 123, 1024)
OURS, THEIRS = "SSMClassifier", "MiniRocket"
BEGIN, END = "<!-- bench.compare: {} -->", "<!-- end -->"


@dataclass(frozen=True)
class Score:
    """One fit: accuracy on the archive's test split in percent, and seconds of wall time."""

    dataset: str
    ratio: float
    seed: int
    samples: int
    classifier: str
    accuracy: float
    fit_seconds: float
    predict_seconds: float
    placement: str = ""


def measured() -> Iterator[Score]:
    """Every fit, each classifier in turn; the first fits of a process, which compile, are not among them."""
    import torch
    from aeon.classification.convolution_based import MiniRocketClassifier

    import foretune as ft

    torch.set_num_threads(1)
    sides: dict[str, Callable[[int], Any]] = {
        OURS: lambda seed: ft.SSMClassifier(channels="first", random_state=seed),
        THEIRS: lambda seed: MiniRocketClassifier(n_kernels=10_000, random_state=seed, n_jobs=1),
    }
    noise = np.random.default_rng(0).normal(size=(20, 1, 150)).astype(np.float32)
    for make in sides.values():
        make(0).fit(noise, np.arange(20) % 2).predict(noise)
    for name in SETS:
        for ratio in RATIOS:
            for seed in SEEDS:
                data = ft.datasets.load(name, ratio=ratio, seed=seed)
                splits = (data.train.X[:, None], data.train.y, data.test.X[:, None], data.test.y)
                for side, make in sides.items():
                    accuracy, fit, predict, model = _timed(make(seed), *splits)
                    placement = model.evidence_.chosen if side == OURS else ""
                    yield Score(name, ratio, seed, len(data.train), side, accuracy, fit, predict, placement)


def _timed(
    model: Any, X: np.ndarray, y: np.ndarray, test_X: np.ndarray, test_y: np.ndarray
) -> tuple[float, float, float, Any]:
    gc.collect()
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    accuracy = 100 * float(np.mean(model.predict(test_X) == test_y))
    return accuracy, fitted - start, time.perf_counter() - fitted, model


def write(scores: Sequence[Score], path: Path = RESULTS) -> None:
    with path.open("w", newline="") as file:
        rows = csv.DictWriter(file, [field.name for field in fields(Score)], lineterminator="\n")
        rows.writeheader()
        for score in scores:
            rounded = {name: round(value, 4) for name, value in asdict(score).items() if isinstance(value, float)}
            rows.writerow(asdict(score) | rounded)


def read(path: Path = RESULTS) -> list[Score]:
    with path.open(newline="") as file:
        return [
            Score(
                dataset=row["dataset"],
                ratio=float(row["ratio"]),
                seed=int(row["seed"]),
                samples=int(row["samples"]),
                classifier=row["classifier"],
                accuracy=float(row["accuracy"]),
                fit_seconds=float(row["fit_seconds"]),
                predict_seconds=float(row["predict_seconds"]),
                placement=row["placement"],
            )
            for row in csv.DictReader(file)
        ]


def table(scores: Sequence[Score]) -> str:
    """Means over seeds of every cell, as Markdown."""
    lines = [
        f"| data set | ratio | samples | {OURS} | {THEIRS} | difference | fit, s | {THEIRS}'s | predict, s | {THEIRS}'s |",
        "| --- |" + " ---: |" * 9,
    ]
    for name, title in SETS.items():
        for ratio in RATIOS:
            ours, theirs = (_of(scores, side, name, ratio) for side in (OURS, THEIRS))
            a, b = (mean(score.accuracy for score in side) for side in (ours, theirs))
            times = (
                f"{mean(getattr(score, what) for score in side):.2f}"
                for what in ("fit_seconds", "predict_seconds")
                for side in (ours, theirs)
            )
            cells = (title, f"{ratio:.2f}", str(ours[0].samples), f"{a:.1f}", f"{b:.1f}", f"{a - b:+.1f}", *times)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(scores: Sequence[Score]) -> str:
    """The target, and whether it is reached, as Markdown."""
    low = [(name, ratio) for name in SETS for ratio in RATIOS if ratio < 1]
    ours, theirs = (mean(mean(s.accuracy for s in _of(scores, side, *cell)) for cell in low) for side in (OURS, THEIRS))
    gaps = {
        (name, ratio): mean(s.accuracy for s in _of(scores, OURS, name, ratio))
        - mean(s.accuracy for s in _of(scores, THEIRS, name, ratio))
        for name in SETS
        for ratio in RATIOS
    }
    worst = min(gaps, key=lambda cell: gaps[cell])
    fit, fit_theirs = (sum(s.fit_seconds for s in scores if s.classifier == side) for side in (OURS, THEIRS))
    low_fit, low_theirs = (
        sum(s.fit_seconds for s in scores if s.classifier == side and s.ratio < 1) for side in (OURS, THEIRS)
    )
    predict, predict_theirs = (
        sum(s.predict_seconds for s in scores if s.classifier == side) for side in (OURS, THEIRS)
    )

    def row(what: str, a: str, b: str, target: str, good: bool) -> str:
        return f"| {what} | {a} | {b} | {target} | {'yes' if good else '**no**'} |"

    return "\n".join(
        [
            f"| | {OURS} | {THEIRS} | target | reached |",
            "| --- | ---: | ---: | --- | --- |",
            row(f"mean accuracy, {len(low)} low-data cells", f"{ours:.2f}", f"{theirs:.2f}", "above", ours > theirs),
            row(
                f"worst of {len(gaps)} cells: {SETS[worst[0]]} at {worst[1]:.2f}",
                f"{gaps[worst]:+.1f}",
                "",
                "not below -3",
                gaps[worst] >= -3,
            ),
            row("seconds of all fits", f"{fit:.0f}", f"{fit_theirs:.0f}", "no longer", fit <= fit_theirs),
            f"| seconds of the low-data fits alone | {low_fit:.0f} | {low_theirs:.0f} | none | |",
            f"| seconds of all predictions | {predict:.0f} | {predict_theirs:.0f} | none | |",
        ]
    )


def _of(scores: Sequence[Score], classifier: str, dataset: str, ratio: float) -> list[Score]:
    return [s for s in scores if (s.classifier, s.dataset, s.ratio) == (classifier, dataset, ratio)]


def put_in(page: str, scores: Sequence[Score]) -> str:
    """The page with its two tables renewed."""
    for name, text in (("summary", summary(scores)), ("table", table(scores))):
        before, mark, rest = page.partition(BEGIN.format(name) + "\n")
        if not mark:
            raise SystemExit(f"{PAGE} lacks the line {BEGIN.format(name)}")
        page = before + mark + text + "\n" + rest[rest.index(END) :]
    return page


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["tables"]):
        print(f"there is no part {arguments}; pass nothing, or tables")
        return 2
    if not arguments:
        if "FORETUNE_DATA" not in os.environ:
            print("FORETUNE_DATA must name the folder with the UCR data sets")
            return 2
        scores = []
        for score in measured():
            scores.append(score)
            print(
                f"{SETS[score.dataset]:11s} {score.ratio:4.2f} {score.seed:4d} {score.classifier:13s} "
                f"{score.accuracy:6.2f} % fit {score.fit_seconds:6.2f} s predict {score.predict_seconds:5.2f} s "
                f"{score.placement}",
                flush=True,
            )
        write(scores)
    kept = read()
    PAGE.write_text(put_in(PAGE.read_text(), kept))
    print(table(kept), summary(kept), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
