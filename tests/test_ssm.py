import math

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import foretune as ft
from foretune.ssm import defaults
from foretune.ssm.convolution import causal_convolution, transform_length
from foretune.ssm.final_state import final_state, krylov
from foretune.ssm.geometric import geometric_sum

RULES = ["zoh", "bilinear"]


def by_scipy(A, B, C, dt, rule, length):
    """The impulse response of one continuous system, discretized by scipy and run step by step."""
    Ad, Bd, *_ = scipy.signal.cont2discrete((A, B[:, None], C[None], np.zeros((1, 1))), dt, method=rule)
    out, x = [], Bd[:, 0]
    for _ in range(length):
        out.append(C @ x)
        x = Ad @ x
    return np.array(out)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 100, 129])
def test_diagonal_against_scipy(rule, length):
    ssm = ft.DiagonalSSM.s4d_lin(heads=3, state=8, seed=1)
    ssm = ft.DiagonalSSM(ssm.dt, ssm.A, ssm.B * (1 + 0.5j), ssm.C, rule)
    mine = ssm.impulse_response(length).numpy()
    assert mine.shape == (3, length)
    for h in range(3):
        A, B, C = (side[h].numpy() for side in (ssm.A, ssm.B, ssm.C))
        both = by_scipy(
            np.diag(np.r_[A, A.conj()]), np.r_[B, B.conj()], np.r_[C, C.conj()], float(ssm.dt[h]), rule, length
        )
        if rule == "bilinear":  # scipy's output weights carry a half step more
            Ad, Bd, Cd = (side[h].numpy() for side in ssm.discretized())
            both = np.array([2 * (Cd * Ad**t * Bd).sum().real for t in range(length)])
        np.testing.assert_allclose(mine[h], both.real, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_discretized_steps_follow_the_rule(rule):
    ssm = ft.DiagonalSSM.s4d_inv(heads=2, state=6, seed=3)
    ssm = ft.DiagonalSSM(ssm.dt, ssm.A, ssm.B, ssm.C, rule)
    A, B, _ = ssm.discretized()
    for h in range(2):
        Ad, Bd, *_ = scipy.signal.cont2discrete(
            (np.diag(ssm.A[h]), ssm.B[h].numpy()[:, None], np.zeros((1, 3)), np.zeros((1, 1))),
            float(ssm.dt[h]),
            method=rule,
        )
        np.testing.assert_allclose(A[h], np.diag(Ad), rtol=1e-12)
        np.testing.assert_allclose(B[h], Bd[:, 0], rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_real_against_scipy(rule):
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((5, 5)) - 2 * np.eye(5), rng.standard_normal(5), rng.standard_normal(5)
    ssm = ft.RealSSM(torch.tensor(0.1), *(torch.from_numpy(x) for x in (A, B, C)), rule=rule)
    Ad, Bd, *_ = scipy.signal.cont2discrete((A, B[:, None], C[None], np.zeros((1, 1))), 0.1, method=rule)
    np.testing.assert_allclose(ssm.discretized()[0], Ad, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ssm.discretized()[1], Bd[:, 0], rtol=1e-6, atol=1e-9)
    x, k = ssm.discretized()[1].numpy(), []
    for _ in range(37):
        k.append(C @ x)
        x = ssm.discretized()[0].numpy() @ x
    np.testing.assert_allclose(ssm.impulse_response(37)[0], k, rtol=1e-9, atol=1e-12)


def test_zero_order_hold_of_a_singular_matrix():
    ssm = ft.RealSSM(torch.tensor(0.5), torch.tensor([[0.0, 1], [0, 0]]), torch.tensor([0.0, 1]), torch.ones(2))
    np.testing.assert_allclose(ssm.discretized()[1], [0.125, 0.5])
    still = ft.DiagonalSSM(torch.tensor([0.5]), *(torch.full((1, 1), v, dtype=torch.cfloat) for v in (0, 1, 1)))
    np.testing.assert_allclose(still.discretized()[1], [[0.5]])


@pytest.mark.parametrize(
    "ssm", [ft.DiagonalSSM.s4d_legs(heads=2, state=16, seed=0, dt=0.2), ft.RealSSM.fourier(16, dt=0.05)]
)
def test_frequency_response_is_the_transform_of_a_long_impulse_response(ssm):
    omega = torch.linspace(0, torch.pi, 33, dtype=torch.float64)
    k = ssm.impulse_response(4000)
    slow = (k.to(torch.complex128).unsqueeze(1) * torch.exp(-1j * omega[:, None] * torch.arange(4000))).sum(-1)
    np.testing.assert_allclose(ssm.frequency_response(omega), slow, atol=1e-9 * float(slow.abs().max()))


def test_a_growing_system_has_no_exact_response():
    ssm = ft.DiagonalSSM.s4d_lin(1, 4)
    with pytest.raises(ft.InputError, match="grows"):
        ssm.replace(A=-ssm.A).frequency_response(torch.zeros(1))
    real = ft.RealSSM.fourier(4)
    with pytest.raises(ft.InputError, match="spectral radius"):
        real.replace(A=-real.A).frequency_response(torch.zeros(1))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 300), st.sampled_from([torch.float32, torch.float64]))
