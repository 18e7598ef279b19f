"""The shipped verdict is what its calibration says, and the calibration is better than answers that look at nothing."""

import sys
from pathlib import Path

import numpy as np
import pytest

from foretune.diagnosis.verdict import FEW, HELP, NONE, RECORD, THRESHOLD
from foretune.study.rows import read_csv
from foretune.study.statistics import paired

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench import verdict  # noqa: E402


@pytest.fixture(scope="module")
def cases():
    return verdict.load(ROOT / verdict.PATH)


def test_the_limit_that_ships_is_the_calibrations(cases):
    assert verdict.calibrated(cases) == THRESHOLD


def test_the_record_that_ships_is_the_calibrations(cases):
    answers, truth = verdict.left_out(cases), verdict.helped(cases)
    for said, record in RECORD.items():
        here = answers == said
        assert record == (int((truth[here] == (said == HELP)).sum()), int(here.sum()))


def test_the_truth_is_that_of_the_study(cases):
    rows = read_csv(ROOT / verdict.STUDY).rows
    for name, claim in verdict.CLAIMS.items():
        deltas = paired(rows, *claim)
        assert len(cases) == 3 * len(deltas) == 168
        for case in cases:
            assert case[name] == pytest.approx(100 * deltas[case["dataset"], case["ratio"]], abs=1e-3)


def test_left_out_answers_beat_chance_and_always_yes(cases):
    answers, truth = verdict.left_out(cases), verdict.helped(cases)
    kept = answers != FEW
    said = answers[kept] == HELP
    assert kept.mean() > 0.5
    assert verdict.score(said, truth[kept]) > 0.5
    assert verdict.score(said, truth[kept]) > verdict.score(np.ones_like(said), truth[kept])
    right = (said == truth[kept]).mean()
    assert right > max(truth[kept].mean(), 1 - truth[kept].mean())
    assert truth[kept][said].mean() > truth[kept].mean()


def test_a_left_out_data_set_does_not_shape_its_own_answers(cases):
    before = verdict.left_out(cases)
    turned = [{**case, "final": -case["final"]} if case["dataset"] == "Wafer" else case for case in cases]
    here = np.array([case["dataset"] == "Wafer" for case in cases])
    np.testing.assert_array_equal(before[here], verdict.left_out(turned)[here])


def test_cuts_and_scores():
    truth = np.array([True, True, False, False, False])
    assert verdict.score(np.ones(5, dtype=bool), truth) == 0.5
    assert verdict.score(truth, truth) == 1.0
    assert verdict.cut(np.array([5.0, 4.0, 1.0, 2.0, np.nan]), truth) == (1.0, 1, 3.0)
    assert verdict.cut(np.array([1.0, 2.0, 5.0, 4.0, 4.5]), truth)[:2] == (1.0, -1)


def test_the_tables_print(cases, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(verdict, "RESAMPLES", 20)
    verdict.main(["--csv"])
    shown = capsys.readouterr().out
    assert "always yes" in shown
    assert NONE in shown


def test_the_cases_are_those_of_the_data(cases, data_root):
    (case,) = [c for c in cases if (c["dataset"], c["ratio"], c["seed"]) == ("ECG5000", 0.16, 42)]
    found = verdict._features("ECG5000", 0.16, 42)
    assert {name: case[name] for name in found} == pytest.approx(found, rel=1e-3, abs=1e-4)
