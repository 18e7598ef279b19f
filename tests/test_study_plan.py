import itertools

import pytest

from foretune import InputError
from foretune.study import Plan
from foretune.study.engine import chosen_runs, ordered
from foretune.study.plan import parse_filter

TOY = """
name = "toy"
task = "toy_study:learn"
[settings]
epochs = 15
[[grid]]
dataset = ["a", "b"]
ratio = [0.1, 1.0]
arm = ["default", "tdi"]
[[grid]]
dataset = "a"
ratio = [1.0, 0.5]
arm = ["tdi", "other"]
[overrides.dataset.b]
epochs = 10
[overrides.ratio."1.0"]
rate = 2
"""


def test_grids_expand_in_order_and_duplicates_collapse():
    plan = Plan.parse(TOY)
    first = list(itertools.product("ab", (0.1, 1.0), ("default", "tdi")))
    second = [("a", 1.0, "other"), ("a", 0.5, "tdi"), ("a", 0.5, "other")]  # ("a", 1.0, "tdi") is there already
    assert [tuple(run.settings[n] for n in ("dataset", "ratio", "arm")) for run in plan.runs] == first + second
    assert [run.stage for run in plan.runs] == [0] * 8 + [1] * 3
    assert all(run.settings["epochs"] == (10 if run.settings["dataset"] == "b" else 15) for run in plan.runs)
    assert all(("rate" in run.settings) == (run.settings["ratio"] == 1) for run in plan.runs)
    assert plan.axes == ("epochs", "dataset", "ratio", "arm", "rate")


def test_a_key_follows_from_what_the_result_depends_on_and_nothing_else():
    plan = Plan.parse(TOY)
    renamed = Plan.parse(TOY.replace('"toy"', '"other name"') + "\n[report]\nlow = 0.1\n")
    assert [run.key for run in plan.runs] == [run.key for run in renamed.runs]
    assert plan.hash == renamed.hash
    for change in (('task = "toy_study:learn"', 'task = "toy_study:other"'), ("epochs = 15", "epochs = 16")):
        assert plan.runs[0].key != Plan.parse(TOY.replace(*change)).runs[0].key
    assert plan.runs[0].key != Plan.parse("version = 2\n" + TOY).runs[0].key
    # Fixed for good: results of earlier releases must be found again.
    assert plan.runs[0].key == "8b52a4fba9b7e114ed902c1261c56b3805aa4b356cdc777b273652f15d960711"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[[grid]]", "[[grids]]"), "'grids'"),
        (('name = "toy"', ""), "name is None"),
        (('task = "toy_study:learn"', "task = 3"), "task is 3"),
        (('["a", "b"]', "[]"), r"grid\[0\].dataset is empty"),
        (("[0.1, 1.0]", "[0.1, nan]"), r"grid\[0\].ratio = nan"),
        (("epochs = 15", "epochs = 1979-05-27"), r"grid\[0\].epochs = .* date"),
        (("[overrides.dataset.b]", "[overrides.dataset.c]"), 'overrides.dataset."c" meets no run'),
        (("epochs = 10", 'arm = "x"'), "overrides.dataset.b.arm would undo"),
        (("[overrides.dataset.b]\n", "[overrides]\ndataset = 3\n[unused]\n"), "'unused'"),
        (("[settings]", "[settings"), "not valid TOML"),
        (('name = "toy"', 'name = "toy"\nversion = "1"'), "version = '1'"),
    ],
)
def test_mistakes_name_the_key(change, words):
    with pytest.raises(InputError, match=words):
        Plan.parse(TOY.replace(*change, 1))


def test_an_unknown_plan_names_the_known_ones():
    with pytest.raises(InputError, match="one-layer"):
        Plan.load("two-layer")


def test_a_plan_that_is_no_text_is_named(tmp_path):
    (tmp_path / "plan.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"plan\.toml is no text"):
        Plan.load(tmp_path / "plan.toml")


def test_the_one_layer_plan_has_the_papers_runs_first():
    plan = Plan.load("one-layer")
    published, controls = ([run for run in plan.runs if run.stage == stage] for stage in (0, 1))
    assert (len(published), len(controls)) == (7 * 8 * 3 * 3, 7 * 8 * 3 * 2)
    assert {run.settings["arm"] for run in published} == {"rnn", "default", "tdi"}
    short = {run.settings["dataset"] for run in plan.runs if run.settings["epochs"] == 10}
    assert short == {"FordA", "Wafer"}


def test_filters_and_shards_divide_the_plan():
    plan = Plan.parse(TOY)
    chosen = chosen_runs(plan, None, parse_filter("arm=tdi, arm=other, ratio=1"))
    assert {(run.settings["arm"], run.settings["ratio"]) for run in chosen} == {("tdi", 1.0), ("other", 1.0)}
    parts = [chosen_runs(plan, (index, 3), None) for index in (1, 2, 3)]
    assert sorted(run.key for part in parts for run in part) == sorted(run.key for run in plan.runs)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(InputError, match="4/3"):
        chosen_runs(plan, (4, 3), None)
    with pytest.raises(InputError, match="'arms'"):
        chosen_runs(plan, None, parse_filter("arms=tdi"))
    with pytest.raises(InputError, match="no run"):
        chosen_runs(plan, None, parse_filter("arm=none"))
    with pytest.raises(InputError, match="name=value"):
        parse_filter("arm")


def test_long_runs_come_first_within_a_stage():
    runs = list(Plan.parse(TOY).runs)
    costs = {run.key: run.settings["ratio"] for run in runs}
    order = ordered(runs, costs)
    assert [(run.stage, costs[run.key]) for run in order] == sorted(
        ((run.stage, costs[run.key]) for run in runs), key=lambda pair: (pair[0], -pair[1])
    )
