import dataclasses
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import foretune as ft


def test_frequencies_are_those_of_the_rfft():
    for length in (1, 2, 7, 8, 101):
        spectrum = ft.Spectrum(np.ones(length // 2 + 1), length)
        np.testing.assert_allclose(spectrum.frequencies, np.fft.rfftfreq(length))


def test_it_is_frozen_and_keeps_its_own_copy():
    power = np.arange(5.0)
    spectrum = ft.Spectrum(power=power, length=8)
    power[:] = 7
    assert spectrum.power.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        spectrum.power[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        spectrum.length = 9
    assert pickle.loads(pickle.dumps(spectrum)).power.tolist() == [0, 1, 2, 3, 4]
    assert ft.Spectrum(torch.ones(5, requires_grad=True), 8).power.dtype == np.float64


@given(st.integers(0, 10**6), st.floats(1e-200, 1e200))
def test_normalization_forgets_scale(seed, scale):
    power = np.random.default_rng(seed).random(9)
    unit = ft.Spectrum(power * scale, 16).normalized().power
    np.testing.assert_allclose(np.linalg.norm(unit), 1)
    np.testing.assert_allclose(unit, power / np.linalg.norm(power), rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6))
def test_peaks_against_a_search_by_hand(seed, count, separation):
    power = np.random.default_rng(seed).random(21)
    frequencies, strengths = ft.Spectrum(power, 40).peaks(count, separation)
    left, wanted = dict(enumerate(power)), []
    while left and len(wanted) < count:
        k = max(left, key=left.get)
        wanted.append(k)
        left = {j: p for j, p in left.items() if abs(j - k) >= separation}
    np.testing.assert_allclose(frequencies, np.array(wanted) / 40)
    np.testing.assert_allclose(strengths, power[wanted] / power.max())
    assert strengths[0] == 1
    assert (np.diff(strengths) <= 0).all()


def test_peaks_leave_out_silent_frequencies():
    frequencies, strengths = ft.Spectrum([0, 2, 0, 1, 0], 8).peaks(4)
    assert frequencies.tolist() == [1 / 8, 3 / 8]
    assert strengths.tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("power", "length", "word"),
    [
        ([1.0, 2.0], 8, "5 frequencies"),
        ([1.0, -2.0], 2, "-2.0"),
        ([1.0, np.nan], 2, "nan"),
        ([1.0], 0, "length is 0"),
        (1.0, 1, "shape"),
    ],
)
def test_bad_spectra(power, length, word):
    with pytest.raises(ft.InputError, match=word):
        ft.Spectrum(power, length)


def test_bad_questions():
    with pytest.raises(ft.InputError, match="count is 0"):
        ft.Spectrum([1.0, 1], 2).peaks(0)
    with pytest.raises(ft.InputError, match="no peaks"):
        ft.Spectrum([0.0, 0], 2).peaks(1)
    with pytest.raises(ft.InputError, match="one spectrum"):
        ft.Spectrum(np.ones((3, 2)), 2).peaks(1)


def test_plot_draws_frequencies_in_hertz():
    import matplotlib as mpl

    mpl.use("agg")
    ax = ft.Spectrum([0, 2.0, 1], 4).plot(sampling_rate=100.0)
    assert ax.lines[0].get_xdata().tolist() == [0, 25, 50]
    assert ax.get_xlabel() == "frequency (Hz)"


@pytest.mark.parametrize(
    ("power", "length"),
    [
        ([1, 2, 3], "a"),
        ([1, 2, 3], None),
        ([1, 2, 3], math.nan),
        (["a", 1, 2], 4),
        ([1j, 0, 0], 4),
        ([[1, 2, 3], [1]], 4),
    ],
)
def test_what_is_no_number_is_refused(power, length):
    with pytest.raises(ft.InputError):
        ft.Spectrum(power=power, length=length)
