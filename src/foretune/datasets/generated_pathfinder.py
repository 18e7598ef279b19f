"""Our own PathFinder after Linsley et al. (2018) and LRA (2021): generated, not the published images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import InputError
from .pathfinder import SIDE

__all__ = ["draw_batches", "generate_pathfinder"]

# LRA's published settings for 32 x 32 pixels; what it leaves open was chosen by us.
DASH, GAP, THICKNESS, MARKER = 2.0, 1.0, 0.5, 1.5
DISTRACTORS, SHARE = 20, 3  # dashes in distractors in all; a distractor is this part of a path
BORDER = 2.0
CONTRAST = 0.75
CLEARANCE = 1.75  # between dashes of different paths, or of one path beyond the next dash
SEED_DISTANCE = 7.0  # least distance between any two ends of the long paths
PROPOSALS, TURN, SHARPEST = 6, 0.6, 1.2  # directions tried for a dash; their spread and bound in radians
ABSENT = -100.0  # where dashes lie that found no room
BATCH, PATCH = 512, 6  # scenes at once; pixels around a dash or circle


def generate_pathfinder(samples: int, seed: int = 0, dashes: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Images with two dashed paths, shorter distractors and two circles: are the circles on one path (class 1)?

    Both classes have the same two paths of `dashes` dashes; the circles lie on both ends of one, or on one end of each.

    Returns:
        bytes `(samples, 1024)`, and labels, balanced up to one.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; ask for at least one")
    if not 2 <= dashes <= 14:
        raise InputError(f"dashes is {dashes}; 2 to 14 find room in {SIDE} x {SIDE} pixels")
    pixels, labels = zip(*draw_batches(samples, seed, dashes), strict=True)
    return np.concatenate(pixels), np.concatenate(labels)


def draw_batches(samples: int, seed: int = 0, dashes: int = 14) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same, in batches."""
    rng = np.random.default_rng(seed)
    left = np.zeros((0, _count(dashes), 2, 2), dtype=np.float32)
    for start in range(0, samples, BATCH):
        count = min(BATCH, samples - start)
        while len(left) < count:
            left = np.concatenate([left, _scenes(rng, dashes)])
        segments, left = left[:count], left[count:]
        y = (rng.permutation(count) + start) % 2
        yield _render(segments, _circles(rng, segments, y, dashes)), y


