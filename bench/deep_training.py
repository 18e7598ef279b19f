"""A training step of the deep model against the same model on the FFT form of its layers, and the memory it takes."""

from functools import partial
from typing import Any

import torch
from torch import nn

from foretune.nn import DeepS4D
from foretune.nn.optim import parameter_groups

from .convolution import plain
from .measure import Row, fastest, peak_memory

SIZES: dict[str, tuple[int, int, dict[str, Any]]] = {  # batch, length, and the model
    "compact sequential MNIST": (64, 784, {"d_model": 64, "depth": 2, "dropout": 0.1}),
    "full-size stack": (16, 1024, {"d_model": 256, "depth": 4}),
}
TARGET = 2.0


class Trainer:
    """Two models of the same weights may be compared step by step."""

    def __init__(self, form: str, size: str) -> None:
        batch, length, options = SIZES[size]
        torch.manual_seed(0)
        self.model = DeepS4D(10, d_state=64, norm="layer", **options)
        if form == "plain":
            for layer in self.model.layers:
                layer.convolve = partial(plain, layer)  # type: ignore[method-assign]
        self.optimizer = torch.optim.AdamW(parameter_groups(self.model, 1e-2, 0.05))
        self.X, self.y = torch.randn(batch, length), torch.arange(batch) % 10

    def step(self) -> None:
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(self.X), self.y).backward()
        self.optimizer.step()


def once(form: str, size: str) -> None:
    Trainer(form, size).step()


def rows() -> list[Row]:
    table = []
    for size, (batch, length, options) in SIZES.items():
        sides = {form: Trainer(form, size).step for form in ("plain", "fast")}
        times = fastest(sides, 4)
        what = f"step of the {size}, (B,L,H,depth) = {(batch, length, options['d_model'], options['depth'])}"
        table.append(_row(what, times, 1e3, "ms", TARGET))
        memory = {form: peak_memory(partial(once, form, size)) for form in sides}
        table.append(_row("its peak memory", memory, 1.0, "MiB", 1.0))
    return table


def _row(what: str, found: dict[str, float], scale: float, unit: str, target: float) -> Row:
    slow, fast = (f"{scale * found[form]:.0f} {unit}" for form in ("plain", "fast"))
    return Row(what, slow, fast, found["plain"] / found["fast"], target)
