"""Sets of the UCR archive in its two formats, `.tsv` and `.ts`, plain, gzipped or inside zip archives."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Hashable
from pathlib import Path

import numpy as np

from ..errors import DataError, DataMissing
from .base import Dataset, Split
from .mnist import read_bytes
from .store import Store

__all__ = ["locate_ucr", "parse_ts", "parse_tsv", "read_ucr", "read_ucr_file", "ts_parts"]

ARCHIVE_PASSWORD = b"someone"  # published with the archive, which wants its readers to read the briefing first
Table = tuple[np.ndarray, list[str]]


def locate_ucr(store: Store, name: str) -> tuple[Path, Path]:
    """The training and test file of a set, or twice the zip archive that holds both."""
    folders = (f"ucr/{name}", f"UCRArchive_2018/{name}", f"ucr/UCRArchive_2018/{name}", name)
    ends = (".tsv.gz", ".tsv", ".ts.gz", ".ts")
    train, test = (
        store.find(*(f"{folder}/{name}_{part}{end}" for folder in folders for end in ends))
        for part in ("TRAIN", "TEST")
    )
    if train and test:
        return train, test
    archives = (f"ucr/{name}.zip", f"{name}.zip", "ucr/UCRArchive_2018.zip", "UCRArchive_2018.zip")
    archive = store.find(*archives)
    if archive is None:
        lacking = " and ".join(
            f"ucr/{name}/{name}_{part}.tsv" for part, path in (("TRAIN", train), ("TEST", test)) if path is None
        )
        raise DataMissing(f"{name} lacks {lacking} (plain or gzipped, or .ts, or ucr/{name}.zip) in {store}")
    return archive, archive


def read_ucr(paths: tuple[Path, Path], name: str) -> Dataset:
    """Both splits of a univariate set with sequences of one length; labels are coded in their order."""
    (X, labels), (test_X, test_labels) = (
        _table(path, name, part) for path, part in zip(paths, ("TRAIN", "TEST"), strict=True)
    )
    if X.shape[1] != test_X.shape[1]:
        raise DataError(f"{name} has length {X.shape[1]} in training but {test_X.shape[1]} in the test; fetch it again")
    classes = _sorted_classes({*labels, *test_labels})
    codes = {str(label): code for code, label in enumerate(classes)}
    train, test = (
        Split(values.astype(np.float32), np.array([codes[label] for label in names], dtype=np.int64))
        for values, names in ((X, labels), (test_X, test_labels))
    )
    return Dataset(name.lower(), train, None, test, classes, X.shape[1], 1, f"read from {paths[0].parent}")


def read_ucr_file(path: Path | str) -> Table:
    """One file of the archive, `.tsv` or `.ts`, plain or gzipped: float64 `(P, L)`, and the labels as strings."""
    return _table(Path(path), "", "")


def parse_tsv(text: str, source: str) -> Table:
    """Rows of a label and the values, separated by tabs."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise DataError(f"{source} is empty; fetch it again")
    labels, rows = zip(*(line.strip("\r\n").partition("\t")[::2] for line in lines), strict=True)
    return _values(list(rows), "\t", source), [_plain(label) for label in labels]


def parse_ts(text: str, source: str) -> Table:
    """The sktime format: a header of `@` lines, then `value,value,...:label` for each sequence."""
    settings, _, body = ts_parts(text, source)
    for key, refused in {"univariate": "false", "equallength": "false", "missing": "true"}.items():
        if settings.get(key) == refused:
            raise DataError(f"{source} says @{key} {refused}; only complete univariate sets of one length can be read")
    rows, labels = zip(*(line.rpartition(":")[::2] for line in body), strict=True)
    return _values([row.replace("?", "NaN") for row in rows], ",", source), [_plain(label) for label in labels]


def ts_parts(text: str, source: str, labelled: bool = True) -> tuple[dict[str, str], list[int], list[str]]:
    """The settings in the header of a `.ts` file, and the lines of its sequences with their numbers in the file."""
    numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    marks = [index for index, (_, line) in enumerate(lines) if line.lower() == "@data"]
    if not marks:
        raise DataError(f"{source} has no @data line; it is no .ts file, or cut short")
    header, body = (line for _, line in lines[: marks[0]]), lines[marks[0] + 1 :]
    settings = dict(line[1:].lower().split(None, 1) for line in header if re.match(r"@\w+\s+\S", line))
    if settings.get("timestamps") == "true":
        raise DataError(f"{source} says @timestamps true; only complete sequences without time stamps can be read")
    if labelled and settings.get("classlabel", "").split()[:1] != ["true"]:
        raise DataError(f"{source} has no class labels (@classLabel); only classification sets can be read")
    if not body:
        raise DataError(f"{source} has no sequences after @data; fetch it again")
    numbers, sequences = zip(*body, strict=True)
    return settings, list(numbers), list(sequences)


def _values(rows: list[str], separator: str, source: str) -> np.ndarray:
    counts = np.array([row.count(separator) + 1 for row in rows])
    if (counts != counts[0]).any():
        odd = int(np.argmax(counts != counts[0]))
        raise DataError(
            f"{source} has {counts[odd]} values in line {odd + 1} but {counts[0]} in the first; "
            "it is cut short, or of variable length, which cannot be read"
        )
    try:
        values = np.array(separator.join(rows).split(separator), dtype=np.float64)
    except ValueError as error:
        raise DataError(f"{source} holds something that is no number: {error}; fetch it again") from error
    values = values.reshape(len(rows), -1)
    if not np.isfinite(values).all():
        row, step = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        raise DataError(
            f"{source} has a missing value (NaN) at sequence {row + 1}, step {step + 1}; sets with missing values or of "
            "variable length cannot be read, fill them in first"
        )
    return values


def _table(path: Path, name: str, part: str) -> Table:
    if path.suffix == ".zip":
        content, inner = _from_zip(path, name, part)
        source = f"{path}:{inner}"
    else:
        content, inner, source = read_bytes(path), path.name, str(path)
    try:
        text = content.decode("utf-8-sig")  # some editors put a mark first
    except UnicodeDecodeError as error:
        raise DataError(f"{source} is no text ({error.reason}); fetch it again") from error
    return (parse_ts if ".ts" in Path(inner.lower()).suffixes else parse_tsv)(text, source)


def _from_zip(path: Path, name: str, part: str) -> tuple[bytes, str]:
    try:
        with zipfile.ZipFile(path) as archive:
            for end in (".tsv", ".ts"):
                for inner in archive.namelist():
                    if inner.endswith(f"{name}_{part}{end}"):
                        return archive.read(inner, pwd=ARCHIVE_PASSWORD), inner
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} cannot be unpacked ({error}); it is damaged, fetch it again") from error
    raise DataError(f"{path} holds no {name}_{part}.tsv or .ts")


def _plain(label: str) -> str:
    """A label as the archive's two formats both mean it: 1, 1.0 and 1.0000000e+00 are one class."""
    text = label.strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def _sorted_classes(labels: set[str]) -> tuple[Hashable, ...]:
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return tuple(sorted(int(label) for label in labels))
    return tuple(sorted(labels))
