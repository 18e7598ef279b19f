"""The sets that are generated, each from a fixed seed: `load`'s seed chooses the subset and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .archive import keep
from .base import Dataset, Split
from .generated_listops import generate_listops
from .generated_pathfinder import draw_batches
from .listops import listops_dataset
from .pathfinder import pathfinder_dataset
from .store import Store
from .synthetic import binary_frequency, frequency_classification

__all__ = ["make_binary_frequency", "make_frequency_classification", "make_listops", "make_pathfinder"]

PATHFINDER_SAMPLES = 50_000


def make_binary_frequency(_: Store) -> Dataset:
    """40,000 and 10,000 sequences; no validation split."""
    train, test = (Split(*binary_frequency(samples, seed)) for samples, seed in ((40_000, 1), (10_000, 2)))
    return Dataset("binary-frequency", train, None, test, (0, 1), 256, 1, "generated as the paper describes")


def make_frequency_classification(_: Store) -> Dataset:
    """10,000, 1,000 and 1,000 sequences."""
    train, validation, test = (
        Split(*frequency_classification(samples, seed)) for samples, seed in ((10_000, 1), (1000, 2), (1000, 3))
    )
    classes = tuple(range(10))
    return Dataset("freq-cls", train, validation, test, classes, 1024, 1, "generated as the paper describes")


def make_listops(store: Store, name: str, train: int, bounds: tuple[int, int], padded: int) -> Dataset:
    """Expressions that are all different, the last 4,000 of them for validation and test; kept once generated."""

    def build(notes: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
        made = generate_listops(train + 4000, 1, *bounds, padded=padded)
        assert made.lengths is not None
        notes["labels"], notes["lengths"] = made.y.tolist(), made.lengths.tolist()
        for number, row in enumerate(np.asarray(made.X)):
            yield str(number), row

    kept = keep(store, name, None, build)
    whole = Split(kept.rows, np.array(kept.notes["labels"]), np.array(kept.notes["lengths"]))
    parts = np.split(np.arange(train + 4000), [train, train + 2000])
    splits = [whole.take(part) for part in parts]
    return listops_dataset(name, splits, "generated after Nangia & Bowman (2018) and LRA; not the published files")


def make_pathfinder(store: Store) -> Dataset:
    """40,000, 5,000 and 5,000 images; kept once generated."""

    def build(notes: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
        notes["labels"] = []
        for pixels, labels in draw_batches(PATHFINDER_SAMPLES, seed=1):
            for row, label in zip(pixels, labels.tolist(), strict=True):
                notes["labels"].append(label)
                yield str(len(notes["labels"])), row

    kept = keep(store, "generated-pathfinder", None, build)
    y, order = np.array(kept.notes["labels"]), np.arange(len(kept.names))
    provenance = "generated after Linsley et al. (2018) and LRA; not the published images"
    return pathfinder_dataset("generated-pathfinder", kept.rows, y, order, provenance)
