"""Fetching files by pooch: several sources in turn, patience, resume, and nothing broken left behind."""

from __future__ import annotations

import errno
import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DataError, DownloadFailed

__all__ = ["Remote", "fetch"]

TRIES, BACKOFF, TIMEOUT, CHUNK = 3, 1.0, 30.0, 1 << 16  # tries for each source; seconds; bytes


@dataclass(frozen=True)
class Remote:
    """A file to fetch: its place below the data folder, its sources in order, and its published hash, if any.

    `hash` is pooch's: a SHA-256, or another with its name before it, such as `md5:...`. Where it is None, the readers
    check counts and structure instead.
    """

    path: str
    urls: tuple[str, ...]
    hash: str | None = None


class _Passing(Exception):
    """A failure that may be over in a moment."""


class _Lasting(Exception):
    """A failure that will come again from this source."""


def fetch(remote: Remote, folder: Path, progress: bool | None = None, again: bool = False) -> Path:
    """The file below `folder`, fetched unless it is there already, or in its place with `again`.

    `progress` shows a bar, by default on a terminal.
    """
    target = folder / remote.path
    if target.exists() and not again:
        return target
    fresh = target.with_name(f"new-{target.name}") if target.exists() else target  # the old one stays until then
    _make_folder(target.parent)
    fresh.unlink(missing_ok=True)
    show = sys.stderr.isatty() if progress is None else progress
    reasons = []
    for url in remote.urls:
        try:
            _patiently(partial(_retrieve, url, remote.hash, fresh, show))
            fresh.replace(target)
            return target
        except (_Passing, _Lasting) as failure:
            reasons.append(f"{url}: {failure}")
    raise DownloadFailed(
        f"{target.name} could not be fetched ({'; '.join(reasons)}). Try again later, a half-written file is resumed; or "
        f"get it by hand from {' or '.join(remote.urls)} and place it at {target}"
    )


def _patiently(attempt: Callable[[], None]) -> None:
    for number in range(TRIES):
        try:
            return attempt()
        except _Passing:
            if number == TRIES - 1:
                raise
            time.sleep(BACKOFF * 2**number)
    return None


def _retrieve(url: str, known_hash: str | None, target: Path, show: bool) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    part = target.with_name(target.name + ".part")
    resumed = part.exists()

    def download(url: str, output: Any, _: Any) -> None:
        _download(url, part, known_hash is not None, show)
        _refuse_other_formats(part)
        shutil.move(part, output)
        _tag(part).unlink(missing_ok=True)

    try:
        pooch.retrieve(url, known_hash, fname=target.name, path=target.parent, downloader=download)
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        kind = _Passing if status >= 500 or status in (408, 429) else _Lasting
        raise kind(f"the server answered {status}") from error
    except requests.RequestException as error:
        raise _Passing(_reason(error)) from error
    except ValueError as error:  # pooch has removed the file; if its first half was older, the whole may be sound
        raise (_Passing if resumed else _Lasting)("its checksum is not the published one, so it was removed") from error
    except OSError as error:
        _disk_trouble(error, part)


def _download(url: str, part: Path, hashed: bool, show: bool) -> None:
    """Append what is missing to `part`.

    A hash finds a mixture of two versions in the end. Without one, only what comes from the same version is appended,
    as the server's tag shows.
    """
    import requests

    have = part.stat().st_size if part.exists() else 0
    tag = _tag(part).read_text() if _tag(part).exists() else ""
    headers = {"Accept-Encoding": "identity"}
    if have and (hashed or tag):
        headers["Range"] = f"bytes={have}-"
        if not hashed:
            headers["If-Range"] = tag
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # all of it is there, or more than there should be
            if answer.headers.get("Content-Range", "").endswith(f"/{have}"):
                return
            part.unlink()
            raise _Passing("the half-written file was too long and was removed")
        answer.raise_for_status()
        resumed = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        have = have if resumed else 0
        coming = answer.headers.get("Content-Length")
        due = have + int(coming) if coming else None
        _room(part, (due or 0) - have)
        _tag(part).write_text(answer.headers.get("ETag") or answer.headers.get("Last-Modified", ""))
        with open(part, "ab" if resumed else "wb") as file, _bar(part.stem, due, have, show) as advance:
            for chunk in answer.iter_content(CHUNK):
                file.write(chunk)
                advance(len(chunk))
    size = part.stat().st_size
    if due is not None and size != due:
        raise _Passing(f"the connection ended after {size} of {due} bytes")


def _refuse_other_formats(part: Path) -> None:
    """Some servers answer with a page instead of an error, and not every file has a published hash."""
    with open(part, "rb") as file:
        start = file.read(2)
    due = {".gz": b"\x1f\x8b", ".zip": b"PK"}.get(Path(part.stem).suffix, start)
    if start != due:
        part.unlink()
        _tag(part).unlink(missing_ok=True)
        raise _Lasting(f"what came is no {Path(part.stem).suffix} file, so it was removed")


def _tag(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _room(part: Path, needed: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise OSError(errno.ENOSPC, f"{needed / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free")


def _disk_trouble(error: OSError, part: Path) -> None:
    if error.errno == errno.ENOSPC:
        part.unlink(missing_ok=True)
        _tag(part).unlink(missing_ok=True)
        raise DataError(
            f"the disk of {part.parent} is full ({error.strerror}); nothing was kept of {part.stem}; "
            "make room, or pass another root or FORETUNE_DATA"
        ) from error
    raise DataError(f"{part.parent} cannot be written ({error.strerror or error}); pass another root") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}); pass another root or FORETUNE_DATA") from error


def _reason(error: Exception) -> str:
    import requests

    if isinstance(error, requests.Timeout):
        return f"no answer within {TIMEOUT:.0f} s"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "no connection to the server"
    return type(error).__name__


@contextmanager
def _bar(name: str, total: int | None, done: int, show: bool) -> Iterator[Callable[[int], None]]:
    if not show:
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=total, completed=done)
        yield lambda amount: progress.advance(task, amount)
