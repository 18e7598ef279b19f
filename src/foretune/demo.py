"""The main job on built-in data: measure a task, tune a layer to it, and see what that changes."""

from __future__ import annotations

import copy
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from .datasets.synthetic import binary_frequency
from .errors import DependencyMissing
from .init import Initialization, initialize_, model_spectrum, spectral_loss
from .nn import S4D
from .nn.optim import parameter_groups
from .spectra import Spectrum, task_spectrum

__all__ = ["Classifier", "Outcome", "run"]

TRAIN, TEST, HEADS, STATE, EPOCHS, SEEDS = 64, 1000, 16, 32, 20, 3


class Classifier(nn.Module):
    """A linear encoder, one S4D layer, the mean over time, a linear decoder."""

    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        self.encoder = nn.Linear(1, HEADS)
        self.layer = S4D(HEADS, STATE)
        self.decoder = nn.Linear(HEADS, classes)

    def forward(self, x: Tensor) -> Tensor:
        """`(B, L)` to `(B, classes)`."""
        u = self.encoder(x.unsqueeze(-1)).transpose(1, 2)
        scores: Tensor = self.decoder(self.layer(u).mean(-1))
        return scores


@dataclass(frozen=True)
class Outcome:
    """Mean over seeds: L_spec at the start, and test accuracy after each epoch."""

    loss: float
    accuracy: np.ndarray


def _accuracies(model: Classifier, X: Tensor, y: Tensor, test: tuple[Tensor, Tensor], seed: int) -> list[float]:
    optimizer = torch.optim.AdamW(parameter_groups(model, lr=4e-3, weight_decay=1e-2))
    generator = torch.Generator().manual_seed(seed)
    history = []
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(X), generator=generator).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(X[batch]), y[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            history.append(float((model(test[0]).argmax(-1) == test[1]).double().mean()))
    return history


def _compare(seed: int) -> tuple[Spectrum, dict[str, Spectrum], dict[str, Outcome], Initialization]:
    X, y = (torch.from_numpy(part) for part in binary_frequency(TRAIN, seed))
    test_X, test_y = (torch.from_numpy(part) for part in binary_frequency(TEST, seed + 1000))
    torch.manual_seed(seed)
    default = Classifier()
    tuned = copy.deepcopy(default)
    spectrum = task_spectrum(X, y)
    record = initialize_(tuned, spectrum)
    models = {"default": default, "tdi": tuned}
    spectra = {name: model_spectrum(model, X.shape[1]) for name, model in models.items()}
    outcomes = {
        name: Outcome(
            spectral_loss(spectra[name], spectrum), np.array(_accuracies(model, X, y, (test_X, test_y), seed))
        )
        for name, model in models.items()
    }
    return spectrum, spectra, outcomes, record


def run(out: Path, console: Console) -> Path:
    """Print the comparison and draw it; returns the picture's path."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DependencyMissing("the demo's picture needs matplotlib: pip install 'foretune[plot]'")
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a folder that cannot be is known at once
    console.print(
        f"Task: is the 3 Hz wave loud or faint? {TRAIN} labelled sequences of 256 steps, {TEST} for the test.\n"
    )
    results = []
    with console.status("training both arms") as status:
        for seed in range(SEEDS):
            status.update(f"training both arms, seed {seed + 1} of {SEEDS}")
            results.append(_compare(seed))
    spectrum, spectra, _, record = results[0]
    frequencies, strengths = spectrum.peaks(3)
    for frequency, strength in zip(frequencies, strengths, strict=True):
        console.print(f"  the task listens at {256 * frequency:.0f} Hz (strength {strength:.2f})")
    console.print(f"  {record}\n")
    table = Table("arm", "L_spec at the start", "accuracy, epoch 1", f"epoch {EPOCHS // 2}", f"epoch {EPOCHS}")
    means = {}
    for arm in ("default", "tdi"):
        losses = [outcomes[arm].loss for _, _, outcomes, _ in results]
        means[arm] = np.mean([outcomes[arm].accuracy for _, _, outcomes, _ in results], axis=0)
        cells = [f"{100 * means[arm][epoch]:.1f} %" for epoch in (0, EPOCHS // 2 - 1, EPOCHS - 1)]
        table.add_row(arm, f"{np.mean(losses):.2f}", *cells)
    console.print(table)
    path = out / "demo.png"
    _draw(path, spectrum, spectra, means)
    console.print(f"Means over {SEEDS} seeds. The picture: {path}")
    return path


def _draw(path: Path, spectrum: Spectrum, spectra: dict[str, Spectrum], accuracy: dict[str, np.ndarray]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    spectrum.plot(left, sampling_rate=256, color="0.2", label="task", lw=2)
    for (arm, measured), colour in zip(spectra.items(), ("#0072B2", "#D55E00"), strict=True):
        measured.plot(left, sampling_rate=256, color=colour, label=arm)
        right.plot(np.arange(1, EPOCHS + 1), 100 * accuracy[arm], color=colour, label=arm)
    left.set(xlim=(0, 32), title="What the task needs and the models hear")
    right.set(xlabel="epoch", ylabel="test accuracy (%)", title=f"Training on {TRAIN} sequences")
    for ax in (left, right):
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
