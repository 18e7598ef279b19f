"""The SSM-induced kernel `K(u, u') = (T_h u)·(T_h u') / L`: filter both sequences, then take their inner product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import InputError
from ..ssm.convolution import causal_convolution

__all__ = [
    "SSMKernel",
    "as_like",
    "as_response",
    "as_samples",
    "features",
    "filtered",
    "gram",
    "ssm_kernel",
    "toeplitz",
]

Array = TypeVar("Array", np.ndarray, Tensor)

SHORT = 1024  # up to this length one product with T_h is faster than transforms, and T_h is small
BLOCK = 1 << 20  # values in flight at once in the transforms


def ssm_kernel(h: checks.Arrays) -> SSMKernel:
    """The kernel that the impulse response `h` `(L,)` induces, as a function of two sequences or two sets of them."""
    return SSMKernel(as_response(h))


@dataclass(frozen=True, eq=False)
class SSMKernel:
    """`K(u, v)` for sequences `(L,)`, the matrix of all pairs for `(P, L)` and `(Q, L)`."""

    h: Tensor

    def __call__(self, U: Array, V: Array | None = None) -> Any:
        """A number for two sequences, otherwise an array of the type of `U`, with an axis for each set."""
        sides = (side if isinstance(side, Tensor) else np.asarray(side) for side in (U, U if V is None else V))
        left, right = (side if side.ndim > 1 else side[None] for side in sides)
        matrix: Any = gram(self.h, left, right)
        if np.ndim(U) == 1:
            matrix = matrix[0]
        if np.ndim(U if V is None else V) == 1:
            matrix = matrix[..., 0]
        return float(matrix) if matrix.ndim == 0 else matrix


def features(h: checks.Arrays, U: Array) -> Array:
    """`Φ(u) = T_h u / √L` of each sequence `(P, L)`, an array of the same type."""
    samples = as_samples(U)
    return as_like(filtered(as_response(h), samples) / math.sqrt(samples.shape[1]), U)


def gram(h: checks.Arrays, U: Array, V: Array | None = None) -> Array:
    """The kernel between all pairs, `(P, Q)`; `V` is `U` where it is not given.

    Args:
        h: impulse response. Values beyond the sequence length do not matter; a shorter one is taken to end there.
        U: sequences `(P, L)`, numpy or torch, which decides the type of the answer.
        V: sequences `(Q, L)`.
    """
    response, left = as_response(h), as_samples(U)
    mapped = filtered(response, left)
    other = mapped if V is None else filtered(response, as_samples(V, "V", left.shape[1]).to(left.device))
    return as_like(mapped @ other.T / left.shape[1], U)


def toeplitz(h: Array, L: int | None = None) -> Array:
    """The lower-triangular `(L, L)` matrix `T_h`; L is the length of `h` where it is not given."""
    response = as_response(h)
    return as_like(toeplitz_matrix(response, len(response) if L is None else checks.as_length(L, "L")), h)


def toeplitz_matrix(response: Tensor, L: int) -> Tensor:
    """The same, tensor to tensor."""
    padded = torch.nn.functional.pad(fitted(response, L), (L - 1, 0))
    return padded.unfold(0, L, 1).flip(1).contiguous()


def filtered(response: Tensor, samples: Tensor) -> Tensor:
    """`T_h u` of each row of float64 `(P, L)`."""
    L = samples.shape[1]
    response = fitted(response, L).to(samples.device)
    if L <= SHORT and len(samples) >= L:
        return samples @ toeplitz_matrix(response, L).T
    rows = max(1, BLOCK // (2 * L))
    out = torch.empty_like(samples)
    for start in range(0, len(samples), rows):
        out[start : start + rows] = causal_convolution(samples[start : start + rows], response)
    return out


def fitted(response: Tensor, L: int) -> Tensor:
    """The first L values of a response, which is 0 after its end."""
    return torch.nn.functional.pad(response, (0, max(0, L - len(response))))[:L]


def as_response(h: Any) -> Tensor:
    """`h` as float64 `(L,)`, all finite."""
    rows = h if isinstance(h, Tensor) else np.asarray(h)
    if rows.ndim == 1:
        rows = rows[None]
    if rows.ndim != 2 or len(rows) != 1:
        raise InputError(
            f"h has shape {tuple(rows.shape)}; pass the impulse response (L,) of one head, such as "
            "ssm.impulse_response(L)[0]"
        )
    return checks.as_batch(rows, "h")[0, :, 0]


def as_samples(U: Any, name: str = "U", length: int | None = None) -> Tensor:
    """Sequences as float64 `(P, L)`, all finite."""
    samples = checks.as_batch(U, name)
    if samples.shape[2] != 1:
        raise InputError(f"{name} has shape {tuple(samples.shape)}; the kernel takes one channel: (samples, length)")
    if length is not None and samples.shape[1] != length:
        raise InputError(f"{name} has sequences of length {samples.shape[1]}, not {length}; make them equally long")
    return samples[:, :, 0]


def as_like(result: Tensor, given: Any) -> Any:
    """A tensor where the caller gave one, otherwise numpy."""
    return result if isinstance(given, Tensor) else result.cpu().numpy()
