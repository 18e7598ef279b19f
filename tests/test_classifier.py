"""The classifier on sequences: what it learns, what it says of its own certainty, and what survives a file."""

import json
import pickle

import numpy as np
import pytest
import torch

import foretune as ft

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from foretune.classify import product
from foretune.classify.bank import Design, draw_bank
from foretune.classify.features import fit_features, joined, mixing
from foretune.classify.ridge import class_targets, leave_one_out, probabilities, temperature

HEADS = [{"filters": 120}, {"head": "train", "epochs": 2, "model": "contractive"}]


@pytest.fixture(scope="module")
def task():
    X, y = ft.datasets.binary_frequency(160, seed=0, length=128)
    return X[:60], np.array(["faint", "loud"])[y[:60]], X[60:], np.array(["faint", "loud"])[y[60:]]


def test_it_learns_a_task_of_frequencies(task):
    X, y, test_X, test_y = task
    assert ft.SSMClassifier().fit(X, y).score(test_X, test_y) > 0.9


def test_it_learns_shapes_wherever_they_are(rng):
    X = rng.normal(0, 0.3, (300, 96))
    y = rng.integers(2, size=300)
    for row, label in zip(X, y, strict=True):
        start = rng.integers(0, 70)
        row[start : start + 24] += np.linspace(0, 2, 24)[:: 1 if label else -1]
    assert ft.SSMClassifier().fit(X[:80], y[:80]).score(X[80:], y[80:]) > 0.9


@pytest.mark.parametrize(("P", "D"), [(12, 40), (50, 7)])
def test_leave_one_out_equals_leaving_out(P, D, rng):
    A, targets = torch.from_numpy(rng.normal(size=(P, D))), class_targets(rng.integers(3, size=P), 3)
    found = leave_one_out(A, targets)
    alpha = found.strength * float((A - A.mean(0)).square().sum()) / P
    for i in range(P):
        rest = np.arange(P) != i
        centre, offset = A[rest].mean(0), targets[rest].mean(0)
        B = A[rest] - centre
        w = torch.linalg.solve(B.T @ B + alpha * torch.eye(D, dtype=A.dtype), B.T @ (targets[rest] - offset))
        torch.testing.assert_close(found.scores[i], (A[i] - centre) @ w + offset, rtol=1e-6, atol=1e-8)


def test_the_search_along_the_grid_finds_what_scikit_learn_finds(rng):
    A = rng.normal(size=(60, 30))
    y = (A[:, 0] + rng.normal(0, 0.5, 60) > 0).astype(int)
    from foretune.classify.ridge import STRENGTHS

    found = leave_one_out(torch.from_numpy(A), class_targets(y, 2))
    scale = np.square(A - A.mean(0)).sum() / 60
    reference = RidgeClassifierCV(alphas=np.multiply(STRENGTHS, scale)).fit(A, y)
    assert found.strength * scale == pytest.approx(reference.alpha_)
    np.testing.assert_allclose(found.weights[:, 1], np.ravel(reference.coef_), rtol=1e-6)


