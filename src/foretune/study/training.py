"""The training of a deep model: read from top to bottom, it is the protocol of appendix E.4."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..datasets import Dataset, Split
from ..errors import InputError
from ..nn import DeepS4D
from ..nn.optim import parameter_groups

__all__ = ["Batch", "Checkpoint", "batches", "evaluate", "evaluated", "find_device", "one_epoch", "step", "train"]

CHECKED = 50  # steps between looks at whether the loss is still finite: each look waits for a GPU
SUBSET_SEED = 0  # of the test sequences between epochs, the same in every run

Progress = Callable[[float], None]
Batch = tuple[Tensor, Tensor | None, Tensor]


def train(
    model: DeepS4D,
    data: Dataset,
    settings: Mapping[str, Any],
    device: torch.device,
    progress: Progress | None = None,
    scratch: Path | None = None,
) -> dict[str, Any]:
    """AdamW with cosine annealing over epochs; goes on from the last finished epoch in `scratch`, if there is one.

    After each epoch the test set is evaluated: with `eval_subset` a fixed part of it, and all of it after the last.
    `max_steps` ends the run early.
    """
    groups = parameter_groups(model, settings["lr"], settings["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=settings["lr"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings["epochs"], eta_min=settings["eta_min"])
    checkpoint = Checkpoint({"model": model, "optimizer": optimizer, "schedule": schedule}, scratch)
    history = checkpoint.resume() or {"train_loss": [], "test_loss": [], "test_accuracy": []}
    net: nn.Module = torch.compile(model) if settings.get("compile", False) else model  # type: ignore[assignment]
    epochs, last_order = _epochs(len(data.train), settings)
    between = evaluated(data.test, settings)
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
        for epoch in range(len(history["test_loss"]), epochs):
            order = np.random.default_rng([settings["seed"], epoch]).permutation(len(data.train))
            order = order[:last_order] if epoch + 1 == epochs else order
            torch.manual_seed(1_000_003 * settings["seed"] + epoch)  # dropout; so that a resumed run draws the same
            total = one_epoch(net, optimizer, data.train, order, settings, device)
            history["train_loss"].append(total / len(order))
            if not math.isfinite(total):
                break
            schedule.step()
            tested = data.test if epoch + 1 == epochs else between
            accuracy, loss = evaluate(net, tested, settings, device)
            history["test_accuracy"].append(accuracy)
            history["test_loss"].append(loss)
            checkpoint.save(history)
            if progress is not None:
                progress((epoch + 1) / epochs)
    return dict(history)


def _epochs(samples: int, settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many epochs there are, and how many samples the last one has."""
    steps, whole = math.ceil(samples / settings["batch"]), settings["epochs"]
    limit = settings.get("max_steps", whole * steps)
    if limit < 1:
        raise InputError(f"max_steps is {limit}; it must be at least 1")
    epochs = min(whole, math.ceil(limit / steps))
    return epochs, (limit - (epochs - 1) * steps) * settings["batch"]


def evaluated(test: Split, settings: Mapping[str, Any]) -> Split:
    """The test sequences that are evaluated between epochs: `eval_subset` of them, the same for every run."""
    count = settings.get("eval_subset", len(test))
    if count < 1:
        raise InputError(f"eval_subset is {count}; it must be at least 1")
    chosen = np.random.default_rng(SUBSET_SEED).permutation(len(test))[:count]
    return test if count >= len(test) else test.take(np.sort(chosen))


def one_epoch(
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    split: Split,
    order: np.ndarray,
    settings: Mapping[str, Any],
    device: torch.device,
) -> float:
    """The sum of the losses; not finite if one of them was not, which ends the epoch."""
    net.train()
    total = torch.zeros((), dtype=torch.float64, device=device)
    for number, batch in enumerate(batches(split, order, settings["batch"], device), 1):
        try:
            total += step(net, optimizer, batch, settings)
        except torch.cuda.OutOfMemoryError as error:
            size = settings.get("micro_batch", settings["batch"])
            raise InputError(f"{size} sequences at once do not fit {device}; set micro_batch to fewer") from error
        if number % CHECKED == 0 and not torch.isfinite(total):
            break
    return float(total)


def step(net: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, settings: Mapping[str, Any]) -> Tensor:
    """One step of the optimizer; returns the batch's sum of losses.

    With `micro_batch`, the batch goes through the model in parts of that size and their gradients are added up. That is
    the same step up to rounding, except that batch normalization and dropout then act on each part for itself.
    """
    inputs, lengths, y = batch
    size = settings.get("micro_batch", len(y))
    if size < 1:
        raise InputError(f"micro_batch is {size}; it must be at least 1")
    optimizer.zero_grad()
    total = torch.zeros((), dtype=torch.float64, device=y.device)
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        with torch.autocast(y.device.type, torch.bfloat16, enabled=settings.get("bf16", False)):
            scores = net(inputs[part], None if lengths is None else lengths[part])
            loss = nn.functional.cross_entropy(scores, y[part])
        (loss * (len(y[part]) / len(y))).backward()
        total += loss.detach().double() * len(y[part])
    optimizer.step()
    return total


@torch.no_grad()
def evaluate(net: nn.Module, split: Split, settings: Mapping[str, Any], device: torch.device) -> tuple[float, float]:
    """Accuracy and mean loss; no more than one batch is ever in memory."""
    net.eval()
    right, loss = torch.zeros((), dtype=torch.int64, device=device), torch.zeros((), dtype=torch.float64, device=device)
    size = settings.get("micro_batch", settings["batch"])
    for inputs, lengths, y in batches(split, np.arange(len(split)), size, device):
        with torch.autocast(device.type, torch.bfloat16, enabled=settings.get("bf16", False)):
            scores = net(inputs, lengths)
            loss += nn.functional.cross_entropy(scores, y, reduction="sum").double()
        right += (scores.argmax(-1) == y).sum()
    return int(right) / len(split), float(loss) / len(split)


def batches(split: Split, order: np.ndarray, size: int, device: torch.device) -> Iterator[Batch]:
    """Inputs, lengths and labels in this order; only one batch is ever in memory."""
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        lengths = None if split.lengths is None else torch.as_tensor(split.lengths[chosen]).long().to(device)
        inputs = torch.as_tensor(np.asarray(split.X[chosen])).to(device)
        yield inputs, lengths, torch.as_tensor(split.y[chosen]).to(device)


class Checkpoint:
    """Everything that the rest of a run depends on, kept after each epoch."""

    FILE = "epoch.pt"

    def __init__(self, parts: dict[str, Any], scratch: Path | None) -> None:
        self.parts = parts
        self.path = None if scratch is None else scratch / self.FILE

    def save(self, history: Mapping[str, Any]) -> None:
        """All at once or not at all."""
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
        content = torch.load(self.path, map_location="cpu", weights_only=True)  # load_state_dict moves it
        for name, part in self.parts.items():
            part.load_state_dict(content[name])
        history: dict[str, list[float]] = content["history"]
        return history


def find_device(name: str) -> torch.device:
    """`"auto"` is the GPU where there is one."""
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
