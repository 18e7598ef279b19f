"""Bytes of a text file made readable, and how its lines are meant: delimiter, decimal mark, header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import DataError, InputError

__all__ = ["MISSING", "NUMBER", "Dialect", "dialect_of", "lines_of", "readable", "split"]

FOREIGN = {
    b"PK": "a zip archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"PAR1": "a Parquet file; save it as CSV or .npz",
    b"\x89HDF": "an HDF5 file; save it as .npz",
    b"MATLAB 5": "a MATLAB file; save its arrays as .npz",
    b"BZh": "packed with bzip2; unpack it, or pack it with gzip",
    b"\xfd7zXZ": "packed with xz; unpack it, or pack it with gzip",
    b"\x80\x04\x95": "a Python pickle, which could run code when opened; save it as CSV or .npz",
    b"%PDF": "a PDF; export its table as CSV",
    b"<!DOCTYPE": "a web page, not the data itself; download the file behind it",
    b"<html": "a web page, not the data itself; download the file behind it",
}
DELIMITERS: tuple[bytes | None, ...] = (b"\t", b";", b",", b"|", None)  # None: any run of white space
NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "whitespace": " "}
NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf(inity)?)", re.I)
DECIMAL_COMMA = re.compile(rb"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(rb"[+-]?[1-9]\d{0,2}(,\d{3})+")
MISSING = {b"", b"?", b"nan", b"na", b"n/a", b"null", b"none", b"-"}
EMPTY, COMMENT = re.compile(rb"[ \t;,|]*"), re.compile(rb"[ \t]*#")
SAMPLE, WIDTH = 12, 4000  # lines, and bytes of each, that are looked at to tell how a file is written


@dataclass(frozen=True)
class Dialect:
    """How lines are meant. `header` names the columns; None where the file has no header."""

    delimiter: bytes | None
    decimal_comma: bool
    header: tuple[str, ...] | None

    @property
    def name(self) -> str:
        """The delimiter in words."""
        names = {b"\t": "tabs", b";": "semicolons", b",": "commas", b"|": "bars", None: "white space"}
        return names.get(self.delimiter, repr((self.delimiter or b"").decode("latin-1")))


def readable(content: bytes, source: str) -> tuple[bytes, tuple[str, ...]]:
    """The content as UTF-8 with line feeds and without a byte order mark, and what had to be done to it."""
    for start, what in FOREIGN.items():
        if content.startswith(start):
            raise DataError(f"{source} is {what}")
    notes: tuple[str, ...] = ()
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            content, notes = content.decode("utf-16").encode(), ("read as UTF-16",)
        except UnicodeDecodeError as error:
            raise DataError(f"{source} begins like UTF-16 but is not ({error.reason}); save it as UTF-8") from error
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content or content.isspace():
        raise DataError(f"{source} is empty; give a file with one labelled sequence in each row")
    head = content[:8192]
    if sum(byte < 32 and byte not in b"\t\n\r\f" for byte in head) * 50 > len(head) or b"\0" in head:
        raise DataError(f"{source} is no text: it holds {head[:8]!r}; save it as CSV, .ts or .npz")
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            content, notes = content.decode("latin-1").encode(), ("read as latin-1, for it is no UTF-8",)
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return content, notes


def lines_of(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbered lines from 1, without the empty ones and comments, which begin with #."""
    for number, line in enumerate(io.BytesIO(content), 1):
        line = line.strip(b"\r\n")
        if not (EMPTY.fullmatch(line) or COMMENT.match(line)):
            yield number, line


def split(line: bytes, delimiter: bytes | None) -> list[bytes]:
    """The cells of a line; quoted ones without their quotes."""
    if b'"' not in line:
        return line.split(delimiter)
    mark = " " if delimiter is None else delimiter.decode("latin-1")
    # Latin-1 gives each byte a character of its own, so the bytes come back as they were.
    reader = csv.reader([line.decode("latin-1")], delimiter=mark, skipinitialspace=True)
    try:
        return [cell.encode("latin-1") for cell in next(reader)]
    except csv.Error:  # a cell beyond the module's limit
        return line.replace(b'"', b"").split(delimiter)


