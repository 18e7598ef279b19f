import csv
import json
import math
from pathlib import Path

import pytest

from foretune import InputError
from foretune.cli import main
from foretune.study import Plan, Record, Store
from foretune.study.paper import Published
from foretune.study.report import compose, markdown, write
from foretune.study.rows import COLUMNS, Roles, Row, Table, collect, read_csv, write_csv
from foretune.study.tables import cell_sheet, count_sheet, paired_sheets, regime_sheet

PLAN = """
name = "small"
task = "toy_study:learn"
[settings]
epochs = 15
[[grid]]
dataset = ["MNIST", "Wafer"]
ratio = [0.01, 1.0]
seed = [42, 123, 1024]
arm = ["default", "tdi"]
[overrides.dataset.Wafer]
epochs = 10
[report]
published = "one_layer"
pairs = [["tdi", "default"]]
names = {default = "baseline"}
"""


def accuracy(settings):
    """Rises to a level of the run's own, and collapses for one of them."""
    level = 0.5 + settings["seed"] / 10_000 + 0.1 * (settings["arm"] == "tdi")
    curve = [level * (1 - 0.5 ** (epoch + 1)) for epoch in range(settings["epochs"])]
    collapses = settings["dataset"] == "MNIST" and settings["ratio"] == 1.0 and settings["seed"] == 123
    return [*curve[:-1], 0.1] if collapses else curve


def is_broken(settings):
    return (settings["dataset"], settings["ratio"], settings["arm"]) == ("Wafer", 0.01, "tdi") and settings[
        "seed"
    ] == 42


@pytest.fixture
def filled(tmp_path):
    plan, store = Plan.parse(PLAN), Store(tmp_path / "out").create()
    for run in plan.runs[:-1]:
        curve = accuracy(run.settings)
        result = {"test_accuracy": curve, "test_loss": [1 - value for value in curve]}
        record = Record(run, "done", "", result, {"python": "3"})
        if is_broken(run.settings):
            record = Record(run, "failed", "result.test_loss[3] is nan", {"test_accuracy": [1.0]}, {"python": "3"})
        store.write(record, {"seconds": 2.0})
    return plan, store


def lookup(sheet, *start):
    """A line of a table by its first cells, as a dictionary."""
    (line,) = (row for row in sheet.rows if row[: len(start)] == start)
    return dict(zip(sheet.header, line, strict=True))


def test_rows_hold_what_the_runs_gave(filled):
    plan, store = filled
    table = collect(plan, store)
    assert len(table.rows) == 23
    (row,) = (r for r in table.rows if (r.dataset, r.ratio, r.seed, r.arm) == ("MNIST", 0.01, "42", "tdi"))
    curve = accuracy({"dataset": "MNIST", "ratio": 0.01, "seed": 42, "arm": "tdi", "epochs": 15})
    assert row.final_acc == pytest.approx(curve[-1], abs=1e-6)
    assert row.first5_acc == pytest.approx(sum(curve[:5]) / 5, abs=1e-6)
    assert row.first10_acc == pytest.approx(sum(curve[:10]) / 10, abs=1e-6)
    assert row.final_loss == pytest.approx(1 - curve[-1], abs=1e-6)
    assert {r.arm for r in table.rows} == {"default", "tdi"}  # the epochs follow from the data set
    (failed,) = (r for r in table.rows if r.status == "failed")
    assert (failed.final_acc, failed.reason) == (None, "result.test_loss[3] is nan")
    assert table.provenance["runs"] == {"done": 22, "failed": 1, "missing": 1}
    assert table.provenance["collapsed"] == {"default": 1, "tdi": 1}
    assert table.provenance["seconds"] == 46.0
    assert table.provenance["plan_hash"] == plan.hash


