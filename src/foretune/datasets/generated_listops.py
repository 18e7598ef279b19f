"""Our own ListOps after Nangia & Bowman (2018) and LRA (2021): generated, not the published files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .base import Split
from .listops import CLOSE, EOS, FIRST_OPERATOR, OPERATORS, PAD, ZERO

__all__ = ["generate_listops"]

BATCH = 2048  # trees drawn at once
OPERATOR_SHARE = 0.25  # of the places below the deepest level, as published
MAX, MIN, MED, SUM = range(len(OPERATORS))


def generate_listops(
    samples: int,
    seed: int = 0,
    min_length: int = 500,
    max_length: int = 2000,
    max_depth: int = 10,
    max_args: int = 10,
    padded: int | None = None,
) -> Split:
    """Random trees of MAX, MIN, MED and SM (sum modulo 10) over digits, all different.

    Each place above `max_depth` is an operator with probability 1/4, with 2 to `max_args` arguments, else a digit.
    Kept are the trees with more than `min_length` and fewer than `max_length` symbols, as LRA keeps them. Tokens,
    padding and end token are those of `tokenize`; `padded` is the length of the rows, by default `max_length`.
    """
    padded = max_length if padded is None else padded
    if samples < 1:
        raise InputError(f"samples is {samples}; ask for at least one")
    if not 3 <= min_length + 1 < max_length <= padded:
        raise InputError(
            f"min_length, max_length and padded are {min_length}, {max_length}, {padded}; let each be larger"
        )
    if max_depth < 2 or max_args < 2:
        raise InputError(f"max_depth is {max_depth} and max_args {max_args}; each must be at least 2")
    rng = np.random.default_rng(seed)
    X = np.full((samples, padded), PAD, dtype=np.int16)
    y, lengths = np.empty(samples, dtype=np.int64), np.empty(samples, dtype=np.int64)
    seen: set[bytes] = set()
    barren = 0
    while len(seen) < samples:
        before = len(seen)
        tokens, values, sizes = _batch(rng, (min_length, max_length), max_depth, max_args)
        for row, value, size in zip(tokens, values, sizes, strict=True):
            key = row[:size].astype(np.uint8).tobytes()
            if key in seen or len(seen) == samples:
                continue
            place = len(seen)
            seen.add(key)
            X[place, :size], X[place, size] = row[:size], EOS
            y[place], lengths[place] = value, size + 1
        barren = 0 if len(seen) > before else barren + 1
        if barren == 100:
            raise InputError(
                f"only {len(seen)} of {samples} different trees of depth {max_depth}, {max_args} arguments and "
                f"{min_length} to {max_length} symbols were found; widen these bounds"
            )
    return Split(X, y, lengths)


@dataclass
class _Level:
    """The nodes of one depth over all trees of a batch: the children of a node lie side by side."""

    tree: np.ndarray
    operator: np.ndarray  # -1 for a digit
    value: np.ndarray
    first: np.ndarray  # place of the first child in the next level, for the operators among the nodes
    parent: np.ndarray  # number of the parent among the operators of the level above
    size: np.ndarray


def _batch(
    rng: np.random.Generator, bounds: tuple[int, int], max_depth: int, max_args: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, values and sizes of those trees of one batch whose size lies between the bounds."""
    levels = _grow(rng, max_depth, max_args)
    for upper, lower in zip(levels[-2::-1], levels[:0:-1], strict=True):
        _fold(upper, lower)
    root = levels[0]
    good = np.flatnonzero((root.size > bounds[0]) & (root.size < bounds[1]))
    row = np.full(BATCH, -1)
    row[good] = np.arange(len(good))
    tokens = np.full((len(good), bounds[1]), PAD, dtype=np.int16)
    start = np.zeros(BATCH, dtype=np.int64)
    for depth, level in enumerate(levels):
        if depth:
            start = _starts(levels[depth - 1], level, start)
        kept = row[level.tree] >= 0
        at, first, operator = row[level.tree][kept], start[kept], level.operator[kept]
        inner = operator >= 0
        tokens[at, first] = np.where(inner, FIRST_OPERATOR + operator, ZERO + level.value[kept])
        tokens[at[inner], (first + level.size[kept] - 1)[inner]] = CLOSE
    return tokens, root.value[good], root.size[good]


def _grow(rng: np.random.Generator, max_depth: int, max_args: int) -> list[_Level]:
    """Trees whose root is an operator (a single digit is never long enough), level by level."""
    tree, parent = np.arange(BATCH), np.zeros(BATCH, dtype=np.int64)
    levels = []
    for depth in range(1, max_depth + 1):
        share = 1.0 if depth == 1 else OPERATOR_SHARE if depth < max_depth else 0.0
        operator = np.where(rng.random(len(tree)) < share, rng.integers(len(OPERATORS), size=len(tree)), -1)
        inner = np.flatnonzero(operator >= 0)
        arguments = rng.integers(2, max_args + 1, size=len(inner))
        first = np.cumsum(arguments) - arguments
        value = rng.integers(10, size=len(tree))
        levels.append(_Level(tree, operator, value, first, parent, np.ones(len(tree), dtype=np.int64)))
        if len(inner) == 0:
            break
        tree, parent = np.repeat(tree[inner], arguments), np.repeat(np.arange(len(inner)), arguments)
    return levels


def _fold(upper: _Level, lower: _Level) -> None:
    """Give the operators of a level their values and sizes from the level below."""
    inner, values, first = upper.operator >= 0, lower.value, upper.first
    counts = np.diff(np.append(first, len(values)))
    order = np.lexsort((values, lower.parent))  # by value within each family
    ranked = values[order]
    middle = (ranked[first + (counts - 1) // 2] + ranked[first + counts // 2]) // 2
    results = np.stack([ranked[first + counts - 1], ranked[first], middle, np.add.reduceat(values, first) % 10])
    upper.value[inner] = results[upper.operator[inner], np.arange(len(first))]
    upper.size[inner] = 2 + np.add.reduceat(lower.size, first)


def _starts(upper: _Level, lower: _Level, start: np.ndarray) -> np.ndarray:
    """Where each node of the lower level begins in its tree's sequence: after its parent and its elder siblings."""
    before = np.cumsum(lower.size) - lower.size
    elder = before - before[upper.first][lower.parent]
    return np.asarray(start[upper.operator >= 0][lower.parent] + 1 + elder)
