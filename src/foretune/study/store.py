"""Finished runs on disk: one atomically written file for each, so that nothing finished is ever lost.

A result file holds only what follows from the run, so rerunning it gives the same bytes; times lie in a file beside it.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StudyError
from .plan import Run

__all__ = ["Record", "Store", "is_full", "strict"]

FORMAT = 1
NAME = re.compile(r"[0-9a-f]{64}\.json")
log = logging.getLogger("foretune")


@dataclass(frozen=True)
class Record:
    """What one run came to."""

    run: Run
    status: str  # "done" or "failed"
    reason: str
    result: dict[str, Any]
    versions: dict[str, str]

    def text(self) -> str:
        """The bytes of its file."""
        content = {
            "format": FORMAT,
            "key": self.run.key,
            "task": self.run.task,
            "version": self.run.version,
            "settings": self.run.settings,
            "status": self.status,
            "reason": self.reason,
            "result": self.result,
            "versions": self.versions,
        }
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def parse(cls, text: str) -> Record:
        """Read the bytes of a file; ValueError where they are not a finished run."""
        content = json.loads(text)
        if not isinstance(content, dict) or not isinstance(content.get("format"), int):
            raise ValueError("not a result of a run")
        _check_format(content["format"], "a result")
        try:
            run = Run(content["task"], content["version"], content["settings"])
            record = cls(run, content["status"], content["reason"], content["result"], content["versions"])
            key = content["key"]
        except KeyError as error:
            raise ValueError(f"{error} is missing") from error
        if run.key != key:
            raise ValueError("its settings do not belong to its key")
        if record.status not in ("done", "failed") or not isinstance(record.result, dict):
            raise ValueError(f"status {record.status!r}")
        return record


class Store:
    """A folder of finished runs. Several processes and machines may share it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs = self.folder / "runs"

    def create(self) -> Store:
        """Make the folder ready for writing."""
        self.check()
        with _clear_errors(self.folder):
            self.runs.mkdir(parents=True, exist_ok=True)
            (self.folder / "locks").mkdir(exist_ok=True)
            if not (self.folder / "study.json").exists():
                _write(self.folder / "study.json", json.dumps({"format": FORMAT}) + "\n", f".{os.getpid()}.tmp")
        return self

    def check(self) -> None:
        """Refuse a folder that another version of foretune wrote."""
        mark = self.folder / "study.json"
        try:
            content = json.loads(mark.read_text(encoding="utf-8"))
            number = content["format"] if isinstance(content, dict) else None
        except (FileNotFoundError, NotADirectoryError):
            return
        except (ValueError, KeyError) as error:
            raise StudyError(f"{mark} is damaged ({error}); remove that one file and start again") from error
        _check_format(number, str(self.folder))

    def records(self) -> dict[str, Record]:
        """Every finished run by its key. Damaged files are set aside, so that their runs are done again."""
        self.check()
        found = {}
        for path in sorted(self.runs.glob("*.json")) if self.runs.is_dir() else []:
            if path.name.endswith(".time.json"):
                continue
            if not NAME.fullmatch(path.name):
                log.warning("foretune: ignored %s, which is not a result of this study", path)
                continue
            record = self.read(path.stem)
            if record is not None:
                found[path.stem] = record
        return found

    def read(self, key: str) -> Record | None:
        """One finished run, or None where it is missing or damaged."""
        path = self.runs / f"{key}.json"
        try:
            record = Record.parse(path.read_text(encoding="utf-8"))
            if record.run.key != key:
                raise ValueError("its name does not belong to its key")
        except FileNotFoundError:
            return None
        except ValueError as error:
            self._set_aside(path, error)
            return None
        return record

    def write(self, record: Record, timing: Mapping[str, Any]) -> None:
        """Keep a finished run. The result comes last and at once: it is there whole or not at all."""
        path = self.runs / f"{record.run.key}.json"
        with _clear_errors(self.folder):
            _write(path.with_suffix(".time.json"), json.dumps(timing, indent=1, allow_nan=False) + "\n")
            _write(path, record.text())

    def timing(self, key: str) -> dict[str, Any]:
        """Seconds and circumstances of a finished run; empty where unknown."""
        try:
            timing = json.loads((self.runs / f"{key}.time.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return timing if isinstance(timing, dict) else {}

    def scratch(self, key: str) -> Path:
        """A folder for checkpoints within one run; it outlives a killed run."""
        path = self.folder / "scratch" / key
        with _clear_errors(self.folder):
            path.mkdir(parents=True, exist_ok=True)
        return path

    def discard_scratch(self, key: str) -> None:
        """Remove what a finished run left."""
        shutil.rmtree(self.folder / "scratch" / key, ignore_errors=True)

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Whether this process alone may do the run. The lock is the operating system's, so it ends with its owner."""
        with _clear_errors(self.folder):
            handle = os.open(self.folder / "locks" / f"{key}.lock", os.O_RDWR | os.O_CREAT)
        try:
            yield _lock(handle)
        finally:
            os.close(handle)  # the file stays: removing it could hand the same run to two processes

    def _set_aside(self, path: Path, error: ValueError) -> None:
        target = self.folder / "damaged" / path.name
        log.warning("foretune: %s is damaged (%s); moved to %s, its run will be done again", path, error, target.parent)
        with _clear_errors(self.folder):
            target.parent.mkdir(exist_ok=True)
            path.replace(target)


def strict(value: Any, place: str = "result") -> tuple[Any, str]:
    """A result as JSON can hold it, NaN and infinities as null, and the place and value of the first of those."""
    if isinstance(value, Mapping):
        items = {str(name): strict(item, f"{place}.{name}") for name, item in value.items()}
        return {name: item for name, (item, _) in items.items()}, _first(odd for _, odd in items.values())
    if isinstance(value, list | tuple):
        parts = [strict(item, f"{place}[{index}]") for index, item in enumerate(value)]
        return [item for item, _ in parts], _first(odd for _, odd in parts)
    if hasattr(value, "tolist"):  # numpy and torch
        return strict(value.tolist(), place)
    if isinstance(value, float) and not math.isfinite(value):
        return None, f"{place} is {value}"
    if value is None or isinstance(value, str | bool | int | float):
        return value, ""
    raise TypeError(f"{place} is a {type(value).__name__}; return numbers, strings, lists and dictionaries")


def is_full(error: BaseException) -> bool:
    """Whether the disk, not the run, is to blame."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def _first(texts: Iterator[str]) -> str:
    return next(filter(None, texts), "")


def _check_format(number: Any, what: str) -> None:
    if number != FORMAT:
        raise StudyError(
            f"{what} has the format {number!r}, this version of foretune writes {FORMAT}; "
            "use the version that wrote it, or another --out folder"
        )


def _lock(handle: int) -> bool:
    """Lock an open file if nobody else has; where there are no locks, say so and go on."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        log.warning("foretune: no file locks here (%s); let no other engine do the same runs, see --shard", error)
    return True


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StudyError(
            f"cannot write to {folder}: {error.strerror or error}; every finished run is kept, "
            "make room or get permission and start again to go on"
        ) from error


def _write(path: Path, text: str, ending: str = ".tmp") -> None:
    """Write beside the target, force to disk, rename. The owner of the run's lock is the only writer."""
    temporary = path.with_name(f".{path.name}{ending}")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
