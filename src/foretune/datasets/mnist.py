"""MNIST and its idx format: whole, sequential and permuted."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from ..errors import DataError, DataMissing
from .base import Dataset, Split
from .store import Store

__all__ = ["FILES", "locate_mnist", "read_idx", "read_mnist", "read_permuted", "read_sequential"]

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
UNSIGNED_BYTE = 8
VALIDATION = 6000
SPLIT_SEED, PERMUTATION_SEED = 42, 42  # neither is given in the paper


def read_idx(path: Path | str) -> np.ndarray:
    """An idx file of unsigned bytes, plain or gzipped, in its own shape."""
    content = read_bytes(Path(path))
    if len(content) < 4 or content[:3] != bytes((0, 0, UNSIGNED_BYTE)):
        raise DataError(f"{path} does not begin like an idx file of bytes but with {content[:4]!r}; fetch it again")
    axes = content[3]
    start = 4 + 4 * axes
    shape = tuple(struct.unpack(f">{axes}I", content[4:start])) if len(content) >= start else ()
    if not shape or len(content) - start != int(np.prod(shape, dtype=np.int64)):
        raise DataError(
            f"{path} announces the shape {shape} but holds {max(0, len(content) - start)} bytes after its header; "
            "it is damaged, fetch it again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_bytes(path: Path) -> bytes:
    """A whole file, unpacked if it begins like gzip."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataMissing(f"there is no file {path}; check its name") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); pass a file that can") from error
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked ({error}); it is damaged or cut short, fetch it again") from error


def locate_mnist(store: Store) -> tuple[Path, ...]:
    """The four files, each plain or gzipped, in `mnist/` or torchvision's `MNIST/raw/`."""
    folders = ("mnist", "MNIST/raw", "MNIST")
    found = {
        name: store.find(*(f"{folder}/{name}{end}" for folder in folders for end in (".gz", ""))) for name in FILES
    }
    paths = tuple(path for path in found.values() if path)
    if len(paths) < len(FILES):
        missing = ", ".join(f"mnist/{name}.gz" for name, path in found.items() if path is None)
        raise DataMissing(f"MNIST lacks {missing} in {store}")
    return paths


def read_mnist(paths: tuple[Path, ...]) -> Dataset:
    """60,000 and 10,000 digits, pixels in [0, 1], rows one after another; no validation split."""
    train, test = (_split(*pair) for pair in (paths[:2], paths[2:]))
    return Dataset("mnist", train, None, test, tuple(range(10)), train.X.shape[1], 1, f"read from {paths[0].parent}")


def read_sequential(paths: tuple[Path, ...]) -> Dataset:
    """The same pixels with 6,000 of the training digits, drawn once and for all, as validation split."""
    whole = read_mnist(paths)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(whole.train))
    train, validation = whole.train.take(order[VALIDATION:]), whole.train.take(order[:VALIDATION])
    return Dataset("smnist", train, validation, whole.test, whole.classes, whole.length, 1, whole.provenance)


def read_permuted(paths: tuple[Path, ...]) -> Dataset:
    """Sequential MNIST with the pixels of every digit in one fixed random order."""
    plain = read_sequential(paths)
    assert plain.validation is not None
    pixels = np.random.default_rng(PERMUTATION_SEED).permutation(plain.length)
    train, validation, test = (
        Split(np.ascontiguousarray(np.asarray(split.X)[:, pixels]), split.y)
        for split in (plain.train, plain.validation, plain.test)
    )
    return Dataset("pmnist", train, validation, test, plain.classes, plain.length, 1, plain.provenance)


def _split(images: Path, labels: Path) -> Split:
    pixels, codes = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or codes.ndim != 1 or len(pixels) != len(codes):
        raise DataError(
            f"{images.name} has shape {pixels.shape} but {labels.name} has {codes.shape}; "
            "they do not belong together, fetch both again"
        )
    if len(codes) and codes.max() > 9:
        raise DataError(f"{labels} holds the label {codes.max()}, MNIST has 0 to 9; fetch it again")
    X = pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255)
    return Split(X, codes.astype(np.int64))
