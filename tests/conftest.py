import os
from pathlib import Path

import numpy as np
import pytest
import torch

import foretune as ft

if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores: more threads would only wait for each other
    torch.set_num_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes that a test starts


@pytest.fixture(autouse=True)
def _seeds() -> None:
    torch.manual_seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The real data sets, or a skip with the reason."""
    root = os.environ.get("FORETUNE_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("FORETUNE_DATA does not point to a folder with the real data sets")
    return Path(root)


def peaked(length: int, places: list[int], heights: list[float] | None = None, floor: float = 1e-4) -> ft.Spectrum:
    """A task spectrum with narrow peaks at the given bins."""
    power = np.full(length // 2 + 1, floor)
    power[places] = heights or [1.0] * len(places)
    return ft.Spectrum(power, length)


def local_maxima(power: np.ndarray) -> set[int]:
    """Bins that rise above both neighbours."""
    padded = np.concatenate([[-np.inf], power, [-np.inf]])
    return set(np.flatnonzero((padded[1:-1] > padded[:-2]) & (padded[1:-1] > padded[2:])).tolist())
