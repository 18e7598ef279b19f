"""One run of the paper's deep study: a pure function of its settings (section 4.4, appendix E.4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import datasets
from ..datasets import Dataset, Split
from ..errors import InputError
from ..init import Settings, initialize_, verify
from ..init.adapters import choose, find_layers
from ..nn import DeepS4D, unit_output_
from ..spectra import Spectrum, task_spectrum_from_batches
from .training import Progress, batches, find_device, train

__all__ = ["ARMS", "build", "cost", "heard_by", "learn", "passes", "run"]

ARMS = ("default", "default+gain", "tdi", "tdi+gain", "tdi-frozen", "tdi+gain-frozen")
MODEL = ("d_model", "depth", "d_state", "norm", "prenorm", "dropout", "pool")


def run(settings: Mapping[str, Any], progress: Progress | None = None, scratch: Path | None = None) -> dict[str, Any]:
    """Train one arm on one subset of one data set; test accuracy and loss after each epoch."""
    data = datasets.load(settings["dataset"], ratio=settings["ratio"], seed=settings["seed"])
    return learn(data, settings, progress, scratch)


def learn(
    data: Dataset, settings: Mapping[str, Any], progress: Progress | None = None, scratch: Path | None = None
) -> dict[str, Any]:
    """The same on these splits."""
    device = find_device(settings.get("device", "auto"))
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
    if arm != "default":
        facts |= _prepare(model, settings, data.train, device)
    return model, facts


def _prepare(model: DeepS4D, settings: Mapping[str, Any], train: Split, device: torch.device) -> dict[str, Any]:
    """What an arm does to its layers, one after the other: each hears what those before it were made to say."""
    arm, size = settings["arm"], settings["batch"]
    options: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in settings["tdi"].items()}
    variant, method, layers = options.pop("variant"), options.pop("spectrum"), options.pop("layers", "first")
    found, records = find_layers(model), []
    for position in sorted(found.index(layer) for layer in choose(found, layers)):
        if arm.startswith("tdi"):
            measured = task_spectrum_from_batches(_labelled(model, position, train, size, device), method=method)
            spectrum = Spectrum(measured.power, measured.length)
            records += initialize_(model, spectrum, variant, layers=[position], settings=Settings.of(**options))
        if "+gain" in arm:
            heard = ((x, lengths) for x, lengths, _ in heard_by(model, position, train, size, device))
            unit_output_(
                model.layers[position], heard, settings.get("gain_per", "layer"), settings.get("loudness", 1.0)
            )
        if arm.endswith("-frozen"):
            for tensor in found[position].tensors().values():
                tensor.requires_grad_(False)
    if not records:
        return {}
    verify(model)
    losses = {"before": [r.loss_before for r in records], "after": [r.loss_after for r in records]}
    return {f"L_spec_{when}": each[0] if len(each) == 1 else each for when, each in losses.items()}


def _labelled(
    model: DeepS4D, position: int, train: Split, size: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Sequences `(B, L, C)` and labels for the spectrum at a layer's input.

    For one real channel that is at first the sequence itself, as in the paper: the encoder gives it to every head, scaled
    and shifted, and so changes nothing but how the mean enters.
    """
    if position == 0 and model.linear_input and train.lengths is None and len(train.X.shape) == 2:
        return ((inputs.unsqueeze(-1), y) for inputs, _, y in batches(train, np.arange(len(train)), size, device))
    return ((x.transpose(1, 2), y) for x, _, y in heard_by(model, position, train, size, device))


def heard_by(
    model: DeepS4D, position: int, split: Split, size: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor | None, Tensor]]:
    """What a layer hears of each batch, `(B, H, L)`, with lengths and labels."""
    for inputs, lengths, y in batches(split, np.arange(len(split)), size, device):
        yield model.heard(inputs, lengths, position), lengths, y


def passes(settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many batches a run trains on and evaluates."""
    entry = datasets.registry.find(settings["dataset"])
    samples, _, tested = entry.counts
    epochs, batch = settings["epochs"], settings["batch"]
    steps = math.ceil(max(1, round(settings["ratio"] * samples)) / batch)
    limit = min(epochs * steps, settings.get("max_steps", epochs * steps))
    between = min(tested, settings.get("eval_subset", tested))
    return limit, (math.ceil(limit / steps) - 1) * math.ceil(between / batch) + math.ceil(tested / batch)


def cost(settings: Mapping[str, Any]) -> float:
    """Rough seconds of a run on one core, which is what the order of runs and the time left go by."""
    trained, tested = passes(settings)
    length = datasets.registry.find(settings["dataset"]).length
    heads = settings["d_model"]
    step = settings["batch"] * length * settings["depth"] * heads * (50e-9 + 0.35e-9 * heads)
    return 1 + step * (trained + tested / 3)
