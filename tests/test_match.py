import math

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st

import foretune as ft


@pytest.mark.parametrize("ssm", [ft.DiagonalSSM.s4d_lin(heads=300, state=8, seed=0), ft.RealSSM.fourier(8)])
def test_model_spectrum_is_the_power_of_the_impulse_response(ssm):
    power = np.abs(np.fft.rfft(ssm.impulse_response(33).numpy())) ** 2
    np.testing.assert_allclose(ft.model_spectrum(ssm, 33).power, power.mean(0), rtol=1e-10)
    kept = ft.model_spectrum(ssm, 33, per_head=True).power
    assert kept.shape == (ssm.heads, 17)
    np.testing.assert_allclose(kept, power, rtol=1e-9, atol=1e-12 * power.max())


def test_exact_and_truncated_spectra_agree_for_decayed_responses():
    ssm = ft.DiagonalSSM.s4d_lin(heads=4, state=8, seed=0, dt=0.1)
    exact, truncated = (ft.model_spectrum(ssm, 1000, exact=e).power for e in (True, False))
    np.testing.assert_allclose(exact, truncated, rtol=1e-9)


def test_a_module_is_measured_by_its_first_layer():
    layer = ft.nn.S4D(4, 8)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), layer, ft.nn.S4D(4, 8))
    np.testing.assert_allclose(ft.model_spectrum(model, 20).power, ft.model_spectrum(layer, 20).power)
    with pytest.raises(ft.UnknownLayer, match="register_adapter"):
        ft.model_spectrum(torch.nn.Linear(2, 2), 20)
    with pytest.raises(ft.InputError, match="str"):
        ft.model_spectrum("s4d", 20)


@given(st.integers(0, 10**6), st.floats(1e-100, 1e100), st.floats(1e-100, 1e100))
def test_spectral_loss_ignores_gain_and_stays_between_0_and_2(seed, a, b):
    x, y = np.random.default_rng(seed).random((2, 9))
    loss = ft.spectral_loss(x, y)
    assert isinstance(loss, float)
    assert 0 <= loss <= 2
    assert ft.spectral_loss(a * x, b * y) == pytest.approx(loss, abs=1e-12)
    assert ft.spectral_loss(x, a * x) == pytest.approx(0, abs=1e-12)
    by_hand = np.sum((x / np.linalg.norm(x) - y / np.linalg.norm(y)) ** 2)
    assert loss == pytest.approx(by_hand)


def test_disjoint_spectra_are_two_apart():
    assert ft.spectral_loss(ft.Spectrum([1.0, 0, 0], 4), ft.Spectrum([0.0, 0, 5], 4)) == pytest.approx(2)


def test_spectral_loss_is_differentiable():
    task = ft.Spectrum(np.arange(1.0, 6), 8)
    power = torch.rand(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: ft.spectral_loss(p, task), power)
    assert ft.spectral_loss(power, task).shape == (3,)


def test_spectral_loss_refuses_what_cannot_be_compared():
    with pytest.raises(ft.InputError, match="lengths 4 and 5"):
        ft.spectral_loss(ft.Spectrum([1.0, 1, 1], 4), ft.Spectrum([1.0, 1, 1], 5))
    with pytest.raises(ft.InputError, match="3 and 2 frequencies"):
        ft.spectral_loss([1.0, 1, 1], [1.0, 2])
    with pytest.raises(ft.InputError, match="0 at every frequency"):
        ft.spectral_loss([0.0, 0], [1.0, 2])


@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 1000))
def test_alignment_against_the_toeplitz_matrix(length, d, seed):
    rng = np.random.default_rng(seed)
    h, C = rng.standard_normal(length), rng.standard_normal((length, d))
    T = scipy.linalg.toeplitz(h, np.zeros(length))
    assert ft.alignment(h, C) == pytest.approx(np.linalg.norm(T @ C) ** 2 / length)
    assert ft.alignment(torch.from_numpy(h), C[:, 0]) == pytest.approx(np.linalg.norm(T @ C[:, 0]) ** 2 / length)


def test_alignment_refuses_other_shapes():
    with pytest.raises(ft.InputError, match="shape"):
        ft.alignment(np.ones(3), np.ones(4))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.float32])
@pytest.mark.parametrize("scale", [1e-60, 1e9])
def test_spectral_loss_keeps_the_task_whatever_the_type_of_the_model_power(dtype, scale):
    model, shape = torch.arange(33).to(dtype), np.linspace(1.0, 2.0, 33)
    expected = ft.spectral_loss(np.arange(33.0), shape)
    assert float(ft.spectral_loss(model, ft.Spectrum(scale * shape, 64))) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("power", [[1, math.nan, 1], [1, -1, 1], [1, math.inf, 1], [], 3.0, None, [1j, 1, 1]])
def test_spectral_loss_refuses_what_is_no_power(power):
    for side in [power] if power is None else [power, torch.tensor(power)]:
        with pytest.raises(ft.InputError):
            ft.spectral_loss(side, np.ones(3))


def test_alignment_takes_lists_in_full_precision_and_refuses_values_that_are_not_finite():
    h, C = [0.1, 0.2, 0.3], [[0.1], [0.7], [0.3]]
    assert ft.alignment(h, C) == pytest.approx(ft.alignment(np.array(h), np.array(C)), rel=1e-14)
    for bad_h, bad_C in [([math.nan, 1], [1, 1]), ([1, 1], [math.inf, 1]), ([], []), ("ab", [1, 1]), ([1j, 1], [1, 1])]:
        with pytest.raises(ft.InputError):
            ft.alignment(bad_h, bad_C)


@pytest.mark.parametrize("length", [0, -1, 2.5, "8", None])
def test_lengths_are_whole_numbers(length):
    for ssm in (ft.DiagonalSSM.s4d_lin(2, 8), ft.RealSSM.fourier(8)):
        for call in (ssm.impulse_response, lambda n, ssm=ssm: ft.model_spectrum(ssm, n)):
            with pytest.raises(ft.InputError, match="length is"):
                call(length)
