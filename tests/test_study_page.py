"""What the page of a study adds to its tables: pictures, the runs behind each number, the one sentence."""

from pathlib import Path

import pytest

from foretune.report import Matrix
from foretune.study.paper import Published
from foretune.study.report import compose, write
from foretune.study.rows import Roles, Row, Table, read_csv
from foretune.study.tables import cell_sheet
from foretune.study.views import answer, epoch_charts, improvement_dots, improvement_matrices, ratio_charts

RESULTS = Path(__file__).parent.parent / "results" / "one-layer.csv"
PUBLISHED = Published.load("one_layer", {"default": "baseline"})
CURVES = {  # by arm and seed
    ("default", "42"): (0.30, 0.50, 0.60),
    ("default", "123"): (0.20, 0.40, 0.64),
    ("tdi", "42"): (0.40, 0.60, 0.70),
    ("tdi", "123"): (0.40, 0.70, 0.76),
}


@pytest.fixture
def small():
    """Two data sets, two ratios, two arms, two seeds; one run failed."""
    rows = [
        Row(
            d,
            r,
            seed,
            arm,
            curve[-1],
            0.5,
            0.6,
            1.25,
            2.0,
            accuracy=curve,
            key=f"{len(d)}{r}{seed}{arm}".ljust(64, "0"),
        )
        for d in ("MNIST", "Wafer")
        for r in (0.01, 1.0)
        for (arm, seed), curve in CURVES.items()
    ]
    rows[0] = Row("Wafer", 0.01, "1024", "tdi", status="failed", reason="result.test_loss[3] is nan")
    roles = Roles(published="one_layer", names={"default": "baseline"}, pairs=(("tdi", "default"),))
    return Table("small", tuple(rows), roles, {"runs": {"done": 15, "failed": 1, "missing": 0}, "plan_hash": "abc"})


def runs_behind(trace, runs):
    """The rows of the table of runs that a trace names, as the page finds them."""
    places = [(runs.header.index(name), values) for name, values in trace.where]
    return [row for row in runs.rows if all(row[place] in values for place, values in places)]


def expected(trace, runs):
    """What these runs give by hand: the mean of an arm, or the difference of two over the seeds that both have."""
    place, arms = runs.header.index(trace.column), dict(trace.where)["arm"]
    found = {(*row[:3], row[3]): float(row[place]) for row in runs_behind(trace, runs) if row[place] != "–"}
    groups = {}
    for key in {key[:3] for key in found}:
        values = [found.get((*key, arm)) for arm in arms]
        if None not in values:
            groups.setdefault(key[:2], []).append(values[0] - (values[1] if len(values) > 1 else 0.0))
    return sum(sum(group) / len(group) for group in groups.values()) / len(groups)


def test_every_number_follows_from_the_runs_it_names():
    table = read_csv(RESULTS)
    report = compose(table, Published.load(table.roles.published, table.roles.names))
    checked = 0
    for sheet in (sheet for section in report.sections for sheet in section.sheets if sheet.traces):
        for row, traces in zip(sheet.rows, sheet.traces, strict=True):
            for text, trace in zip(row, traces, strict=True):
                if trace is not None:
                    step = 0.0011 if "loss" in trace.column else 0.06
                    wanted = expected(trace, report.runs)
                    assert float(text.split()[0]) == pytest.approx(wanted, abs=step), (sheet.title, row)
                    checked += 1
    assert checked > 1000
    for picture in (picture for section in report.sections for picture in section.charts):
        if isinstance(picture, Matrix):
            for values, traces in zip(picture.values, picture.traces, strict=True):
                for value, trace in zip(values, traces, strict=True):
                    assert value == pytest.approx(expected(trace, report.runs), abs=0.06)


def test_the_page_stands_beside_the_markdown(small, tmp_path):
    path = write(small, tmp_path / "report").with_name("report.html")
    text = path.read_text(encoding="utf-8")
    assert 20_000 < path.stat().st_size < 1_500_000
    for words in ("result.test_loss[3] is nan", "Accuracy over the epochs", "tdi over default, paper", "abc"):
        assert words in text
    assert small.rows[-1].key[:12] in text


def test_curves_over_the_ratio_say_what_the_table_says(small):
    charts = {chart.title: chart for chart in ratio_charts(small, PUBLISHED)}
    lines = {line.name: line for line in charts["Wafer"].lines}
    assert list(lines) == ["default", "default, paper", "tdi", "tdi, paper"]
    sheet = cell_sheet(small, PUBLISHED, "final_acc")
    (row,) = (row for row in sheet.rows if row[:2] == ("Wafer", "1"))
    assert dict(zip(sheet.header, row, strict=True))["tdi"] == "73.0 ± 4.2 (n=2)"
    assert (lines["tdi"].y[1], lines["tdi"].high[1] - 73) == pytest.approx((73.0, 4.2426), abs=1e-3)
    assert [line.y[-1] for line in charts["MNIST"].lines if line.name == "default, paper"] == [64.5]
    assert (lines["tdi, paper"].like, lines["tdi, paper"].dashed) == ("tdi", True)


def test_improvements_stand_beside_the_papers(small):
    (dots,) = improvement_dots(small, PUBLISHED)
    assert dots.names == ("Wafer", "MNIST", "all data sets")
    ours, theirs = dots.marks
    assert (ours.name, theirs.name) == ("tdi over default", "tdi over default, paper")
    assert ours.values == pytest.approx((11.0, 12.0, 11.5))  # on MNIST only one seed has both arms
    assert theirs.values[1] == 17.3
    (matrix,) = improvement_matrices(small)
    assert (matrix.columns, matrix.values) == (("0.01", "1"), ((11.0, 11.0), (12.0, 11.0)))


def test_curves_over_the_epochs_are_means_between_the_seeds(small):
    charts = epoch_charts(small)
    assert [(chart.group, chart.title) for chart in charts] == [
        ("MNIST", "ratio 0.01"),
        ("MNIST", "ratio 1"),
        ("Wafer", "ratio 0.01"),
        ("Wafer", "ratio 1"),
    ]
    tdi = charts[1].lines[1]
    assert (tdi.name, tdi.x) == ("tdi", (1.0, 2.0, 3.0))
    assert tdi.y == pytest.approx((40, 65, 73))
    assert tdi.low == pytest.approx((40, 60, 70))
    assert charts[0].lines[0].low == ()  # a single seed has no band


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ((0.1, 0.1), "a over b +10.0 [+10.0, +10.0]; no interval holds 0."),
        ((0.1, -0.1), "a over b +0.0 [-10.0, +10.0]; this may be nothing."),
        ((0.1,), "a over b +10.0; this may be nothing."),
        ((), ""),
    ],
)
def test_the_answer_says_what_is_certain(gains, words):
    rows = tuple(
        Row(f"set {i}", 0.1, "1", arm, final_acc=0.5 + gain * (arm == "a"))
        for i, gain in enumerate(gains)
        for arm in "ab"
    )
    assert answer(Table("t", rows, Roles(pairs=(("a", "b"),)), {})).endswith(words)
