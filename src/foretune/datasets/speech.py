"""Speech Commands: one-second clips of single words, 16 kHz, 16 bits."""

from __future__ import annotations

import hashlib
import io
import re
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, DataMissing
from .archive import Kept, keep, members
from .base import Dataset, Rows, Split
from .mnist import SPLIT_SEED
from .store import Store

__all__ = [
    "SC10",
    "locate_speech",
    "locate_speech_part",
    "read_sc10",
    "read_speech",
    "read_speech_clips",
    "read_speech_part",
    "which_set",
]

RATE = LENGTH = 16_000
SCALE = 1 / 32768
SC10 = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes")
PART = 100  # clips of each word in the part of the test set
LISTS = ("validation_list.txt", "testing_list.txt")
MOST_CLIPS = 2**27 - 1  # of one speaker; the constant of the published rule


def which_set(name: str) -> str:
    """`training`, `validation` or `testing`, by the published rule: 80, 10 and 10 % of the speakers, by hash."""
    share = int(hashlib.sha1(_speaker(name).encode()).hexdigest(), 16) % (MOST_CLIPS + 1) * (100 / MOST_CLIPS)
    return "validation" if share < 10 else "testing" if share < 20 else "training"


def read_speech_clips(folder: Path | str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], list[str]]:
    """All clips of a folder with one folder for each word, such as a part of the set.

    Returns:
        float32 `(P, 16000)` in [-1, 1], codes, the words, and the clips' names in order.
    """
    if not Path(folder).is_dir():
        raise DataMissing(f"{folder} is no folder; pass one with a folder for each word")
    clips = [(name, _samples(content, name)[0]) for name, content in members(Path(folder), _is_clip)]
    if not clips:
        raise DataMissing(f"{folder} holds no clips such as yes/0a7c2a8d_nohash_0.wav")
    names = [name for name, _ in clips]
    words = tuple(sorted({_word(name) for name in names}))
    X = np.stack([samples for _, samples in clips]).astype(np.float32) * np.float32(SCALE)
    return X, _codes(names, words), words, names


def locate_speech(store: Store) -> tuple[Store, Path]:
    """The unpacked folder or the archive itself."""
    names = ("speech_commands/speech_commands_v0.02", "speech_commands_v0.02", "SpeechCommands/speech_commands_v0.02")
    archives = ("speech_commands/speech_commands_v0.02.tar.gz", "speech_commands_v0.02.tar.gz")
    folder = store.find(*names)
    source = folder if folder and (folder / "yes").is_dir() else store.find(*archives)
    if source is None:
        part = store.find("speech_commands_test_set_v0.02", "speech_commands/speech_commands_test_set_v0.02")
        hint = f"; {part} is its test set alone, which `read_speech_clips` reads" if part else ""
        raise DataMissing(f"Speech Commands lacks speech_commands/speech_commands_v0.02[.tar.gz] in {store}{hint}")
    return store, source


def read_speech(place: tuple[Store, Path]) -> Dataset:
    """All 35 words in the official splits; clips are padded with silence or cut to one second."""
    kept = _kept(place)
    words = tuple(sorted({_word(name) for name in kept.names}))
    listed = kept.notes["lists"]
    if all(name in listed for name in LISTS):
        official = {
            clip: part for part, name in zip(("validation", "testing"), LISTS, strict=True) for clip in listed[name]
        }
        parts = np.array([official.get(name, "training") for name in kept.names])
    else:
        parts = np.array([which_set(name) for name in kept.names])
    rows = [_ordered(kept.names, np.flatnonzero(parts == part)) for part in ("training", "validation", "testing")]
    return _dataset("speech-commands", kept, rows, words, place[1])


def read_sc10(place: tuple[Store, Path]) -> Dataset:
    """The ten command words, clips of a full second only, 70, 15 and 15 % of each word drawn once and for all."""
    kept = _kept(place)
    full = np.array(kept.notes["samples"]) == LENGTH
    ten = np.array([_word(name) in SC10 for name in kept.names])
    rows = _ordered(kept.names, np.flatnonzero(full & ten))
    return _dataset("sc10", kept, _thirds(rows, _codes([kept.names[row] for row in rows], SC10)), SC10, place[1])


def locate_speech_part(store: Store) -> Path:
    """The unpacked folder of the official test set, or its archive."""
    name = "speech_commands_test_set_v0.02"
    source = store.find(name, f"speech_commands/{name}", f"speech_commands/{name}.tar.gz", f"{name}.tar.gz")
    if source is None:
        raise DataMissing(f"Speech Commands' test set lacks speech_commands/{name}[.tar.gz] in {store}")
    return source


