"""One run of the paper's deep study: a pure function of its settings (section 4.4, appendix E.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import datasets
from ..datasets import Dataset, Split
from ..errors import InputError
from ..init import Settings, initialize_, verify
from ..init.adapters import find_layers
from ..nn import S4D, DeepS4D, unit_output_
from ..nn.optim import parameter_groups
from ..spectra import Spectrum, task_spectrum_from_batches

__all__ = ["ARMS", "build", "first_layer_inputs", "run", "train"]

ARMS = ("default", "default+gain", "tdi", "tdi+gain", "tdi-frozen", "tdi+gain-frozen")
MODEL = ("d_model", "depth", "d_state", "norm", "prenorm", "dropout", "pool")
CHECKPOINT = "epoch.pt"

Progress = Callable[[float], None]
Batch = tuple[Tensor, Tensor | None, Tensor]


def run(settings: Mapping[str, Any], progress: Progress | None = None, scratch: Path | None = None) -> dict[str, Any]:
    """Train one arm on one subset of one data set; test accuracy and loss after each epoch."""
    data = datasets.load(settings["dataset"], ratio=settings["ratio"], seed=settings["seed"])
    device = _device(settings.get("device", "auto"))
    torch.manual_seed(settings["seed"])
    model, facts = build(settings, data, device)
    return {"samples": len(data.train), **facts, **train(model, data, settings, device, progress, scratch)}


def build(settings: Mapping[str, Any], data: Dataset, device: torch.device) -> tuple[DeepS4D, dict[str, Any]]:
    """The model of an arm before training, which has seen the training subset and nothing else."""
    arm = settings["arm"]
    if arm not in ARMS:
        raise InputError(f"arm is {arm!r}; use one of {', '.join(ARMS)}")
    options = {name: settings[name] for name in MODEL if name in settings}
    vocabulary = len(data.vocabulary) or None
    dt = (settings["dt_min"], settings["dt_max"])
    model = DeepS4D(len(data.classes), channels=data.channels, vocabulary=vocabulary, dt=dt, **options).to(device)
    facts: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    if arm.startswith("tdi"):
        facts |= _tune(model, settings, data.train, device)
    if "+gain" in arm:
        heard = (inputs for inputs, _ in first_layer_inputs(model, data.train, settings["batch"], device))
        first = next(part for part in model.modules() if isinstance(part, S4D))
        unit_output_(first, heard, settings.get("gain_per", "layer"))
    if arm.startswith("tdi"):
        verify(model)
    if arm.endswith("-frozen"):
        for tensor in find_layers(model)[0].tensors().values():
            tensor.requires_grad_(False)
    return model, facts


def _tune(model: DeepS4D, settings: Mapping[str, Any], train: Split, device: torch.device) -> dict[str, Any]:
    rest: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in settings["tdi"].items()}
    variant, method = rest.pop("variant"), rest.pop("spectrum")
    measured = task_spectrum_from_batches(_labelled(model, train, settings["batch"], device), method=method)
    record = initialize_(model, Spectrum(measured.power, measured.length), variant, settings=Settings.of(**rest))
    return {"L_spec_before": record.loss_before, "L_spec_after": record.loss_after}


def _labelled(model: DeepS4D, train: Split, size: int, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Sequences `(B, L, C)` and labels for the spectrum at the first layer's input.

    A linear encoder of one channel gives every head the input itself, scaled and shifted, which no task spectrum minds.
    """
    if not model.tokens and train.lengths is None and len(train.X.shape) == 2:
        return ((inputs.unsqueeze(-1), y) for inputs, _, y in batches(train, np.arange(len(train)), size, device))
    return ((x.transpose(1, 2), y) for x, y in first_layer_inputs(model, train, size, device))


