"""The precision that complex arithmetic and FFTs want: of the values of parameter sets, and inside of autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError

__all__ = ["as_complex", "as_omega", "as_real", "full_precision"]


def as_real(value: Any, name: str) -> Tensor:
    """A real tensor in float32 or float64, from a tensor, an array or numbers."""
    tensor = _tensor(value, name)
    if tensor.is_complex():
        raise InputError(f"{name} is complex ({tensor.dtype}); pass real values")
    return _wide(tensor)


def as_complex(value: Any, name: str) -> Tensor:
    """A complex tensor in single or double precision, from a tensor, an array or numbers."""
    tensor = _tensor(value, name)
    if tensor.dtype == torch.complex32:
        return tensor.to(torch.complex64)
    return tensor if tensor.is_complex() else (wide := _wide(tensor)).to(wide.dtype.to_complex())


def as_omega(omega: Any, like: Tensor) -> Tensor:
    """Frequencies in radians per step as `(K,)`, of the precision and on the device of the real tensor `like`."""
    values = as_real(omega, "omega").to(like)
    if values.ndim > 1 or not torch.isfinite(values).all():
        raise InputError(f"omega has shape {tuple(values.shape)} or is not finite; pass finite frequencies (K,)")
    return values.reshape(-1)


def full_precision(like: Tensor) -> AbstractContextManager[Any]:
    """Keep autocast from doing the products of this tensor's device in half precision, which FFTs then refuse."""
    kind = like.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.autocast(kind, enabled=False)
    return nullcontext()


def _tensor(value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        tensor = value
    else:
        try:
            tensor = torch.from_numpy(np.array(value))  # a copy: what is read-only or reversed is no tensor
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} is {value!r}; pass numbers, as a tensor or an array") from error
    if tensor.is_meta:
        raise InputError(f"{name} is on the meta device, so it holds no values; move it to a real device first")
    return tensor


def _wide(tensor: Tensor) -> Tensor:
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)
