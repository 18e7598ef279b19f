"""CIFAR-10 in its python and its binary version, as gray sequences of 1,024 pixels."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import DataError, DataMissing
from .archive import members
from .base import Dataset, Split
from .mnist import SPLIT_SEED, read_bytes
from .store import Store

__all__ = ["gray_pixels", "locate_cifar", "read_cifar", "read_cifar_batch"]

BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD = 1 + 3 * 32 * 32
VALIDATION = 5000
MEAN, DEVIATION = 122.6, 61.0  # of the gray training pixels, as the S4 code base scales them

Batch = tuple[np.ndarray, np.ndarray]


def read_cifar_batch(path: Path | str) -> Batch:
    """One batch of either version, plain or gzipped: pixels `(P, 3, 32, 32)` of bytes, and labels."""
    return _parse(read_bytes(Path(path)), str(path))


def locate_cifar(store: Store) -> tuple[Path, ...]:
    """The archive of either version, or the six batches unpacked."""
    places = ("cifar10", "cifar-10", "")
    for version, end in (("python", ""), ("binary", ".bin")):
        archive = store.find(*(f"{place}/cifar-10-{version}.tar.gz".lstrip("/") for place in places))
        if archive:
            return (archive,)
        folder = f"cifar-10-batches-{'py' if version == 'python' else 'bin'}"
        found = tuple(_batch(store, places, folder, batch + end) for batch in BATCHES)
        if all(found):
            return tuple(path for path in found if path)
        lacking = [batch + end for batch, path in zip(BATCHES, found, strict=True) if path is None]
        if len(lacking) < len(BATCHES):
            raise DataMissing(
                f"CIFAR-10 lacks {', '.join(lacking)} in {store}; `read_cifar_batch` reads the batches that are there"
            )
    raise DataMissing(f"CIFAR-10 lacks cifar10/cifar-10-python.tar.gz or cifar-10-binary.tar.gz in {store}")


def _batch(store: Store, places: tuple[str, ...], folder: str, name: str) -> Path | None:
    return store.find(*(f"{place}/{folder}/{name}{end}".lstrip("/") for place in places for end in ("", ".gz")))


def read_cifar(paths: tuple[Path, ...]) -> Dataset:
    """45,000, 5,000 and 10,000 gray images; the validation split is drawn once and for all."""
    if len(paths) == 1:
        found = {Path(name).name: content for name, content in members(paths[0], _is_batch)}
        lacking = [batch for batch in BATCHES if batch not in found and batch + ".bin" not in found]
        if lacking:
            raise DataError(f"{paths[0]} holds no {', '.join(lacking)}; it is damaged, fetch it again")
        contents = [(found.get(batch) or found[batch + ".bin"], f"{paths[0]}:{batch}") for batch in BATCHES]
    else:
        contents = [(read_bytes(path), str(path)) for path in paths]
    batches = [_parse(content, source) for content, source in contents]
    pixels = np.concatenate([gray_pixels(images) for images, _ in batches[:5]])
    labels = np.concatenate([labels for _, labels in batches[:5]])
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    whole = Split(_scaled(pixels), labels)
    train, validation = whole.take(order[VALIDATION:]), whole.take(order[:VALIDATION])
    test = Split(_scaled(gray_pixels(batches[5][0])), batches[5][1])
    return Dataset("cifar10", train, validation, test, CLASSES, 1024, 1, f"read from {paths[0]}")


def gray_pixels(images: np.ndarray) -> np.ndarray:
    """Colours to gray as ITU-R 601-2 weighs them, in pillow's rounding; images become rows of bytes."""
    red, green, blue = (images[:, channel].reshape(len(images), -1).astype(np.uint32) for channel in range(3))
    return ((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16).astype(np.uint8)


def _scaled(pixels: np.ndarray) -> np.ndarray:
    return ((pixels.astype(np.float32) - MEAN) / DEVIATION).astype(np.float32)


def _is_batch(name: str) -> bool:
    return Path(name).name.removesuffix(".bin") in BATCHES


def _parse(content: bytes, source: str) -> Batch:
    pickled = content[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04") and content[-1:] == b"."
    images, labels = _from_pickle(content, source) if pickled else _from_records(content, source)
    if len(labels) and labels.max() > 9:
        raise DataError(f"{source} holds the label {labels.max()}, CIFAR-10 has 0 to 9; fetch it again")
    return images.reshape(-1, 3, 32, 32), labels.astype(np.int64)


def _from_records(content: bytes, source: str) -> Batch:
    if not content or len(content) % RECORD:
        raise DataError(f"{source} has {len(content)} bytes, no multiple of {RECORD}; it is damaged, fetch it again")
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, RECORD)
    return records[:, 1:], records[:, 0]


def _from_pickle(content: bytes, source: str) -> Batch:
    try:
        batch = _Arrays(io.BytesIO(content), encoding="bytes").load()
        images, labels = np.asarray(batch[b"data"]), np.asarray(batch[b"labels"])
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(f"{source} is no batch of CIFAR-10 ({error}); fetch it again") from error
    if images.dtype != np.uint8 or images.ndim != 2 or images.shape != (len(labels), RECORD - 1):
        raise DataError(f"{source} holds {images.dtype} images of shape {images.shape}; fetch it again")
    return images, labels


class _Arrays(pickle.Unpickler):
    """Unpickles numpy arrays in built-in containers, and runs nothing else."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) in (("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct")):
            return cast(Callable[..., Any], np.empty(0).__reduce__()[0])
        if module == "numpy" and name in ("ndarray", "dtype"):
            return cast(Callable[..., Any], getattr(np, name))
        if (module, name) == ("_codecs", "encode"):
            return _encode
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch of CIFAR-10 needs")


def _encode(text: str, encoding: str) -> bytes:
    """How newer pickles write bytes in older protocols."""
    return text.encode(encoding)
