"""Labelled sequences as the diagnosis takes them: checked, coded, padded in front."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import InputError

__all__ = ["Samples", "as_samples"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Sequences `(P, L, C)`, the codes of their labels, and the labels by code."""

    X: Tensor
    codes: np.ndarray
    classes: tuple[Hashable, ...]

    def take(self, places: np.ndarray) -> Samples:
        """Some of the samples, in float64."""
        return Samples(self.X[torch.from_numpy(places)].double(), self.codes[places], self.classes)

    def one_hot(self) -> Tensor:
        """`(P, d)`."""
        return torch.from_numpy(np.eye(len(self.classes))[self.codes])


def as_samples(X: checks.Arrays, y: Any, length: int | None, lengths: Any) -> Samples:
    """Check everything once. With `lengths`, what lies beyond a sequence's end may be anything, and becomes 0."""
    sequences = checks.as_sequences(X).detach().cpu()
    checks.same_length(sequences, y)
    if checks.is_real_target(y):
        raise InputError(
            "y holds real targets; a diagnosis needs classes, so turn the targets into a few of them first"
        )
    if len(sequences) < 2:
        raise InputError(f"there are {len(sequences)} samples; a diagnosis needs at least 2")
    steps = sequences.shape[1] if length is None else checks.as_length(length)
    if steps > sequences.shape[1]:
        raise InputError(f"length is {steps}, but the sequences have {sequences.shape[1]} steps; pass at most that")
    sequences = sequences[:, :steps]
    if lengths is not None:
        sequences = _padded_in_front(sequences, _as_lengths(lengths, len(sequences), steps))
    known: dict[Hashable, int] = {}
    codes = checks.code_labels(y, known)
    if len(known) < 2:
        raise InputError(f"every sample has the label {next(iter(known))!r}; a task needs at least two classes")
    if bool((sequences == sequences[:1]).all()):
        raise InputError("every sequence is the same, so nothing tells the classes apart; check X")
    return Samples(sequences, codes, tuple(known))


def _as_lengths(lengths: Any, P: int, steps: int) -> Tensor:
    given = np.asarray(lengths.cpu() if isinstance(lengths, Tensor) else lengths)
    if given.shape != (P,) or given.dtype.kind not in "iu":
        raise InputError(
            f"lengths has shape {given.shape} and type {given.dtype}; pass one whole number for each of the {P} samples"
        )
    if (given < 1).any():
        row = int(np.argmax(given < 1))
        raise InputError(f"lengths holds {given[row]} at sample {row}; every sequence needs at least one step")
    return torch.from_numpy(np.minimum(given, steps).astype(np.int64))


def _padded_in_front(sequences: Tensor, lengths: Tensor) -> Tensor:
    """A power spectrum does not mind on which side the zeros are, and a final state is then that of the true last step."""
    steps = sequences.shape[1]
    place = torch.arange(steps) - (steps - lengths)[:, None]  # of each step in the original, (P, L)
    moved = torch.take_along_dim(sequences, place.clamp(min=0)[:, :, None], dim=1)
    return torch.where((place >= 0)[:, :, None], moved, torch.zeros_like(moved))
