"""How good a classifier is on a practitioner's file: measured on a test file, or estimated on the training file."""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ForetuneError, InputError
from ..report import Chart, Dots, Line, Marks, Report, Section, Sheet
from ..spectra import task_spectrum
from .labelled import Labelled

__all__ = [
    "Evaluation",
    "cross_validate",
    "evaluate",
    "explained",
    "fit_report",
    "timed",
    "wilson",
    "write_predictions",
]

FOLDS = 5
NAMES = 30  # classes that a confusion table still shows


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions beside the truth. `guess` is the most frequent class of the training file; `how` says on what."""

    truth: np.ndarray
    predicted: np.ndarray
    guess: Any
    how: str
    seconds: float

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return float((self.predicted == self.truth).mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy."""
        return wilson(int((self.predicted == self.truth).sum()), len(self.truth))

    @property
    def recalls(self) -> dict[Any, float]:
        """The share that is right of each class in the truth."""
        right = self.predicted == self.truth
        return {name: float(right[self.truth == name].mean()) for name in np.unique(self.truth).tolist()}

    @property
    def balanced_accuracy(self) -> float:
        """The mean over the classes of the share that is right."""
        return float(np.mean(list(self.recalls.values())))

    @property
    def guess_accuracy(self) -> float:
        """What answering `guess` every time is right about."""
        return float((self.truth == self.guess).mean())

    def lines(self) -> list[str]:
        """The result in words."""
        low, high = (100 * bound for bound in self.interval)
        return [
            f"accuracy {100 * self.accuracy:.1f} % (95 % interval {low:.1f} to {high:.1f}) {self.how}",
            f"balanced accuracy {100 * self.balanced_accuracy:.1f} %",
            f"always {self.guess}, the most frequent class: {100 * self.guess_accuracy:.1f} %",
        ]


