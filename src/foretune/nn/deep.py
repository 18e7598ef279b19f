"""The paper's deep model: an encoder, residual S4D blocks, pooling over time and a linear decoder (appendix E.4)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..ssm.defaults import Steps
from .s4d import S4D

__all__ = ["DeepS4D"]

Norm = Literal["batch", "layer"]
Pool = Literal["mean", "last"]


class DeepS4D(nn.Module):
    """A classifier of sequences.

    The first layer has modes of its own in every head, the others share one set of modes between their heads, in every
    arm of the paper: so each arm has as many parameters.

    Args:
        classes: outputs.
        d_model: heads H.
        depth: blocks.
        d_state: states N of each head, counting conjugates.
        channels: inputs at each step, for real sequences.
        vocabulary: number of tokens, for sequences of tokens; channels is not used then.
        norm: `"batch"` or `"layer"` normalization over the heads.
        prenorm: normalize what enters a block, and once at the end, instead of what leaves it.
        dropout: its probability, in the layer and on what the residual adds.
        dt: smallest and largest default time step.
        pool: `"mean"` over time or the `"last"` step; both heed `lengths`.
    """

    def __init__(
        self,
        classes: int,
        d_model: int = 256,
        depth: int = 4,
        d_state: int = 64,
        *,
        channels: int = 1,
        vocabulary: int | None = None,
        norm: Norm = "layer",
        prenorm: bool = False,
        dropout: float = 0.0,
        dt: Steps = (1e-3, 1e-1),
        pool: Pool = "mean",
    ) -> None:
        super().__init__()
        if min(classes, d_model, depth, channels) < 1:
            raise InputError(
                f"classes, d_model, depth and channels are {(classes, d_model, depth, channels)}; each must be at least 1"
            )
        if norm not in get_args(Norm) or pool not in get_args(Pool):
            raise InputError(f"norm is {norm!r} and pool {pool!r}; use {get_args(Norm)} and {get_args(Pool)}")
        self.pool = pool
        self.tokens = vocabulary is not None
        self.encoder = nn.Linear(channels, d_model) if vocabulary is None else nn.Embedding(vocabulary, d_model)
        layers = (S4D(d_model, d_state, dropout, dt, n_ssm=None if i == 0 else 1) for i in range(depth))
        self.blocks = nn.ModuleList(_Block(layer, _norm(norm, d_model), prenorm, dropout) for layer in layers)
        self.norm = _norm(norm, d_model) if prenorm else nn.Identity()
        self.decoder = nn.Linear(d_model, classes)

    def forward(self, u: Tensor, lengths: Tensor | None = None) -> Tensor:
        """`(B, L)`, `(B, L, channels)` or tokens `(B, L)` to `(B, classes)`; steps from `lengths` on are padding."""
        x = self.encode(u)
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.decoder(self._pooled(self.norm(x), lengths))
        return scores

    def encode(self, u: Tensor) -> Tensor:
        """What the first layer hears, `(B, H, L)`."""
        if not self.tokens and u.ndim == 2:
            u = u.unsqueeze(-1)
        if u.ndim != (2 if self.tokens else 3) or u.shape[1] == 0:
            raise InputError(f"u has shape {tuple(u.shape)}; pass (batch, length) or (batch, length, channels)")
        heard: Tensor = self.encoder(u.long() if self.tokens else u).transpose(1, 2)
        return heard

    @property
    def layers(self) -> list[S4D]:
        """The state-space layers, first to last."""
        return [block.layer for block in self._blocks()]

    @property
    def linear_input(self) -> bool:
        """Whether each head of the first layer hears one real channel, scaled and shifted."""
        first = self._blocks()[0]
        mixed = first.prenorm and isinstance(first.norm, nn.LayerNorm)
        return isinstance(self.encoder, nn.Linear) and self.encoder.in_features == 1 and not mixed

    def _blocks(self) -> list[_Block]:
        return [block for block in self.blocks if isinstance(block, _Block)]

    @torch.no_grad()
    def heard(self, u: Tensor, lengths: Tensor | None = None, position: int = 0) -> Tensor:
        """What the layer at a position hears of these inputs in training, but for dropout: `(B, H, L)`.

        Batch normalization goes by this batch, as in training, and remembers nothing of it. Steps from `lengths` on,
        which are padding, are 0.
        """
        with _as_in_training(self):
            x = self.encode(u)
            for block in self._blocks()[:position]:
                x = block(x)
            x = self._blocks()[position].before(x)
        return x if lengths is None else x * _within(x, lengths).unsqueeze(1)

    def _pooled(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """`(B, H, L)` to `(B, H)`."""
        if lengths is None:
            return x.mean(-1) if self.pool == "mean" else x[..., -1]
        if lengths.shape != x.shape[:1] or not ((lengths >= 1) & (lengths <= x.shape[-1])).all():
            raise InputError(f"lengths must hold one number from 1 to {x.shape[-1]} for each of {len(x)} sequences")
        if self.pool == "last":
            return x.gather(-1, (lengths - 1).view(-1, 1, 1).expand(-1, x.shape[1], 1)).squeeze(-1)
        return (x * _within(x, lengths).unsqueeze(1)).sum(-1) / lengths.unsqueeze(-1)


class _Block(nn.Module):
    """`x + dropout(S4D(x))`, normalized before or after."""

    def __init__(self, layer: S4D, norm: nn.Module, prenorm: bool, dropout: float) -> None:
        super().__init__()
        self.layer, self.norm, self.prenorm = layer, norm, prenorm
        self.drop = nn.Dropout(dropout) if dropout > 0 else nn.Identity()

    def before(self, x: Tensor) -> Tensor:
        """What the layer hears."""
        heard: Tensor = self.norm(x) if self.prenorm else x
        return heard

    def forward(self, x: Tensor) -> Tensor:
        y = self.drop(self.layer(self.before(x))) + x
        return y if self.prenorm else self.norm(y)


class _HeadNorm(nn.LayerNorm):
    """Layer normalization over the heads of `(B, H, L)`."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.transpose(1, 2)).transpose(1, 2)


def _within(x: Tensor, lengths: Tensor) -> Tensor:
    """Which steps of `(B, H, L)` are no padding, `(B, L)`."""
    return torch.arange(x.shape[-1], device=x.device) < lengths.unsqueeze(-1)


@contextmanager
def _as_in_training(model: nn.Module) -> Iterator[None]:
    """Normalize by the batch without keeping its statistics, and drop nothing."""
    modes = [(module, module.training) for module in model.modules()]
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm1d)]
    model.eval()
    for norm in norms:
        norm.training, norm.track_running_stats = True, False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True
        for module, mode in modes:
            module.training = mode


def _norm(kind: Norm, d_model: int) -> nn.Module:
    return nn.BatchNorm1d(d_model) if kind == "batch" else _HeadNorm(d_model)