def test_features_equal_a_recursion_over_time(rng):
    """The filters really are state-space models: x_t = e^z x_{t-1} + u_t, y_t = 2 Re Σ c x_t."""
    X = torch.from_numpy(rng.normal(size=(3, 64, 1)))
    design = Design(filters=24)
    bank = draw_bank(design, 64, 1, rng)
    map_ = fit_features(design, bank, mixing(1, rng), X)
    filters, thresholds, gain = bank[0], map_.thresholds[0].double(), map_.gains[0].double()
    u = ((X - map_.centre.double()) / map_.spread.double())[:, :, 0]
    n = filters.support
    pole = filters.exponents.exp()
    cut = filters.exponents.mul(n).exp()  # the response ends after its support
    y = torch.zeros(3, 64 + n // 2, len(pole), dtype=torch.float64)
    padded = torch.nn.functional.pad(u, (n, n))
    x = torch.zeros(3, *pole.shape, dtype=torch.complex128)
    for t in range(y.shape[1]):
        x = pole * x + padded[:, n + t, None, None] - cut * padded[:, t, None, None]
        y[:, t] = 2 * (filters.coefficients * x).real.sum(-1)
    y = y[:, n - 1 - n // 2 :][:, :64] * gain
    shares = torch.cat([(y - at).clamp(0, 1).mean(1) for at in thresholds], dim=1)
    torch.testing.assert_close(map_(X)[:, : shares.shape[1]].double(), shares, rtol=1e-4, atol=1e-5)


def test_features_without_onednn_are_the_same(rng, monkeypatch):
    X = torch.from_numpy(rng.normal(size=(21, 150, 2)))
    mix = mixing(2, rng)
    map_ = fit_features(Design(filters=90), draw_bank(Design(filters=90), 150, len(mix), rng), mix, X)
    fast = map_(X)
    monkeypatch.setattr(product, "_has_onednn", lambda: False)
    torch.testing.assert_close(map_(X), fast, rtol=1e-5, atol=1e-5)


def test_two_banks_hear_together_what_each_hears_alone(rng):
    X = torch.from_numpy(rng.normal(size=(9, 100, 1)))
    design, mix = Design(filters=50), mixing(1, rng)
    banks = draw_bank(design, 100, 1, rng), draw_bank(design, 100, 1, rng, ft.Spectrum(np.ones(51), 100))
    a, b = (fit_features(design, bank, mix, X) for bank in banks)
    torch.testing.assert_close(joined(a, b)(X), torch.cat([a(X), b(X)], dim=1), rtol=1e-5, atol=1e-5)
    assert not torch.equal(a(X), b(X))


def test_filters_are_deaf_to_a_constant_and_task_banks_listen_where_the_task_is(rng):
    power = np.full(65, 1e-9)
    power[20] = 1.0
    for filters in draw_bank(Design(), 128, 1, rng, ft.Spectrum(power, 128)):
        assert filters.responses().sum(1).abs().max() < 1e-9
        turns = filters.exponents[:, :-1].imag / (2 * torch.pi)
        assert ((turns - 20 / 128).abs() <= 0.5 / 128 + 1e-12).all()


@pytest.mark.parametrize("options", HEADS)
def test_files_bring_back_the_same_predictions(options, task, tmp_path):
    X, y, test_X, _ = task
    fitted = ft.SSMClassifier(**options).fit(X, y)
    read = ft.SSMClassifier.load(fitted.save(tmp_path / "new" / "folder"))
    np.testing.assert_array_equal(read.predict_proba(test_X), fitted.predict_proba(test_X))
    np.testing.assert_array_equal(read.predict(test_X), fitted.predict(test_X))
    assert read.get_params() == fitted.get_params()
    assert read.evidence_ == fitted.evidence_
    with pytest.raises(ValueError, match="127 features"):
        read.predict(test_X[:, :-1])


@pytest.mark.parametrize("options", HEADS)
def test_copies_and_seeds(options, task):
    X, y, test_X, _ = task
    fitted = ft.SSMClassifier(**options).fit(X, y)
    wanted = fitted.predict_proba(test_X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(test_X), wanted)
    np.testing.assert_array_equal(clone(fitted).fit(X, y).predict_proba(test_X), wanted)
    other = clone(fitted).set_params(random_state=7).fit(X, y)
    assert np.abs(other.predict_proba(test_X) - wanted).max() > 1e-6


def damage_version(folder):
    path = folder / "classifier.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))


def damage_json(folder):
    (folder / "classifier.json").write_text('{"format": "foret')


def damage_format(folder):
    (folder / "classifier.json").write_text("[1, 2]")


def damage_head(folder):
    path = folder / "classifier.json"
    document = json.loads(path.read_text())
    document["head"]["bank"] = document["head"]["bank"] * 2
    path.write_text(json.dumps(document))


def damage_tensors(folder):
    path = folder / "classifier.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def damage_gone(folder):
    (folder / "classifier.safetensors").unlink()


@pytest.mark.parametrize(
    "damage", [damage_version, damage_json, damage_format, damage_head, damage_tensors, damage_gone]
)
def test_damaged_files_are_one_clear_error(damage, task, tmp_path):
    X, y, *_ = task
    ft.SSMClassifier(filters=32, init="default").fit(X, y).save(tmp_path)
    damage(tmp_path)
    with pytest.raises(ft.DataError, match=str(tmp_path)) as caught:
        ft.SSMClassifier.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_pipeline_and_a_grid_search(task):
    X, y, test_X, test_y = task
    pipe = make_pipeline(FunctionTransformer(np.tanh), ft.SSMClassifier(filters=64))
    search = GridSearchCV(pipe, {"ssmclassifier__init": ["default", "task"]}, cv=3).fit(X, y)
    assert search.score(test_X, test_y) > 0.8


def test_channels(rng):
    X = rng.normal(size=(80, 50, 3))
    y = np.arange(80) % 2
    X[y == 1, :, 2] += np.sin(np.arange(50) * 0.9 + rng.uniform(0, 6, (40, 1)))
    last = ft.SSMClassifier(filters=200).fit(X[:50], y[:50])
    assert last.score(X[50:], y[50:]) > 0.8
    first = ft.SSMClassifier(filters=200, channels="first").fit(np.swapaxes(X[:50], 1, 2), y[:50])
    auto = ft.SSMClassifier(filters=200).fit(np.swapaxes(X[:50], 1, 2), y[:50])
    for other in (first, auto):
        assert other.layout_ == "first"
        np.testing.assert_array_equal(other.predict(np.swapaxes(X[50:], 1, 2)), last.predict(X[50:]))
    with pytest.raises(ft.InputError, match="2 channels"):
        last.predict(X[:, :, :2])


def test_one_channel_is_the_same_in_two_and_three_dimensions(task):
    X, y, test_X, _ = task
    flat = ft.SSMClassifier(filters=64).fit(X, y).predict_proba(test_X)
    deep = ft.SSMClassifier(filters=64).fit(X[:, :, None], y).predict_proba(test_X[:, :, None])
    aeon = ft.SSMClassifier(filters=64).fit(X[:, None], y).predict_proba(test_X[:, None])
    np.testing.assert_array_equal(flat, deep)
    np.testing.assert_array_equal(flat, aeon)


def test_predictions_do_not_depend_on_company_or_order(task):
    X, y, test_X, _ = task
    fitted = ft.SSMClassifier(filters=64).fit(X, y)
    whole = fitted.decision_function(test_X)
    alone = np.concatenate([fitted.decision_function(test_X[i : i + 1]) for i in range(10)])
    np.testing.assert_allclose(alone, whole[:10], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fitted.decision_function(test_X[::-1]), whole[::-1], rtol=1e-12, atol=1e-12)


def test_probabilities_are_calibrated(rng):
    """Labels that are wrong at a known rate: what is said with certainty p comes true at about p."""
    X, y = ft.datasets.binary_frequency(1200, seed=5, length=64)
    flipped = np.where(rng.random(1200) < 0.2, 1 - y, y)
    fitted = ft.SSMClassifier(filters=200).fit(X[:400], flipped[:400])
    sure = fitted.predict_proba(X[400:]).max(axis=1)
    right = fitted.predict(X[400:]) == flipped[400:]
    assert abs(sure.mean() - right.mean()) < 0.08


def test_temperature_is_the_most_likely_one(rng):
    scores, true = rng.normal(size=(4000, 3)), 2.5
    chances = probabilities(scores, true)
    codes = (rng.random((4000, 1)) > chances.cumsum(1)).sum(1)
    assert temperature(scores, codes) == pytest.approx(true, rel=0.1)


def test_auto_says_no_to_noise_and_task_where_it_pays(rng):
    noise = ft.SSMClassifier(filters=200).fit(rng.normal(size=(24, 64)), np.arange(24) % 2)
    assert noise.evidence_.chosen == "default"
    assert set(noise.evidence_.errors) == {"default", "task", "both"}
    few = ft.SSMClassifier(filters=200).fit(rng.normal(size=(9, 64)), np.arange(9) % 2)
    assert few.evidence_ == type(few.evidence_)("default", {}, {})
    t = np.arange(512)
    y = np.arange(160) % 2
    phase = rng.uniform(0, 6.28, (160, 2))
    near = 2 * np.pi * np.where(y, 101.0, 103.0)[:, None] / 512
    X = np.sin(near * t + phase[:, :1]) + 2 * rng.normal(size=(160, 512))
    assert ft.SSMClassifier(filters=200).fit(X, y).evidence_.chosen != "default"


def test_bad_arguments_name_the_value(task):
    X, y, *_ = task
    for options in ({"head": "x"}, {"init": "x"}, {"channels": "x"}, {"filters": 0}, {"head": "train", "model": "x"}):
        with pytest.raises(ft.InputError, match=r"'x'|is 0"):
            ft.SSMClassifier(**options).fit(X, y)
    with pytest.raises(ft.InputError, match="class"):
        ft.SSMClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        ft.SSMClassifier().fit(np.where(X > 0.9, np.nan, X), y)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 33])
def test_any_length_and_constant_series(length, rng):
    X = rng.normal(size=(20, length)) + np.repeat([[0.0], [5.0]], 10, axis=0)
    X[3] = X[13] = 2.0
    y = np.repeat(["a", "b"], 10)
    fitted = ft.SSMClassifier(filters=60).fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert fitted.score(X, y) >= 0.9


def test_the_caller_keeps_its_random_state(task):
    X, y, *_ = task
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    ft.SSMClassifier(head="train", epochs=1, model="linear").fit(X[:20], y[:20])
    assert torch.equal(torch.rand(2), wanted)


def test_left_out_predictions_are_honest(task):
    """The errors that chose the ridge's strength are near those of a cross-validation that knows nothing of them."""
    X, y, *_ = task
    fitted = ft.SSMClassifier(filters=200, init="default").fit(X, y)
    folds = cross_val_predict(clone(fitted), X, y, cv=10)
    assert abs((folds == y).mean() - fitted.score(X, y)) < 0.15