def dialect_of(
    content: bytes, delimiter: str | None, header: bool | None, label: int | str | None, decimal_comma: bool = False
) -> Dialect:
    """The dialect of a text; what is given is taken, the rest is told from its first lines."""
    sample = [line for _, (_, line) in zip(range(SAMPLE), lines_of(content), strict=False)]
    mark = _delimiter(delimiter) if delimiter is not None else sniff(sample, decimal_comma)
    if decimal_comma and mark == b",":
        raise InputError("the comma is given as decimal mark and as delimiter; it can only be one of them")
    rows = [_cells(line, mark) for line in sample]
    comma = decimal_comma or (mark != b"," and _decimal_comma(rows))
    if header is None:
        header = bool(rows) and _is_header(rows, label)
    names = None
    if header and sample:
        first = next(line for _, line in lines_of(content))
        names = tuple(cell.strip().decode() for cell in split(first, mark))
    return Dialect(mark, comma, names)


def sniff(sample: Sequence[bytes], decimal_comma: bool = False) -> bytes | None:
    """The delimiter that leaves most numbers and least text; the first of these at a tie. No comma if it is taken."""

    def score(mark: bytes | None) -> tuple[bool, int]:
        rows = [_cells(line, mark) for line in sample]
        cells = [cell for row in rows for cell in row if cell.lower() not in MISSING]
        numbers = sum(_is_number(cell) or (mark != b"," and bool(DECIMAL_COMMA.fullmatch(cell))) for cell in cells)
        return max(map(len, rows), default=0) > 1, 2 * numbers - len(cells)

    return max((mark for mark in DELIMITERS if not (decimal_comma and mark == b",")), key=score)


def _delimiter(text: str) -> bytes | None:
    mark = NAMES.get(text.lower(), text)
    if mark == " ":
        return None
    if len(mark.encode()) != 1 or mark in '"\r\n#.+-' or mark.isalnum():
        known = "comma, semicolon, tab, pipe or space"
        raise InputError(f"the delimiter is {text!r}; pass one character such as ',' or one of the words {known}")
    return mark.encode()


def _cells(line: bytes, mark: bytes | None) -> list[bytes]:
    cells = split(line[:WIDTH], mark)
    if len(line) > WIDTH and len(cells) > 1:
        cells.pop()  # cut in the middle
    return [cell.strip() for cell in cells]


def _is_number(cell: bytes) -> bool:
    return bool(NUMBER.fullmatch(cell))


def _decimal_comma(rows: list[list[bytes]]) -> bool:
    cells = [cell for row in rows for cell in row]
    found = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    if found and all(THOUSANDS.fullmatch(cell) for cell in found):
        text = found[0].decode()
        raise DataError(
            f"{text} may mean {text.replace(',', '.', 1)} or {text.replace(',', '')}; if it is the former, pass "
            "--decimal-comma (decimal_comma=True), else remove the commas"
        )
    return bool(found)


def _is_header(rows: list[list[bytes]], label: int | str | None) -> bool:
    """Whether the first row names the columns: text above numbers, or the running numbers that pandas writes."""
    first, others = rows[0], rows[1:]
    if isinstance(label, str) and label.encode() in first:
        return True

    def plain(cell: bytes) -> bool:
        return _is_number(cell) or cell.lower() in MISSING or bool(DECIMAL_COMMA.fullmatch(cell))

    if not others:
        return len(first) > 1 and not any(map(plain, first))
    columns = zip(first, *(row + [b""] * (len(first) - len(row)) for row in others), strict=False)
    above = [not plain(cell) for cell, *below in columns if cell and all(map(plain, below))]
    if 2 * sum(above) > len(above):  # a single odd cell in a row of numbers is a mistake rather than a name
        return True
    running = [[str(start + step).encode() for step in range(len(first) - 1)] for start in (0, 1)]
    unseen = all(first[0] != row[0] for row in others)
    return len(first) > 4 and unseen and first[1:] in running
