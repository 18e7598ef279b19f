"""The one-layer study: what an arm sees, what a run returns, and that nothing but its settings decides it."""

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

import foretune as ft
from foretune.datasets import Dataset, Split
from foretune.study import Plan, one_layer

PLAN = Plan.load("one-layer")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Stands in for every data set."""
    parts = [Split(*ft.datasets.binary_frequency(samples, seed, length=48)) for samples, seed in ((120, 0), (40, 1))]
    data = Dataset("small", parts[0], None, parts[1], (0, 1), 48, 1, "made here")

    def load(name: str, *, ratio: float, seed: int) -> Dataset:
        return data.subset(ratio, seed)

    monkeypatch.setattr(ft.datasets, "load", load)
    return data


def settings(arm: str, **changes: Any) -> dict[str, Any]:
    found = next(run.settings for run in PLAN.runs if run.settings["arm"] == arm and run.settings["seed"] == 42)
    wanted = copy.deepcopy(found) | {"ratio": 0.5, "epochs": 3, "hidden": 8} | changes
    if "tdi" in wanted:
        wanted["tdi"].pop("modes", None)
        wanted["tdi"]["steps"] = 5
    return wanted


def test_the_plan_has_the_runs_of_the_paper_and_their_controls() -> None:
    by_arm = {arm: [r for r in PLAN.runs if r.settings["arm"] == arm] for arm in one_layer.ARMS}
    assert {arm: len(runs) for arm, runs in by_arm.items()} == dict.fromkeys(one_layer.ARMS, 168)
    assert {run.settings["epochs"] for run in PLAN.runs if run.settings["dataset"] in ("FordA", "Wafer")} == {10}
    assert {run.settings["epochs"] for run in PLAN.runs if run.settings["dataset"] == "FordB"} == {15}
    assert all(one_layer.cost(run.settings) > 0 for run in PLAN.runs)


@pytest.mark.parametrize("arm", one_layer.ARMS)
def test_a_run_is_a_pure_function_of_its_settings(small: Dataset, arm: str) -> None:
    torch.manual_seed(1)
    first = one_layer.run(settings(arm))
    torch.manual_seed(2)
    assert json.dumps(one_layer.run(settings(arm))) == json.dumps(first)
    assert first["samples"] == 60
    assert {len(first[name]) for name in ("train_loss", "test_loss", "test_accuracy")} == {3}
    assert one_layer.run(settings(arm, seed=43))["test_loss"] != first["test_loss"]


def test_the_arms_have_the_same_number_of_parameters(small: Dataset) -> None:
    counts = {arm: one_layer.run(settings(arm, epochs=1))["parameters"] for arm in one_layer.ARMS if arm != "rnn"}
    assert len(set(counts.values())) == 1


@pytest.mark.parametrize("arm", ["tdi", "default+gain", "tdi+gain"])
def test_an_arm_sees_the_training_subset_and_nothing_else(
    small: Dataset, arm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = settings(arm, ratio=0.25)
    kept = ft.datasets.subset_indices(120, 0.25, wanted["seed"])
    hidden = np.setdiff1d(np.arange(120), kept)
    honest = one_layer.run(wanted)

    spoiled = Split(small.train.X.copy(), small.train.y.copy())
    spoiled.X[hidden] = 1e6
    spoiled.y[hidden] = 1 - spoiled.y[hidden]
    other = dataclasses.replace(small, train=spoiled)
    monkeypatch.setattr(ft.datasets, "load", lambda name, *, ratio, seed: other.subset(ratio, seed))
    assert one_layer.run(wanted) == honest

    test = dataclasses.replace(small, test=Split(np.zeros_like(small.test.X), 1 - small.test.y))
    monkeypatch.setattr(ft.datasets, "load", lambda name, *, ratio, seed: test.subset(ratio, seed))
    blind = one_layer.run(wanted)
    for what in ("train_loss", "parameters"):  # training does not look at the test set either
        assert blind[what] == honest[what]
    assert blind.get("L_spec_after") == honest.get("L_spec_after")

    seen = Split(small.train.X.copy(), small.train.y.copy())
    seen.X[kept[0]] *= -3
    third = dataclasses.replace(small, train=seen)
    monkeypatch.setattr(ft.datasets, "load", lambda name, *, ratio, seed: third.subset(ratio, seed))
    assert one_layer.run(wanted) != honest  # so the comparison above can fail


def test_a_run_that_explodes_ends_with_the_loss_that_says_so(small: Dataset) -> None:
    result = one_layer.run(settings("default", lr=1e6, clip=1e9, epochs=10))
    assert not np.isfinite(result["train_loss"][-1])
    assert len(result["train_loss"]) == len(result["test_accuracy"]) + 1 < 10


def test_the_published_arms_decay_every_weight_and_the_controls_do_not(small: Dataset) -> None:
    X, y = torch.as_tensor(small.train.X), torch.as_tensor(small.train.y)
    for arm, expected in (("tdi", {0.01: 6}), ("tdi+gain", {0.01: 4, 0.0: 2})):
        wanted = settings(arm)
        groups = one_layer.optimizer_groups(one_layer.build(wanted, X, y, 2)[0], wanted)
        decays: dict[float, int] = {}
        for group in groups:
            decays[group["weight_decay"]] = decays.get(group["weight_decay"], 0) + len(group["params"])
        assert decays == expected


def test_an_unknown_arm_is_refused(small: Dataset) -> None:
    with pytest.raises(ft.InputError, match="'magic'"):
        one_layer.run(settings("rnn") | {"arm": "magic"})


def test_progress_ends_at_one(small: Dataset) -> None:
    seen: list[float] = []
    one_layer.run(settings("default"), seen.append)
    assert seen == pytest.approx([1 / 3, 2 / 3, 1.0])