def _distractors(dashes: int) -> tuple[int, int]:
    length = max(1, dashes // SHARE)
    return DISTRACTORS // length, length


def _count(dashes: int) -> int:
    number, length = _distractors(dashes)
    return 2 * dashes + number * length


def _scenes(rng: np.random.Generator, dashes: int) -> np.ndarray:
    """Segments `(scenes, dash, end, xy)` of those scenes out of a batch in which both long paths found room.

    Distractors that find no room are left out, as in the original.
    """
    _, length = _distractors(dashes)
    segments = np.full((BATCH, _count(dashes), 2, 2), ABSENT, dtype=np.float32)
    for start in (0, dashes):
        segments = segments[_add_path(rng, segments, start, dashes)]
    tips = segments[:, [0, dashes - 1, dashes, 2 * dashes - 1], [0, 1, 0, 1]]
    apart = np.linalg.norm(tips[:, :, None] - tips[:, None], axis=-1) + np.where(np.eye(4), np.inf, 0)
    segments = segments[apart.min(axis=(1, 2)) > SEED_DISTANCE]
    for start in range(2 * dashes, _count(dashes), length):
        failed = np.setdiff1d(np.arange(len(segments)), _add_path(rng, segments, start, length))
        segments[failed, start : start + length] = ABSENT
    return segments


def _add_path(rng: np.random.Generator, segments: np.ndarray, drawn: int, dashes: int, tries: int = 6) -> np.ndarray:
    """Write a path behind the `drawn` dashes of each scene, trying again where it fails; says where it worked."""
    todo = np.arange(len(segments))
    for _ in range(tries):
        part = segments[todo]
        good = _walk(rng, part, drawn, dashes)
        segments[todo[good], drawn : drawn + dashes] = part[good, drawn : drawn + dashes]
        todo = todo[~good]
        if len(todo) == 0:
            break
    return np.setdiff1d(np.arange(len(segments)), todo)


def _walk(rng: np.random.Generator, segments: np.ndarray, drawn: int, dashes: int) -> np.ndarray:
    """One dash after another, each in the first proposed direction that stays clear of all others."""
    scenes = np.arange(len(segments))
    tip = rng.uniform(BORDER, SIDE - BORDER, (len(segments), 2))
    angle = rng.uniform(0, 2 * np.pi, len(segments))
    good = np.ones(len(segments), dtype=bool)
    for dash in range(dashes):
        turns = rng.normal(0, TURN, (len(segments), PROPOSALS)).clip(-SHARPEST, SHARPEST)
        angles = angle[:, None] + (turns if dash else rng.uniform(-np.pi, np.pi, turns.shape))
        ahead = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        begin = tip[:, None] + (GAP if dash else 0) * ahead
        end = begin + DASH * ahead
        inside = ((end > BORDER) & (end < SIDE - BORDER)).all(-1) & ((begin > BORDER) & (begin < SIDE - BORDER)).all(-1)
        points = np.stack([begin, (begin + end) / 2, end], axis=2)  # scene, proposal, place, xy
        before = drawn + max(0, dash - 1)  # the dash just drawn may be near
        clear = inside & _far(points, segments[:, :before])
        choice = clear.argmax(axis=1)
        good &= clear.any(axis=1)
        segments[:, drawn + dash, 0], segments[:, drawn + dash, 1] = begin[scenes, choice], end[scenes, choice]
        tip, angle = end[scenes, choice], angles[scenes, choice]
    return good


def _far(points: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """Whether all places of a proposal keep clear of all dashes."""
    if segments.shape[1] == 0:
        return np.ones(points.shape[:2], dtype=bool)
    stones = np.concatenate([segments[:, :, 0], segments.mean(axis=2), segments[:, :, 1]], axis=1)
    flat = points.reshape(len(points), -1, 2).astype(np.float32)
    # |p - s|² by its parts, so that the large product is a matrix product
    square = (flat**2).sum(-1)[:, :, None] - 2 * flat @ stones.transpose(0, 2, 1) + (stones**2).sum(-1)[:, None]
    nearest = square.min(axis=2).reshape(points.shape[:3])
    return np.asarray((nearest > CLEARANCE**2).all(axis=2))


def _circles(rng: np.random.Generator, segments: np.ndarray, y: np.ndarray, dashes: int) -> np.ndarray:
    """Centres `(scenes, 2, xy)`: both ends of one path, or an end of each."""
    tips = np.stack([segments[:, [0, dashes], 0], segments[:, [dashes - 1, 2 * dashes - 1], 1]], axis=2)  # path, end
    scenes, path = np.arange(len(y)), rng.integers(2, size=len(y))
    ends = rng.integers(2, size=(len(y), 2))
    one = np.stack([tips[scenes, path, 0], tips[scenes, path, 1]], axis=1)
    two = np.stack([tips[scenes, 0, ends[:, 0]], tips[scenes, 1, ends[:, 1]]], axis=1)
    return np.where((y == 1)[:, None, None], one, two)


def _render(segments: np.ndarray, circles: np.ndarray) -> np.ndarray:
    """Bytes `(scenes, 1024)`; each shape is as bright as the part of the pixel that it covers, roughly."""
    canvas = np.zeros((len(segments), PATCH + SIDE, PATCH + SIDE), dtype=np.float32)
    for dash in range(segments.shape[1]):
        begin, end = segments[:, dash, 0], segments[:, dash, 1]
        _stamp(canvas, begin, end, THICKNESS / 2 + 0.25, CONTRAST)
    for circle in range(2):
        _stamp(canvas, circles[:, circle], circles[:, circle], MARKER, 1.0)
    return np.round(255 * canvas[:, :SIDE, :SIDE]).astype(np.uint8).reshape(len(segments), -1)


def _stamp(canvas: np.ndarray, begin: np.ndarray, end: np.ndarray, radius: float, brightness: float) -> None:
    """Draw a line with round ends into the few pixels around it."""
    corner = np.clip(np.floor((begin + end) / 2) - PATCH // 2 + 1, 0, SIDE)
    x, y = (corner[:, axis, None].astype(int) + np.arange(PATCH) for axis in range(2))
    at = (np.arange(len(canvas))[:, None, None], y[:, :, None], x[:, None, :])
    dx, dy = x[:, None, :] + 0.5 - begin[:, 0, None, None], y[:, :, None] + 0.5 - begin[:, 1, None, None]
    along = (end - begin)[..., None, None]
    length = np.maximum((along**2).sum(axis=1), 1e-6)
    share = np.clip((dx * along[:, 0] + dy * along[:, 1]) / length, 0, 1)
    distance = np.hypot(dx - share * along[:, 0], dy - share * along[:, 1])
    canvas[at] = np.maximum(canvas[at], brightness * np.clip(radius + 0.5 - distance, 0, 1))