def test_geometric_sum_equals_the_plain_table(heads, modes, length, dtype):
    ssm = ft.DiagonalSSM.s4d_lin(heads, 2 * modes, seed=length).to(dtype=dtype)
    c, z = ssm.modes()
    C, Z = (side.to(torch.complex128).unsqueeze(-1) for side in (c, z))
    terms = 2 * C * torch.exp(Z * torch.arange(length))
    fast = geometric_sum(c, z, length)
    assert fast.dtype == dtype
    error = (fast - terms.sum(1).real).abs().max() / terms.abs().sum(1).max()
    assert error < (1e-12 if dtype == torch.float64 else 1e-5)


def test_long_phases_keep_their_digits_in_single_precision():
    ssm = ft.DiagonalSSM.s4d_lin(8, 64, seed=0)
    single = ssm.to(dtype=torch.float32)
    # The same rounded exponents in double precision: only the powers differ.
    c, z = single.modes()
    exact = geometric_sum(c.to(torch.complex128), z.to(torch.complex128), 16384)
    assert ((geometric_sum(c, z, 16384) - exact).norm() / exact.norm()).item() < 2e-6


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 200), st.integers(0, 1000))
def test_causal_convolution_against_numpy(length, seed):
    rng = np.random.default_rng(seed)
    u, k = rng.standard_normal((2, 3, length)), rng.standard_normal((3, length))
    y = causal_convolution(torch.from_numpy(u), torch.from_numpy(k)).numpy()
    for b in range(2):
        for h in range(3):
            np.testing.assert_allclose(y[b, h], np.convolve(u[b, h], k[h])[:length], atol=1e-11)


def test_transform_lengths_hold_the_convolution_and_have_small_factors():
    for length in [*range(1, 300), 784, 1024, 5000, 16384, 99991]:
        size = transform_length(length)
        assert size >= 2 * length - 1
        assert size <= 2 * max(1, 2 * length - 1)
        for prime in (2, 3, 5):
            while size % prime == 0:
                size //= prime
        assert size == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(0, 1000))
def test_final_state_against_the_loop(length, seed):
    generator = torch.Generator().manual_seed(seed)
    A, b, u = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((5, 5), (5,), (4, length)))
    A = A / 3
    h = torch.zeros(4, 5, dtype=torch.float64)
    for t in range(length):
        h = h @ A.T + u[:, t : t + 1] * b
    np.testing.assert_allclose(final_state(u, A, b), h, atol=1e-9 * float(h.abs().max() + 1))
    assert krylov(A, b, length).shape == (5, length)


def test_final_state_gradients():
    parts = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((2, 11), (3, 3), (3,))]
    assert torch.autograd.gradcheck(final_state, parts)


def test_impulse_response_gradients():
    ssm = ft.DiagonalSSM.s4d_lin(2, 4, seed=0)
    dt, A, C = (getattr(ssm, n).clone().requires_grad_() for n in ("dt", "A", "C"))
    for rule in RULES:
        assert torch.autograd.gradcheck(
            lambda dt, A, C, rule=rule: ft.DiagonalSSM(dt, A, ssm.B, C, rule).impulse_response(40), (dt, A, C)
        )


def test_shared_rows_repeat_in_turn():
    base = ft.DiagonalSSM.s4d_lin(4, 6, seed=0)
    A = torch.stack([base.A[0], base.A[0] * 0.5])
    shared = ft.DiagonalSSM(base.dt, A, base.B[:2], base.C)
    full = ft.DiagonalSSM(base.dt, A.repeat(2, 1), base.B, base.C)
    np.testing.assert_allclose(shared.impulse_response(50), full.impulse_response(50))