@torch.no_grad()
def first_layer_inputs(
    model: DeepS4D, split: Split, size: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """What the first layer hears, `(B, H, L)`, with the labels. Steps beyond a sequence's length are 0."""
    for inputs, lengths, y in batches(split, np.arange(len(split)), size, device):
        heard = model.encode(inputs)
        if lengths is not None:
            heard = heard * (torch.arange(heard.shape[-1], device=device) < lengths.view(-1, 1, 1))
        yield heard, y


def batches(split: Split, order: np.ndarray, size: int, device: torch.device) -> Iterator[Batch]:
    """Inputs, lengths and labels in this order; only one batch is ever in memory."""
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        lengths = None if split.lengths is None else torch.as_tensor(split.lengths[chosen]).long().to(device)
        inputs = torch.as_tensor(np.asarray(split.X[chosen])).to(device)
        yield inputs, lengths, torch.as_tensor(split.y[chosen]).to(device)


def train(
    model: DeepS4D,
    data: Dataset,
    settings: Mapping[str, Any],
    device: torch.device,
    progress: Progress | None = None,
    scratch: Path | None = None,
) -> dict[str, Any]:
    """AdamW with cosine annealing over epochs; goes on from the last finished epoch in `scratch`, if there is one.

    With `eval_subset`, only the last epoch is tested on all of the test split, those before on that many samples of it.
    """
    epochs, between = settings["epochs"], _part(data.test, settings.get("eval_subset"))
    groups = parameter_groups(model, settings["lr"], settings["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=settings["lr"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs, eta_min=settings["eta_min"])
    checkpoint = _Checkpoint({"model": model, "optimizer": optimizer, "schedule": schedule}, scratch)
    history = checkpoint.resume() or {"train_loss": [], "test_loss": [], "test_accuracy": []}
    for epoch in range(len(history["test_loss"]), epochs):
        order = np.random.default_rng([settings["seed"], epoch]).permutation(len(data.train))
        torch.manual_seed(1_000_003 * settings["seed"] + epoch)  # dropout; so that a resumed run draws the same
        total = _epoch(model, optimizer, data.train, order, settings, device)
        history["train_loss"].append(total / len(data.train))
        if not math.isfinite(total):
            break
        schedule.step()
        tested = data.test if epoch == epochs - 1 else between
        accuracy, loss = evaluate(model, tested, settings["batch"], device)
        history["test_accuracy"].append(accuracy)
        history["test_loss"].append(loss)
        checkpoint.save(history)
        if progress is not None:
            progress((epoch + 1) / epochs)
    return dict(history)


def _part(split: Split, size: int | None) -> Split:
    """The same samples of a split in every run."""
    if size is None or size >= len(split):
        return split
    return split.take(np.sort(np.random.default_rng(0).permutation(len(split))[:size]))


def _epoch(
    model: DeepS4D,
    optimizer: torch.optim.Optimizer,
    split: Split,
    order: np.ndarray,
    settings: Mapping[str, Any],
    device: torch.device,
) -> float:
    """The sum of the losses; not finite from the first batch on whose loss is not."""
    model.train()
    total = 0.0
    for inputs, lengths, y in batches(split, order, settings["batch"], device):
        if len(y) < 2 and len(order) > 1:
            continue  # batch normalization cannot learn from a single sequence
        with torch.autocast(device.type, torch.bfloat16, enabled=settings.get("bf16", False)):
            loss = nn.functional.cross_entropy(model(inputs, lengths), y)
        total += loss.item() * len(y)
        if not math.isfinite(total):
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return total


@torch.no_grad()
def evaluate(model: DeepS4D, split: Split, size: int, device: torch.device) -> tuple[float, float]:
    """Accuracy and mean loss."""
    model.eval()
    right, loss = 0, 0.0
    for inputs, lengths, y in batches(split, np.arange(len(split)), size, device):
        scores = model(inputs, lengths)
        right += int((scores.argmax(-1) == y).sum())
        loss += float(nn.functional.cross_entropy(scores, y, reduction="sum"))
    return right / len(split), loss / len(split)


class _Checkpoint:
    """Everything that the rest of a run depends on, kept after each epoch."""

    def __init__(self, parts: dict[str, Any], scratch: Path | None) -> None:
        self.parts = parts
        self.path = None if scratch is None else scratch / CHECKPOINT

    def save(self, history: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        temporary = self.path.with_suffix(".tmp")
        content = {name: dict(part.state_dict()) for name, part in self.parts.items()}
        torch.save({"history": dict(history), **content}, temporary)
        temporary.replace(self.path)

    def resume(self) -> dict[str, list[float]] | None:
        """The history of the epochs that are over, the parts being put back to where they were."""
        if self.path is None or not self.path.exists():
            return None
        content = torch.load(self.path, weights_only=True)
        for name, part in self.parts.items():
            part.load_state_dict(content[name])
        history: dict[str, list[float]] = content["history"]
        return history


def _device(name: str) -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else torch.device(name)
