"""One entrance to every format: what a file is, its beginning tells rather than its name."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np

from ..datasets.mnist import read_bytes
from ..errors import InputError
from .arrays import NPY, array_rows, load_npy, read_npz, sibling
from .delimited import read_delimited
from .labelled import Labelled, settle
from .sequences import read_arff, read_ts
from .text import lines_of, readable

__all__ = ["read"]

HEAD = 65536  # bytes in which the first line of a header is looked for, behind its comments
UNUSED: dict[str, tuple[str, ...]] = {
    "a text table": (),
    "a .ts file": ("label", "delimiter", "header", "decimal_comma"),
    "an .arff file": ("delimiter", "header", "decimal_comma"),
    "an .npz file": ("delimiter", "header", "decimal_comma"),
    "an .npy file": ("label", "delimiter", "header", "decimal_comma"),
}


def read(
    path: Path | str,
    *,
    label: int | str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal_comma: bool = False,
    pad: bool = False,
    labels: Path | str | None = None,
    labelled: bool = True,
    part: Literal["train", "test"] = "train",
) -> Labelled:
    """Labelled sequences from a CSV, TSV, `.ts`, `.arff`, `.npz` or `.npy` file, plain or gzipped.

    `label` is the name of the label's column or its number, counted from 0 or, when negative, from the end; the first column
    by default. `delimiter`, `header` and the decimal mark are told from the file; `decimal_comma=True` says so where
    1,500 could as well be 1500. `pad=True` fills rows that end early with
    zeros. `labels` is a second file with the labels alone; `labelled=False` reads sequences without labels. `part` is the
    half to take of an `.npz` that holds both. Raises DataError or InputError, which name the file, the line and the remedy.
    """
    path, source = Path(path), str(path)
    if part not in ("train", "test"):
        raise InputError(f"part is {part!r}; pass 'train' or 'test'")
    content = read_bytes(path)
    kind, inside = _kind(content, path), labelled and labels is None
    given = {"label": label, "delimiter": delimiter, "header": header, "decimal_comma": decimal_comma or None}
    for name in UNUSED[kind]:
        if given[name] is not None:
            raise InputError(f"{source} is {kind}, where {name} means nothing; leave out {name} ({given[name]!r})")
    if kind == "a text table":
        raw = read_delimited(content, source, label, delimiter, header, pad, inside, decimal_comma)
    elif kind == "a .ts file":
        raw = read_ts(content, source, inside)
    elif kind == "an .arff file":
        raw = read_arff(content, source, label, pad, inside)
    elif kind == "an .npz file":
        raw = read_npz(content, source, label, part, inside)
    else:
        y = _read_labels(sibling(path)) if inside else None
        raw = array_rows(load_npy(content, source), y, source)
    del content  # before the values are looked at, for it may be larger than they are
    if labels is not None:
        raw = replace(raw, labels=_read_labels(Path(labels)), notes=(*raw.notes, f"labels from {labels}"))
    return settle(raw, source, pad)


def _kind(content: bytes, path: Path) -> str:
    if content.startswith(NPY):
        return "an .npy file"
    if content.startswith(b"PK") and (path.suffix == ".npz" or _is_npz(content)):
        return "an .npz file"
    head = content[:HEAD].removeprefix(b"\xef\xbb\xbf").splitlines()
    first = next((line.lower() for line in map(bytes.strip, head) if line and line[:1] not in b"#%"), b"")
    if first.startswith(b"@relation"):
        return "an .arff file"
    return "a .ts file" if first.startswith(b"@") else "a text table"


def _is_npz(content: bytes) -> bool:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def _read_labels(path: Path) -> np.ndarray | list[str]:
    """A file with one label for each sample: an `.npy` array, or text with one in each line."""
    content = read_bytes(path)
    if content.startswith(NPY):
        return load_npy(content, str(path))
    content, _ = readable(content, str(path))
    return [line.decode().strip().strip('"') for _, line in lines_of(content)]