def wilson(right: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    from scipy.stats import binomtest

    bounds = binomtest(right, count).proportion_ci(0.95, method="wilson")
    return float(bounds.low), float(bounds.high)


def evaluate(model: Any, train: Labelled, test: Labelled) -> Evaluation:
    """A fitted model on a test file."""
    with explained(test.source):
        predicted, seconds = timed(model.predict, test.X)
    how = f"on the {len(test)} samples of {Path(test.source).name}"
    return Evaluation(test.y, np.asarray(predicted), _most_frequent(train.y), how, seconds)


def cross_validate(
    make: Callable[[], Any],
    train: Labelled,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Predictions for each sample by a model that has not seen its fold; `tell` hears which."""
    from sklearn.model_selection import StratifiedKFold

    folds = fold_count(train)
    predicted, seconds = train.y.copy(), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer members than folds are welcome
        splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(train.X[:, :1], train.y))
    for number, (fit, held_out) in enumerate(splits, 1):
        tell(f"cross-validating, fold {number} of {folds}")
        with explained(train.source):
            model = make().fit(train.X[fit], train.y[fit])
            predicted[held_out], spent = timed(model.predict, train.X[held_out])
        seconds += spent
    how = f"estimated by {folds}-fold cross-validation on {Path(train.source).name}, without a test file"
    return Evaluation(train.y, predicted, _most_frequent(train.y), how, seconds)


def fold_count(train: Labelled) -> int:
    """As many folds as keep two classes in every one of them, at most five."""
    counts = np.sort(np.unique(train.y, return_counts=True)[1])
    folds = min(FOLDS, int(counts[-2]))
    if folds < 2:
        raise InputError(
            f"{train.source} has {counts[-2]} sample of all classes but one, too few to estimate the accuracy by "
            "cross-validation; give a test file (--test)"
        )
    return folds


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What the work gives, and the seconds it took."""
    start = time.perf_counter()
    result = work(*arguments)
    return result, time.perf_counter() - start


@contextmanager
def explained(source: str) -> Iterator[None]:
    """Errors from the depths of a model in one line that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    except ValueError as error:  # scikit-learn's own checks
        if isinstance(error, ForetuneError):
            raise
        raise InputError(f"{source}: {' '.join(str(error).split())}") from error


def _most_frequent(y: np.ndarray) -> Any:
    names, counts = np.unique(y, return_counts=True)
    return names[counts.argmax()].item()


def write_predictions(
    path: Path, predicted: np.ndarray, truth: np.ndarray, chances: np.ndarray | None, classes: Any
) -> None:
    """One line for each sample: its number from 1, its label where known, the answer, the chance of each class."""
    columns: list[tuple[str, list[Any]]] = [("sample", list(range(1, len(predicted) + 1)))]
    if len(truth):
        columns.append(("label", truth.tolist()))
    columns.append(("predicted", predicted.tolist()))
    if chances is not None:
        columns += [(f"p({name})", [f"{p:.6g}" for p in chances[:, k]]) for k, name in enumerate(classes)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([name for name, _ in columns])
        writer.writerows(zip(*(values for _, values in columns), strict=True))


def fit_report(result: Evaluation, train: Labelled, facts: list[str]) -> Report:
    """The same as a page: the result, where it errs, what tells the classes apart, and what was read."""
    low, high = (100 * bound for bound in result.interval)
    answer = (
        f"{100 * result.accuracy:.1f} % right ({low:.1f} to {high:.1f}) {result.how}; "
        f"always answering {result.guess} is right in {100 * result.guess_accuracy:.1f} %."
    )
    counts = dict(zip(*(part.tolist() for part in np.unique(result.truth, return_counts=True)), strict=True))
    recalls = tuple((str(name), str(counts[name]), f"{100 * share:.1f}") for name, share in result.recalls.items())
    sheets = (
        Sheet("Share that is right in each class", ("class", "samples", "right (%)"), recalls),
        *_confusion(result),
    )
    picture = (_shares(result, counts),) if len(counts) <= NAMES else ()
    spectrum = task_spectrum(train.X, train.y)
    line = Line("task", tuple(spectrum.frequencies.tolist()), tuple(spectrum.power.tolist()))
    chart = Chart("Task spectrum", "frequency (cycles per step)", "Fisher log-power", (line,))
    return Report(
        f"A classifier for {Path(train.source).name}",
        (
            Section("Result", tuple(result.lines()), charts=picture),
            Section("Where it errs", sheets=sheets),
            Section("At which frequencies the classes differ", charts=(chart,)),
            Section("What was read and done", tuple(facts)),
        ),
        answer,
    )


def _shares(result: Evaluation, counts: dict[Any, int]) -> Dots:
    """The share that is right of each class and of all, with 95 % intervals, beside the most frequent class's."""
    shares = [*result.recalls.values(), result.accuracy]
    sizes = [*(counts[name] for name in result.recalls), len(result.truth)]
    bounds = [wilson(round(share * size), size) for share, size in zip(shares, sizes, strict=True)]
    low, high = (tuple(100 * bound for bound in side) for side in zip(*bounds, strict=True))
    ours = Marks("right", tuple(100 * share for share in shares), low, high)
    nothing = (float("nan"),) * len(counts)
    always = Marks(f"always {result.guess}", (*nothing, 100 * result.guess_accuracy), hollow=True)
    names = (*(f"{name} ({counts[name]})" for name in result.recalls), "all")
    title = "How many of each class are right"
    return Dots(title, "%, 95 % intervals", names, (ours, always), centre=None, totals=1, signed=False)


def _confusion(result: Evaluation) -> tuple[Sheet, ...]:
    names = np.unique(np.concatenate([result.truth, result.predicted])).tolist()
    if len(names) > NAMES:
        return ()
    rows = (
        (str(name), *(str(int((result.predicted[result.truth == name] == other).sum())) for other in names))
        for name in names
    )
    return (Sheet("Labels (rows) and answers (columns)", ("label", *map(str, names)), tuple(rows)),)
