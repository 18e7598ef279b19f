"""The training of deep models: batches, parts of batches, precision, and processes that are killed."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import foretune as ft
from foretune.datasets import Dataset, Split
from foretune.init.adapters import find_layers
from foretune.nn import DeepS4D
from foretune.study import Plan, deep, run, training
from toy_deep import waves

CPU = torch.device("cpu")
SETTINGS = next(run.settings for run in Plan.load("deep").runs if run.settings["arm"] == "tdi") | {
    "d_model": 4,
    "depth": 2,
    "d_state": 8,
    "batch": 16,
    "epochs": 4,
}
KILLED = """
name = "killed"
task = "toy_deep:run"
[settings]
dataset = "waves"
arm = "tdi-frozen"
ratio = 0.5
seed = 3
d_model = 4
depth = 2
d_state = 8
batch = 16
epochs = 5
norm = "batch"
prenorm = true
dropout = 0.1
lr = 0.01
eta_min = 1e-6
weight_decay = 0.05
dt_min = 0.001
dt_max = 0.1
device = "cpu"
eval_subset = 7
tdi = { spectrum = "fisher", variant = "construct" }
"""


@pytest.fixture
def data():
    return Dataset("waves", waves(80, 0), None, waves(30, 1), (0, 1), 64, 1, "made here")


def small(norm="layer", **changes):
    torch.manual_seed(0)
    return DeepS4D(2, **{"d_model": 4, "depth": 2, "d_state": 8, "norm": norm, **changes})


def optimizer_of(model):
    return torch.optim.AdamW(ft.parameter_groups(model, 1e-2, 0.1))


def gradients(model, batch, **settings):
    training.step(model, torch.optim.SGD(model.parameters(), lr=0.0), batch, settings)
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("lengths", [None, torch.tensor([30, 4, 17, 9, 30, 2, 8])])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_a_batch_in_parts_is_the_same_step(size, lengths):
    model = small().double()
    batch = torch.randn(7, 30, dtype=torch.float64), lengths, torch.arange(7) % 2
    whole, parts = gradients(model, batch), gradients(model, batch, micro_batch=size)
    for name, gradient in whole.items():
        torch.testing.assert_close(parts[name], gradient, rtol=1e-9, atol=1e-12)


def test_batch_normalization_goes_by_the_part():
    model, batch = small("batch"), (torch.randn(8, 30), None, torch.arange(8) % 2)
    whole, parts = gradients(model, batch), gradients(model, batch, micro_batch=4)
    assert not torch.allclose(whole["encoder.weight"], parts["encoder.weight"], rtol=1e-3)


class Watched:
    """An array that notes how many rows are asked for at once."""

    def __init__(self, X):
        self.X, self.shape, self.asked = X, X.shape, []

    def __getitem__(self, rows):
        self.asked.append(len(rows))
        return self.X[rows]


@pytest.mark.parametrize("arm", deep.ARMS)
def test_never_more_than_a_batch_in_memory(data, arm):
    watched = [Watched(split.X) for split in (data.train, data.test)]
    splits = [Split(X, split.y) for X, split in zip(watched, (data.train, data.test), strict=True)]
    model, _ = deep.build(SETTINGS | {"arm": arm}, Dataset("w", splits[0], None, splits[1], (0, 1), 64, 1, "x"), CPU)
    training.one_epoch(model, optimizer_of(model), splits[0], np.arange(80), SETTINGS, CPU)
    training.evaluate(model, splits[1], SETTINGS, CPU)
    assert [max(X.asked) for X in watched] == [16, 16]


def test_evaluation_is_that_of_the_whole(data):
    model = small()
    accuracy, loss = training.evaluate(model, data.test, {"batch": 7}, CPU)
    with torch.no_grad():
        scores = model.eval()(torch.from_numpy(data.test.X))
    y = torch.from_numpy(data.test.y)
    assert accuracy == pytest.approx(float((scores.argmax(1) == y).float().mean()))
    assert loss == pytest.approx(float(nn.functional.cross_entropy(scores, y)), rel=1e-5)


@pytest.mark.parametrize("limit", [1, 5, 6, 19, 20, 99])
@pytest.mark.parametrize("subset", [None, 20])
def test_as_many_steps_and_evaluations_as_counted(data, monkeypatch, limit, subset):
    wanted = SETTINGS | {"max_steps": limit} | ({} if subset is None else {"eval_subset": subset})
    entry = type("Entry", (), {"counts": (80, 0, 30), "length": 64})
    monkeypatch.setattr(ft.datasets.registry, "find", lambda name: entry)
    seen = {"step": 0, "batches": 0}
    step, batches = training.step, training.batches

    def counted(*arguments):
        seen["step"] += 1
        return step(*arguments)

    def listed(*arguments):
        for batch in batches(*arguments):
            seen["batches"] += 1
            yield batch

    monkeypatch.setattr(training, "step", counted)
    monkeypatch.setattr(training, "batches", listed)
    training.train(small(), data, wanted | {"ratio": 1.0}, CPU)
    assert seen["step"] == min(limit, 20)
    assert deep.passes(wanted | {"ratio": 1.0}) == (seen["step"], seen["batches"] - seen["step"])


def test_long_runs_cost_more():
    base = SETTINGS | {"ratio": 0.1}
    for change in ({"ratio": 1.0}, {"epochs": 40}, {"d_model": 64}, {"depth": 8}, {"dataset": "SC"}):
        assert deep.cost(base | change) > 1.5 * deep.cost(base)
    assert deep.cost(base | {"max_steps": 3}) < deep.cost(base)


@pytest.mark.parametrize("change", [{"max_steps": 0}, {"micro_batch": 0}, {"eval_subset": 0}])
def test_settings_below_one_are_refused(data, change):
    with pytest.raises(ft.InputError, match=f"{next(iter(change))} is 0"):
        training.train(small(), data, SETTINGS | change, CPU)


def test_too_little_memory_is_said_with_the_remedy(data, monkeypatch):
    def full(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(training, "step", full)
    with pytest.raises(ft.InputError, match="16 sequences at once do not fit cpu; set micro_batch"):
        training.train(small(), data, SETTINGS, CPU)


@pytest.mark.parametrize("every_parameter", [False, True])
@pytest.mark.parametrize("precision", ["float32", "float64", "bf16"])
def test_frozen_means_frozen(data, precision, every_parameter):
    wanted = SETTINGS | {"arm": "tdi-frozen", "bf16": precision == "bf16"}
    model, _ = deep.build(wanted, data, CPU)
    train = data.train
    if precision == "float64":
        model, train = model.double(), Split(data.train.X.astype(np.float64), data.train.y)
    first, second = find_layers(model)
    names = [*dict(first.module.named_parameters()), *dict(first.module.named_buffers())]
    assert set(names) == set(first.tensors())
    before = [copy.deepcopy(layer.tensors()) for layer in (first, second)]
    optimizer = (
        torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.5) if every_parameter else optimizer_of(model)
    )
    for _ in range(2):
        training.one_epoch(model, optimizer, train, np.arange(80), wanted, CPU)
    assert all(torch.equal(before[0][name], tensor) for name, tensor in first.tensors().items())
    assert not any(torch.equal(before[1][name], tensor) for name, tensor in second.tensors().items())
    ft.verify(model)


def test_half_precision_keeps_the_state_space_whole(data):
    model = small()
    found = []
    model.layers[0].kernel.register_forward_hook(lambda module, inputs, kernel: found.append(kernel.dtype))
    model.layers[0].output_linear.register_forward_hook(lambda module, inputs, y: found.append(y.dtype))
    training.one_epoch(model, optimizer_of(model), data.train, np.arange(16), SETTINGS | {"bf16": True}, CPU)
    assert found == [torch.float32, torch.bfloat16]
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's own, of its parts, while it compiles
def test_compiled_training_is_the_same_up_to_rounding(data):
    plain, compiled = (training.train(small(), data, SETTINGS | {"compile": on}, CPU) for on in (False, True))
    np.testing.assert_allclose(compiled["train_loss"], plain["train_loss"], rtol=1e-3)


def test_a_process_killed_in_its_third_epoch_ends_the_same(tmp_path, monkeypatch):
    plan = Plan.parse(KILLED, Path(__file__).parent)
    run(plan, tmp_path / "whole", workers=1)
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    monkeypatch.setenv("DIE_AT", "8")  # three steps an epoch: signal 9 in the middle of the third
    summary = run(plan, tmp_path / "killed", workers=1)
    assert (tmp_path / "died").read_text() == "9 steps afterwards"
    assert (summary.done, summary.failed) == (1, 0)
    (whole,), (killed,) = (
        [path for path in (tmp_path / name / "runs").glob("*.json") if ".time" not in path.name]
        for name in ("whole", "killed")
    )
    assert killed.read_bytes() == whole.read_bytes()