def test_named_defaults():
    lin = ft.DiagonalSSM.s4d_lin(heads=64, state=64, seed=0)
    assert lin.C.shape == (64, 32)
    assert lin.state == 64
    np.testing.assert_allclose(lin.A[5].imag, math.pi * np.arange(32))
    assert ((lin.dt >= 1e-3) & (lin.dt <= 1e-1)).all()
    assert not torch.equal(lin.C, ft.DiagonalSSM.s4d_lin(heads=64, state=64, seed=1).C)
    inv = ft.DiagonalSSM.s4d_inv(state=64)
    np.testing.assert_allclose(inv.A[0, 0].imag, 64 / math.pi * 63)
    low, high = ft.DiagonalSSM.low_frequency(state=64), ft.DiagonalSSM.high_frequency(state=64)
    assert float(low.dt[0]) == 0.5 / 64
    assert float(high.dt[0]) == 1 / 64
    assert float(low.peak_frequencies().max()) < 0.125 < 0.25 <= float(high.peak_frequencies().min())


def test_legs_eigenvalues_are_those_of_the_normal_part():
    n = np.arange(20)
    A = -np.where(n[:, None] > n, np.sqrt(np.outer(2 * n + 1, 2 * n + 1)), np.diag(n + 1.0))
    p = np.sqrt(n + 0.5)
    w = np.linalg.eigvals(A + np.outer(p, p))
    mine = ft.DiagonalSSM.s4d_legs(state=20).A[0].numpy()
    np.testing.assert_allclose(mine.real, -0.5)
    np.testing.assert_allclose(mine.imag, np.sort(w.imag[w.imag > 0]), rtol=1e-9)


def test_fourier_default():
    ssm = ft.RealSSM.fourier(8)
    w = torch.linalg.eigvals(ssm.A)
    np.testing.assert_allclose(w.real, -0.5, atol=1e-12)
    np.testing.assert_allclose(sorted(w.imag[w.imag > -1e-9].tolist())[-3:], 2 * math.pi * np.arange(1, 4), rtol=1e-12)
    np.testing.assert_allclose(ssm.B, np.sqrt([1, 0, 2, 0, 2, 0, 2, 0]))


def test_frequency_bias_numbers_of_the_paper():
    # P(ω_n/π < 0.1, 0.3, 0.6) = 0.25, 0.49, 0.64
    for limit, probability in ((0.1, 0.25), (0.3, 0.49), (0.6, 0.64)):
        assert round(defaults.bandwidth_probability(limit), 2) == pytest.approx(probability, abs=0.0051)
    steps = ft.DiagonalSSM.s4d_lin(heads=20000, state=64, seed=0).dt
    share = (defaults.bandwidth(steps) < 0.3).double().mean().item()
    assert share == pytest.approx(defaults.bandwidth_probability(0.3), abs=0.015)


@pytest.mark.parametrize("rule", RULES)
def test_a_lone_mode_peaks_where_the_formula_says(rule):
    one = torch.ones(1, 1, dtype=torch.complex128)
    ssm = ft.DiagonalSSM(torch.tensor([0.05]).double(), (-0.2 + 20j) * one, one, one, rule)
    omega = torch.linspace(0, torch.pi, 20001, dtype=torch.float64)
    top = omega[ssm.frequency_response(omega).abs()[0].argmax()] / (2 * torch.pi)
    assert float(top) == pytest.approx(float(ssm.peak_frequencies()), abs=2e-4)
    if rule == "zoh":
        assert float(ssm.peak_frequencies()) == pytest.approx(0.05 * 20 / (2 * math.pi))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: ft.DiagonalSSM.s4d_lin(2, 7), "even"),
        (lambda: ft.DiagonalSSM.s4d_lin(0, 8), "heads is 0"),
        (lambda: ft.DiagonalSSM.s4d_lin(2, 8, dt=(0.1, 0.01)), "dt"),
        (lambda: ft.DiagonalSSM.s4d_lin(2, 8).replace(dt=torch.zeros(2)), "above 0"),
        (lambda: ft.DiagonalSSM.s4d_lin(2, 8).replace(dt=torch.ones(3)), "shapes"),
        (lambda: ft.DiagonalSSM.s4d_lin(2, 8).replace(C=torch.full((2, 4), math.nan + 0j)), "C holds"),
        (lambda: ft.DiagonalSSM(*(torch.ones(2, 4),) * 4, rule="euler"), "euler"),
        (lambda: ft.RealSSM.fourier(8).replace(B=torch.ones(3)), "shapes"),
        (lambda: ft.RealSSM.fourier(8).replace(dt=torch.tensor(-1.0)), "above 0"),
        (lambda: ft.RealSSM.fourier(8).replace(A=torch.full((8, 8), math.inf)), "A holds"),
    ],
)
def test_bad_parameters(make, word):
    with pytest.raises(ft.InputError, match=word):
        make()


