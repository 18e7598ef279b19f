"""ListOps: nested operations on digits as token sequences, in the files of LRA and of the original."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import DataError, DataMissing, InputError
from .archive import members
from .base import Dataset, Split
from .mnist import read_bytes
from .store import Store

__all__ = ["OPERATORS", "VOCABULARY", "locate_listops", "read_listops", "read_listops_file", "tokenize"]

OPERATORS = ("[MAX", "[MIN", "[MED", "[SM")
VOCABULARY = ("<pad>", "<eos>", *OPERATORS, "]", *map(str, range(10)))
PAD, EOS, FIRST_OPERATOR, CLOSE, ZERO = 0, 1, 2, 6, 7
LENGTH = 2048
FILES = ("basic_train.tsv", "basic_val.tsv", "basic_test.tsv")
LETTERS = b"abcd]0123456789"  # one for each symbol of the vocabulary from the first operator on


def tokenize(
    expressions: list[str], length: int = LENGTH, source: str = "expressions"
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens `(P, length)`, padded, and their counts. Parentheses go, as in LRA; an end token comes last.

    Longer expressions are cut to `length - 1` tokens and the end token.
    """
    if length < 2:
        raise InputError(f"length is {length}; a token and the end token need 2")
    table = np.full(256, PAD, dtype=np.int16)
    table[list(LETTERS)] = np.arange(FIRST_OPERATOR, len(VOCABULARY))
    X = np.full((len(expressions), length), PAD, dtype=np.int16)
    lengths = np.empty(len(expressions), dtype=np.int64)
    for row, text in enumerate(expressions):
        letters = text
        for letter, operator in zip("abcd", OPERATORS, strict=True):
            letters = letters.replace(operator, letter)
        letters = letters.replace("( ", "").replace(" )", "")
        symbols = np.frombuffer((letters.strip() + " ").encode(), dtype=np.uint8)
        tokens = table[symbols[::2]]
        if len(symbols) % 2 or len(tokens) == 0 or (tokens == PAD).any() or (symbols[1::2] != ord(" ")).any():
            raise DataError(f"{source} has something else than ListOps in expression {row + 1}: {text[:80]!r}")
        tokens = tokens[: length - 1]
        X[row, : len(tokens)] = tokens
        X[row, len(tokens)] = EOS
        lengths[row] = len(tokens) + 1
    return X, lengths


def read_listops_file(path: Path | str, length: int = LENGTH) -> Split:
    """A file of LRA (`Source`, `Target` under a header) or of the original (label, expression), plain or gzipped."""
    return _parse(read_bytes(Path(path)), str(path), length)


def locate_listops(store: Store) -> tuple[Path, ...]:
    """The three files of LRA's `listops-1000`, or the archive with all of LRA."""
    folders = ("listops", "listops-1000", "lra_release/listops-1000", "lra_release/lra_release/listops-1000")
    found = [store.find(*(f"{folder}/{name}{end}" for folder in folders for end in ("", ".gz"))) for name in FILES]
    paths = tuple(path for path in found if path)
    if len(paths) == len(FILES):
        return paths
    archive = store.find(*LRA_PLACES)
    if archive:
        return (archive,)
    part = store.find("listops_spinn")
    hint = f"; {part} is the original, shorter set, which `read_listops_file` reads" if part else ""
    lacking = ", ".join(f"listops/{name}" for name, path in zip(FILES, found, strict=True) if path is None)
    raise DataMissing(f"ListOps lacks {lacking} in {store}{hint}; `generated-listops` needs no files")


LRA_PLACES = ("lra/lra_release.gz", "lra_release.gz", "lra/lra_release.tar.gz", "lra_release.tar.gz")


def read_listops(paths: tuple[Path, ...]) -> Dataset:
    """96,000, 2,000 and 2,000 expressions of up to 2,048 tokens."""
    contents = _unpacked(paths[0]) if len(paths) == 1 else [(read_bytes(path), str(path)) for path in paths]
    splits = [_parse(content, source, LENGTH) for content, source in contents]
    return listops_dataset("listops", splits, f"read from {paths[0]}")


def listops_dataset(name: str, splits: list[Split], provenance: str) -> Dataset:
    """A set of training, validation and test expressions."""
    train, validation, test = splits
    length = train.X.shape[1]
    return Dataset(name, train, validation, test, tuple(range(10)), length, 1, provenance, VOCABULARY)


def _unpacked(archive: Path) -> list[tuple[bytes, str]]:
    found: dict[str, bytes] = {}
    for name, content in members(archive, lambda name: name.endswith(tuple("listops-1000/" + file for file in FILES))):
        found[Path(name).name] = content
        if len(found) == len(FILES):  # the archive is large: read no further
            break
    lacking = [name for name in FILES if name not in found]
    if lacking:
        raise DataError(f"{archive} holds no listops-1000/{', '.join(lacking)}; it is another archive, or damaged")
    return [(found[name], f"{archive}:{name}") for name in FILES]


def _parse(content: bytes, source: str, length: int) -> Split:
    try:
        lines = [line.split("\t") for line in content.decode().splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise DataError(f"{source} is no text ({error.reason}); fetch it again") from error
    label, expression = 0, 1
    if lines and [cell.lower() for cell in lines[0]] == ["source", "target"]:
        label, expression, lines = 1, 0, lines[1:]
    if not lines:
        raise DataError(f"{source} is empty; fetch it again")
    for number, line in enumerate(lines, 1):
        if len(line) != 2 or len(line[label]) != 1 or not line[label].isdigit():
            raise DataError(f"{source} has no label and expression in sequence {number}; it is damaged, fetch it again")
    X, lengths = tokenize([line[expression] for line in lines], length, source)
    return Split(X, np.array([int(line[label]) for line in lines], dtype=np.int64), lengths)
