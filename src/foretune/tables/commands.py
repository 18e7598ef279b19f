"""`foretune diagnose`, `fit` and `predict`: thin commands from a file to an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from ..errors import InputError
from .evaluation import (
    Evaluation,
    cross_validate,
    evaluate,
    explained,
    fit_report,
    fold_count,
    timed,
    write_predictions,
)
from .files import read
from .labelled import Labelled, check_training, fit_length, match_test

__all__ = ["FileOptions", "diagnose", "fit", "predict"]

PATIENCE = 2.0  # seconds after which a terminal shows that something is going on


@Parameter(name="*")
@dataclass(frozen=True)
class FileOptions:
    """How a file is written, where its own text does not tell."""

    label: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    "Column of the labels: its name, or its number from 0, or -1 for the last. The first unless told."
    labels: Path | None = None
    "A second file with the labels alone, one for each sample."
    delimiter: str | None = None
    "What separates the cells, for instance ';' or tab. Told from the file unless given."
    header: bool | None = None
    "Whether the first line names the columns. Told from the file unless given."
    decimal_comma: Annotated[bool, Parameter(negative="")] = False
    "Numbers have decimal commas; needed only where 1,500 could as well be 1500."
    pad: Annotated[bool, Parameter(negative="")] = False
    "Fill rows that end early with zeros."

    def read(self, path: Path, part: Literal["train", "test"] = "train", labelled: bool = True) -> Labelled:
        """The file, read this way."""
        return read(
            path,
            label=self.label,
            delimiter=self.delimiter,
            header=self.header,
            decimal_comma=self.decimal_comma,
            pad=self.pad,
            labels=self.labels if part == "train" else None,
            labelled=labelled,
            part=part,
        )


TOLD = FileOptions()


def diagnose(
    file: Path, /, *, options: FileOptions = TOLD, sampling_rate: float | None = None, out: Path | None = None
) -> None:
    """Say before any training whether tuning to the task is expected to help, and why.

    Example: foretune diagnose train.csv --label class --sampling-rate 100 --out report.html

    Parameters
    ----------
    file
        Labelled sequences: CSV, TSV, .ts, .arff, .npz or .npy, plain or gzipped.
    sampling_rate
        Steps per second; frequencies are then in Hz.
    out
        Write the report as an HTML page.
    """
    from ..diagnosis import diagnose as measure

    _check_targets(out)
    data = options.read(file)
    check_training(data)
    _say(data)
    with _waiting("measuring the task"), explained(data.source):
        found = measure(data.X, data.y, sampling_rate=sampling_rate, lengths=data.lengths)
    print(found)
    if out is not None:
        _save(found.report(), out)


def fit(
    file: Path,
    /,
    *,
    test: Path | None = None,
    options: FileOptions = TOLD,
    test_labels: Path | None = None,
    head: Literal["kernel", "train"] = "kernel",
    init: Literal["auto", "default", "task"] = "auto",
    seed: int = 0,
    save: Path | None = None,
    predictions: Path | None = None,
    out: Path | None = None,
) -> None:
    """Train a classifier on a file and say how good it is, on a test file or by cross-validation.

    Example: foretune fit train.csv --test test.csv --save model --out report.html

    Parameters
    ----------
    file
        Labelled sequences: CSV, TSV, .ts, .arff, .npz or .npy, plain or gzipped.
    test
        A file of the same kind to measure on. Without it the accuracy is estimated on the training file.
    test_labels
        A second file with the labels of the test file, where those of the training file are apart too.
    head
        `kernel`: fixed filters and a closed-form head, in seconds. `train`: a model trained by gradient descent.
    init
        Where the filters listen: `task`, `default`, or what the training file itself speaks for (`auto`).
    seed
        Of everything random.
    save
        Folder for the model; `foretune predict` reads it.
    predictions
        Write the answers as CSV.
    out
        Write the report as an HTML page.
    """
    from ..classify import SSMClassifier  # needs scikit-learn, which reading files does not

    _check_targets(predictions, out)
    train, held_out = _training_and_test(file, test, options, test_labels)
    read_as = [_say(data) for data in (train, held_out) if data is not None]
    make = partial(SSMClassifier, head=head, init=init, random_state=seed)
    with _waiting("training"), explained(train.source):
        model, seconds = timed(make().fit, train.X, train.y)
    if save is not None:
        model.save(save)
        print(f"model: {save}")
    result = _judged(model, make, train, held_out, seed)
    means = f"head {head}, {_placement(head, model.evidence_.chosen, init)}"
    times = f"fit {seconds:.2f} s, predict {result.seconds:.2f} s"
    print(means, *result.lines(), times, sep="\n")
    if predictions is not None:
        chances = None if held_out is None else _chances(model, held_out)
        write_predictions(predictions, result.predicted, result.truth, chances, model.classes_)
        print(f"predictions: {predictions}")
    if out is not None:
        _save(fit_report(result, train, [*chain(*read_as), means, times]), out)


def _judged(model: Any, make: Callable[[], Any], train: Labelled, held_out: Labelled | None, seed: int) -> Evaluation:
    if held_out is not None:
        return evaluate(model, train, held_out)
    with _waiting("cross-validating") as tell:
        return cross_validate(make, train, seed, tell)


def predict(
    model: Path,
    file: Path,
    /,
    *,
    out: Path,
    options: FileOptions = TOLD,
    no_label: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Classify the rows of a file with a saved model; with labels in the file, say how many are right.

    Example: foretune predict model new.csv --no-label --out predictions.csv

    Parameters
    ----------
    model
        Folder that `foretune fit --save` wrote.
    file
        Sequences in any format that `foretune fit` reads.
    out
        CSV file to write: the answer for each row and the chance of each class.
    no_label
        The file holds sequences alone, without labels.
    """
    from ..classify import SSMClassifier

    _check_targets(out)
    if model.is_file():
        raise InputError(f"{model} is a file; the folder of the model comes first, then the file to classify")
    loaded = SSMClassifier.load(model)
    data = options.read(file, part="test" if options.labels is None else "train", labelled=not no_label)
    _say(data)
    if data.X.ndim == 2:
        data = fit_length(data, int(loaded.n_features_in_), f"the model {model}", padded=options.pad)
    with _waiting("predicting"), explained(data.source):
        predicted, seconds = timed(loaded.predict, data.X)
    write_predictions(out, predicted, data.y, _chances(loaded, data), loaded.classes_)
    if len(data.y):
        right = int((predicted.astype(str) == data.y.astype(str)).sum())
        print(f"{right} of {len(data)} agree with the labels ({100 * right / len(data):.1f} %)")
    print(f"predicted {len(data)} samples in {seconds:.2f} s: {out}")