def test_csv_and_back(filled, tmp_path):
    table = collect(*filled)
    path = tmp_path / "results" / "small.csv"
    write_csv(table, path)
    with path.open() as file:
        items = list(csv.DictReader(file))
    assert tuple(items[0]) == COLUMNS
    assert len(items) == 23
    order = [(i["dataset"], float(i["ratio"]), int(i["seed"]), i["arm"]) for i in items]
    assert order == sorted(order)
    again = read_csv(path)
    assert [(r.final_acc, r.status, r.reason) for r in again.rows] == [
        (r.final_acc, r.status, r.reason) for r in table.rows
    ]
    assert again.roles == table.roles
    assert count_sheet(again) == count_sheet(table)  # the collapsed ones are known without the curves
    assert json.loads(path.with_suffix(".json").read_text())["versions"] == [{"python": "3"}]
    before = path.read_bytes()
    write_csv(collect(*filled), path)
    assert path.read_bytes() == before


def test_cells_say_what_they_rest_on(filled):
    table = collect(*filled)
    published = Published.load("one_layer", {"default": "baseline"})
    sheet = cell_sheet(table, published, "final_acc")
    broken = lookup(sheet, "Wafer", "0.01")
    two = [
        accuracy({"dataset": "Wafer", "ratio": 0.01, "seed": seed, "arm": "tdi", "epochs": 10})[-1]
        for seed in (123, 1024)
    ]
    spread = abs(two[0] - two[1]) / math.sqrt(2)
    assert broken["tdi"] == f"{50 * sum(two):.1f} ± {100 * spread:.1f} (n=2) (1 failed)"
    assert broken["tdi, paper"] == "85.2 ± 8.3"
    assert lookup(sheet, "Wafer", "1")["tdi"].endswith("(n=2)")  # one run is missing
    assert "n=" not in broken["default"]
    assert lookup(sheet, "MNIST", "1")["default, paper"] == "64.5 ± 47.3"
    assert lookup(count_sheet(table), "tdi") == {"arm": "tdi", "done": "10", "failed": "1", "collapsed": "1"}


def test_summaries_and_pairs_stand_beside_the_papers(filled):
    table = collect(*filled)
    published = Published.load("one_layer", {"default": "baseline"})
    low = regime_sheet(table, published, "final_acc", "low")
    assert lookup(low, "MNIST")["tdi, paper"] == "78.4 ± 11.5"
    assert lookup(regime_sheet(table, published, "final_loss", "low"), "MNIST")["default, paper"] == "1.144 ± 0.378"
    ratios, datasets = paired_sheets(table, published, "tdi", "default")
    assert lookup(ratios, "1")["final, paper"] == "-2.3 [-14.1, +7.3]"
    assert lookup(datasets, "MNIST")["first 10, paper"] == "+2.4 [+0.3, +4.8]"
    assert lookup(datasets, "MNIST")["final"] == "+10.0 (one cluster)"
    other, _ = paired_sheets(table, published, "default", "tdi")
    assert not any("paper" in name for name in other.header)  # it has no such pair


