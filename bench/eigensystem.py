"""The empirical eigensystem of the SSM kernel by L×L work, against `eigh` of the P×P Gram matrix."""

import time
from functools import partial

import numpy as np
import torch

from foretune.theory import empirical_eigensystem, gram

from .measure import Row, fastest, peak_memory

LENGTH = 784
SAME, FULL = 6000, 15000  # samples of both sides, and of ours alone
TARGET = 50.0


def _setup(samples: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return 0.99 ** np.arange(LENGTH), rng.standard_normal((samples, LENGTH))


def plain(h: np.ndarray, U: np.ndarray) -> np.ndarray:
    """All eigenvalues and eigenvectors of the Gram matrix; the largest eigenvalues, largest first."""
    values, _ = torch.linalg.eigh(torch.from_numpy(gram(h, U)) / len(U))
    return values.flip(0)[:LENGTH].numpy()


def ours(samples: int) -> None:
    """From drawing the samples to eigenvalues and eigenfunctions."""
    empirical_eigensystem(*_setup(samples))


def draw(samples: int) -> None:
    """The samples alone, whose memory is not the method's."""
    _setup(samples)


def rows() -> list[Row]:
    h, U = _setup(SAME)
    start = time.perf_counter()
    expected = plain(h, U)
    slow = time.perf_counter() - start  # once: it takes as long as everything else together
    found = empirical_eigensystem(h, U).eigenvalues
    error = float(np.abs(found - expected).max() / expected.max())
    same = fastest({"ours": partial(empirical_eigensystem, h, U)})["ours"]
    full = fastest({"ours": partial(empirical_eigensystem, *_setup(FULL))}, rounds=3)["ours"]
    added = peak_memory(partial(ours, FULL)) - peak_memory(partial(draw, FULL))
    square = FULL**2 * 8 / 2**20
    return [
        Row(f"eigensystem of {SAME:,} × {LENGTH}", f"{slow:.1f} s", f"{same:.3f} s", slow / same, TARGET, f"{error:.1e}"),
        Row(
            f"{FULL:,} × {LENGTH}, against eigh of only {SAME:,}", f"{slow:.1f} s", f"{full:.3f} s", slow / full, 1.0
        ),
        Row(
            f"its peak memory beyond the input, against a {FULL:,}² matrix",
            f"{square:.0f} MiB", f"{added:.0f} MiB", square / added, 2.0,
        ),
    ]  # fmt: skip
