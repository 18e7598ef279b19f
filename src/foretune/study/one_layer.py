"""One run of the paper's one-layer study: a pure function of its settings (section 4.3, appendix E.3)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import datasets
from ..errors import InputError
from ..init import Settings, initialize_, verify
from ..nn import ContractiveSSM, LinearSSM, StandardRNN, unit_state_
from ..nn.optim import parameter_groups
from ..spectra import task_spectrum

__all__ = ["ARMS", "build", "cost", "learn", "optimizer_groups", "run", "train"]

ARMS = ("rnn", "default", "tdi", "default+gain", "tdi+gain")
HOLDOUT_SEED = 7
EVALUATED = 1000  # test samples at once

Progress = Callable[[float], None]


def run(settings: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Train one arm on one subset of one data set; test accuracy and loss after each epoch."""
    wanted = {"ratio": settings["ratio"], "seed": settings["seed"]}
    data = held_out(settings) if "holdout" in settings else datasets.load(settings["dataset"], **wanted)
    return learn(data, settings, progress)


def learn(data: datasets.Dataset, settings: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Train one arm on the training split as it is, and evaluate it on the test split."""
    X, y = torch.as_tensor(data.train.X), torch.as_tensor(data.train.y)
    test = torch.as_tensor(data.test.X), torch.as_tensor(data.test.y)
    torch.manual_seed(settings["seed"])
    model, facts = build(settings, X, y, len(data.classes))
    return {"samples": len(y), **facts, **train(model, (X, y), test, settings, progress)}


def held_out(settings: Mapping[str, Any]) -> datasets.Dataset:
    """For choosing settings: a fixed part of the training split stands in for the test split, which is not touched."""
    whole = datasets.load(settings["dataset"], ratio=1.0, seed=HOLDOUT_SEED)
    order = np.arange(len(whole.train))  # permuted by the seed already
    kept, held = np.split(order, [round(len(order) * (1 - settings["holdout"]))])
    shrunk = dataclasses.replace(whole, train=whole.train.take(kept), test=whole.train.take(held))
    return shrunk.subset(settings["ratio"], settings["seed"])


def build(settings: Mapping[str, Any], X: Tensor, y: Tensor, classes: int) -> tuple[nn.Module, dict[str, Any]]:
    """The model of an arm before training, which has seen the training subset `X`, `y` and nothing else."""
    arm, hidden = settings["arm"], settings["hidden"]
    if arm not in ARMS:
        raise InputError(f"arm is {arm!r}; use one of {', '.join(ARMS)}")
    if arm == "rnn":
        model: nn.Module = StandardRNN(classes, hidden)
        return model, {"parameters": _count(model)}
    if arm.endswith("+gain"):
        control = settings["control"]
        model = ContractiveSSM(classes, hidden, dt=control["turns"] / X.shape[1])
    else:
        dt = settings["turns"] / X.shape[1] if "turns" in settings else settings["dt"]
        model = LinearSSM(classes, hidden, dt=dt)
    facts: dict[str, Any] = {"parameters": _count(model)}
    if arm.startswith("tdi"):
        facts |= _tune(model, settings["tdi"], X, y)
    if isinstance(model, ContractiveSSM):
        unit_state_(model, X, control["floor"])
    if arm.startswith("tdi"):
        verify(model)
    return model, facts


def _tune(model: nn.Module, options: Mapping[str, Any], X: Tensor, y: Tensor) -> dict[str, Any]:
    rest: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    variant, method = rest.pop("variant"), rest.pop("spectrum")
    record = initialize_(model, task_spectrum(X, y, method=method), variant, settings=Settings.of(**rest))
    return {"L_spec_before": record.loss_before, "L_spec_after": record.loss_after}


def train(
    model: nn.Module,
    data: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    settings: Mapping[str, Any],
    progress: Progress | None = None,
) -> dict[str, Any]:
    """AdamW with cosine annealing over epochs. The first loss that is not finite ends it, and stays in the result."""
    X, y = data
    epochs = settings["epochs"]
    optimizer = torch.optim.AdamW(optimizer_groups(model, settings), lr=settings["lr"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs, eta_min=settings["eta_min"])
    shuffle = torch.Generator().manual_seed(settings["seed"])
    history: dict[str, list[float]] = {"train_loss": [], "test_loss": [], "test_accuracy": []}
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(X), generator=shuffle).split(settings["batch"]):
            loss = nn.functional.cross_entropy(model(X[batch]), y[batch])
            total += loss.item() * len(batch)
            if not math.isfinite(total):
                break
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
            optimizer.step()
        history["train_loss"].append(total / len(X))
        if not math.isfinite(total):
            break
        schedule.step()
        accuracy, test_loss = evaluate(model, *test)
        history["test_accuracy"].append(accuracy)
        history["test_loss"].append(test_loss)
        if progress is not None:
            progress((epoch + 1) / epochs)
    return dict(history)


def optimizer_groups(model: nn.Module, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The published arms decay every weight; in the controls the SSM has rates of its own and no decay."""
    if not isinstance(model, ContractiveSSM):
        return [{"params": list(model.parameters()), "weight_decay": settings["weight_decay"]}]
    control = settings["control"]
    model.generator._optim = {"lr": control["generator_lr"], "weight_decay": 0.0}  # type: ignore[attr-defined]
    model.W_in._optim = {"lr": control["input_lr"], "weight_decay": 0.0}  # type: ignore[attr-defined]
    return parameter_groups(model, settings["lr"], settings["weight_decay"])


@torch.no_grad()
def evaluate(model: nn.Module, X: Tensor, y: Tensor) -> tuple[float, float]:
    """Accuracy and mean loss."""
    right, loss = 0, 0.0
    for part, labels in zip(X.split(EVALUATED), y.split(EVALUATED), strict=True):
        scores = model(part)
        right += int((scores.argmax(-1) == labels).sum())
        loss += float(nn.functional.cross_entropy(scores, labels, reduction="sum"))
    return right / len(y), loss / len(y)


def _count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


# Seconds of one run on one core, roughly: (a step of the RNN, of an SSM; test samples; length), for the time left.
SHAPES = {
    "Binary Freq.": (40000, 10000, 256),
    "ECG5000": (500, 4500, 140),
    "FordA": (3601, 1320, 500),
    "FordB": (3636, 810, 500),
    "MNIST": (60000, 10000, 784),
    "TwoPatterns": (1000, 4000, 128),
    "Wafer": (1000, 6164, 152),
}


def cost(settings: Mapping[str, Any]) -> float:
    """Rough seconds of a run on one core, which is what the order of runs and the time left go by."""
    samples, tested, length = SHAPES.get(settings["dataset"], (1000, 1000, 256))
    steps = math.ceil(settings["ratio"] * samples / settings["batch"])
    if settings["arm"] == "rnn":
        epoch = length * (steps * 58e-6 + tested * 0.4e-6)
    else:
        epoch = steps * (1.5e-3 + length * 3e-6) + tested * length * 10e-9
    return 0.5 + settings["epochs"] * epoch + 3 * settings["arm"].startswith("tdi")