def _training_and_test(
    file: Path, test: Path | None, options: FileOptions, test_labels: Path | None
) -> tuple[Labelled, Labelled | None]:
    if test is not None and options.labels is not None and test_labels is None:
        raise InputError(f"--labels {options.labels} belongs to {file}; name those of {test} with --test-labels")
    train = options.read(file)
    check_training(train)
    if test is None:
        fold_count(train)
        return train, None
    apart = replace(options, labels=test_labels)
    held_out = apart.read(test, "test") if test_labels is None else apart.read(test)
    if test.exists() and test.samefile(file) and held_out.notes == train.notes:
        raise InputError(f"--test {test} is the training file itself; name another, or leave --test out")
    return match_test(train, held_out)


def _placement(head: str, chosen: str, asked: str) -> str:
    started = "at the default" if chosen == "default" else "at the task's frequencies"  # a model has no halves
    where = (
        f"started {started}"
        if head == "train"
        else {
            "default": "filters at log-spaced frequencies",
            "task": "filters at the task's frequencies",
            "both": "filters at log-spaced and at the task's frequencies",
        }[chosen]
    )
    return where + (", as the training samples speak for" if asked == "auto" else "")


def _say(data: Labelled) -> list[str]:
    """How the file was read: printed, and the lines."""
    lines = [str(data), *data.notes]
    print(*lines, sep="\n  ")
    return lines


def _chances(model: Any, data: Labelled) -> Any:
    with explained(data.source):
        return model.predict_proba(data.X)


def _check_targets(*paths: Path | None) -> None:
    """Before the work, so that a folder that cannot be is known at once."""
    for path in paths:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise InputError(f"{path} is a folder; name a file in it")


def _save(content: Any, out: Path) -> None:
    from ..report.html import save

    print(f"report: {save(content, out)}")


@contextmanager
def _waiting(message: str) -> Iterator[Callable[[str], None]]:
    """A sign of life on a terminal, once the work takes long."""
    console = Console(stderr=True)
    status = console.status(message)
    timer = threading.Timer(PATIENCE, status.start)
    if console.is_terminal:
        timer.start()
    try:
        yield status.update
    finally:
        if console.is_terminal:
            timer.cancel()
            timer.join()
            status.stop()
