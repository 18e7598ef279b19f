"""The two built-in tasks, and one run on them: a task of the study engine."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..datasets import Dataset, Split, binary_frequency
from ..errors import DependencyMissing, InputError
from ..study import deep
from ..study.training import Progress

__all__ = ["TASKS", "TRAIN", "BuiltIn", "available", "cost", "load", "run"]

TRAIN, TEST = 1280, 1000  # digits has 1,797 in all, so its test split holds the other 517
SPLIT_SEED = 0


@dataclass(frozen=True)
class BuiltIn:
    """What a task asks, and how many steps make a unit of its frequency axis."""

    question: str
    sampling_rate: float | None = None


TASKS = {
    "binary frequency": BuiltIn("is the 3 Hz wave loud or faint, among waves at 1, 7 and 11 Hz?", 256.0),
    "digits": BuiltIn("which digit is it, when its 8 × 8 pixels come one after the other?"),
}


def available() -> list[str]:
    """The tasks whose data are at hand: digits come with scikit-learn, which is optional."""
    return [name for name in TASKS if name != "digits" or importlib.util.find_spec("sklearn") is not None]


@cache
def load(name: str) -> Dataset:
    """A task with its fixed training and test split."""
    if name == "binary frequency":
        train, test = Split(*binary_frequency(TRAIN, 1)), Split(*binary_frequency(TEST, 2))
        return Dataset(name, train, None, test, (0, 1), 256, 1, "generated as the paper describes")
    if name != "digits":
        raise InputError(f"the demo has no task {name!r}; there is {', '.join(TASKS)}")
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise DependencyMissing("the digits come with scikit-learn: pip install 'foretune[classifier]'") from error
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    whole = Split((pixels / 16).astype(np.float32), labels.astype(np.int64))
    train, test = whole.take(order[:TRAIN]), whole.take(order[TRAIN:])
    return Dataset(name, train, None, test, tuple(range(10)), 64, 1, "the digits that scikit-learn comes with")


def run(settings: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Train one arm of the deep study on a part of a task's training split."""
    data = load(settings["dataset"]).subset(settings["ratio"], settings["seed"])
    return deep.learn(data, settings, progress)


def cost(settings: Mapping[str, Any]) -> float:
    """Rough seconds of a run on one core, for the time left."""
    length = 256 if settings["dataset"] == "binary frequency" else 64
    steps = math.ceil(settings["ratio"] * TRAIN / settings["batch"])
    return 0.1 + settings["epochs"] * (5e-3 * steps + settings["eval_subset"] * length * 2e-7)
