"""The real images that the figures use."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from ..errors import InputError

__all__ = ["mnist_images", "split"]

SAMPLE = 15_000


def mnist_images() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training images as `(60000, 784)` in [0, 1], and their labels."""
    root = Path(os.environ.get("FORETUNE_DATA", "")) / "mnist"
    paths = [root / f"train-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1")]
    for path in paths:
        if "FORETUNE_DATA" not in os.environ or not path.is_file():
            raise InputError(f"there is no {path}; set FORETUNE_DATA to the folder that holds mnist/{path.name}")
    try:
        images, labels = (np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) for path in paths)
        return images[16:].reshape(-1, 784) / 255, labels[8:].astype(np.int64)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{root} holds a damaged file ({error}); fetch it again") from error


def split(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """15,000 random images with their labels, and the other 45,000 with theirs."""
    images, labels = mnist_images()
    order = np.random.default_rng(seed).permutation(len(images))
    chosen, others = order[:SAMPLE], order[SAMPLE:]
    return images[chosen], labels[chosen], images[others], labels[others]
