"""How far our layer is from the s4 repository's, weights copied over: `FORETUNE_S4_REPO=… python -m bench.equality`.

Compared are the output and the gradients of the input and of every parameter, each as the largest deviation relative to
the largest value. Their layer in float64 counts as exact; both sides in float32 are held against it.
"""

import logging
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.func import functional_call

from foretune.nn import S4D

__all__ = ["Pair", "deviations", "full_pair", "minimal_pair"]

VARIABLE = "FORETUNE_S4_REPO"
Parameters = Mapping[str, Tensor]


@dataclass(frozen=True)
class Pair:
    """Their layer and ours, both as functions of their layer's parameters and the input `(B, H, L)`."""

    name: str
    parameters: Parameters
    theirs: Callable[[Parameters, Tensor], Tensor]
    ours: Callable[[Parameters, Tensor], Tensor]


def minimal_pair(root: Path, heads: int, state: int = 64) -> Pair:
    """The standalone layer, `models/s4/s4d.py`: the parameters have the same names on both sides."""
    layer = _run(root / "models/s4/s4d.py")["S4D"](heads, d_state=state)
    return _pair("standalone layer", layer, S4D(heads, state), lambda p: p)


def full_pair(root: Path, heads: int, state: int = 64, n_ssm: int | None = None) -> Pair:
    """The full block, `models/s4/s4.py`, with its diagonal kernel and gated output."""
    kernel = {"mode": "diag", "init": "diag-lin", "d_state": state, "n_ssm": n_ssm}
    layer = _run(root / "models/s4/s4.py")["S4Block"](heads, **kernel)
    with torch.no_grad():
        layer.layer.kernel.B.add_(0.3 * torch.randn_like(layer.layer.kernel.B))  # a B of 1 would hide its part
    return _pair(f"full layer, n_ssm = {n_ssm or heads}", layer, S4D(heads, state, n_ssm=n_ssm), _from_full)


def _from_full(full: Parameters) -> dict[str, Tensor]:
    """Our parameters as functions of the full layer's: A = -exp(A_real) - i A_imag, and B goes into C."""
    B, C = (torch.view_as_complex(full[f"layer.kernel.{name}"])[0] for name in ("B", "C"))
    return {
        "kernel.log_dt": full["layer.kernel.inv_dt"][:, 0],
        "kernel.log_A_real": full["layer.kernel.A_real"],
        "kernel.A_imag": -full["layer.kernel.A_imag"],
        "kernel.C": torch.view_as_real(B.repeat(len(C) // len(B), 1) * C),
        "D": full["layer.D"][0],
        "output_linear.0.weight": full["output_linear.0.weight"].unsqueeze(-1),
        "output_linear.0.bias": full["output_linear.0.bias"],
    }


def _pair(name: str, layer: nn.Module, own: S4D, translate: Callable[[Parameters], Parameters]) -> Pair:
    parameters = {key: value.detach().clone() for key, value in layer.named_parameters()}
    return Pair(
        name,
        parameters,
        lambda p, u: functional_call(layer, dict(p), (u,))[0],
        lambda p, u: functional_call(own, dict(translate(p)), (u,)),
    )


def deviations(pair: Pair, u: Tensor) -> dict[str, dict[str, float]]:
    """By tensor: ours in float64 and float32, and theirs in float32, from theirs in float64."""
    weight = torch.randn_like(u)
    exact = _values(pair.theirs, pair.parameters, u, weight, torch.float64)
    sides = {
        "ours, float64": _values(pair.ours, pair.parameters, u, weight, torch.float64),
        "ours, float32": _values(pair.ours, pair.parameters, u, weight, torch.float32),
        "theirs, float32": _values(pair.theirs, pair.parameters, u, weight, torch.float32),
    }
    return {
        name: {
            side: float((found[name].double() - value).abs().max() / value.abs().max()) for side, found in sides.items()
        }
        for name, value in exact.items()
    }


def _values(
    layer: Callable[[Parameters, Tensor], Tensor], parameters: Parameters, u: Tensor, weight: Tensor, dtype: torch.dtype
) -> dict[str, Tensor]:
    """The output, and the gradients of a random combination of it."""
    own = {name: value.to(dtype).requires_grad_() for name, value in parameters.items()}
    inputs = u.to(dtype, copy=True).requires_grad_()
    y = layer(own, inputs)
    gradients = torch.autograd.grad((y * weight.to(dtype)).sum(), [inputs, *own.values()])
    names = ["output", "gradient of the input", *(f"gradient of {name}" for name in own)]
    return dict(zip(names, [y.detach(), *gradients], strict=True))


def _run(path: Path) -> dict[str, Any]:
    """The names a file of the s4 repository defines; what it imports only for logging and dropout is stood in for."""
    space: dict[str, Any] = {"__name__": path.stem}
    with _stand_ins(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escape sequences in their strings
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    return space


@contextmanager
def _stand_ins() -> Iterator[None]:
    names = ("src", "src.models", "src.models.nn", "pytorch_lightning", "pytorch_lightning.utilities")
    before = {name: sys.modules.get(name) for name in names}
    made = {name: types.ModuleType(name) for name in names}
    made["src.models.nn"].DropoutNd = nn.Dropout1d  # type: ignore[attr-defined]
    made["pytorch_lightning.utilities"].rank_zero_only = lambda function: function  # type: ignore[attr-defined]
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def main() -> int:
    if VARIABLE not in os.environ:
        print(f"set {VARIABLE} to a checkout of github.com/state-spaces/s4")
        return 2
    logging.disable()  # theirs tells of extensions that are not installed
    root = Path(os.environ[VARIABLE])
    torch.manual_seed(0)
    pairs = [minimal_pair(root, 64), full_pair(root, 64), full_pair(root, 64, n_ssm=1)]
    worst: dict[str, float] = {}
    for pair in pairs:
        found = deviations(pair, torch.randn(4, 64, 1000))
        table = Table("largest relative deviation", *found["output"], title=pair.name)
        for name, sides in found.items():
            table.add_row(name, *(f"{value:.1e}" for value in sides.values()))
            for side, value in sides.items():
                what = f"{'forward' if name == 'output' else 'backward'}, {side}"
                worst[what] = max(value, worst.get(what, 0.0))
        Console(width=110).print(table)
    for what, value in worst.items():
        print(f"{what}: at most {value:.1e}")
    return 0 if worst["backward, ours, float64"] <= 1e-9 and worst["forward, ours, float32"] <= 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
