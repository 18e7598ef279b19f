"""The theory against slow obvious references: explicit matrices, loops, and brute-force regression."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import foretune as ft
from foretune import theory
from foretune.theory.asymptotics import grid_response
from foretune.theory.kernel import filtered


def slow_filter(h, u):
    return np.array([sum(h[n] * u[k - n] for n in range(k + 1)) for k in range(len(u))])


def slow_gram(h, U, V):
    return np.array([[slow_filter(h, u) @ slow_filter(h, v) / len(u) for v in V] for u in U])


def decaying(rng, L):
    return rng.standard_normal(L) * 0.9 ** np.arange(L)


def correlated(rng, P, L):
    """Samples whose second moment is far from the identity."""
    return rng.standard_normal((P, L)) @ (rng.standard_normal((L, L)) / np.arange(1, L + 1))


# The kernel


@pytest.mark.parametrize(("P", "Q", "L"), [(1, 1, 1), (3, 2, 7), (30, 5, 16), (4, 4, 33)])
def test_gram_is_the_double_loop(rng, P, Q, L):
    h, U, V = rng.standard_normal(L), rng.standard_normal((P, L)), rng.standard_normal((Q, L))
    np.testing.assert_allclose(theory.gram(h, U, V), slow_gram(h, U, V), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(theory.gram(h, U), slow_gram(h, U, U), rtol=1e-10, atol=1e-12)


def test_long_sequences_go_by_transforms_and_agree(rng):
    L = 1500
    h, U = rng.standard_normal(L), torch.from_numpy(rng.standard_normal((3, L)))
    expected = np.array([slow_filter(h, u) for u in U.numpy()])
    np.testing.assert_allclose(filtered(torch.from_numpy(h), U).numpy(), expected, rtol=1e-9, atol=1e-9)


def test_the_kernel_as_a_function(rng):
    h, U, V = rng.standard_normal(9), rng.standard_normal((3, 9)), rng.standard_normal((2, 9))
    K = theory.ssm_kernel(h)
    assert K(U[0], V[1]) == pytest.approx(slow_gram(h, U, V)[0, 1])
    assert K(U[0]) == pytest.approx(slow_gram(h, U, U)[0, 0])
    assert K(U, V).shape == (3, 2)
    assert K(U[0], V).shape == (2,)
    assert K(U, V[0]).shape == (3,)


def test_the_answer_has_the_type_of_the_samples(rng):
    h, U = rng.standard_normal(6), rng.standard_normal((4, 6))
    tensor = theory.gram(h, torch.from_numpy(U).float())
    assert isinstance(tensor, torch.Tensor)
    assert tensor.dtype == torch.float64
    np.testing.assert_allclose(tensor.numpy(), theory.gram(torch.from_numpy(h), U), rtol=1e-5)
    assert isinstance(theory.gram(torch.from_numpy(h), U), np.ndarray)
    assert isinstance(theory.features(h, torch.from_numpy(U)), torch.Tensor)


def test_toeplitz_and_features(rng):
    h, U = rng.standard_normal(5), rng.standard_normal((2, 5))
    T = theory.toeplitz(h)
    assert T[3, 1] == h[2]
    assert T[1, 3] == 0
    np.testing.assert_allclose(theory.features(h, U), U @ T.T / np.sqrt(5))
    np.testing.assert_array_equal(theory.toeplitz(h, 3), T[:3, :3])
    np.testing.assert_array_equal(theory.toeplitz(h, 7)[5:, 0], 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(1, 20), st.integers(0, 10**6))
def test_gram_matrices_are_symmetric_positive_and_scale_with_h(P, L, seed):
    rng = np.random.default_rng(seed)
    h, U = rng.standard_normal(L), rng.standard_normal((P, L))
    K = theory.gram(h, U)
    np.testing.assert_allclose(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * (np.abs(K).max() + 1e-300) * P
    np.testing.assert_allclose(theory.gram(3 * h, U), 9 * K)


# The eigensystem


@pytest.mark.parametrize("L", [1, 2, 15, 40])
def test_eigenvalues_of_white_input_are_squared_singular_values(rng, L):
    h = decaying(rng, L)
    system = theory.eigensystem(h, L)
    expected = np.linalg.svd(theory.toeplitz(h), compute_uv=False) ** 2 / L
    np.testing.assert_allclose(system.eigenvalues, expected, rtol=1e-9, atol=1e-14 * expected[0])
    np.testing.assert_allclose(system.eigenvectors.T @ system.eigenvectors, np.eye(L), atol=1e-12)


def test_mercer_series_is_the_kernel_for_any_covariance(rng):
    h, U = decaying(rng, 12), correlated(rng, 200, 12)
    for covariance in (None, theory.second_moment(U)):
        system = theory.eigensystem(h, 12, covariance)
        functions = system.functions(U)
        np.testing.assert_allclose(
            functions * system.eigenvalues @ functions.T, slow_gram(h, U, U), rtol=1e-8, atol=1e-9
        )
    np.testing.assert_allclose(functions.T @ functions / 200, np.eye(12), atol=1e-9)


def test_a_covariance_without_full_rank(rng):
    U = correlated(rng, 50, 4) @ rng.standard_normal((4, 10))
    h = decaying(rng, 10)
    system = theory.eigensystem(h, 10, theory.second_moment(U))
    assert system.rank == 4
    functions = system.functions(U)[:, :4]
    np.testing.assert_allclose(functions.T @ functions / 50, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(functions * system.eigenvalues[:4] @ functions.T, theory.gram(h, U), atol=1e-9)


@pytest.mark.parametrize(("P", "L"), [(60, 11), (7, 20), (9, 9)])
def test_empirical_eigensystem_is_that_of_the_gram_matrix(rng, P, L):
    h, U = decaying(rng, L), rng.standard_normal((P, L))
    system = theory.empirical_eigensystem(h, U)
    values, vectors = np.linalg.eigh(slow_gram(h, U, U))
    count = min(P, L)
    np.testing.assert_allclose(system.eigenvalues, values[::-1][:count] / P, rtol=1e-9, atol=1e-14 * values[-1])
    overlap = np.abs(system.eigenvectors.T @ vectors[:, ::-1][:, :count])
    np.testing.assert_allclose(overlap, np.eye(count), atol=1e-5)
    np.testing.assert_allclose(system.eigenfunctions.T @ system.eigenfunctions / P, np.eye(count), atol=1e-6)


def test_empirical_and_predicted_eigensystems_agree_on_the_sample_that_gave_the_covariance(rng):
    h, U = decaying(rng, 8), correlated(rng, 500, 8)
    predicted = theory.eigensystem(h, 8, theory.second_moment(U))
    measured = theory.empirical_eigensystem(h, U)
    np.testing.assert_allclose(measured.eigenvalues, predicted.eigenvalues, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(theory.agreement(predicted.functions(U), measured.eigenfunctions), 1, atol=1e-7)


def test_agreement_ignores_signs_and_sees_through_mixing(rng):
    Q = np.linalg.qr(rng.standard_normal((50, 6)))[0]
    np.testing.assert_allclose(theory.agreement(Q, -3 * Q), 1)
    angle = 0.7
    turned = Q.copy()
    turned[:, 2], turned[:, 3] = Q[:, 2] * np.cos(angle) + Q[:, 3] * np.sin(angle), Q[:, 3] * np.cos(angle)
    assert theory.agreement(Q, turned)[2] == pytest.approx(np.cos(angle))
    assert theory.agreement(Q, turned, neighbours=1)[2] == pytest.approx(1)
    assert theory.agreement(Q, np.zeros((50, 6))).tolist() == [0] * 6


def test_target_power_adds_up_to_the_alignment_objective(rng):
    """Lemma (maximizing J): J = Σ η_ρ w̄²_ρ."""
    h, U = decaying(rng, 10), correlated(rng, 300, 10)
    C = theory.cross_moment(U, U @ rng.standard_normal((10, 3)))
    for covariance in (None, theory.second_moment(U)):
        system = theory.eigensystem(h, 10, covariance)
        assert system.eigenvalues @ system.target_power(C) == pytest.approx(ft.alignment(h, C))


def test_target_power_of_a_linear_target_is_its_variance(rng):
    h, U = decaying(rng, 10), correlated(rng, 300, 10)
    Y = U @ rng.standard_normal((10, 2))
    predicted = theory.eigensystem(h, 10, theory.second_moment(U)).target_power(theory.cross_moment(U, Y))
    assert predicted.sum() == pytest.approx(np.square(Y).sum(1).mean())
    np.testing.assert_allclose(theory.empirical_eigensystem(h, U).target_power(Y), predicted, rtol=1e-5, atol=1e-8)


# Asymptotics


def test_deviations_vanish_as_the_length_grows():
    h = ft.DiagonalSSM.s4d_lin(1, 8, 0, 0.3).impulse_response(2000)[0]
    values = [theory.singular_value_deviation(h, L) for L in (32, 96, 288)]
    vectors = [theory.fourier_deviation(h, L) for L in (32, 96, 288)]
    for deviations in (values, vectors):
        assert deviations[0] > 1.4 * deviations[1] > 1.8 * deviations[2] > 0


def test_deviations_are_bounded_by_the_distance_to_the_circulant_matrix(rng):
    h, L = decaying(rng, 200), 48
    T = theory.toeplitz(h, L)
    folded = np.pad(h, (0, -200 % L)).reshape(-1, L).sum(0)
    circulant = np.array([[folded[(i - j) % L] for j in range(L)] for i in range(L)])
    np.testing.assert_allclose(
        np.sort(np.abs(grid_response(torch.from_numpy(h), L).numpy())),
        np.sort(np.linalg.svd(circulant, compute_uv=False)),
    )
    assert theory.singular_value_deviation(h, L) <= np.linalg.norm(T - circulant) / np.linalg.norm(circulant)
    product = T.T @ T
    off = np.linalg.norm(product - circulant.T @ circulant) / np.linalg.norm(product)
    assert theory.fourier_deviation(h, L) <= off


def test_fourier_deviation_is_the_part_off_the_diagonal(rng):
    h, L = decaying(rng, 20), 20
    F = np.fft.fft(np.eye(L), norm="ortho")
    product = F.conj().T @ theory.toeplitz(h).T @ theory.toeplitz(h) @ F
    off = product - np.diag(np.diag(product))
    assert theory.fourier_deviation(h, L) == pytest.approx(np.linalg.norm(off) / np.linalg.norm(product))


def test_a_single_singular_value_may_stay_far_from_the_response():
    """So the theorem holds in the mean only: here |H| is at least 1, and one singular value goes to 0."""
    assert theory.singular_values([1.0, 2.0], 40)[-1] < 1e-10
    assert theory.singular_values([1.0, 2.0], 40)[-2] > 0.9
    assert theory.singular_value_deviation([1.0, 2.0], 400) < 0.05


# Learning curves


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.gram(np.ones(3), np.full((2, 3), np.nan)),
        lambda: theory.gram(np.array([1, np.inf]), np.ones((2, 2))),
        lambda: theory.gram(np.ones((2, 3)), np.ones((2, 3))),
        lambda: theory.gram(np.ones(3), np.ones((2, 3, 2))),
        lambda: theory.gram(np.ones(3), np.ones((2, 3)), np.ones((2, 4))),
        lambda: theory.gram(np.ones(0), np.ones((2, 3))),
        lambda: theory.eigensystem(np.ones(3), 0),
        lambda: theory.eigensystem(np.ones(3), 2.5),
        lambda: theory.eigensystem(np.ones(3), 3, np.ones((2, 2))),
        lambda: theory.eigensystem(np.ones(3), 3, np.triu(np.ones((3, 3)))),
        lambda: theory.eigensystem(np.ones(2), 2, -np.eye(2)),
        lambda: theory.eigensystem(np.ones(3), 3).target_power(np.ones(4)),
        lambda: theory.eigensystem(np.ones(3), 3).functions(np.ones((2, 4))),
        lambda: theory.cross_moment(np.ones((3, 2)), np.ones(2)),
        lambda: theory.agreement(np.ones((3, 2)), np.ones((4, 2))),
        lambda: theory.agreement(np.ones((3, 2)), np.ones((3, 2)), neighbours=-1),
        lambda: theory.fourier_deviation(np.zeros(4), 4),
        lambda: theory.singular_value_deviation(np.zeros(4), 4),
        lambda: theory.learning_curve([1.0], [1.0, 2.0], sizes=[1]),
        lambda: theory.learning_curve([-1.0], [1.0], sizes=[1]),
        lambda: theory.learning_curve([1.0], [np.nan], sizes=[1]),
        lambda: theory.learning_curve([1.0], [1.0], sizes=[0]),
        lambda: theory.learning_curve([1.0], [1.0], sizes=[]),
        lambda: theory.learning_curve([1.0], [1.0], sizes=[1], ridge=-1),
        lambda: theory.learning_curve([1.0], [1.0], sizes=[1], noise=np.nan),
        lambda: theory.cumulative_power([0.0, 0.0]),
        lambda: theory.kernel_regression_curve([1.0], np.ones((5, 1)), np.ones(5), sizes=[5]),
        lambda: theory.kernel_regression_curve([1.0], np.ones((5, 1)), np.ones(4), sizes=[2]),
        lambda: theory.kernel_regression_curve([1.0], np.ones((5, 1)), np.ones(5), sizes=[2], repeats=0),
        lambda: theory.kernel_regression_curve([1.0], np.ones((5, 1)), np.ones(5), sizes=[2], ridge=-1.0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ft.InputError):
        call()


def test_the_kernel_and_the_curve_take_lists_and_tensors_with_gradients(rng):
    h, u, v = rng.normal(size=(3, 8))
    kernel = theory.ssm_kernel(h)
    assert kernel(u.tolist(), v.tolist()) == pytest.approx(kernel(u, v), rel=1e-12)
    eta = torch.rand(5, dtype=torch.float64, requires_grad=True)
    expected = theory.learning_curve(eta.detach().numpy(), np.ones(5), sizes=[2])
    np.testing.assert_allclose(theory.learning_curve(eta, np.ones(5), sizes=torch.tensor([2])), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.learning_curve([1.0], [1.0], sizes="a"),
        lambda: theory.learning_curve(["a"], [1.0], sizes=[1]),
        lambda: theory.kernel_regression_curve(np.ones(3), np.eye(9, 3), np.ones(9), sizes=[2.5]),
    ],
)
def test_more_bad_input_is_refused(call):
    with pytest.raises(ft.InputError):
        call()
