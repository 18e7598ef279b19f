"""PathFinder of LRA at 32 x 32: are the two circles on one dashed path? Kept in a memory-mapped file once read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, DataMissing, DependencyMissing
from .archive import keep, members
from .base import Dataset, Rows, Split
from .listops import LRA_PLACES
from .mnist import SPLIT_SEED
from .store import Store

__all__ = ["locate_pathfinder", "pathfinder_dataset", "read_pathfinder"]

LEVELS = ("curv_baseline", "curv_contour_length_9", "curv_contour_length_14")
EMPTY = "curv_baseline/imgs/0/sample_172.png"  # a file without content in the published archive
SIDE = 32
SCALE, SHIFT = 2 / 255, -1.0  # to [-1, 1], as the S4 code base scales it


def locate_pathfinder(store: Store) -> tuple[Store, Path]:
    """The unpacked folder `pathfinder32`, or the archive with all of LRA."""
    parents = ("", "pathfinder/", "lra_release/", "lra_release/lra_release/")
    folder = store.find(*(f"{parent}pathfinder32" for parent in parents))
    if folder:
        lacking = [level for level in LEVELS if not (folder / level / "metadata").is_dir()]
        if lacking:
            raise DataMissing(f"PathFinder lacks {', '.join(lacking)} in {folder}; the set is all three levels")
    source = folder or store.find(*LRA_PLACES)
    if source is None:
        raise DataMissing(
            f"PathFinder lacks pathfinder/pathfinder32 or lra/lra_release.gz in {store}; "
            "`generated-pathfinder` needs no files"
        )
    return store, source


def read_pathfinder(place: tuple[Store, Path]) -> Dataset:
    """All three levels together, split 80, 10 and 10 % once and for all: 480,001, 59,999 and 59,999 images."""
    store, source = place

    def build(notes: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
        labels: dict[str, int] = {}
        notes["labels"] = labels
        names: list[str] = []
        for name, content in members(source, _is_wanted):
            name = name.rpartition("pathfinder32/")[2]
            if name.endswith(".npy"):
                labels.update(_labels(name, content, str(source)))
            elif name != EMPTY:
                names.append(name)
                yield name, _pixels(content, f"{source}:{name}")
        _match(names, labels, source)

    kept = keep(store, "pathfinder", source, build)
    labels = kept.notes["labels"]
    order = sorted(range(len(kept.names)), key=kept.names.__getitem__)
    y = np.array([labels[name] for name in kept.names], dtype=np.int64)
    return pathfinder_dataset("pathfinder", kept.rows, y, np.array(order), f"read from {source}")


def _match(names: list[str], labels: dict[str, int], source: Path) -> None:
    unlabelled = sum(name not in labels for name in names)
    if unlabelled or len(labels.keys() - {EMPTY}) != len(names):
        raise DataError(
            f"{source} has {len(names)} images and {len(labels)} labels, and {unlabelled} images without one; "
            "its metadata and images do not belong together, fetch it again"
        )


def pathfinder_dataset(name: str, pixels: np.ndarray, y: np.ndarray, order: np.ndarray, provenance: str) -> Dataset:
    """Splits of 80, 10 and 10 %, drawn once and for all from the rows in this order."""
    order = order[np.random.default_rng(SPLIT_SEED).permutation(len(order))]
    tenth = len(order) // 10
    parts = (order[2 * tenth :], order[:tenth], order[tenth : 2 * tenth])
    train, validation, test = (Split(Rows(pixels, part, SCALE, SHIFT), y[part]) for part in parts)
    return Dataset(name, train, validation, test, (0, 1), SIDE * SIDE, 1, provenance)


def _is_wanted(name: str) -> bool:
    tail = name.rpartition("pathfinder32/")[2] if "pathfinder32/" in name else name
    level, _, rest = tail.partition("/")
    kind = rest.partition("/")[0]
    return level in LEVELS and (
        (kind == "imgs" and rest.endswith(".png")) or (kind == "metadata" and rest.endswith(".npy"))
    )


def _labels(name: str, content: bytes, source: str) -> Iterator[tuple[str, int]]:
    """Lines of text, despite the ending: folder, file, number, label, and how the image was drawn."""
    level = name.partition("/")[0]
    for line in content.decode(errors="replace").splitlines():
        words = line.split()
        if len(words) < 4 or words[3] not in ("0", "1"):
            raise DataError(
                f"{source}:{name} has the line {line[:60]!r}, which names no image and label; fetch it again"
            )
        yield f"{level}/{words[0]}/{words[1]}", int(words[3])


def _pixels(content: bytes, source: str) -> np.ndarray:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise DependencyMissing("PathFinder's images need pillow; install foretune[images]") from error
    try:
        with Image.open(io.BytesIO(content)) as image:
            pixels = np.asarray(image.convert("L"))
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise DataError(f"{source} is no image ({error}); fetch it again") from error
    if pixels.shape != (SIDE, SIDE):
        raise DataError(f"{source} has {pixels.shape[0]} x {pixels.shape[1]} pixels; {SIDE} x {SIDE} are due")
    return pixels.reshape(-1)
