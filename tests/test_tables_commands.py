"""`foretune diagnose`, `fit` and `predict`: from a file to an answer, or one line and exit code 2."""

import csv
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import foretune as ft
from foretune import cli
from foretune.report import Report
from foretune.tables import Labelled, commands
from foretune.tables.evaluation import Evaluation, cross_validate, fit_report, wilson

LENGTH = 24


class Nearest:
    """A stand-in that answers with the class of the nearest mean."""

    def __init__(self, head="kernel", init="auto", random_state=None):
        assert isinstance(random_state, int)
        self.settings = (head, init)

    def fit(self, X, y):
        if len(X) > 900:
            raise ValueError("scikit-learn says\nno to this")
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        self.means = np.stack([X[y == name].mean(0) for name in self.classes_])
        self.evidence_ = SimpleNamespace(chosen="task")
        return self

    def predict_proba(self, X):
        near = np.exp(-((X[:, None] - self.means) ** 2).sum(axis=tuple(range(2, X.ndim + 1))))
        return near / near.sum(1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]

    def save(self, folder):
        folder.mkdir()
        (folder / "model.json").write_text(json.dumps([self.classes_.tolist(), self.means.tolist()]))

    @classmethod
    def load(cls, folder):
        if not (folder / "model.json").exists():
            raise ft.DataMissing(f"{folder} holds no model; save one first")
        self = cls(random_state=0)
        self.classes_, self.means = (np.array(part) for part in json.loads((folder / "model.json").read_text()))
        self.n_features_in_ = self.means.shape[1]
        return self


class Found:
    def __init__(self, *facts):
        self.facts = facts

    def __str__(self):
        return "the verdict of {} samples at {} Hz, lengths {}".format(*self.facts)

    def report(self):
        return Report("diagnosis", (), str(self))


def stand_in_diagnose(X, y, length=None, sampling_rate=None, lengths=None):
    if X.shape[1] < 2:
        raise ft.InputError("sequences of length 1 have no spectrum; give longer ones")
    return Found(len(X), sampling_rate, None if lengths is None else lengths.tolist())


def stand_in_save(report, path):
    assert isinstance(report, Report)
    path.write_text(f"{report.title}\n{report.answer}\n{report.sections}")
    return path


@pytest.fixture
def stand_ins(monkeypatch):
    rooms = {
        "classify": SimpleNamespace(SSMClassifier=Nearest),
        "diagnosis": SimpleNamespace(diagnose=stand_in_diagnose),
        "report.html": SimpleNamespace(save=stand_in_save),
    }
    for name, room in rooms.items():
        monkeypatch.setitem(sys.modules, f"foretune.{name}", room)