def read_speech_part(source: Path) -> Dataset:
    """The first 100 clips of each of the ten words in the official test set, split anew by speaker: 60, 20 and 20 %."""
    clips = dict(members(source, lambda name: _is_clip(name) and _word(name) in SC10))
    by_word = {word: [name for name in sorted(clips) if _word(name) == word][:PART] for word in SC10}
    if few := [word for word, names in by_word.items() if len(names) < PART]:
        raise DataError(f"{source} has fewer than {PART} clips of {few[0]!r}; fetch it again")
    names = [name for chosen in by_word.values() for name in chosen]
    X = np.stack([_samples(clips[name], f"{source}:{name}")[0] for name in names]).astype(np.float32) * np.float32(
        SCALE
    )
    speakers, owner = np.unique([_speaker(name) for name in names], return_inverse=True)
    dealt = np.empty(len(speakers))
    dealt[np.random.default_rng(SPLIT_SEED).permutation(len(speakers))] = np.arange(len(speakers)) / len(speakers)
    part, y = np.digitize(dealt[owner], (0.6, 0.8)), _codes(names, SC10)
    train, validation, test = (Split(X[part == which], y[part == which]) for which in range(3))
    return Dataset("sc10-clips", train, validation, test, SC10, LENGTH, 1, f"read from {source}")


def _thirds(rows: np.ndarray, codes: np.ndarray) -> list[np.ndarray]:
    """Splits with every word in its proportion, of exactly 70, 15 and 15 % rounded as the published counts are."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(rows))
    place = np.empty(len(rows))
    for code in np.unique(codes):
        chosen = np.flatnonzero(codes[order] == code)
        place[chosen] = (np.arange(len(chosen)) + 0.5) / len(chosen)
    dealt = rows[order[np.argsort(place, kind="stable")]]
    first = int(0.7 * len(rows))
    second = first + (len(rows) - first) // 2
    return [dealt[:first], dealt[first:second], dealt[second:]]


def _dataset(name: str, kept: Kept, rows: list[np.ndarray], words: tuple[str, ...], source: Path) -> Dataset:
    codes = _codes(kept.names, words)
    train, validation, test = (Split(Rows(kept.rows, part, SCALE), codes[part]) for part in rows)
    return Dataset(name, train, validation, test, words, LENGTH, 1, f"read from {source}")


def _kept(place: tuple[Store, Path]) -> Kept:
    store, source = place

    def build(notes: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
        notes["lists"], notes["samples"] = {}, []
        for name, content in members(source, lambda name: _is_clip(name) or Path(name).name in LISTS):
            if Path(name).name in LISTS:
                notes["lists"][Path(name).name] = content.decode().split()
                continue
            samples, count = _samples(content, f"{source}:{name}")
            notes["samples"].append(count)
            yield name, samples

    return keep(store, "speech-commands", source, build)


def _is_clip(name: str) -> bool:
    return name.endswith(".wav") and name.count("/") == 1 and not name.startswith("_")


def _speaker(name: str) -> str:
    return re.sub(r"_nohash_.*$", "", Path(name).name)


def _word(name: str) -> str:
    return name.partition("/")[0]


def _codes(names: list[str], words: tuple[str, ...]) -> np.ndarray:
    table = {word: code for code, word in enumerate(words)}
    return np.array([table.get(_word(name), -1) for name in names], dtype=np.int64)


def _ordered(names: list[str], rows: np.ndarray) -> np.ndarray:
    """Rows in the order of their names, however the archive had them."""
    return np.array(sorted(rows.tolist(), key=names.__getitem__), dtype=np.int64)


def _samples(content: bytes, source: str) -> tuple[np.ndarray, int]:
    """One second of samples, and how many the clip has."""
    try:
        with wave.open(io.BytesIO(content)) as clip:
            form = (clip.getframerate(), clip.getnchannels(), clip.getsampwidth())
            samples = np.frombuffer(clip.readframes(clip.getnframes())[: 2 * clip.getnframes()], dtype="<i2")
    except (wave.Error, EOFError, ValueError) as error:
        raise DataError(f"{source} is no wav file ({error}); fetch it again") from error
    if form != (RATE, 1, 2):
        raise DataError(f"{source} has {form[0]} Hz, {form[1]} channels, {8 * form[2]} bits; 16000 Hz, 1, 16 are due")
    return np.pad(samples[:LENGTH], (0, max(0, LENGTH - len(samples)))), len(samples)
