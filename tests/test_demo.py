"""The demo, from its tasks to its page."""

import io
import itertools
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import foretune as ft
from foretune.demo import evidence, pages, show, tasks
from foretune.study import Plan, Store, Summary
from foretune.study.rows import Roles, Row, Table

SMALL = {
    "epochs = 20": "epochs = 1",
    "ratio = [0.025, 0.1, 0.4]": "ratio = [0.025]",
    "seed = [42, 123, 1024]": "seed = [42, 123]",
}


def small() -> Plan:
    text = Path(show.__file__).with_name("plan.toml").read_text(encoding="utf-8")
    for long, short in SMALL.items():
        assert long in text
        text = text.replace(long, short)
    return Plan.parse(text)


def perform(out: Path) -> tuple[Path, str]:
    console = Console(file=io.StringIO(), width=80)
    path = show.run(out, console, small())
    return path, console.file.getvalue()


@pytest.fixture(scope="module")
def performed(tmp_path_factory):
    pytest.importorskip("sklearn")
    out = tmp_path_factory.mktemp("demo") / "new folder"
    return out, *perform(out)


def table_of(gains: dict[tuple[str, str], list[float]], ratios: tuple[float, ...] = (0.1, 0.4)) -> Table:
    """Rows of which the arm (of a claim of the baseline `default+gain`) lies so many points above its baseline."""
    rows = []
    for (task, arm), points in gains.items():
        places = itertools.product(ratios, range(len(points) // len(ratios)))
        for (ratio, seed), gain in zip(places, points, strict=True):
            for name, shift in (("default+gain", 0.0), (arm, gain / 100)):
                rows.append(Row(task, ratio, str(seed), name, final_acc=0.5 + 0.01 * seed + shift, accuracy=(0.5, 0.5)))
    pairs = (("default+gain", "default"), ("tdi+gain", "default+gain"), ("tdi", "default"))
    return Table("demo", tuple(rows), Roles(low=0.4, pairs=pairs), {})


def test_the_splits_are_fixed_and_complete():
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_digits

    digits = tasks.load("digits")
    every = np.concatenate([digits.train.X, digits.test.X])
    assert Counter(map(bytes, every)) == Counter(map(bytes, (load_digits().data / 16).astype(np.float32)))
    for name in tasks.TASKS:
        data = tasks.load(name)
        assert (len(data.train), data.train.X.shape[1]) == (tasks.TRAIN, data.length)
        assert len(data.test) > 500
        assert not set(map(bytes, data.train.X[:50])) & set(map(bytes, data.test.X))


def test_it_ends_with_the_path_and_keeps_every_run(performed):
    out, path, text = performed
    assert text.rstrip().splitlines()[-1] == str(path)
    assert path == out / "demo.html"
    plan = small()
    records = Store(out / "demo").records()
    assert {run.key for run in plan.runs} == set(records)
    assert {record.status for record in records.values()} == {"done"}
    for word in ("binary frequency", "digits", "diagnosis of  32 labels", "±", "tdi+gain over default+gain"):
        assert word in text
    assert "…" not in text  # of a table that is too wide for a terminal of 80 columns


def test_a_second_time_trains_nothing_and_writes_the_same_page(performed):
    out, path, _ = performed
    before = path.read_bytes()
    again, text = perform(out)
    assert f"0 runs in 0 s, {len(small().runs)} were in" in " ".join(text.split())
    assert again.read_bytes() == before


def test_a_run_is_the_deep_studys_own(performed):
    from foretune.study import deep

    out, *_ = performed
    run = next(run for run in small().runs if run.settings["arm"] == "tdi+gain")
    data = tasks.load(run.settings["dataset"]).subset(run.settings["ratio"], run.settings["seed"])
    kept = Store(out / "demo").records()[run.key].result
    found = deep.learn(data, run.settings)
    assert kept["test_accuracy"] == pytest.approx(found["test_accuracy"], abs=2e-3)
    assert kept["samples"] == 32


def test_gains_are_those_of_matched_runs():
    points = [3.0, -1.0, 2.0, 4.0, 1.0, 6.0]
    found = evidence.gains(table_of({("a", "tdi+gain"): points}).rows, evidence.CLAIMS[0])["a"]
    rng = np.random.default_rng(5)
    drawn = [np.mean(rng.choice(points, len(points))) for _ in range(20_000)]
    assert found.mean == pytest.approx(np.mean(points))
    assert [found.low, found.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.2)
    assert found.runs == 6


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (([4, 5, 6, 5], [2, 3, 3, 4]), "tuning to the task helped on both tasks (+5.0 and +3.0 points)."),
        (([1, -1, 2, -2], [3, -3, 1, -1]), "made no clear difference on either task (0.0 and 0.0 points)."),
        (([-4, -5, -6, -5], [2, 3, 3, 4]), "tuning to the task hurt on a (-5.0) and helped on b (+3.0)."),
    ],
)
def test_the_answer_follows_from_the_runs(points, said):
    first, second = points
    table = table_of({("a", "tdi+gain"): first, ("b", "tdi+gain"): second})
    assert pages.answer(table).endswith(said)
    assert pages.answer(table).count(".") == said.count(".")


