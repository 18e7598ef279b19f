"""The deep study: what an arm sees, that frozen means frozen, and that a run goes on from its last epoch."""

import copy
import dataclasses
import json

import numpy as np
import pytest
import torch

import foretune as ft
from foretune.datasets import Dataset, Split
from foretune.init.adapters import find_layers
from foretune.study import Plan, deep

PLAN = Plan.load("deep")
CPU = torch.device("cpu")


def waves(samples, seed, length=64):
    return Split(*ft.datasets.binary_frequency(samples, seed, length))


def tokens(samples, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, samples)
    lengths = rng.integers(20, 41, samples)
    X = rng.integers(1, 9, (samples, 40)).astype(np.int16)
    X[y == 1, ::4] = 7
    X[np.arange(40) >= lengths[:, None]] = 0
    return Split(X, y, lengths)


@pytest.fixture(params=["waves", "tokens"])
def small(request, monkeypatch):
    make = {"waves": waves, "tokens": tokens}[request.param]
    words = tuple("0123456789") if make is tokens else ()
    train, test = make(80, 0), make(30, 1)
    data = Dataset("small", train, None, test, (0, 1), train.X.shape[1], 1, "made here", words)
    monkeypatch.setattr(ft.datasets, "load", lambda name, *, ratio, seed: data.subset(ratio, seed))
    return data


def settings(arm, **changes):
    found = next(run.settings for run in PLAN.runs if run.settings["arm"] == arm)
    tiny = {"ratio": 0.5, "epochs": 4, "d_model": 4, "depth": 2, "d_state": 8, "batch": 16, "dropout": 0.1}
    return copy.deepcopy(found) | tiny | changes


def test_the_plan_has_the_runs_of_the_paper():
    paper = [r.settings for r in PLAN.runs if r.settings["profile"] == "paper"]
    assert len({(s["dataset"], s["depth"], s["d_model"], s["norm"]) for s in paper}) == 8
    published = [s for s in paper if "gain" not in s["arm"]]
    assert len(published) == 3 * 5 * (9 + 3 * 8 + 4 * 10)


@pytest.mark.parametrize("arm", deep.ARMS)
def test_a_run_is_a_pure_function_of_its_settings(small, arm):
    torch.manual_seed(1)
    first = deep.run(settings(arm))
    torch.manual_seed(2)
    assert json.dumps(deep.run(settings(arm))) == json.dumps(first)
    assert len(first["test_accuracy"]) == 4
    assert deep.run(settings(arm, seed=1))["test_loss"] != first["test_loss"]


class Killed(Exception):
    pass


@pytest.mark.parametrize("arm", ["default", "tdi-frozen"])
def test_a_killed_run_goes_on_and_ends_the_same(small, arm, tmp_path, monkeypatch):
    whole = deep.run(settings(arm))
    steps = iter(range(1000))
    honest = torch.optim.AdamW.step

    def until_epoch_three(self, *args, **kwargs):
        if next(steps) == 7:  # 3 batches an epoch: in the middle of the third
            raise Killed
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", until_epoch_three)
    with pytest.raises(Killed):
        deep.run(settings(arm), scratch=tmp_path)
    monkeypatch.setattr(torch.optim.AdamW, "step", honest)
    seen = []
    assert json.dumps(deep.run(settings(arm), seen.append, tmp_path)) == json.dumps(whole)
    assert seen == [0.75, 1.0]


@pytest.mark.parametrize("arm", ["tdi-frozen", "tdi+gain-frozen"])
def test_frozen_means_frozen(small, arm):
    wanted = settings(arm)
    data = ft.datasets.load("small", ratio=0.5, seed=0)
    torch.manual_seed(0)
    model, _ = deep.build(wanted, data, CPU)
    first, second = find_layers(model)
    before = [{n: t.clone() for n, t in layer.tensors().items()} for layer in (first, second)]
    deep.train(model, data, wanted, CPU)
    assert all(torch.equal(before[0][name], tensor) for name, tensor in first.tensors().items())
    assert not any(torch.equal(before[1][name], tensor) for name, tensor in second.tensors().items())


@pytest.mark.parametrize("arm", ["tdi", "default+gain", "tdi+gain"])
def test_an_arm_sees_the_training_subset_and_nothing_else(small, arm, monkeypatch):
    wanted = settings(arm, ratio=0.25, epochs=1)
    kept = ft.datasets.subset_indices(80, 0.25, wanted["seed"])
    hidden = np.setdiff1d(np.arange(80), kept)
    honest = deep.run(wanted)
    spoiled = dataclasses.replace(small.train, X=small.train.X.copy(), y=small.train.y.copy())
    spoiled.X[hidden], spoiled.y[hidden] = 3, 0
    other = dataclasses.replace(small, train=spoiled)
    monkeypatch.setattr(ft.datasets, "load", lambda name, *, ratio, seed: other.subset(ratio, seed))
    assert deep.run(wanted) == honest
    spoiled.X[kept[0], ::2] = 5
    assert deep.run(wanted) != honest


