import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import foretune as ft

PI = 4 * np.arctan(np.longdouble(1))  # np.pi has 16 digits only


def slow_fisher(X, y, eps=1e-6, ridge=1e-4):
    """Fisher log-power as the paper writes it, one frequency at a time, in exact sums."""
    X = np.asarray(X, dtype=np.longdouble)
    P, L = X.shape
    answer = []
    for k in range(L // 2 + 1):
        turn = np.array([(k * t) % L for t in range(L)], dtype=np.longdouble) * (2 * PI / L)
        re, im = X @ np.cos(turn), X @ np.sin(turn)
        z = np.log(re**2 + im**2 + eps)
        between = within = np.longdouble(0)
        labels = sorted(set(y), key=str)
        mean = {c: z[[i for i in range(P) if y[i] == c]].mean() for c in labels}
        prior = {c: sum(1 for i in range(P) if y[i] == c) / P for c in labels}
        centre = sum(prior[c] * mean[c] for c in labels)
        for c in labels:
            mine = z[[i for i in range(P) if y[i] == c]]
            between += prior[c] * (mean[c] - centre) ** 2
            within += prior[c] * ((mine - mean[c]) ** 2).mean()
        answer.append(float(between / (within + ridge)))
    return np.array(answer)


def slow_cross(X, Y):
    X, Y = np.asarray(X, dtype=np.longdouble), np.asarray(Y, dtype=np.longdouble)
    C = (X - X.mean(0)).T @ (Y - Y.mean(0)) / len(X)
    L = X.shape[1]
    answer = []
    for k in range(L // 2 + 1):
        turn = np.array([(k * t) % L for t in range(L)], dtype=np.longdouble) * (2 * PI / L)
        answer.append(float(((np.cos(turn) @ C) ** 2 + (np.sin(turn) @ C) ** 2).mean()))
    return np.array(answer)


def batches(X, y, cuts):
    edges = [0, *sorted(cuts), len(X)]
    return [(X[a:b], y[a:b]) for a, b in pairwise(edges) if b > a]


CASES = {
    "random": (40, 32, 3, 0.0, 1.0),
    "odd length": (41, 33, 3, 0.0, 1.0),
    "two samples": (2, 16, 2, 0.0, 1.0),
    "single feature": (30, 1, 2, 0.0, 1.0),
    "two features": (30, 2, 2, 0.0, 1.0),
    "offset 1e6": (50, 24, 3, 1e6, 1.0),
    "tiny": (50, 24, 3, 0.0, 1e-6),
    "huge": (50, 25, 3, 0.0, 1e8),
}


@pytest.mark.parametrize("case", CASES)
def test_estimators_agree_with_the_slow_references(case, rng):
    P, L, d, offset, scale = CASES[case]
    X = offset + scale * rng.standard_normal((P, L))
    y = np.arange(P) % d
    X = X + scale * y[:, None] * np.sin(np.arange(L))
    fisher = ft.task_spectrum(X, y)
    assert fisher.power.dtype == np.float64
    assert fisher.length == L
    np.testing.assert_allclose(fisher.power, slow_fisher(X, list(y)), rtol=1e-9, atol=1e-15)
    Y = rng.standard_normal((P, 2))
    # Away from the largest values the answer is a difference of rounded numbers in any arithmetic.
    for targets, dense in ((y, np.eye(d)[y]), (Y, Y)):
        cross = ft.task_spectrum(X, targets, method="cross").power
        slow = slow_cross(X, dense)
        np.testing.assert_allclose(cross, slow, rtol=1e-9, atol=1e-9 * slow.max())


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    length=st.integers(1, 40),
    cuts=st.lists(st.integers(1, 29), max_size=6),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
    method=st.sampled_from(["fisher", "cross", "real"]),
)
def test_streaming_agrees_in_any_batches_and_any_order(seed, length, cuts, offset, method):
    rng = np.random.default_rng(seed)
    X, y = offset + rng.standard_normal((30, length)), rng.integers(0, 3, 30)
    y[:2] = 0, 1
    if method == "real":
        method, y = "cross", rng.standard_normal((30, 2))
    whole = ft.task_spectrum(X, y, method=method)
    parts = batches(X, y, cuts)
    for order in (parts, parts[::-1], [parts[i] for i in rng.permutation(len(parts))]):
        streamed = ft.task_spectrum_from_batches(iter(order), method=method)
        np.testing.assert_allclose(streamed.power, whole.power, rtol=1e-9, atol=1e-9 * whole.power.max())
        assert (streamed.power >= 0).all()


def test_streaming_variance_never_goes_negative():
    X = np.full((1000, 8), 1e6) + 1e-6 * np.random.default_rng(0).standard_normal((1000, 8))
    y = np.arange(1000) % 2
    parts = [(X[i : i + 1], y[i : i + 1]) for i in range(1000)]
    streamed = ft.task_spectrum_from_batches(parts, ridge=1e-12)
    assert np.isfinite(streamed.power).all()
    assert (streamed.power >= 0).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), method=st.sampled_from(["fisher", "cross"]))
