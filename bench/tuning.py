"""L_spec before and after initialization: 20 random tasks, and the paper's matched and mismatched cases on MNIST."""

import gzip
import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import foretune as ft

LENGTH = 256


def random_task(seed: int) -> ft.Spectrum:
    """White, spiky or smooth, in turn."""
    rng = np.random.default_rng(seed)
    power = rng.random(LENGTH // 2 + 1)
    if seed % 3 == 1:
        power = power**8
    if seed % 3 == 2:
        k = np.arange(len(power))
        bumps = [rng.random() * np.exp(-0.5 * ((k - rng.uniform(2, 120)) / rng.uniform(0.5, 4)) ** 2) for _ in range(4)]
        power = np.sum(bumps, axis=0) + 1e-3 * power
    return ft.Spectrum(power, LENGTH)


def mnist_tasks() -> dict[str, ft.Spectrum]:
    """The cross spectra of the paper's low- and high-frequency labels; empty without FORETUNE_DATA."""
    path = Path(os.environ.get("FORETUNE_DATA", ".")) / "mnist/train-images-idx3-ubyte.gz"
    if not path.exists():
        return {}
    images = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(-1, 784)[:15000] / 255
    t = np.linspace(0, 1, 784)
    patterns = {
        "low": np.cos(2 * np.pi * 20 * t) + np.cos(2 * np.pi * 40 * t),
        "high": np.cos(2 * np.pi * 300 * t) + np.sin(2 * np.pi * 350 * t),
    }
    centred = images - images.mean(0)
    return {
        name: ft.task_spectrum(images, (centred @ (p / np.linalg.norm(p)))[:, None], method="cross")
        for name, p in patterns.items()
    }


def main() -> None:
    table = Table("system", "task", "default", "construct", "refine", "seconds", title="L_spec")
    cases = [
        (f"S4D-Lin, seed {seed}", f"random {seed}", ft.DiagonalSSM.s4d_lin(8, 64, seed), random_task(seed))
        for seed in range(20)
    ]
    for task, spectrum in mnist_tasks().items():
        cases += [
            ("low-frequency SSM", f"MNIST, {task}", ft.DiagonalSSM.low_frequency(), spectrum),
            ("high-frequency SSM", f"MNIST, {task}", ft.DiagonalSSM.high_frequency(), spectrum),
        ]
    for system, task, ssm, spectrum in cases:
        built = ft.tune(ssm, spectrum, "construct")[1]
        refined = ft.tune(ssm, spectrum, "refine")[1]
        losses = (refined.loss_before, built.loss_after, refined.loss_after)
        table.add_row(system, task, *(f"{loss:.4f}" for loss in losses), f"{refined.seconds:.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
