"""A fitted classifier as two files: JSON for what people read, safetensors for the numbers. Nothing is ever unpickled."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as format_tensors
from torch import Tensor

from ..errors import DataError, DataMissing, InputError
from .bank import Filters
from .features import FeatureMap
from .kernel import Evidence, KernelHead
from .ridge import Ridge
from .trained import TrainedHead, Training, build

if TYPE_CHECKING:
    from .estimator import SSMClassifier

__all__ = ["load", "save"]

FORMAT, VERSION = "foretune-classifier", 1
NAMES = ("classifier.json", "classifier.safetensors")
Tensors = dict[str, Tensor]
Facts = dict[str, Any]
Classifier = TypeVar("Classifier", bound="SSMClassifier")


def save(classifier: SSMClassifier, folder: Path) -> Path:
    """Write both files; returns the folder."""
    head = classifier.head_
    facts, tensors = (_kernel_parts if isinstance(head, KernelHead) else _trained_parts)(head)  # type: ignore[arg-type]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": _parameters(classifier),
        "classes": _plain_labels(classifier.classes_),
        "steps": classifier.n_features_in_,
        "channels": classifier.n_channels_in_,
        "layout": classifier.layout_,
        "evidence": asdict(head.evidence),
        "kind": "kernel" if isinstance(head, KernelHead) else "train",
        "head": facts,
    }
    if hasattr(classifier, "feature_names_in_"):
        document["names"] = [str(name) for name in classifier.feature_names_in_]
    contents = (
        json.dumps(document, indent=1).encode(),
        format_tensors({k: t.contiguous() for k, t in tensors.items()}),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in zip(NAMES, contents, strict=True):
            (folder / name).write_bytes(content)
    except OSError as error:
        raise DataError(
            f"the classifier cannot be written to {folder} ({error.strerror}); pass another folder"
        ) from error
    return folder


def load(kind: type[Classifier], folder: Path) -> Classifier:
    """Read both files, or say in one line what is wrong with them."""
    text, content = (_read(folder / name) for name in NAMES)
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{folder / NAMES[0]} is no classifier that foretune wrote ({error}); save it again") from error
    if document.get("version") != VERSION:
        raise DataError(
            f"{folder} was written in version {document.get('version')!r} of the format, this foretune reads {VERSION}; "
            "install the foretune that wrote it, or fit and save again"
        )
    try:
        return _rebuilt(kind, document, parse_tensors(content))
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
        raise DataError(f"{folder} is damaged ({error or type(error).__name__}); copy or save it again") from error


def _rebuilt(kind: type[Classifier], document: Facts, tensors: Tensors) -> Classifier:
    classifier = kind(**document["parameters"])
    classifier.classes_ = np.array(document["classes"]["values"], dtype=np.dtype(document["classes"]["type"]))
    classifier.n_features_in_, classifier.n_channels_in_ = int(document["steps"]), int(document["channels"])
    classifier.layout_ = document["layout"]
    if "names" in document:
        classifier.feature_names_in_ = np.array(document["names"], dtype=object)
    evidence = Evidence(**document["evidence"])
    if document["kind"] == "kernel":
        classifier.head_ = _kernel_head(document["head"], tensors, evidence)
    else:
        classifier.head_ = _trained_head(document, tensors, evidence)
    classifier.evidence_ = evidence
    return classifier


def _kernel_parts(head: KernelHead) -> tuple[Facts, Tensors]:
    features, ridge = head.features, head.ridge
    tensors = {"mix": features.mix, "centre": features.centre, "spread": features.spread}
    tensors |= {"weights": ridge.weights, "offset": ridge.offset}
    for i, filters in enumerate(features.bank):
        tensors[f"{i}.coefficients"] = torch.view_as_real(filters.coefficients.resolve_conj())
        tensors[f"{i}.exponents"] = torch.view_as_real(filters.exponents.resolve_conj())
        tensors[f"{i}.thresholds"], tensors[f"{i}.gains"] = features.thresholds[i], features.gains[i]
    bank = [[filters.view, filters.source, filters.support] for filters in features.bank]
    facts = {"sharpness": ridge.sharpness, "energy": features.energy, "peak": features.peak, "bank": bank}
    return facts, tensors


def _kernel_head(facts: Facts, tensors: Tensors, evidence: Evidence) -> KernelHead:
    count = len(facts["bank"])
    bank = tuple(
        Filters(
            view,
            source,
            support,
            torch.view_as_complex(tensors[f"{i}.coefficients"]),
            torch.view_as_complex(tensors[f"{i}.exponents"]),
        )
        for i, (view, source, support) in enumerate(facts["bank"])
    )
    thresholds, gains = (tuple(tensors[f"{i}.{name}"] for i in range(count)) for name in ("thresholds", "gains"))
    features = FeatureMap(
        bank,
        mix=tensors["mix"],
        centre=tensors["centre"],
        spread=tensors["spread"],
        thresholds=thresholds,
        gains=gains,
        energy=float(facts["energy"]),
        peak=float(facts["peak"]),
    )
    ridge = Ridge(tensors["weights"], tensors["offset"], float(facts["sharpness"]))
    return KernelHead(features, ridge, evidence)


def _trained_parts(head: TrainedHead) -> tuple[Facts, Tensors]:
    state = {f"model.{name}": value.detach() for name, value in head.model.state_dict().items()}
    facts = {"sharpness": head.sharpness, "training": asdict(head.training)}
    return facts, {"centre": head.centre, "spread": head.spread, **state}


def _trained_head(document: Facts, tensors: Tensors, evidence: Evidence) -> TrainedHead:
    training = Training(**document["head"]["training"])
    centre = tensors["centre"]
    classes = len(document["classes"]["values"])
    model = build(training, classes, document["steps"], document["channels"], centre.dtype)
    model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
    sharpness = float(document["head"]["sharpness"])
    return TrainedHead(model.eval(), training, centre, tensors["spread"], sharpness, evidence)


def _parameters(classifier: SSMClassifier) -> Facts:
    """The constructor's arguments; a random generator, which no text holds, counts as None."""
    found = {name: _plain(value) for name, value in classifier.get_params(deep=False).items()}
    if isinstance(classifier.random_state, np.random.RandomState):
        found["random_state"] = None
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain_labels(classes: np.ndarray) -> Facts:
    values = [_plain(label) for label in classes]
    if not all(isinstance(label, str | int | float | bool) for label in values):
        raise InputError(f"the label {values[0]!r} cannot be written to a file; use strings or numbers as labels")
    return {"values": values, "type": classes.dtype.str if classes.dtype.kind != "O" else "object"}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataMissing(f"there is no {path}; pass the folder that save() wrote") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check the folder") from error