def test_a_report_is_written(filled, tmp_path):
    path = write(collect(*filled), tmp_path / "report")
    text = path.read_text()
    assert "22 runs done, 1 failed, 1 missing" in text
    assert "Failed 1 ×: result.test_loss[3] is nan" in text
    assert "tdi over default, ratio ≤ 0.16: +10.0 points" in text
    pictures = [line.split("(")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert pictures == ["ratio.png", "epochs-mnist.png", "epochs-wafer.png"]
    assert all((path.parent / name).stat().st_size > 5000 for name in pictures)
    for line in text.splitlines():
        assert "nan" not in line.replace("is nan", "")


def test_a_plan_with_other_axes_is_reported(tmp_path):
    plan = Plan.parse(
        'name = "mine"\ntask = "toy_study:learn"\n[[grid]]\nwidth = [8, 16]\nrate = [0.1, 0.2]\nrepeat = [1, 2]\n'
        '[report]\nratio = "width"\nseed = "repeat"\nlow = 8\npairs = [["rate=0.2", "rate=0.1"]]'
    )
    store = Store(tmp_path).create()
    for run in plan.runs:
        store.write(Record(run, "done", "", {"test_accuracy": run.settings["rate"]}, {}), {})
    table = collect(plan, store)
    assert {(row.dataset, row.ratio, row.arm) for row in table.rows} == {
        ("mine", width, f"rate={rate}") for width in (8.0, 16.0) for rate in (0.1, 0.2)
    }
    text = markdown(compose(table, Published()), {})
    assert "rate=0.2 over rate=0.1, ratio ≤ 8: +10.0 points" in text
    assert "paper" not in text.replace("Dashed: the paper.", "")


def test_bars_in_names_do_not_break_tables():
    rows = (Row("a|b", 0.1, "1", "x", final_acc=0.5), Row("a|b", 0.1, "1", "y", status="failed", reason="p | q"))
    text = markdown(compose(Table("t", rows, Roles(), {}), Published()), {})
    assert "| a\\|b | 0.1 | 1 | y | p \\| q |" in text


def test_a_study_of_failures_is_reported(tmp_path):
    rows = tuple(Row("a", 0.1, str(seed), "x", status="failed", reason="out of luck") for seed in range(3))
    text = write(Table("t", rows, Roles(pairs=(("x", "x"),)), {}), tmp_path).read_text()
    assert "0 runs done, 3 failed" in text
    assert "Failed 3 ×: out of luck" in text
    assert "– (3 failed)" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("pairs = ", "peers = "), "report.peers"),
        (('[["tdi", "default"]]', '["tdi"]'), "report.pairs"),
        (('[["tdi", "default"]]', "5"), "report.pairs = 5"),
        (("[report]", "[report]\nseed = 5"), "report.seed = 5"),
        (('"one_layer"', '"two_layer"'), "two_layer"),
        (('"one_layer"', "3"), "report.published = 3"),
        (("[report]", '[report]\nratio = "dataset"'), "needs a number"),
    ],
)
def test_mistakes_in_how_to_report_are_named(filled, tmp_path, change, words):
    plan = Plan.parse(PLAN.replace(*change))
    with pytest.raises(InputError, match=words):
        write(collect(plan, filled[1]), tmp_path / "report")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("final_loss", "loss"), "no column 'final_loss'"),
        (("MNIST,0.01,42,default,0.", "MNIST,0.01,42,default,7."), r"line 2: final_acc is 7\.\d+"),
        (("MNIST,0.01,42", "MNIST,x,42"), "line 2: could not convert"),
        ((",2.0,done", ""), "line 2: status is None"),
    ],
)
def test_mistakes_in_a_csv_file_are_named(filled, tmp_path, change, words):
    path = tmp_path / "small.csv"
    write_csv(collect(*filled), path)
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(InputError, match=words):
        read_csv(path)


def test_files_that_no_export_wrote_are_named(filled, tmp_path):
    path = tmp_path / "small.csv"
    write_csv(collect(*filled), path)
    for content in ("[]", "{", '{"failures": [{}]}', '{"failures": 3}'):
        path.with_suffix(".json").write_text(content)
        with pytest.raises(InputError, match=r"small\.json is not what"):
            read_csv(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"small\.csv is no text"):
        read_csv(path)


def test_settings_of_a_ratio_or_a_data_set_and_an_arm_leave_the_arms_alone(tmp_path):
    text = PLAN.replace("epochs = 15", "epochs = 15\nrate = 0.1").replace("epochs = 10", "rate = 0.3")
    plan = Plan.parse(text + '[overrides.ratio."1.0"]\nepochs = 5\n[overrides.arm.tdi]\nrate = 0.2\n')
    store = Store(tmp_path).create()
    for run in plan.runs:
        store.write(Record(run, "done", "", {"test_accuracy": 0.5}, {}), {})
    assert {row.arm for row in collect(plan, store).rows} == {"default", "tdi"}