def test_only_the_last_epoch_is_tested_on_all_samples(small):
    whole, part = deep.run(settings("tdi")), deep.run(settings("tdi", eval_subset=7))
    assert part["train_loss"] == whole["train_loss"]
    assert part["test_loss"][-1] == whole["test_loss"][-1]
    assert all(mine != full for mine, full in zip(part["test_loss"][:-1], whole["test_loss"][:-1], strict=True))
    assert all(round(7 * accuracy, 6).is_integer() for accuracy in part["test_accuracy"][:-1])


@pytest.mark.parametrize("level", [1.0, 3.0])
@pytest.mark.parametrize("per", ["layer", "head"])
def test_gain_sets_how_loud_the_first_layer_is(small, per, level):
    data = ft.datasets.load("small", ratio=1.0, seed=0)
    torch.manual_seed(0)
    model, _ = deep.build(settings("default+gain", gain_per=per, loudness=level), data, CPU)
    layer = model.blocks[0].layer
    parts = []
    for heard, lengths, _ in deep.heard_by(model, 0, data.train, 16, CPU):
        added = (layer.convolve(heard) - layer.D[:, None] * heard).detach()
        parts += [
            row if n is None else row[:, :n]
            for row, n in zip(added, [None] * len(added) if lengths is None else lengths, strict=True)
        ]
    variances = torch.cat(parts, 1).var(1) / level**2
    if per == "layer":
        assert float(variances.mean()) == pytest.approx(1, abs=1e-3)
        assert float(variances.max() / variances.min()) > 1.1
    else:
        torch.testing.assert_close(variances, torch.ones(4), rtol=1e-3, atol=1e-3)


def test_the_spectrum_is_that_of_the_subset(small):
    data = ft.datasets.load("small", ratio=0.5, seed=0)
    torch.manual_seed(0)
    wanted = settings("tdi")
    torch.manual_seed(0)
    model = deep.build(settings("default"), data, CPU)[0]
    heard = torch.cat([inputs for inputs, _, _ in deep.heard_by(model, 0, data.train, 16, CPU)])
    if data.vocabulary:
        expected = ft.task_spectrum(heard.transpose(1, 2), data.train.y)
    else:
        expected = ft.task_spectrum(data.train.X, data.train.y)
    torch.manual_seed(0)
    model, facts = deep.build(wanted, data, CPU)
    power = ft.model_spectrum(model, data.length)
    assert facts["L_spec_after"] == pytest.approx(
        ft.spectral_loss(power, ft.Spectrum(expected.power, data.length)), abs=1e-4
    )


@pytest.mark.parametrize("layers", ["all", [1], [-1, 0], "first"])
@pytest.mark.parametrize("arm", ["tdi", "tdi-frozen", "tdi+gain"])
def test_any_layer_by_the_spectrum_at_its_input(small, arm, layers):
    wanted = settings(arm, depth=3, ratio=1.0)
    wanted["tdi"] |= {"layers": layers}
    data = ft.datasets.load("small", ratio=1.0, seed=0)
    torch.manual_seed(0)
    model, facts = deep.build(wanted, data, CPU)
    ft.verify(model)
    places = {"all": [0, 1, 2], "first": [0]}[layers] if isinstance(layers, str) else sorted(p % 3 for p in layers)
    after = facts["L_spec_after"] if len(places) > 1 else [facts["L_spec_after"]]
    torch.manual_seed(0)
    before = deep.build(settings("default", depth=3), data, CPU)[0]
    for place, layer, old in zip(range(3), find_layers(model), find_layers(before), strict=True):
        changed = [not torch.equal(t, old.tensors()[name]) for name, t in layer.tensors().items()]
        assert any(changed) == (place in places)
        assert all(t.requires_grad == (arm != "tdi-frozen" or place not in places) for t in layer.tensors().values())
    if arm == "tdi+gain":
        return  # the losses are those before the gain
    for place, loss in zip(places, after, strict=True):
        heard = torch.cat([x for x, _, _ in deep.heard_by(model, place, data.train, wanted["batch"], CPU)])
        own = place == 0 and not data.vocabulary  # the sequence itself
        spectrum = ft.task_spectrum(data.train.X if own else heard.transpose(1, 2), data.train.y)
        power = ft.model_spectrum(find_layers(model)[place].module, data.length)
        assert loss == pytest.approx(ft.spectral_loss(power, ft.Spectrum(spectrum.power, data.length)), abs=1e-3)