@pytest.fixture(scope="module")
def known():
    """A diagnosis and the starts of every arm, for the parts of a page."""
    plan = small()
    plan = replace(plan, runs=tuple(run for run in plan.runs if run.settings["dataset"] == "binary frequency"))
    found = {("binary frequency", 0.025): evidence.diagnosed("binary frequency", 0.025, 42)}
    return found, evidence.starts(plan, found, 42)


@pytest.mark.parametrize(("points", "was"), [([4.0, 5.0], "right"), ([0.5, 1.0], "wrong"), ([-4.0, -5.0], "wrong")])
def test_a_wrong_verdict_is_called_wrong(known, points, was):
    found, before = known
    assert found["binary frequency", 0.025].verdict == "help expected"
    table = table_of({("binary frequency", "tdi+gain"): points}, ratios=(0.025,))
    section = pages.compose(table, found, before).sections[2]
    assert section.sheets[0].rows[0][-1] == was
    assert section.sentences[0].startswith(f"{int(was == 'right')} of 1 verdicts")


def test_every_number_of_the_picture_is_that_of_the_runs_it_names(known):
    table = table_of({("binary frequency", "tdi+gain"): [3.0, -1.0, 2.0, 4.0]}, ratios=(0.025, 0.1))
    report = pages.compose(table, *known)
    matrix = report.sections[0].charts[0]
    checked = 0
    for values, traces in zip(matrix.values, matrix.traces, strict=True):
        for value, trace in zip(values, traces, strict=True):
            means = {}
            for line in report.runs.rows:
                run = dict(zip(report.runs.header, line, strict=True))
                if all(run[name] in allowed for name, allowed in trace.where):
                    means.setdefault(run["arm"], []).append(float(run[trace.column]))
            assert value == pytest.approx(np.mean(means["tdi+gain"]) - np.mean(means["default+gain"]), abs=0.06)
            checked += 1
    assert checked == 2


def test_an_arm_before_training(known):
    _, before = known
    assert before["binary frequency", "default+gain"].deviation == pytest.approx(1, abs=0.05)
    assert abs(before["binary frequency", "tdi"].deviation - 1) > 0.05
    assert all(0 <= start.loss <= 2 for start in before.values())


def test_without_scikit_learn_the_other_task_is_left(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    console = Console(file=io.StringIO())
    plan = show._at_hand(small(), console)
    assert {run.settings["dataset"] for run in plan.runs} == {"binary frequency"}
    assert console.file.getvalue().count("\n") == 1
    assert "foretune[classifier]" in console.file.getvalue()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    tasks.load.cache_clear()
    with pytest.raises(ft.DependencyMissing, match="classifier"):
        tasks.load("digits")


def test_it_knows_before_the_work_where_it_cannot_write(monkeypatch, tmp_path):
    monkeypatch.setattr(show, "diagnosed", lambda *_: pytest.fail("worked first"))
    (tmp_path / "file").touch()
    with pytest.raises((OSError, ft.StudyError), match="file"):
        show.run(tmp_path / "file" / "out", Console(file=io.StringIO()))


def test_it_says_so_when_every_run_fails(monkeypatch, tmp_path):
    lost = Summary(0, 3, 0, Counter({"ValueError: broken": 3}), 3, 1.0)
    monkeypatch.setattr(show, "run_plan", lambda *_, **__: lost)
    with pytest.raises(ft.StudyError, match="broken"):
        show._train(small(), Store(tmp_path).create(), Console(file=io.StringIO()))


def test_an_unknown_task_is_refused():
    with pytest.raises(ft.InputError, match="nosuch"):
        tasks.load("nosuch")