def test_a_smaller_profile_is_marked_and_never_compared(filled, tmp_path):
    text = PLAN.replace('dataset = ["MNIST", "Wafer"]', 'dataset = "MNIST"\nprofile = "paper"\nwidth = 9')
    smaller = text[text.index("[[grid]]") : text.index("[overrides")].replace('"paper"', '"compact"').replace("9", "4")
    text = text[: text.index("[overrides")] + smaller + text[text.index("[report]") :]
    plan, store = Plan.parse(text), Store(tmp_path / "two").create()
    for run in plan.runs:
        level = 0.5 + 0.1 * (run.settings["profile"] == "compact")
        record = Record(run, "done", "", {"test_accuracy": [0.2, level]}, {})
        store.write(Record(run, "failed", "hm", {}, {}) if run is plan.runs[-1] else record, {})
    table, path = collect(plan, store), tmp_path / "two.csv"
    assert {row.arm for row in table.rows} == {"default", "tdi"}
    write_csv(table, path)
    items = list(csv.DictReader(path.read_text().splitlines()))
    assert tuple(items[0]) == (*COLUMNS, "profile")
    assert {(i["dataset"], i["profile"]) for i in items} == {("MNIST", "paper"), ("MNIST", "compact")}
    again = read_csv(path)
    assert {(r.dataset, r.profile, r.final_acc) for r in again.rows if r.status == "done"} == {
        ("MNIST", "paper", 0.5),
        ("MNIST (compact)", "compact", 0.6),
    }
    assert [row.reason for row in again.rows if row.status == "failed"] == ["hm"]
    sheet = cell_sheet(again, Published.load("one_layer", {"default": "baseline"}), "final_acc")
    assert lookup(sheet, "MNIST (compact)", "0.01")["tdi, paper"] == "–"
    assert lookup(sheet, "MNIST", "0.01")["tdi, paper"] != "–"
    marked = "Data sets marked (compact) ran in a smaller setting"
    assert marked in write(again, tmp_path / "a").read_text()
    assert marked not in write(collect(*filled), tmp_path / "b").read_text()


def test_accuracies_in_percent_are_refused(tmp_path):
    plan, store = Plan.parse(PLAN), Store(tmp_path).create()
    store.write(Record(plan.runs[0], "done", "", {"test_accuracy": [0.5, 93.0]}, {}), {})
    with pytest.raises(InputError, match=r"test_accuracy of the run \w+ holds 93.0; accuracies lie in \[0, 1\]"):
        collect(plan, store)


def test_data_sets_of_like_names_have_their_own_pictures(tmp_path):
    names = ("a b", "a-b", "α", "β")
    rows = tuple(Row(name, 1.0, "1", "x", final_acc=0.5, accuracy=(0.4, 0.5)) for name in names)
    text = write(Table("t", rows, Roles(), {}), tmp_path).read_text()
    assert len(list(tmp_path.glob("epochs-*.png"))) == 4
    assert all(f"({path.name})" in text for path in tmp_path.glob("*.png"))
    assert "What comes out" not in text  # there is nothing to say


def test_commands_write_reports_and_tables(filled, tmp_path, monkeypatch, capsys):
    plan = tmp_path / "small.toml"
    plan.write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    for arguments, code in (
        (["export", str(plan), "--out", "out", "--csv", "r/small.csv"], 0),
        (["report", "--csv", "r/small.csv"], 0),
        (["report", str(plan), "--out", "out", "--to", "there"], 0),
        (["report"], 2),
        (["report", "--csv", "none.csv"], 2),
        (["report", str(plan), "--out", "nowhere"], 2),
    ):
        with pytest.raises(SystemExit) as end:
            main(["study", *arguments])
        assert end.value.code == code, arguments
    assert Path("r/small-report/report.md").exists()
    assert Path("there/report.md").exists()
    assert "none.csv" in capsys.readouterr().err
