"""Task-dependent initialization in place, and the proof afterwards that it is still there."""

from __future__ import annotations

import dataclasses
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InitializationLost, InputError
from ..spectra.spectrum import Spectrum
from ..ssm import DiagonalSSM
from .adapters import Layer, Layers, Parameters, choose, find_layers
from .match import model_spectrum, spectral_loss
from .record import Initialization, Settings, Variant
from .tune import tune

__all__ = ["initialize_", "load_mark", "remark", "verify"]

MARK = "_foretune_mark"
# Survives a trip through half precision; a value drawn anew does not come this close.
CLOSE = 2.0**-7


@dataclass(frozen=True, eq=False)
class Mark:
    """What was written into a layer: kept on the layer itself, so that copies carry it along."""

    record: Initialization
    values: dict[str, Tensor] = field(repr=False)

    def plain(self) -> dict[str, Any]:
        """In types that `torch.load` accepts without being told to trust the file."""
        record = {item.name: getattr(self.record, item.name) for item in dataclasses.fields(self.record)}
        arrays = {name: torch.from_numpy(record[name].copy()) for name in ("frequencies", "strengths")}
        return {"values": self.values, "record": record | arrays | {"settings": dataclasses.asdict(record["settings"])}}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Mark:
        """The mark that `plain` was made from."""
        record = dict(plain["record"])
        arrays = {name: record[name].numpy() for name in ("frequencies", "strengths")}
        record |= arrays | {"settings": Settings(**record["settings"])}
        return cls(Initialization(**record), plain["values"])


_MARKS: weakref.WeakSet[Mark] = weakref.WeakSet()


def initialize_(
    module: nn.Module,
    spectrum: Spectrum,
    variant: Variant = "construct",
    freeze: bool = False,
    layers: Layers = "first",
    settings: Settings | None = None,
    **options: Any,
) -> Any:
    """Tune a torch module's state-space layer to a task, in place.

    Parameters keep their identity, dtype, device, count, ties and optimizer hints. `verify` tells later whether
    everything written is still there.

    Args:
        module: a state-space layer or a model that holds some.
        spectrum: the task's spectrum, from `task_spectrum`.
        variant: see `tune`.
        freeze: stop the layer's SSM parameters from training.
        layers: `"first"` (as in the paper), `"all"`, or positions among the state-space layers.
        settings: see `tune`; or give single settings by name.

    Returns:
        The record of the layer, or a tuple of records unless `layers` is `"first"`.
    """
    if settings is not None and options:
        raise InputError(f"both settings and {', '.join(options)} are given; put all into one Settings")
    chosen = Settings.of(**options) if settings is None else settings
    if not isinstance(chosen, Settings):
        raise InputError(f"settings is a {type(chosen).__name__}; pass foretune.Settings, or single settings by name")
    records: list[Initialization] = []
    written: set[int] = set()
    for layer in choose(find_layers(module), layers):
        tensors = layer.tensors()
        if any(tensor.is_meta for tensor in tensors.values()):
            raise InputError(f"{layer.name or 'the layer'} is on the meta device; move it to a real one first")
        places = {tensor.data_ptr() for tensor in tensors.values()}
        if places <= written:
            continue  # tied to a layer that is done
        records.append(_initialize_layer(layer, spectrum, variant, chosen))
        written |= places
        if freeze:
            for tensor in tensors.values():
                tensor.requires_grad_(False)
    remark(module)
    return records[0] if isinstance(layers, str) and layers == "first" else tuple(records)


def _initialize_layer(layer: Layer, spectrum: Spectrum, variant: Variant, settings: Settings) -> Initialization:
    if layer.adapter.joint:
        settings = dataclasses.replace(settings, gains="balanced")
    before = layer.read().to(dtype=torch.float64)
    tuned, record = tune(before, spectrum, variant, settings)  # type: ignore[type-var]
    with torch.no_grad():
        layer.adapter.write(layer.module, tuned)
    # The layer's own precision may have moved it a little: the record states what it holds now.
    loss = spectral_loss(model_spectrum(layer.read().to(dtype=torch.float64), spectrum.length), spectrum)
    record = dataclasses.replace(record, loss_after=loss, layer=layer.name or type(layer.module).__name__)
    _mark(layer, record)
    return record


def _mark(layer: Layer, record: Initialization) -> None:
    values = {name: tensor.detach().to("cpu", copy=True) for name, tensor in layer.tensors().items()}
    mark = Mark(record, values)
    _MARKS.add(mark)
    if MARK not in layer.module.__dict__:
        layer.module._register_state_dict_hook(_save_mark)
    layer.module.__dict__[MARK] = mark


