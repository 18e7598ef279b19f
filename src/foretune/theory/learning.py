"""How fast kernel ridge regression learns a target, from the kernel's spectrum alone (Canatar et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from .. import checks
from ..errors import InputError

__all__ = ["as_sizes", "cumulative_power", "learning_curve"]

HALVINGS = 80  # of a bracket of at most some 1500 powers of e: down to rounding


def cumulative_power(
    target_power: checks.Arrays, eigenvalues: checks.Arrays | None = None, total: float | None = None
) -> np.ndarray:
    """`C(ρ)`: the share of the target's power in the first ρ modes, `(M,)` for ρ = 1..M.

    Args:
        target_power: squared weights `(M,)`.
        eigenvalues: of the same modes, to sort them by, largest first; without it they are in order already.
        total: the target's power, where some of it lies outside these modes; their sum where it is not given.
    """
    power = _nonnegative(target_power, "target_power")
    if eigenvalues is not None:
        power = power[np.argsort(-_same_modes(eigenvalues, power), kind="stable")]
    sums = np.cumsum(power)
    whole = sums[-1] if total is None else float(total)
    if not whole > 0:
        raise InputError(f"the target's power is {whole}; a target that is 0 everywhere has no cumulative power")
    return sums / whole


def learning_curve(
    eigenvalues: checks.Arrays,
    target_power: checks.Arrays,
    *,
    sizes: Sequence[int] | np.ndarray,
    ridge: float = 0.0,
    noise: float = 0.0,
    offset: float = 0.0,
) -> np.ndarray:
    """The expected squared error `E_g(P)` against the noiseless target after P samples, one value for each size.

    The regression minimizes `(1/P) Σ_μ ‖f(u_μ) - Y_μ‖² + ridge ‖f‖²`, so the Gram matrix gets `ridge · P` on its
    diagonal. With `L_ρ = η_ρ / (η_ρ + κ)`, the self-consistent κ solves `P = Σ_ρ L_ρ + P ridge / κ`, and

        E_g = (Σ_ρ (1 - L_ρ)² w̄²_ρ + γ noise) / (1 - γ) + offset,    γ = Σ_ρ L_ρ² / P.

    Without ridge, κ is 0 once P reaches the number of nonzero eigenvalues; at that very P the error is infinite unless
    there is nothing to overfit.

    Args:
        eigenvalues: η `(M,)` in any order; repeated ones and 0 are allowed.
        target_power: squared target weights w̄² `(M,)`. Power on a mode with η = 0 cannot be learned.
        sizes: numbers of training samples, each at least 1.
        ridge: λ as above.
        noise: variance of the label noise, summed over the target's components.
        offset: added to the curve: power that lies in the empirical tail, outside the modes given. To the regression
            such a tail t is also noise, and `noise=t, offset=t` is the same as a mode with eigenvalue 0 and power t.
    """
    eta, power = _nonnegative(eigenvalues, "eigenvalues"), _nonnegative(target_power, "target_power")
    _same_modes(eta, power)
    P = as_sizes(sizes)
    for name, value in (("ridge", ridge), ("noise", noise), ("offset", offset)):
        if not (np.isfinite(value) and value >= 0):
            raise InputError(f"{name} is {value}; it must be finite and at least 0")
    scale = eta.max() or 1.0
    return np.array([_error(eta / scale, power, size, ridge / scale, noise) for size in P]) + offset


def _error(eta: np.ndarray, power: np.ndarray, P: float, ridge: float, noise: float) -> float:
    kappa = _effective_ridge(eta, P, ridge)
    if kappa == 0:
        learned = (eta > 0).astype(float)
        missed, slack = 1 - learned, 1 - learned.sum() / P
    else:
        learned, missed = eta / (eta + kappa), kappa / (eta + kappa)
        slack = (ridge / kappa) + (learned * missed).sum() / P  # 1 - γ, without cancellation
    error = (missed**2 * power).sum() + (learned**2).sum() / P * noise
    if slack == 0:
        return 0.0 if error == 0 else np.inf
    return float(error / slack)


def _effective_ridge(eta: np.ndarray, P: float, ridge: float) -> float:
    """κ of `P = Σ η/(η+κ) + P ridge/κ`, whose right side falls as κ grows; for η of at most 1."""
    positive = eta[eta > 0]
    if ridge == 0 and len(positive) <= P:
        return 0.0
    high = ridge + positive.sum() / P
    low = ridge if ridge > 0 else positive.min() * (len(positive) - P) / P
    low, high = np.log(max(low, np.finfo(float).tiny)), np.log(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        kappa = np.exp(middle)
        if (positive / (positive + kappa)).sum() + P * (ridge / kappa) > P:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def as_sizes(sizes: Any) -> np.ndarray:
    """Training set sizes as float64 `(S,)`, each at least 1."""
    try:
        values = np.atleast_1d(np.asarray(sizes, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"sizes are {sizes!r}; pass a list of training set sizes, each at least 1") from error
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 1).any():
        raise InputError(f"sizes are {sizes}; pass a list of training set sizes, each at least 1")
    return values


def _nonnegative(values: Any, name: str) -> np.ndarray:
    array = values if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise InputError(f"{name} has shape {tuple(array.shape)}; pass one value for each mode")
    clean = checks.as_batch(array[None], name)[0, :, 0].cpu().numpy()
    if (clean < 0).any():
        raise InputError(f"{name} holds {clean.min()}; every value must be at least 0")
    return clean


def _same_modes(eigenvalues: Any, power: np.ndarray) -> np.ndarray:
    eta = _nonnegative(eigenvalues, "eigenvalues")
    if len(eta) != len(power):
        raise InputError(f"there are {len(eta)} eigenvalues but {len(power)} target powers; pass one of each per mode")
    return eta
