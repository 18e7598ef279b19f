"""What every entrance of the library asks of its input. Pure functions: they return clean arrays or raise InputError."""

import math
import operator
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .errors import InputError

__all__ = ["as_batch", "as_length", "as_real_targets", "as_sequences", "code_labels", "is_real_target", "same_length"]

Arrays = np.ndarray | Tensor | Sequence[Any]


def as_sequences(X: Arrays, name: str = "X") -> Tensor:
    """`X` as a real tensor `(P, L, C)` on its own device; one channel where the input is `(P, L)`."""
    tensor = X if isinstance(X, Tensor) else torch.from_numpy(_numeric(X, name))
    if tensor.ndim not in (2, 3):
        raise InputError(
            f"{name} has shape {tuple(tensor.shape)}; pass (samples, length) or (samples, length, channels)"
        )
    if tensor.is_complex():
        raise InputError(f"{name} is complex ({tensor.dtype}); pass real sequences")
    if 0 in tensor.shape:
        raise InputError(f"{name} has shape {tuple(tensor.shape)}, so it holds no values; pass at least one")
    return tensor.unsqueeze(-1) if tensor.ndim == 2 else tensor


def as_batch(X: Arrays, name: str = "X", first: int = 0) -> Tensor:
    """Like `as_sequences`, in float64 and with every value finite; `first` is the number of its first sample."""
    tensor = as_sequences(X, name).detach().to(torch.float64)
    # A sum is finite only if every term is, and costs one pass without a temporary of the input's size.
    if not torch.isfinite(tensor.sum()) and not torch.isfinite(tensor).all():
        place = tuple(int(i) for i in (~torch.isfinite(tensor)).nonzero()[0])
        raise InputError(
            f"{name} holds {tensor[place].item()} at sample {first + place[0]}, step {place[1]}, channel {place[2]}; "
            "remove or impute missing values first"
        )
    return tensor


def as_length(length: Any, name: str = "length") -> int:
    """A sequence length: a whole number of at least 1."""
    try:
        whole = operator.index(length)
    except TypeError:
        whole = 0
    if isinstance(length, bool) or whole < 1:
        raise InputError(f"{name} is {length!r}; pass the sequence length, a whole number of at least 1")
    return whole


def same_length(X: Tensor, y: Any) -> None:
    """Refuse targets that do not belong to these sequences."""
    if not hasattr(y, "__len__"):
        raise InputError(f"y is {y!r}; pass one target for each sample")
    if len(y) != len(X):
        raise InputError(f"X has {len(X)} samples but y has {len(y)}; pass one target for each sample")


def is_real_target(y: Any) -> bool:
    """Whether `y` means real targets: two-dimensional, or floats that are not whole numbers."""
    values = _to_numpy(y)
    if values.ndim == 2:
        return values.dtype.kind == "f" or not _is_one_hot(values)
    return values.dtype.kind == "f" and bool(np.any(np.isfinite(values) & (values != np.floor(values))))


def as_real_targets(y: Any) -> np.ndarray:
    """`y` as finite float64 `(P, d)`."""
    values = _numeric(_to_numpy(y), "y")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(f"y has shape {values.shape}; pass targets of shape (samples,) or (samples, d)")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        raise InputError(f"y holds {values[row]} at sample {row}; remove samples without a target first")
    return values


def code_labels(y: Any, known: dict[Hashable, int], closed: bool = False) -> np.ndarray:
    """Labels as integers `0..d-1` by the table `known`, which grows unless it is `closed`."""
    values = _to_numpy(y)
    if values.ndim == 2 and _is_one_hot(values):
        values = values.argmax(axis=1)
    if values.ndim != 1:
        raise InputError(f"y has shape {values.shape}; pass one label for each sample, or one-hot rows")
    if values.dtype == object:
        labels, inverse = list(values), np.arange(len(values))
    else:
        unique, inverse = np.unique(values, return_inverse=True)
        labels = unique.tolist()
    return np.array([_code(label, known, closed) for label in labels], dtype=np.int64)[inverse]


def _code(label: Any, known: dict[Hashable, int], closed: bool) -> int:
    if label is None or (isinstance(label, float) and math.isnan(label)):
        raise InputError(f"y holds the label {label!r}; remove samples without a label first")
    try:
        code = known.get(label)
    except TypeError as error:
        raise InputError(f"label {label!r} is not hashable; use strings or numbers as labels") from error
    if code is None and closed:
        raise InputError(f"label {label!r} is not among the given classes {list(known)[:10]}; add it there")
    return known.setdefault(label, len(known))


def _is_one_hot(values: np.ndarray) -> bool:
    return bool(np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all())


def _to_numpy(y: Any) -> np.ndarray:
    if isinstance(y, Tensor):
        return y.detach().cpu().float().numpy() if y.is_floating_point() else y.detach().cpu().numpy()
    if isinstance(y, np.ndarray):
        return y
    if not isinstance(y, Iterable):
        raise InputError(f"y is {y!r}; pass one target for each sample")
    items = list(y)
    shapes = {np.shape(item) if isinstance(item, list | np.ndarray) else type(item) for item in items}
    if len(shapes) > 1 or (items and isinstance(items[0], tuple)):
        mixed = np.empty(len(items), dtype=object)  # numpy would turn [1, "a"] into two strings
        mixed[:] = items
        return mixed
    return np.asarray(items)


def _numeric(X: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"{name} is ragged: its sequences differ in length; pad or cut them first") from error
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} holds {_first_odd(array)!r}; pass equally long sequences of numbers") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has the type {array.dtype}; pass numbers")
    if array.dtype.kind == "u" or array.dtype == np.longdouble or not array.dtype.isnative:
        array = array.astype(np.float64)
    return array if all(stride >= 0 for stride in array.strides) else array.copy()


def _first_odd(array: np.ndarray) -> Any:
    for item in array.flat:
        try:
            float(item)
        except (TypeError, ValueError):
            text = repr(item)
            return item if len(text) < 60 else text[:60] + "…"
    return array.dtype