def test_order_of_samples_and_names_of_labels_do_not_matter(seed, method):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 17)), np.arange(20) % 3
    spectrum = ft.task_spectrum(X, y, method=method).power
    order = rng.permutation(20)
    np.testing.assert_allclose(ft.task_spectrum(X[order], y[order], method=method).power, spectrum, rtol=1e-9)
    for names in (["b", "a", "ç"], [(1, 2), (0,), ()], [True, 7, "x"], [3.0, -1.0, 2.0]):
        renamed = [names[i] for i in y]
        np.testing.assert_allclose(ft.task_spectrum(X, renamed, method=method).power, spectrum, rtol=1e-9)
    np.testing.assert_allclose(ft.task_spectrum(X, np.eye(3)[y], method=method).power, spectrum, rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    dtype=st.sampled_from(["int8", "uint8", "int64", "float16", "float32", "float64", "bool", ">f4"]),
    kind=st.sampled_from(["numpy", "torch", "list", "fortran", "reversed"]),
)
def test_types_of_input(dtype, kind):
    values = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, (12, 9)).astype(dtype)
    y = np.arange(12) % 2
    expected = ft.task_spectrum(values.astype(np.float64), y).power
    forms = {
        "numpy": values,
        "torch": torch.from_numpy(values.astype(values.dtype.newbyteorder("="))),
        "list": values.tolist(),
        "fortran": np.asfortranarray(values),
        "reversed": values[::-1, ::-1][::-1, ::-1],
    }
    np.testing.assert_allclose(ft.task_spectrum(forms[kind], y).power, expected, rtol=1e-9)
    assert forms["torch"].requires_grad is False


def test_scale_changes_no_fisher_spectrum_and_gains_square_in_the_cross_spectrum(rng):
    X, y = rng.standard_normal((60, 20)), np.arange(60) % 2
    np.testing.assert_allclose(ft.task_spectrum(1000 * X, y, eps=1).power, ft.task_spectrum(X, y).power, rtol=1e-6)
    cross = ft.task_spectrum(X, y, method="cross").power
    np.testing.assert_allclose(ft.task_spectrum(3 * X, y, method="cross").power, 9 * cross, rtol=1e-9)


def test_channels_have_their_own_spectra_and_their_mean(rng):
    X, y = rng.standard_normal((30, 16, 3)), np.arange(30) % 2
    for method in ("fisher", "cross"):
        spectrum = ft.task_spectrum(X, y, method=method)
        assert len(spectrum.channels) == 3
        for c in range(3):
            alone = ft.task_spectrum(X[:, :, c], y, method=method)
            np.testing.assert_allclose(spectrum.channels[c].power, alone.power, rtol=1e-9)
        np.testing.assert_allclose(spectrum.power, np.mean([c.power for c in spectrum.channels], axis=0), rtol=1e-12)


def test_an_absent_class_drops_out_and_a_single_sample_has_no_variance(rng):
    X, y = rng.standard_normal((9, 12)), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    given_more = ft.task_spectrum_from_batches([(X, y)], classes=[5, 0, 1, 2, "never"])
    np.testing.assert_allclose(given_more.power, ft.task_spectrum(X, y).power, rtol=1e-12)
    np.testing.assert_allclose(ft.task_spectrum(X, y).power, slow_fisher(X, list(y)), rtol=1e-9)


