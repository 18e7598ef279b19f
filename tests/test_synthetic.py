import numpy as np
import pytest

import foretune as ft


def test_binary_frequency_is_decided_by_the_amplitude_at_3_hertz():
    X, y = ft.datasets.binary_frequency(4000, seed=1)
    assert X.shape == (4000, 256)
    assert X.dtype == np.float32
    assert np.bincount(y).tolist() == [2000, 2000]
    np.testing.assert_allclose(np.abs(X).max(axis=1), 1, rtol=1e-6)
    spectrum = ft.task_spectrum(X, y)
    assert np.argmax(spectrum.power) == 3
    assert spectrum.peaks(2)[1][1] < 0.1


def test_frequency_classification_has_one_band_for_each_class():
    X, y = ft.datasets.frequency_classification(1000, seed=1)
    assert X.shape == (1000, 1024)
    np.testing.assert_allclose(X.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(X.std(axis=1), 1, rtol=1e-4)
    power = np.abs(np.fft.rfft(X)) ** 2
    top = power[:, 2:].argmax(axis=1) + 2
    assert np.mean((top >= 4 + 6 * y - 1) & (top <= 10 + 6 * y + 1)) > 0.99


@pytest.mark.parametrize("make", [ft.datasets.binary_frequency, ft.datasets.frequency_classification])
def test_the_seed_decides(make):
    assert np.array_equal(make(50, seed=2)[0], make(50, seed=2)[0])
    assert not np.array_equal(make(50, seed=2)[0], make(50, seed=3)[0])
    with pytest.raises(ft.InputError, match="samples is 0"):
        make(0)
