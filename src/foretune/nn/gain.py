"""How loud a state is at the start, apart from where it listens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import InputError
from ..init.apply import remark
from .one_layer import LinearSSM
from .s4d import S4D

__all__ = ["mode_factors", "unit_output_", "unit_state_"]

CHUNK = 1024  # samples at once
COUPLED = 1e-6  # largest entry of the recurrence outside the blocks, for modes to count as separate


def unit_state_(model: LinearSSM, X: Any, floor: float = 1e-2) -> Tensor:
    """Scale `W_in` in place so that each mode of the final state has unit variance on the sequences `X`.

    A mode is a pair of states, and its variance is measured with `floor` times the mean variance on top, so that modes
    that hear next to nothing are not blown up; then all are scaled to a mean variance of 1. What `initialize_` wrote
    counts as kept, since only its gain was changed.

    Returns:
        The factor of each state, `(N,)`.
    """
    if not isinstance(model, LinearSSM):
        raise InputError(f"model is a {type(model).__name__}; only LinearSSM and ContractiveSSM have modes with gains")
    inputs = torch.as_tensor(X)
    if inputs.ndim == 0 or len(inputs) < 2:
        raise InputError(f"X has shape {tuple(inputs.shape)}; a variance takes at least two")
    with torch.no_grad():
        _check_separate(model.transition())
        states = torch.cat([model.final_state(part.to(model.W_in)) for part in inputs.split(CHUNK)])
        factor = mode_factors(states.double().var(0), floor).to(model.W_in)
        model.W_in.mul_(factor)
    remark(model)
    return factor


def _check_separate(W: Tensor) -> None:
    pairs = torch.block_diag(*torch.ones(len(W) // 2, 2, 2, device=W.device)).bool()
    if len(W) % 2 or W[~pairs].abs().max() > COUPLED:
        raise InputError("the recurrence couples its modes, so none has a gain of its own; set gains before training")


def mode_factors(variance: Tensor, floor: float) -> Tensor:
    """What to multiply each state with for modes of unit variance (see `unit_state_`), from the variances `(N,)`."""
    by_mode = variance.unflatten(0, (-1, 2)).mean(1).repeat_interleave(2)
    mean = by_mode.mean()
    if not 0 < float(mean) < float("inf"):
        raise InputError(f"the final state has a variance of {float(mean)}, so no gain makes it 1; check X")
    factor = (by_mode + floor * mean).rsqrt()
    return factor * (by_mode * factor.square()).mean().rsqrt()


@torch.no_grad()
def unit_output_(
    layer: S4D,
    batches: Iterable[Tensor | tuple[Tensor, Tensor | None]],
    per: Literal["layer", "head"] = "layer",
    level: float = 1.0,
) -> Tensor:
    """Scale `C` in place so that what the SSM adds to its skip has unit variance on the inputs `(B, H, L)`.

    Per layer, one factor gives the heads a mean variance of 1 and keeps how loud they are beside each other; per head,
    each gets a variance of 1, also one that hears next to nothing. Another `level` is the standard deviation to reach.

    A batch may come with the lengths of its sequences; the steps beyond them do not count.

    Returns:
        The factor of each head, `(H,)`.
    """
    if per not in ("layer", "head"):
        raise InputError(f"per is {per!r}; use 'layer' or 'head'")
    if not 0 < level < float("inf"):
        raise InputError(f"level is {level}; pass a standard deviation above 0")
    count, total = 0, torch.zeros_like(layer.D, dtype=torch.float64)
    squares = total.clone()
    for batch in batches:
        inputs, lengths = (batch, None) if isinstance(batch, Tensor) else batch
        y = (layer.convolve(inputs) - layer.D.unsqueeze(-1) * inputs).double()
        if lengths is not None:
            y = y * (torch.arange(y.shape[-1], device=y.device) < lengths.view(-1, 1, 1))
        count += y.shape[0] * y.shape[-1] if lengths is None else int(lengths.sum())
        total, squares = total + y.sum((0, 2)), squares + y.square().sum((0, 2))
    if count < 2:
        raise InputError(f"the inputs have {count} values for each head; a variance takes at least two")
    variance = squares / count - (total / count).square()
    if not (torch.isfinite(variance) & (variance > 0)).all():
        raise InputError(f"a head's output has a variance of {float(variance.min())}, so no gain makes it 1; check X")
    if per == "layer":
        variance = variance.mean().expand_as(variance)
    factor = (level * variance.rsqrt()).to(layer.kernel.C)
    layer.kernel.C.mul_(factor.view(-1, 1, 1))
    remark(layer)
    return factor