@pytest.fixture
def files(tmp_path, monkeypatch, rng):
    """A training and a test file of a task that a mean solves, in the working folder."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("train.csv", 40), ("test.csv", 20)):
        y = rng.permutation(np.arange(count) % 4 > 0)
        X = rng.normal(size=(count, LENGTH)) * 0.3 + np.where(y[:, None], 1, -1) * np.sin(np.arange(LENGTH))
        lines = (f"{'up' if up else 'down'}," + ",".join(f"{value:.4f}" for value in row) for up, row in zip(y, X))  # noqa: B905
        (tmp_path / name).write_text("\n".join(lines))
    return tmp_path


def outcome(command, capsys):
    code = 0
    try:
        cli.main(command.split())
    except SystemExit as stop:
        code = stop.code or 0
    return code, capsys.readouterr()


def run(command, capsys):
    code, shown = outcome(command, capsys)
    assert (code, shown.err) == (0, "")
    return shown.out


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def refused(command, capsys):
    code, shown = outcome(command, capsys)
    assert code == 2
    assert shown.err.startswith("foretune: ")
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.mark.usefixtures("stand_ins")
def test_fit_measures_on_the_test_file(files, capsys):
    out = run("fit train.csv --test test.csv --save model --predictions p.csv --out pages/report.html", capsys)
    assert "train.csv: 40 samples of 24 steps, 2 classes: down (10), up (30)" in out
    assert "commas between the cells, no header\n  label in the first column" in out
    assert "head kernel, filters at the task's frequencies, as the training samples speak for" in out
    assert "accuracy 100.0 % (95 % interval 83.9 to 100.0) on the 20 samples of test.csv" in out
    assert "always up, the most frequent class: 75.0 %" in out
    assert re.search(r"fit \d+\.\d\d s, predict \d+\.\d\d s", out)
    assert "\nmodel: model\n" in out
    assert out.endswith("predictions: p.csv\nreport: pages/report.html\n")
    rows = rows_of(files / "p.csv")
    assert len(rows) == 20
    for row in rows:
        assert row["label"] == row["predicted"] == ("up" if float(row["p(up)"]) > 0.5 else "down")
    assert "100.0 % right" in (files / "pages/report.html").read_text()


@pytest.mark.usefixtures("stand_ins", "files")
def test_fit_estimates_without_a_test_file(capsys):
    out = run("fit train.csv --init task", capsys)
    assert "estimated by 5-fold cross-validation on train.csv, without a test file" in out
    assert "filters at the task's frequencies\n" in out


def test_cross_validation_tests_each_sample_once_on_the_other_folds():
    seen = []

    class Recorder(Nearest):
        def fit(self, X, y):
            seen.append(("fit", X[:, 0].tolist()))
            return super().fit(X, y)

        def predict(self, X):
            seen.append(("predict", X[:, 0].tolist()))
            return super().predict(X)

    numbers = np.arange(23.0)[:, None] + [0, 1]
    train = Labelled(numbers, np.array([0] * 12 + [1] * 9 + [2, 3]), None, "x.csv")
    result = cross_validate(lambda: Recorder(random_state=0), train)
    assert len(seen) == 10
    for (_, fitted), (_, held_out) in zip(seen[::2], seen[1::2], strict=True):
        assert sorted(fitted + held_out) == numbers[:, 0].tolist()
    assert sorted(value for what, part in seen if what == "predict" for value in part) == numbers[:, 0].tolist()
    assert (result.predicted[-2:] != result.truth[-2:]).all()  # nobody else has their class


@pytest.mark.usefixtures("stand_ins")
def test_predict_reads_rows_with_and_without_labels(files, capsys):
    run("fit train.csv --save model", capsys)
    labelled = run("predict model test.csv --out a.csv", capsys)
    assert "20 of 20 agree with the labels (100.0 %)" in labelled
    bare = "\n".join(line.partition(",")[2] for line in (files / "test.csv").read_text().splitlines())
    (files / "bare.csv").write_text(bare)
    out = run("predict model bare.csv --no-label --out b.csv", capsys)
    assert "agree" not in out
    assert out.rstrip().endswith("s: b.csv")
    first, second = (rows_of(files / name) for name in ("a.csv", "b.csv"))
    assert [row["predicted"] for row in first] == [row["predicted"] for row in second]
    assert "label" not in second[0]


@pytest.mark.usefixtures("stand_ins", "files")
def test_diagnose(capsys):
    out = run("diagnose train.csv --sampling-rate 100 --out report.html", capsys)
    assert "the verdict of 40 samples at 100.0 Hz, lengths None" in out
    assert out.endswith("report: report.html\n")


@pytest.mark.usefixtures("stand_ins")
def test_options_of_the_file_reach_the_reader(files, capsys):
    (files / "odd.txt").write_text("x;y;class\n1;2;a\n3;;b\n")
    out = run("diagnose odd.txt --label class --delimiter ; --pad --header", capsys)
    assert "1 to 2 steps, padded, 2 classes" in out
    assert "lengths [2, 1]" in out
    assert "2 classes" in run("diagnose odd.txt --label -1 --delimiter semicolon --pad", capsys)
    np.savez(files / "both.npz", x_train=np.eye(4), y_train=[0, 1, 0, 1], x_test=np.eye(4)[:3], y_test=[0, 1, 0])
    assert "on the 3 samples of both.npz" in run("fit both.npz --test both.npz", capsys)
    channels = np.random.default_rng(0).normal(size=(12, 9, 2)) + 4 * (np.arange(12)[:, None, None] % 2)
    np.savez(files / "channels.npz", X=channels, y=np.arange(12) % 2)
    out = run("fit channels.npz --out page.html --save both --predictions p.csv", capsys)
    assert "12 samples of 9 steps and 2 channels" in out
    assert "12 of 12" in run("predict both channels.npz --out p.csv", capsys)
    for name in ("train", "test"):
        (files / f"{name}.y").write_text("a\nb\na\nb\n")
        (files / f"{name}.x").write_text("1,2\n5,6\n1,3\n5,7\n")
    out = run("fit train.x --labels train.y --test test.x --test-labels test.y", capsys)
    assert "accuracy 100.0 %" in out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("diagnose none.csv", "there is no file none.csv"),
        ("diagnose .", "Is a directory"),
        ("diagnose train.csv --delimiter ;", "has one column when its lines are cut at semicolons, but 25 at commas"),
        ("diagnose train.csv --label class", "has no header"),
        ("diagnose train.csv --out .", "is a folder"),
        ("diagnose train.csv --out train.csv/x.html", "File exists|Not a directory"),
        ("diagnose short.csv", "short.csv: sequences of length 1 have no spectrum"),
        ("diagnose one-class.csv", "the one class a alone"),
        ("diagnose single.csv", "holds 1 sample"),
        ("predict train.csv model --out o.csv", "train.csv is a file; the folder of the model comes first"),
        ("diagnose", "needs FILE"),
        ("diagnose train.csv --sampling-rate fast", "fast"),
        ("fit train.csv --test none.csv", "there is no file none.csv"),
        ("fit train.csv --test train.csv", "is the training file itself"),
        ("fit train.csv --test short.csv", "short.csv has 1 step a sequence but train.csv has 24"),
        ("fit train.csv --test strangers.csv", "shares no class with train.csv: left, right against down, up"),
        ("fit rare.csv", "has 1 sample of all classes but one, too few.*--test"),
        ("fit train.csv --head none", "none"),
        ("fit large.csv --test train.csv", "large.csv: scikit-learn says no to this"),
        ("fit train.csv --labels y.txt --test test.csv", "name those of test.csv with --test-labels"),
        ("predict none train.csv --out p.csv", "none holds no model"),
        ("predict model short.csv --out p.csv", "short.csv has 1 step a sequence but the model model has 24"),
        ("predict model train.csv", "--out"),
    ],
)
@pytest.mark.usefixtures("stand_ins")
def test_bad_input_is_one_line_and_exit_code_2(files, capsys, command, message):
    row = ",".join(["1"] * LENGTH)
    texts = {
        "short": "a,1\nb,2\n",
        "one-class": "a,1,2\na,2,3\n",
        "single": "a,1,2\n",
        "rare": "a,1,2\nb,2,3\na,2,2\n",
        "strangers": f"left,{row}\nright,{row}\n",
        "large": f"up,{row}\ndown,{row}\n" * 500,
    }
    for name, text in texts.items():
        (files / f"{name}.csv").write_text(text)
    if command.startswith("predict model"):
        run("fit train.csv --save model", capsys)
    assert re.search(message, refused(command, capsys))


@pytest.mark.parametrize("command", ["diagnose", "fit", "predict"])
def test_help_has_an_example(command, capsys):
    out = run(f"{command} --help", capsys)
    assert f"Example: foretune {command}" in out


def test_classes_that_training_lacks_count_as_wrong():
    result = Evaluation(np.array(["a", "b", "c", "c"]), np.array(["a", "b", "a", "b"]), "a", "here", 0.0)
    assert result.accuracy == 0.5
    assert result.recalls == {"a": 1, "b": 1, "c": 0}
    assert result.balanced_accuracy == pytest.approx(2 / 3)
    assert result.guess_accuracy == 0.25


@pytest.mark.parametrize(("right", "count"), [(0, 7), (7, 7), (13, 20), (480, 500)])
def test_wilson_solves_its_equation(right, count):
    share, z = right / count, 1.959963984540054
    for bound in wilson(right, count):
        assert (share - bound) ** 2 == pytest.approx(z**2 * bound * (1 - bound) / count, abs=1e-12)


def test_the_report_counts_what_went_wrong(rng):
    X, y = rng.normal(size=(6, 16)), np.array([1, 2, 1, 2, 1, 2])
    report = fit_report(Evaluation(y, np.array([1, 2, 1, 2, 2, 2]), 1, "here", 0.1), Labelled(X, y, None, "x.csv"), [])
    recalls, confusion = report.sections[1].sheets
    assert recalls.rows == (("1", "3", "66.7"), ("2", "3", "100.0"))
    assert confusion.rows == (("1", "2", "1"), ("2", "0", "3"))
    assert "83.3 % right" in report.answer
    ours, always = report.sections[0].charts[0].marks
    assert [round(value, 1) for value in ours.values] == [66.7, 100, 83.3]
    assert (ours.low[-1], ours.high[-1]) == tuple(100 * bound for bound in wilson(5, 6))
    assert always.values[-1] == 50
    (line,) = report.sections[2].charts[0].lines
    np.testing.assert_array_equal(line.y, ft.task_spectrum(X, y).power)


def test_the_real_classifier_fits_the_commands(files, capsys):
    pytest.importorskip("sklearn")
    out = run("fit train.csv --test test.csv --save model --predictions p.csv", capsys)
    assert "accuracy" in out
    assert "estimated by" in run("fit train.csv --init default", capsys)
    assert "agree with the labels" in run("predict model test.csv --out q.csv", capsys)
    assert (files / "p.csv").read_text() == (files / "q.csv").read_text()
    assert "none" in refused("predict none test.csv --out q.csv", capsys)


def test_the_real_diagnosis_fits_the_command(files, capsys):
    out = run("diagnose train.csv --sampling-rate 100", capsys)
    assert "Hz" in out
    for name, text in {"one": "a,1\nb,2\na,3\nb,4\n", "same": "a,1,1,1\nb,1,1,1\n" * 4}.items():
        (files / f"{name}.csv").write_text(text)
        code, shown = outcome(f"diagnose {name}.csv", capsys)
        assert code == 0 or (code == 2 and shown.err.count("\n") == 1)


def test_the_real_pages_are_written(files, capsys):
    pytest.importorskip("sklearn")
    for command in ("diagnose train.csv", "fit train.csv --test test.csv"):
        assert "report: page.html" in run(f"{command} --out page.html", capsys)
        assert (files / "page.html").stat().st_size > 2000
        (files / "page.html").unlink()


@pytest.mark.parametrize(
    ("head", "chosen", "asked", "said"),
    [
        ("train", "both", "auto", "started at the task's frequencies, as the training samples speak for"),
        ("train", "default", "default", "started at the default"),
        ("kernel", "both", "auto", "filters at log-spaced and at the task's frequencies, as the training samples"),
    ],
)
def test_what_is_said_of_the_placement(head, chosen, asked, said):
    assert commands._placement(head, chosen, asked).startswith(said)
