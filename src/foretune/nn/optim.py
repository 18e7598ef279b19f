"""Optimizer groups: SSM parameters want a rate of their own and no weight decay."""

from __future__ import annotations

from typing import Any

from torch import nn

from ..init.adapters import find_layers

__all__ = ["parameter_groups"]


def parameter_groups(
    module: nn.Module, lr: float, weight_decay: float = 0.0, ssm_lr: float | None = None
) -> list[dict[str, Any]]:
    """Groups for a torch optimizer: everything else, and the parameters of every state-space layer.

    SSM parameters get `ssm_lr` (by default `lr`, at most 1e-3) and no weight decay, which would pull the time steps,
    frequencies and gains away from where they were put. Hints that a layer left on a parameter (`_optim`, as the s4
    repository does) are respected. Frozen parameters are left out; a parameter used twice is listed once.
    """
    rate = min(lr, 1e-3) if ssm_lr is None else ssm_lr
    ssm = {id(tensor) for layer in find_layers(module) for tensor in layer.tensors().values()}
    groups: dict[tuple[str, float, float], list[nn.Parameter]] = {}
    for parameter in module.parameters():
        if not parameter.requires_grad:
            continue
        name, group_lr, decay = ("ssm", rate, 0.0) if id(parameter) in ssm else ("model", lr, weight_decay)
        hints = getattr(parameter, "_optim", {})
        own_lr = group_lr if name == "ssm" and ssm_lr is not None else hints.get("lr", group_lr)
        key = (name, own_lr, hints.get("weight_decay", decay))
        groups.setdefault(key, []).append(parameter)
    return [
        {"params": parameters, "lr": group_lr, "weight_decay": decay, "name": name}
        for (name, group_lr, decay), parameters in groups.items()
    ]
