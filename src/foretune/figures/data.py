"""The real images that the figures use."""

from __future__ import annotations

import numpy as np

from ..datasets import load, subset_indices

__all__ = ["mnist_images", "split"]

SAMPLE = 15_000


def mnist_images() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training images as `(60000, 784)` in [0, 1], and their labels, in the order of the file."""
    train = load("mnist").train
    back = np.argsort(subset_indices(len(train), 1.0, 0))
    return np.rint(255 * np.asarray(train.X, dtype=np.float64)[back]) / 255, train.y[back]


def split(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """15,000 random images with their labels, and the other 45,000 with theirs."""
    images, labels = mnist_images()
    order = np.random.default_rng(seed).permutation(len(images))
    chosen, others = order[:SAMPLE], order[SAMPLE:]
    return images[chosen], labels[chosen], images[others], labels[others]
