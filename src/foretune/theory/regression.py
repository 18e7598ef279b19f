"""Kernel ridge regression itself, over many random training sets: what the theory is to predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import InputError
from .eigensystem import EPS, as_targets
from .kernel import as_response, as_samples, filtered
from .learning import as_sizes

__all__ = ["RegressionCurve", "kernel_regression_curve"]


@dataclass(frozen=True, eq=False)
class RegressionCurve:
    """Squared test errors against the noiseless target, summed over its components.

    Attributes:
        sizes: training set sizes `(S,)`.
        errors: one row for each random training set, `(repeats, S)`.
    """

    sizes: np.ndarray
    errors: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Over training sets, `(S,)`."""
        return self.errors.mean(0)

    @property
    def std(self) -> np.ndarray:
        """Standard deviation over training sets, `(S,)`; 0 for a single one."""
        return self.errors.std(0, ddof=1) if len(self.errors) > 1 else np.zeros(len(self.sizes))


def kernel_regression_curve(
    h: checks.Arrays,
    U: checks.Arrays,
    Y: checks.Arrays,
    *,
    sizes: Sequence[int] | np.ndarray,
    ridge: float = 0.0,
    noise: float = 0.0,
    repeats: int = 50,
    test_size: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> RegressionCurve:
    """Train on random subsets of the samples and test on others, by the cheaper of the P×P and the L×L system.

    Args:
        h: impulse response of the kernel.
        U: sequences `(N, L)`.
        Y: noiseless targets `(N,)` or `(N, d)`.
        sizes: training set sizes; those of one repeat are nested.
        ridge: λ of `(1/P) Σ ‖f(u) - Y‖² + λ ‖f‖²`. At 0, the solution of least norm.
        noise: variance of Gaussian noise on the training targets, summed over their components.
        repeats: random training sets.
        test_size: held-out samples in each repeat; all that the largest training set leaves, where it is not given.
        seed: of the subsets and of the noise.
        progress: called with (repeats done, repeats) after each.
    """
    samples = as_samples(U).cpu()
    targets = as_targets(Y, "Y", len(samples))
    order, place = np.unique(_whole(as_sizes(sizes)), return_inverse=True)
    held_out = len(samples) - order[-1] if test_size is None else test_size
    if held_out < 1 or held_out + order[-1] > len(samples):
        raise InputError(
            f"there are {len(samples)} samples, too few for {order[-1]} to train on and "
            f"{max(1, held_out)} to test on; pass smaller sizes"
        )
    if repeats < 1 or not (ridge >= 0 and noise >= 0):
        raise InputError(f"repeats is {repeats}, ridge {ridge} and noise {noise}; at least 1, 0 and 0")
    mapped = filtered(as_response(h).cpu(), samples) / math.sqrt(samples.shape[1])
    rng = np.random.default_rng(seed)
    errors = np.empty((repeats, len(order)))
    for repeat in range(repeats):
        places = torch.from_numpy(rng.permutation(len(samples)))
        train, test = places[: order[-1]], places[len(places) - held_out :]
        draw = rng.normal(0, math.sqrt(noise / targets.shape[1]), (len(train), targets.shape[1]))
        weights = _nested_weights(mapped[train], targets[train] + torch.from_numpy(draw), order.tolist(), ridge)
        missed = mapped[test] @ weights - targets[test].repeat(1, len(order))
        errors[repeat] = missed.square().mean(0).view(len(order), -1).sum(1).numpy()
        if progress is not None:
            progress(repeat + 1, repeats)
    return RegressionCurve(order[place], errors[:, place])


def _whole(sizes: np.ndarray) -> np.ndarray:
    whole = sizes.astype(int)
    if (whole != sizes).any():
        raise InputError(f"sizes hold {sizes[whole != sizes][0]}; training sets have whole numbers of samples")
    return whole


def _nested_weights(F: Tensor, Y: Tensor, sizes: list[int], ridge: float) -> Tensor:
    """Weights in feature space after each size, `(L, S·d)`."""
    length = F.shape[1]
    moment, cross, done = F.new_zeros(length, length), F.new_zeros(length, Y.shape[1]), 0
    columns = []
    for P in sizes:
        if length >= P:
            part = F[:P]
            columns.append(part.T @ _solve(part @ part.T, Y[:P], ridge * P))
            continue
        fresh = F[done:P]
        moment, cross, done = moment + fresh.T @ fresh, cross + fresh.T @ Y[done:P], P
        columns.append(_solve(moment, cross, ridge * P))
    return torch.cat(columns, dim=1)


def _solve(matrix: Tensor, right: Tensor, shift: float) -> Tensor:
    """`(matrix + shift)⁻¹ right`; the pseudo-inverse where that is singular."""
    if shift > 0:
        factor, failed = torch.linalg.cholesky_ex(
            matrix + shift * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
        )
        if not failed:
            return torch.cholesky_solve(right, factor)
    values, vectors = torch.linalg.eigh(matrix)
    kept = values > len(values) * EPS * values[-1]
    inverse = torch.where(kept, 1 / (values + shift), 0)
    return vectors @ (inverse[:, None] * (vectors.T @ right))
