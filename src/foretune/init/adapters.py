"""Other people's layers seen as parameter sets: which parameters hold the SSM, how to read them and how to write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

from ..errors import InputError, UnknownLayer
from ..ssm import DiagonalSSM, RealSSM

__all__ = ["Adapter", "Layer", "Layers", "Parameters", "choose", "find_layers", "register_adapter"]

Parameters = DiagonalSSM | RealSSM
Layers = Literal["first", "all"] | Sequence[int]


@dataclass(frozen=True)
class Adapter:
    """How foretune reads and writes one kind of layer.

    Args:
        read: the layer's parameters as a `DiagonalSSM` or `RealSSM`, in float32 or better.
        write: put such a set into the layer in place, keeping the tensors.
        names: which of the layer's own parameters or buffers hold it; by default all of them.
        joint: the layer has several inputs and outputs, so its output weights can only be scaled mode by mode.
    """

    read: Callable[[Any], Parameters]
    write: Callable[[Any, Any], None]
    names: tuple[str, ...] = ()
    joint: bool = False


@dataclass(frozen=True)
class Layer:
    """A state-space layer found in a module, with its path there."""

    name: str
    module: nn.Module
    adapter: Adapter

    def read(self) -> Parameters:
        return self.adapter.read(self.module)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that hold the SSM, by name; `getattr` also finds them in the replicas of DataParallel."""
        own = [*self.module._parameters, *self.module._buffers]
        wanted = self.adapter.names or own
        found = {name: getattr(self.module, name, None) for name in wanted}
        return {name: tensor for name, tensor in found.items() if isinstance(tensor, Tensor)}

    def path(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name


# Newest first: a registered adapter comes before the built-in ones.
_REGISTERED: list[tuple[type, Adapter]] = []
_RECOGNISED: list[tuple[Callable[[nn.Module], bool], Adapter]] = []


def register_adapter(layer_type: type, adapter: Any) -> None:
    """Teach foretune a foreign layer.

    Args:
        layer_type: its class; subclasses are meant as well.
        adapter: an `Adapter`, or any object with `read(module)` and `write(module, ssm)`.
    """
    if not isinstance(layer_type, type):
        raise InputError(f"layer_type is {layer_type!r}; pass the class of the layer")
    if not isinstance(adapter, Adapter):
        parts = [getattr(adapter, name, None) for name in ("read", "write")]
        if not all(callable(part) for part in parts):
            raise InputError(f"the adapter {adapter!r} lacks read(module) or write(module, ssm); see foretune.Adapter")
        names, joint = tuple(getattr(adapter, "names", ())), bool(getattr(adapter, "joint", False))
        adapter = Adapter(adapter.read, adapter.write, names, joint)
    _REGISTERED.insert(0, (layer_type, adapter))


def recognise(matches: Callable[[nn.Module], bool], adapter: Adapter) -> None:
    """Add a built-in adapter, which knows its layers by the parameters they have."""
    _RECOGNISED.append((matches, adapter))


def find_layers(module: nn.Module) -> list[Layer]:
    """Every state-space layer in a module, in order; a layer inside a recognised one is part of it."""
    if not isinstance(module, nn.Module):
        raise InputError(f"module is a {type(module).__name__}; pass a torch module")
    found = list(_walk(module, ""))
    if not found:
        raise UnknownLayer(
            f"{type(module).__name__} holds no state-space layer that foretune recognises; "
            "teach it yours with foretune.register_adapter"
        )
    return found


def _walk(module: nn.Module, name: str, seen: set[int] | None = None) -> Iterator[Layer]:
    seen = set() if seen is None else seen
    inner = getattr(module, "_orig_mod", module)  # torch.compile wraps
    if id(inner) in seen:
        return
    seen.add(id(inner))
    adapter = _adapter_of(inner)
    if adapter is not None:
        yield Layer(name, inner, adapter)
        return
    for child_name, child in inner.named_children():
        yield from _walk(child, f"{name}.{child_name}" if name else child_name, seen)


def _adapter_of(module: nn.Module) -> Adapter | None:
    for layer_type, adapter in _REGISTERED:
        if isinstance(module, layer_type):
            return adapter
    for matches, adapter in _RECOGNISED:
        if matches(module):
            return adapter
    return None


def choose(found: list[Layer], layers: Layers) -> list[Layer]:
    """The layers meant by `"first"`, `"all"` or a list of positions."""
    if isinstance(layers, str):
        if layers not in ("first", "all"):
            raise InputError(f"layers is {layers!r}; use 'first', 'all' or a list of positions")
        return found[:1] if layers == "first" else found
    try:
        return [found[index] for index in layers]
    except TypeError as error:
        raise InputError(f"layers is {layers!r}; use 'first', 'all' or a list of positions") from error
    except IndexError as error:
        raise InputError(
            f"layers is {list(layers)}, but the module has {len(found)} state-space layers; count from 0"
        ) from error


def has_tensors(module: nn.Module, *names: str) -> bool:
    """Whether the module has all these parameters or buffers itself."""
    return all(isinstance(getattr(module, name, None), Tensor) for name in names)


def assign(module: nn.Module, **values: Tensor) -> None:
    """Overwrite tensors in place, in their own dtype, device and shape."""
    for name, value in values.items():
        tensor = getattr(module, name)
        tensor.data.copy_(value.reshape(tensor.shape))
