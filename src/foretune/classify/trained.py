"""The head that is trained by gradients: one of foretune's models, small, started by default or from the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError
from ..init import initialize_
from ..nn import ContractiveSSM, DeepS4D, LinearSSM, unit_state_
from ..nn.optim import parameter_groups
from .features import SHORT
from .kernel import Evidence, Init, place, usable_spectrum
from .ridge import temperature

__all__ = ["Model", "TrainedHead", "Training", "fit_trained"]

Model = Literal["deep", "contractive", "linear"]
BATCH = 32
LEAST_STEPS = 300  # optimizer steps at least, however few samples there are
HELD_OUT = 5  # one in so many samples is kept aside to calibrate
EVALUATED = 256


@dataclass(frozen=True)
class Training:
    """What is trained, and how long."""

    model: Model = "deep"
    epochs: int = 60
    lr: float = 4e-3

    def __post_init__(self) -> None:
        if self.model not in get_args(Model):
            raise InputError(f"model is {self.model!r}; use one of {', '.join(get_args(Model))}")
        if isinstance(self.epochs, bool) or not isinstance(self.epochs, int | np.integer) or self.epochs < 1:
            raise InputError(f"epochs is {self.epochs!r}; pass a whole number of at least 1")
        if not isinstance(self.lr, int | float | np.number) or not 0 < self.lr < float("inf"):
            raise InputError(f"lr is {self.lr!r}; pass a number above 0")


@dataclass(frozen=True, eq=False)
class TrainedHead:
    """A trained model for standardized sequences, and why it started where it did."""

    model: nn.Module
    training: Training
    centre: Tensor  # (C,)
    spread: Tensor  # (C,)
    sharpness: float
    evidence: Evidence

    @torch.no_grad()
    def __call__(self, X: Tensor) -> Tensor:
        """Scores `(P, classes)` in float64 of sequences `(P, L, C)`."""
        standard = (X.to(self.centre.dtype) - self.centre) / self.spread
        return torch.cat([self.model(part) for part in standard.split(EVALUATED)]).double()


def fit_trained(X: Tensor, codes: np.ndarray, classes: int, init: Init, training: Training, seed: int) -> TrainedHead:
    """Fit on `(P, L, C)` with class codes `(P,)`.

    Calibration needs samples that were not trained on, so that a second model is trained without one in `HELD_OUT` of
    them where there are enough; the model that is kept has seen all.
    """
    evidence = place(X, codes, classes, init, seed)
    dtype = torch.float64 if X.shape[1] < SHORT else torch.float32
    centre, spread = X.double().mean((0, 1)), X.double().std((0, 1), correction=0)
    spread = torch.where(spread > 0, spread, 1.0)
    standard, labels = ((X - centre) / spread).to(dtype), torch.from_numpy(codes)
    task = evidence.chosen != "default"
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(X)))
    held, kept = order[::HELD_OUT], torch.cat([order[i::HELD_OUT] for i in range(1, HELD_OUT)])
    sharpness = 1.0
    if len(labels[kept].unique()) == classes and len(kept) >= 2 * HELD_OUT:
        probe = _trained(standard[kept], labels[kept], classes, task, training, seed)
        with torch.no_grad():
            sharpness = temperature(probe(standard[held]).double().numpy(), codes[held.numpy()])
    model = _trained(standard, labels, classes, task, training, seed)
    return TrainedHead(model, training, centre.to(dtype), spread.to(dtype), sharpness, evidence)


def build(training: Training, classes: int, length: int, channels: int, dtype: torch.dtype) -> nn.Module:
    """The model before it is initialized."""
    if training.model == "deep":
        return DeepS4D(classes, d_model=32, depth=2, d_state=32, channels=channels, prenorm=True).to(dtype)
    if channels > 1:
        raise InputError(
            f"X has {channels} channels, but model={training.model!r} takes one; use model='deep' or head='kernel'"
        )
    kind = ContractiveSSM if training.model == "contractive" else LinearSSM
    return kind(classes, hidden=32, dt=0.5 / length).to(dtype)


def _trained(X: Tensor, labels: Tensor, classes: int, task: bool, training: Training, seed: int) -> nn.Module:
    """AdamW with a cosine schedule; the random state of the caller is left as it was."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        model = build(training, classes, X.shape[1], X.shape[2], X.dtype)
        if task:
            spectrum = usable_spectrum(X, labels.numpy())
            if spectrum is not None:
                initialize_(model, spectrum)
        if isinstance(model, LinearSSM):
            unit_state_(model, X)
        _descend(model, X, labels, training)
    return model.eval()


def _descend(model: nn.Module, X: Tensor, labels: Tensor, training: Training) -> None:
    optimizer = torch.optim.AdamW(parameter_groups(model, training.lr, weight_decay=1e-2), lr=training.lr)
    batches = -(-len(X) // BATCH)
    epochs = max(training.epochs, -(-LEAST_STEPS // batches)) if training.epochs > 1 else 1
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    for _ in range(epochs):
        for batch in torch.randperm(len(X)).split(BATCH):
            loss = loss_of(model(X[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
    if not all(parameter.isfinite().all() for parameter in model.parameters()):
        raise InputError(f"training diverged with lr={training.lr}; pass a smaller lr")
