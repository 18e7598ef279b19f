"""Learning curves and kernel regression, against brute force and the textbook."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretune import theory
from test_theory import decaying, slow_gram


def brute_force(eta, weights, P, ridge, noise, repeats, rng):
    """Mean squared error of kernel ridge regression on Gaussian features, exact over test points; and its standard error."""
    errors = []
    for _ in range(repeats):
        phi = rng.standard_normal((P, len(eta)))
        y = phi @ weights + rng.normal(0, np.sqrt(noise), P)
        if ridge == 0 and len(eta) <= P:
            found = np.linalg.lstsq(phi, y, rcond=None)[0]
        else:
            K = phi * eta @ phi.T
            found = eta * (phi.T @ np.linalg.solve(K + ridge * P * np.eye(P), y))
        errors.append(np.square(found - weights).sum())
    return np.mean(errors), np.std(errors, ddof=1) / np.sqrt(repeats)


@pytest.mark.parametrize(("ridge", "noise"), [(0.0, 0.0), (0.0, 0.3), (1e-2, 0.0), (1e-2, 0.3)])
def test_learning_curves_against_brute_force(rng, ridge, noise):
    modes = 60
    eta = np.arange(1, modes + 1) ** -1.2
    weights = np.arange(1, modes + 1) ** -0.7
    sizes = [3, 5, 10, 20, 30, 40, 100, 140, 200]
    curve = theory.learning_curve(eta, weights**2, sizes=sizes, ridge=ridge, noise=noise)
    for P, predicted in zip(sizes, curve, strict=True):
        mean, error = brute_force(eta, weights, P, ridge, noise, 40, rng)
        assert abs(mean - predicted) < 3 * error + 1e-9, P


def test_learning_curve_with_nothing_to_see():
    eta, power = np.array([1.0, 0.5, 0.5, 0.0]), np.array([1.0, 2.0, 3.0, 0.0])
    curve = theory.learning_curve(eta, power, sizes=[3, 4, 10**6])
    assert curve.tolist() == [0, 0, 0]
    assert theory.learning_curve(eta, power, sizes=[3], noise=0.1).tolist() == [np.inf]
    np.testing.assert_allclose(theory.learning_curve(eta, power, sizes=[9], noise=0.1), 0.1 * 3 / (9 - 3))
    np.testing.assert_allclose(theory.learning_curve(np.zeros(4), power, sizes=[1, 10], ridge=0.1), 6)
    np.testing.assert_allclose(theory.learning_curve(eta, power, sizes=[10**6], ridge=1e9), 6, rtol=1e-6)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e-12, 1e-3, 10.0]),
    st.sampled_from([1e-200, 1.0, 1e200]),
    st.integers(1, 30),
)
def test_learning_curves_are_finite_and_equivariant(seed, ridge, scale, modes):
    rng = np.random.default_rng(seed)
    eta = 10 ** rng.uniform(-12, 0, modes)
    eta[rng.random(modes) < 0.2] = 0
    eta[rng.random(modes) < 0.3] = eta[0]
    power, sizes = rng.random(modes), [1, 2, 7, 1000, 10**6]
    curve = theory.learning_curve(eta, power, sizes=sizes, ridge=ridge)
    rank = np.count_nonzero(eta)
    assert (curve[np.array(sizes) != rank] <= 1e6 * power.sum()).all()
    assert (curve >= 0).all()
    np.testing.assert_allclose(
        theory.learning_curve(eta * scale, power, sizes=sizes, ridge=ridge * scale), curve, rtol=1e-6, atol=1e-9
    )
    order = rng.permutation(modes)
    np.testing.assert_allclose(
        theory.learning_curve(eta[order], power[order], sizes=sizes, ridge=ridge), curve, rtol=1e-6, atol=1e-9
    )
    # An unlearnable tail is a mode with eigenvalue 0, or the same power as noise and as an offset.
    tail = theory.learning_curve(np.append(eta, 0), np.append(power, 0.4), sizes=sizes, ridge=ridge)
    same = theory.learning_curve(eta, power, sizes=sizes, ridge=ridge, noise=0.4, offset=0.4)
    np.testing.assert_allclose(tail, same, rtol=1e-6)


def test_the_effective_ridge_solves_its_equation():
    """With all eigenvalues 1, `P = M/(1+κ) + P ridge/κ` is quadratic in κ."""
    modes, P, ridge = 50, 30, 0.2
    kappa = max(np.roots([1, 1 - ridge - modes / P, -ridge]).real)
    learned = 1 / (1 + kappa)
    expected = (1 - learned) ** 2 * 3.0 / (1 - modes * learned**2 / P)
    curve = theory.learning_curve(np.ones(modes), np.full(modes, 3 / modes), sizes=[P], ridge=ridge)
    assert curve[0] == pytest.approx(expected)


def test_cumulative_power():
    np.testing.assert_allclose(theory.cumulative_power([1.0, 3.0, 4.0]), [1 / 8, 1 / 2, 1])
    np.testing.assert_allclose(theory.cumulative_power([1.0, 3.0, 4.0], [1.0, 3.0, 2.0]), [3 / 8, 7 / 8, 1])
    np.testing.assert_allclose(theory.cumulative_power([1.0, 3.0], total=8.0), [1 / 8, 1 / 2])


# Regression


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_regression_is_the_textbook_solution_on_either_side_of_the_length(rng, ridge):
    h, U = decaying(rng, 10), rng.standard_normal((60, 10))
    Y = U @ rng.standard_normal((10, 2)) + np.square(U[:, :2])
    curve = theory.kernel_regression_curve(h, U, Y, sizes=[20, 4], ridge=ridge, repeats=3, test_size=15, seed=5)
    draws = np.random.default_rng(5)
    for row in curve.errors:
        order = draws.permutation(60)
        draws.normal(0, 0, (20, 2))
        for P, error in zip([20, 4], row, strict=True):
            train, test = order[:P], order[-15:]
            K = slow_gram(h, U[train], U[train]) + ridge * P * np.eye(P)
            alpha = np.linalg.pinv(K, rcond=1e-12) @ Y[train]
            missed = slow_gram(h, U[test], U[train]) @ alpha - Y[test]
            assert error == pytest.approx(np.square(missed).sum(1).mean(), rel=1e-6)
    np.testing.assert_allclose(curve.mean, curve.errors.mean(0))
    np.testing.assert_allclose(curve.std, curve.errors.std(0, ddof=1))


def test_regression_follows_the_theory(rng):
    L = 60
    h, U = 0.95 ** np.arange(L), rng.standard_normal((3000, L))
    Y = U @ rng.standard_normal(L) / np.sqrt(L)
    system = theory.eigensystem(h, L)
    power = system.target_power(theory.cross_moment(U, Y))
    sizes, calls = [10, 30, 100, 300], []
    curve = theory.kernel_regression_curve(
        h, U, Y, sizes=sizes, ridge=1e-2, noise=0.2, repeats=30, progress=lambda done, of: calls.append((done, of))
    )
    predicted = theory.learning_curve(system.eigenvalues, power, sizes=sizes, ridge=1e-2, noise=0.2)
    np.testing.assert_allclose(curve.mean, predicted, rtol=0.1)
    assert calls[-1] == (30, 30)


# Bad input
