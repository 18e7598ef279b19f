"""The paper's synthetic tasks, generated from a seed."""

from __future__ import annotations

import numpy as np

from ..errors import InputError

__all__ = ["binary_frequency", "frequency_classification"]

BLOCK = 4096  # samples made at once


def binary_frequency(
    samples: int, seed: int = 0, length: int = 256, distractor: tuple[float, float] = (0.1, 1.0)
) -> tuple[np.ndarray, np.ndarray]:
    """Binary Frequency Classification: is the 3 Hz wave loud (class 1) or faint (class 0)?

    One second of 3 Hz with an amplitude from (0.6, 1.0) or (0.1, 0.4), distractors at 1, 7 and 11 Hz with amplitudes
    from `distractor` (not given in the paper), noise of σ = 0.1, all phases random, scaled to a largest value of 1.

    Returns:
        `(samples, length)` float32, and labels that alternate before shuffling, so the classes are balanced.
    """
    rng = _generator(samples, seed)
    y = rng.permutation(np.arange(samples) % 2)
    amplitude = np.where(y == 1, rng.uniform(0.6, 1.0, samples), rng.uniform(0.1, 0.4, samples))
    t = np.arange(length) / length
    X = np.empty((samples, length), dtype=np.float32)
    for start in range(0, samples, BLOCK):
        part = slice(start, start + BLOCK)
        count = len(y[part])
        wave = amplitude[part, None] * np.sin(2 * np.pi * (3 * t + rng.random((count, 1))))
        for hertz in (1, 7, 11):
            level = rng.uniform(*distractor, (count, 1))
            wave += level * np.sin(2 * np.pi * (hertz * t + rng.random((count, 1))))
        wave += rng.normal(0, 0.1, wave.shape)
        X[part] = wave / np.abs(wave).max(axis=1, keepdims=True)
    return X, y


def frequency_classification(samples: int, seed: int = 0, length: int = 1024) -> tuple[np.ndarray, np.ndarray]:
    """Frequency Classification: which of ten bands between 4 and 64 Hz holds the main wave?

    One second with amplitude from [0.8, 1.2], an envelope of depth 0.15 at 0.25 to 2 Hz, a second harmonic of scale 0.3,
    a slow drift of scale 0.1 and noise of σ = 0.15; zero mean and unit variance.

    Returns:
        `(samples, length)` float32, and labels 0 to 9, balanced.
    """
    rng = _generator(samples, seed)
    y = rng.permutation(np.arange(samples) % 10)
    edges = np.linspace(4, 64, 11)
    t = np.arange(length) / length
    X = np.empty((samples, length), dtype=np.float32)
    for start in range(0, samples, BLOCK):
        part = slice(start, start + BLOCK)
        column = (len(y[part]), 1)
        hertz = edges[y[part], None] + (edges[1] - edges[0]) * rng.random(column)
        phase, turn = rng.random(column), 2 * np.pi
        wave = np.sin(turn * (hertz * t + phase)) + 0.3 * np.sin(turn * (2 * hertz * t + rng.random(column)))
        wave *= rng.uniform(0.8, 1.2, column)
        wave *= 1 + 0.15 * np.sin(turn * (rng.uniform(0.25, 2, column) * t + rng.random(column)))
        wave += 0.1 * np.sin(turn * (rng.uniform(0.1, 1, column) * t + rng.random(column)))
        wave += rng.normal(0, 0.15, wave.shape)
        X[part] = (wave - wave.mean(axis=1, keepdims=True)) / wave.std(axis=1, keepdims=True)
    return X, y


def _generator(samples: int, seed: int) -> np.random.Generator:
    if samples < 1:
        raise InputError(f"samples is {samples}; ask for at least one")
    return np.random.default_rng(seed)