def remark(module: nn.Module) -> None:
    """Take what initialized layers hold now as what was written: after a change of ours, or of a layer tied to them."""
    for layer in find_layers(module):
        mark = layer.module.__dict__.get(MARK)
        if mark is not None:
            _mark(layer, mark.record)


def _save_mark(module: nn.Module, state: dict[str, Any], prefix: str, metadata: dict[str, Any]) -> None:
    """Let the mark travel in the metadata of a state dict, which adds no key to it."""
    mark = module.__dict__.get(MARK)
    if mark is not None:
        metadata["foretune"] = mark.plain()


def load_mark(module: nn.Module, metadata: dict[str, Any]) -> None:
    """Take over the mark that came with a state dict, for layers that load one themselves."""
    plain = metadata.get("foretune")
    if plain is None:
        return
    if MARK not in module.__dict__:
        module._register_state_dict_hook(_save_mark)
    module.__dict__[MARK] = Mark.of(plain)


def verify(module: nn.Module) -> None:
    """Raise `InitializationLost`, naming the parameter, unless all that `initialize_` wrote is still in place.

    To be called right before training, after everything that might overwrite parameters. A layer of a copy, a replica, a
    compiled or half-precision module, or one that loaded the state dict counts as initialized.
    """
    found = find_layers(module)
    if any(tensor.is_meta for layer in found for tensor in layer.tensors().values()):
        raise InitializationLost(
            "the module is on the meta device, where nothing is kept; initialize_ it on a real one"
        )
    marked = [(layer, mark) for layer in found if (mark := _mark_of(layer)) is not None]
    if not marked:
        names = ", ".join(layer.name or type(layer.module).__name__ for layer in found)
        raise InitializationLost(f"no layer ({names}) carries what initialize_ wrote; call initialize_ on this module")
    for layer, mark in marked:
        for name, saved in mark.values.items():
            _compare(layer, name, saved)
        _check_peaks(layer, mark.record)


def _mark_of(layer: Layer) -> Mark | None:
    mark: Mark | None = layer.module.__dict__.get(MARK)
    if mark is not None:
        return mark
    now = layer.tensors()
    for known in _MARKS:  # a fresh layer of someone else's class that loaded an initialized one's state dict
        if known.values.keys() == now.keys() and all(_same(now[name], saved) for name, saved in known.values.items()):
            return known
    return None


def _same(now: Tensor, saved: Tensor) -> bool:
    if now.shape != saved.shape:
        return False
    wide = torch.complex128 if saved.is_complex() else torch.float64
    a, b = now.detach().to("cpu", wide), saved.to(wide)
    return bool(torch.isclose(a, b, rtol=CLOSE, atol=1e-6 * float(b.abs().max()) + 1e-30).all())


def _compare(layer: Layer, name: str, saved: Tensor) -> None:
    now = getattr(layer.module, name, None)
    if not isinstance(now, Tensor):
        raise InitializationLost(f"{layer.path(name)} is gone; initialize_ again after building the model")
    if not _same(now, saved):
        raise InitializationLost(
            f"{layer.path(name)} was overwritten after initialize_ (a later apply(_init_weights), reset_parameters or "
            "training does this); call initialize_ last"
        )


def _check_peaks(layer: Layer, record: Initialization) -> None:
    if record.variant != "construct":
        return
    wanted = torch.from_numpy(record.frequencies)
    present = peak_frequencies(layer.read().to(dtype=torch.float64)).cpu()  # (H, modes)
    off = (present.unsqueeze(-1) - wanted).abs().amin(1).amax(0) * record.length  # bins, worst head
    real = [t.dtype for t in layer.tensors().values() if t.is_floating_point()]
    precision = max((torch.finfo(dtype).eps for dtype in real), default=0.0)
    allowed = 0.5 + 10 * precision * wanted * record.length  # rounding acts on log Δ, which is about -10 at the least
    if (off > allowed).any():
        worst = int((off - allowed).argmax())
        raise InitializationLost(
            f"{layer.name or type(layer.module).__name__}: the peak at {wanted[worst]:.5f} cycles per step is off by "
            f"{off[worst]:.2f} bins; something changed Δ or A after initialize_"
        )


def peak_frequencies(ssm: Parameters) -> Tensor:
    """Where the system's modes ring, in cycles per step, `(H, modes)`."""
    if isinstance(ssm, DiagonalSSM):
        return ssm.peak_frequencies()
    return (torch.linalg.eigvals(ssm.discretized()[0]).angle() / (2 * torch.pi)).abs().unsqueeze(0)