def test_one_pass_and_memory_that_does_not_grow(rng):
    seen = []

    def stream():
        for i in range(50):
            seen.append(i)
            yield rng.standard_normal((20, 64)), np.arange(20) % 2

    assert ft.task_spectrum_from_batches(stream()).power.shape == (33,)
    assert seen == list(range(50))


def test_a_constant_series_among_others_is_fine(rng):
    X, y = rng.standard_normal((10, 8)), np.arange(10) % 2
    X[3] = 5.0
    assert np.isfinite(ft.task_spectrum(X, y).power).all()
    X[:] = 1.0
    spectrum = ft.task_spectrum(X, y)
    assert (spectrum.power == 0).all()
    with pytest.raises(ft.InputError, match="0 at every frequency"):
        spectrum.normalized()


@pytest.mark.parametrize(
    ("X", "y", "options", "word"),
    [
        ([[1.0, math.nan], [0, 1]], [0, 1], {}, "nan at sample 0, step 1"),
        ([[1.0, 2.0], [math.inf, 1]], [0, 1], {}, "inf at sample 1, step 0"),
        ([[1.0, 2.0], [0, 1]], ["a", "a"], {}, "every sample has the label 'a'"),
        ([[1.0, 2.0]], [0], {}, "1 samples"),
        ([[1.0, 2.0], [0, 1]], [0], {}, "2 samples but y has 1"),
        ([[1.0, 2.0], [0]], [0, 1], {}, "ragged"),
        ([["1.0", "x"], ["0", "1"]], [0, 1], {}, "numbers"),
        (np.zeros((2, 0)), [0, 1], {}, "holds no values"),
        (np.zeros(4), [0, 1, 0, 1], {}, "shape"),
        (np.zeros((2, 3), dtype=complex), [0, 1], {}, "complex"),
        ([[1.0, 2.0], [0, 1]], [0, None], {}, "label None"),
        ([[1.0, 2.0], [0, 1]], [0.0, math.nan], {}, "nan"),
        ([[1.0, 2.0], [0, 1]], [[1], {}], {}, "label"),
        ([[1.0, 2.0], [0, 1]], 3, {}, "one target for each sample"),
        ([[1.0, 2.0], [0, 1]], [0, 1], {"method": "welch"}, "'welch'"),
        ([[1.0, 2.0], [0, 1]], [0, 1], {"eps": 0}, "eps"),
        ([[1.0, 2.0], [0, 1]], [0.25, 1.5], {}, "real targets"),
        ([[1.0, 2.0], [0, 1]], [0.25, math.inf], {"method": "cross"}, "inf"),
    ],
)
def test_bad_input(X, y, options, word):
    with pytest.raises(ft.InputError, match=word):
        ft.task_spectrum(X, y, **options)


def test_bad_batches():
    good = (np.ones((2, 4)), [0, 1])
    with pytest.raises(ft.InputError, match="those before it"):
        ft.task_spectrum_from_batches([good, (np.ones((2, 5)), [0, 1])])
    with pytest.raises(ft.InputError, match="not among the given classes"):
        ft.task_spectrum_from_batches([good], classes=[0, 2])
    with pytest.raises(ft.InputError, match="0 samples"):
        ft.task_spectrum_from_batches([])


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list, lambda classes: [*classes, *classes]])
def test_classes_come_as_any_sequence(kind, rng):
    X, y = rng.normal(size=(30, 8)), rng.integers(0, 3, 30)
    found = ft.task_spectrum_from_batches([(X, y)], classes=kind([2, 1, 0]))
    np.testing.assert_allclose(found.power, ft.task_spectrum(X, y).power)


def test_more_bad_batches():
    X = np.ones((2, 4))
    for first, second in [
        ([1.0, 2.0], [0.5, 1.5]),
        (["a", "b"], [0.5, 1.5]),
        (np.eye(2, dtype=int), np.array([[1, 1], [0, 2]])),
    ]:
        with pytest.raises(ft.InputError, match="some batches have labels"):
            ft.task_spectrum_from_batches([(X, first), (X, second)], method="cross")
    for batches, options in [([X], {}), (3, {}), ([(X, [0, 1])], {"classes": 2}), ([(X, [0, 1])], {"eps": math.nan})]:
        with pytest.raises(ft.InputError):
            ft.task_spectrum_from_batches(batches, **options)