@pytest.mark.parametrize("length", [1, 7, 5000])
def test_geometric_sum_gradients_equal_those_of_the_table(length):
    def table(c, z):
        return 2 * (c.unsqueeze(-1) * torch.exp(z.unsqueeze(-1) * torch.arange(length))).sum(1).real

    ssm = ft.DiagonalSSM.s4d_lin(3, 8, seed=0)
    weights = torch.randn(3, length, dtype=torch.float64)
    one, two = ([side.clone().requires_grad_() for side in ssm.modes()] for _ in range(2))
    (geometric_sum(*one, length) * weights).sum().backward()
    (table(*two) * weights).sum().backward()
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(2, 3, 17), (3, 17), (2, 2, 3, 17)])
def test_convolution_gradients(shape):
    u = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    k = torch.randn(3, 17, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(causal_convolution, (u, k))


def test_blocks_of_heads_change_nothing(monkeypatch):
    from foretune.ssm import convolution

    u = torch.randn(2, 5, 1000, dtype=torch.float64, requires_grad=True)
    k = torch.randn(5, 1000, dtype=torch.float64, requires_grad=True)
    answers = []
    for block in (1, 128, 1 << 20):
        monkeypatch.setattr(convolution, "BLOCK", block)
        y = causal_convolution(u, k)
        answers.append((y, *torch.autograd.grad(y.square().sum(), (u, k))))
    for other in answers[1:]:
        for a, b in zip(answers[0], other, strict=True):
            torch.testing.assert_close(a, b)


def test_parameter_sets_take_arrays_numbers_and_half_precision():
    ssm = ft.DiagonalSSM.s4d_lin(2, 8)
    arrays = ft.DiagonalSSM(*(getattr(ssm, n).numpy() for n in ("dt", "A", "B", "C")))
    torch.testing.assert_close(arrays.impulse_response(9), ssm.impulse_response(9))
    silent = ft.DiagonalSSM(ssm.dt, ssm.A, ssm.B.real, ssm.C.real)
    tuned, _ = ft.tune(silent, ft.Spectrum(np.arange(17.0), 32))
    assert tuned.C.is_complex()
    assert ssm.to(dtype=torch.float16).impulse_response(9).dtype == torch.float32
    real = ft.RealSSM.fourier(8, 0.01)
    same = ft.RealSSM(0.01, real.A.numpy(), real.B, real.C)
    torch.testing.assert_close(same.impulse_response(9), real.impulse_response(9))
    assert ft.RealSSM(*(getattr(real, n).half() for n in ("dt", "A", "B", "C"))).impulse_response(9).isfinite().all()


@pytest.mark.parametrize("ssm", [ft.DiagonalSSM.s4d_lin(2, 8), ft.RealSSM.fourier(8)])
def test_omega_may_be_one_frequency(ssm):
    torch.testing.assert_close(ssm.frequency_response(0.5), ssm.frequency_response([0.5]))
    for omega in (math.nan, np.zeros((2, 2)), "a", 1j):
        with pytest.raises(ft.InputError, match="omega"):
            ssm.frequency_response(omega)


def test_values_of_other_kinds_are_refused():
    ssm = ft.DiagonalSSM.s4d_lin(2, 8)
    for change in ({"B": None}, {"dt": ssm.dt + 0j}, {"C": "a"}, {"dt": 0.1}, {"A": ssm.A.to("meta")}):
        with pytest.raises(ft.InputError):
            ssm.replace(**change)
    for make in (ft.DiagonalSSM.s4d_lin, ft.DiagonalSSM.low_frequency):
        with pytest.raises(ft.InputError, match="heads is"):
            make(heads=2.5)
