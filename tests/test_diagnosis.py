import sys
import time

import numpy as np
import pytest
import torch

import foretune as ft
from foretune.datasets.synthetic import binary_frequency, frequency_classification
from foretune.diagnosis.curves import held_out, predicted_curve
from foretune.diagnosis.evidence import features_of
from foretune.diagnosis.priors import default_prior, readout_kernel, unit_variance
from foretune.diagnosis.resampling import Features, fisher, permuted
from foretune.diagnosis.verdict import FEW, HELP, NONE, Evidence, answer, threshold


def band_task(samples: int, seed: int = 0, length: int = 256, turns: float = 100.0, height: float = 2.0):
    """Class 1 has a wave of random phase far beyond the default's modes, in noise."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(samples) % 2)
    t = np.arange(length) / length
    wave = np.sin(2 * np.pi * ((turns + rng.normal(0, 1, (samples, 1))) * t + rng.random((samples, 1))))
    return rng.normal(size=(samples, length)) + height * y[:, None] * wave, y


def small_features(rng: np.random.Generator, counts=(9, 1, 14), frequencies: int = 6) -> Features:
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return Features(rng.normal(3, 2, (len(codes), frequencies, 1)) + codes[:, None, None], codes)


def test_weighing_samples_is_repeating_them(rng):
    features = small_features(rng)
    weights = rng.integers(0, 4, (5, len(features.codes))).astype(float)
    weights[:, features.codes == 1] = 1
    for row, ratios in zip(weights.astype(int), fisher(features, weights), strict=True):
        z, codes = features.flat.repeat(row, axis=0), features.codes.repeat(row)
        prior = np.bincount(codes) / len(codes)
        means = np.array([z[codes == c].mean(0) for c in range(3)])
        within = prior @ np.array([z[codes == c].var(0) for c in range(3)])
        between = prior @ (means - prior @ means) ** 2
        np.testing.assert_allclose(ratios, between / (within + 1e-4), rtol=1e-9)


def test_weights_of_one_give_the_task_spectrum(rng):
    X, y = rng.normal(size=(40, 33, 2)), np.arange(40) % 3
    features = features_of(torch.from_numpy(X), y)
    np.testing.assert_allclose(fisher(features, np.ones((1, 40)))[0], ft.task_spectrum(X, y).power, rtol=1e-9)


def test_permuted_spectra_are_those_of_permuted_labels(rng):
    features = small_features(rng)
    found = permuted(features, 7, np.random.default_rng(5))
    again = np.random.default_rng(5)
    for row in found:
        shuffled = Features(features.z, again.permutation(features.codes))
        np.testing.assert_allclose(row, fisher(shuffled, np.ones((1, len(features.codes))))[0], rtol=1e-9)


def test_the_band_holds_the_true_height_of_the_peak(rng):
    truth = ft.task_spectrum(*band_task(20_000, seed=1)).power
    peak, hits = int(truth.argmax()), 0
    for seed in range(20):
        X, y = band_task(80, seed=100 + seed)
        found = ft.diagnosis.evidence.resampled(features_of(torch.from_numpy(X)[..., None], y), rng)[0]
        hits += found.low[peak] <= truth[peak] <= found.high[peak]
    assert hits >= 15  # 90 % nominal


def test_resamples_are_fast(rng):
    features = Features(rng.normal(size=(1000, 501, 1)), np.arange(1000) % 3)
    weights = rng.multinomial(1000, np.full(1000, 1e-3), size=200).astype(float)
    start = time.process_time()
    fisher(features, weights)
    assert time.process_time() - start < 2


def test_a_band_that_the_default_misses_asks_for_tuning():
    found = ft.diagnose(*band_task(300), sampling_rate=256)
    assert found.verdict == HELP
    assert abs(found.spectrum.peaks(1)[0][0] * 256 - 100) <= 4
    assert found.trial.tuned_error < found.trial.default_error - 0.1
    assert found.reliability.p_value < 0.01
    assert found.mismatch[1].loss < found.mismatch[0].loss - 0.3


def test_an_easy_task_needs_none():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 64)) + 3 * y[:, None] * np.cos(2 * np.pi * 2 * np.arange(64) / 64)
    found = ft.diagnose(X, y)
    assert found.verdict == NONE
    assert found.trial.default_accuracy > 0.95
    assert found.curves.default.errors[-1] < 0.2


@pytest.mark.parametrize("samples", [8, 40, 250])
def test_random_labels_never_promise_help(samples):
    wrong = 0
    for seed in range(4):
        rng = np.random.default_rng(1000 + seed)
        X, y = binary_frequency(samples, seed)[0][:, ::8], rng.permutation(np.arange(samples) % 2)
        wrong += ft.diagnose(X, y, seed=seed).verdict == HELP
    assert wrong <= 1  # each has a chance of 5 %


def test_six_samples_are_too_few():
    X, y = band_task(6)
    found = ft.diagnose(X, y)
    assert found.verdict == FEW
    assert "6" in str(found)


def test_ten_bands_are_seen_and_the_built_in_tasks_run():
    X, y = frequency_classification(200, length=256)
    found = ft.diagnose(X, y, sampling_rate=256)
    assert found.reliability.p_value < 0.01
    assert len(found.classes) == 10
    assert ft.diagnose(*binary_frequency(64)).verdict in (HELP, NONE)


def test_the_readouts_kernel_is_that_of_a_wide_relu_layer(rng):
    states = torch.from_numpy(rng.normal(size=(4, 6)))
    weights = torch.from_numpy(rng.normal(size=(6, 400_000)))
    heard = torch.relu(states @ weights)
    np.testing.assert_allclose(2 * heard @ heard.T / 400_000 / 6, readout_kernel(states, states), rtol=0.02, atol=0.01)


def test_held_out_samples_are_not_fitted(rng):
    X = torch.from_numpy(rng.normal(size=(60, 32, 1)))
    Y = torch.from_numpy(np.eye(2)[np.arange(60) % 2])
    test = np.arange(60) < 20
    first = held_out(default_prior(32), X, Y, test)
    other = Y.clone()
    other[:20] = 1 - other[:20]
    second = held_out(default_prior(32), X, other, test)
    np.testing.assert_array_equal(first.hits, ~second.hits)


def test_predicted_curves_match_kernel_regression(rng):
    mixing = rng.normal(size=(24, 24)) * np.linspace(2, 0.2, 24)
    X = rng.normal(size=(3000, 24)) @ mixing
    y = (X @ mixing[0] / 20 + rng.normal(size=3000) > 0).astype(int)
    Y = np.eye(2)[y]
    ssm = unit_variance(default_prior(24), torch.from_numpy(X)[:, :, None])
    sizes = np.array([20, 60, 200])
    curve = predicted_curve(ssm, torch.from_numpy(X)[:800, :, None], torch.from_numpy(Y)[:800], sizes)
    centred, h = Y - Y.mean(0), ssm.impulse_response(24)[0].numpy()
    scale = float(np.trace(ft.theory.gram(h, X)) / len(X))
    ridges = [
        ft.theory.kernel_regression_curve(h, X, centred, sizes=sizes, ridge=ridge * scale, repeats=20).mean
        for ridge in np.logspace(-4, 1, 11)
    ]
    truth = np.min(ridges, axis=0) / (centred**2).sum(1).mean()
    np.testing.assert_allclose(curve.errors, truth, atol=0.05)


def test_predicted_curves_see_nothing_in_random_labels(rng):
    X = torch.from_numpy(rng.normal(size=(150, 64, 1)))
    Y = torch.from_numpy(np.eye(2)[rng.integers(0, 2, 150)])
    assert predicted_curve(default_prior(64), X, Y, np.array([10, 50, 150])).errors.min() > 0.9


def test_the_best_alignment_is_a_bound_that_a_matched_filter_nears(rng):
    from foretune.diagnosis.mismatch import linear_part

    X, y = rng.normal(size=(400, 128)), np.arange(400) % 2
    X += y[:, None] * np.cos(2 * np.pi * 9 * np.arange(128) / 128)
    linear = linear_part(torch.from_numpy(X)[:, :, None], torch.from_numpy(np.eye(2)[y]), rng)
    wave = torch.cos(2 * torch.pi * 9 * torch.arange(128) / 128).double()
    matched = ft.alignment(wave / wave.norm(), linear.C) / linear.best
    white = ft.alignment(torch.eye(128, dtype=torch.float64)[0], linear.C) / linear.best
    assert white < 0.1 < 0.3 < matched <= 1


def test_the_limit_is_the_best_one():
    cases = [(Evidence(100, 0.01, error), error > 0.7) for error in np.linspace(0.1, 1.2, 40)]
    assert 0.68 < threshold(cases) < 0.74
    cases += [(Evidence(5, 0.01, 0.2), True), (Evidence(100, 0.9, 0.2), True)]  # neither gets an answer by the limit
    assert 0.68 < threshold(cases) < 0.74


def test_answers():
    assert answer(Evidence(11, 0.001, 1.0)) == FEW
    assert answer(Evidence(50, 0.5, 1.0)) == FEW
    assert answer(Evidence(500, 0.5, 1.0)) == NONE
    assert answer(Evidence(50, 0.01, float("nan"))) == FEW
    assert answer(Evidence(50, 0.01, 1.0)) == HELP
    assert answer(Evidence(50, 0.01, 0.1)) == NONE


def test_large_sets_are_drawn_on_from_a_part(monkeypatch):
    monkeypatch.setattr(sys.modules["foretune.diagnosis.diagnose"], "TRIED", 100)
    found = ft.diagnose(*band_task(400, turns=20))
    assert found.trial.samples == 100
    assert found.trial.half_error > found.trial.default_error
    assert found.evidence.default_error < found.trial.default_error
    assert found.trial.default_error_at(200) == pytest.approx(found.trial.default_error**2 / found.trial.half_error)


def test_padding_does_not_matter_whatever_it_holds(rng):
    X, y = band_task(60, length=96, turns=40)
    lengths = rng.integers(50, 97, 60)
    padded, odd = X.copy(), X.copy()
    for row, n in enumerate(lengths):
        padded[row, n:], odd[row, n:] = 0, np.nan
    found = ft.diagnose(odd, y, lengths=lengths)
    np.testing.assert_allclose(found.spectrum.power, ft.task_spectrum(padded, y).power, rtol=1e-9)
    full = ft.diagnose(X, y, lengths=np.full(60, 96))
    assert str(full) == str(ft.diagnose(X, y))


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_short_sequences_work(length, rng):
    y = np.arange(40) % 2
    found = ft.diagnose(rng.normal(size=(40, length)) + 2 * y[:, None], y)
    assert found.spectrum.length == length
    assert str(found)
    assert found.report()


def test_channels_labels_and_types(rng):
    X, y = band_task(40, length=64, turns=20)
    many = np.stack([X, rng.normal(size=X.shape)], axis=-1)
    names = np.where(y == 1, "loud", "faint")
    found = ft.diagnose(torch.from_numpy(many).half(), names.tolist())
    assert set(found.classes) == {"loud", "faint"}
    assert found.models.default.length == 64
    assert ft.diagnose(X, y, length=32).spectrum.length == 32
    tuples = [("a", int(k)) for k in y]
    assert ft.diagnose((100 * X).astype(int), tuples).samples == 40


@pytest.mark.parametrize(
    ("X", "y", "options", "word"),
    [
        (np.ones((4, 8)), [0, 1, 0, 1], {}, "same"),
        (np.full((4, 8), np.nan), [0, 1, 0, 1], {}, "nan"),
        (np.random.default_rng(0).normal(size=(4, 8)), [0, 0, 0, 0], {}, "two classes"),
        (np.zeros((1, 8)), [0], {}, "1 samples"),
        (np.zeros((4, 8)), [0, 1], {}, "4 samples"),
        ([[1.0, 2.0], [1.0]], [0, 1], {}, "ragged"),
        (np.random.default_rng(0).normal(size=(4, 8)), [0.1, 0.2, 0.3, 0.4], {}, "real targets"),
        (np.random.default_rng(0).normal(size=(4, 8)), [0, 1, 0, 1], {"length": 9}, "length is 9"),
        (np.random.default_rng(0).normal(size=(4, 8)), [0, 1, 0, 1], {"lengths": [1, 2, 3]}, "lengths"),
        (np.random.default_rng(0).normal(size=(4, 8)), [0, 1, 0, 1], {"lengths": [0, 2, 3, 4]}, "sample 0"),
        (np.random.default_rng(0).normal(size=(4, 8)), [0, 1, 0, 1], {"sampling_rate": 0}, "sampling_rate"),
    ],
)
def test_bad_input_is_one_clear_error(X, y, options, word):
    with pytest.raises(ft.InputError, match=word):
        ft.diagnose(X, y, **options)


def test_constant_sequences_of_different_heights_and_classes_of_one_sample():
    heights = np.repeat(np.arange(30.0)[:, None], 16, axis=1)
    assert ft.diagnose(heights, np.arange(30) > 14).spectrum.peaks(5)[0].tolist() == [0.0]
    rng = np.random.default_rng(0)
    assert ft.diagnose(rng.normal(size=(14, 16)), list("aaaabbbbccccde")).verdict in (FEW, HELP, NONE)
    assert ft.diagnose(rng.normal(size=(2, 16)), [0, 1]).verdict == FEW
    assert ft.diagnose(rng.normal(size=(20, 16)), range(20)).verdict == FEW


def test_one_seed_one_answer_and_no_other_random_state():
    X, y = band_task(40, length=64, turns=20)
    state = torch.random.get_rng_state()
    assert str(ft.diagnose(X, y)) == str(ft.diagnose(X, y))
    assert torch.equal(state, torch.random.get_rng_state())


def test_the_text_fits_a_terminal_and_the_report_holds_everything(monkeypatch):
    found = ft.diagnose(*band_task(120), sampling_rate=256)
    assert max(map(len, str(found).splitlines())) <= 80
    report = found.report()
    assert report.answer in " ".join(str(found).split("\n\n")[0].split("\n"))
    charts = [chart for section in report.sections for chart in section.charts]
    assert [len(chart.lines) for chart in charts] == [5, 2]
    task = charts[0].lines[0]
    assert max(task.y) == 1
    assert all(low <= y <= high for low, y, high in zip(task.low, task.y, task.high, strict=True))
    assert "Hz" in charts[0].x_label
    monkeypatch.setattr(ft.report, "notebook", lambda content: f"<p>{content.answer}</p>", raising=False)
    assert found._repr_html_() == f"<p>{report.answer}</p>"


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = ft.diagnose(*band_task(40, length=64, turns=20), sampling_rate=64).plot()
    assert ax.get_xlabel() == "frequency (Hz)"
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["task", "permuted labels"]
    matplotlib.pyplot.close("all")


def test_speed():
    X, y = band_task(64)
    ft.diagnose(X, y)
    start = time.process_time()
    ft.diagnose(X, y)
    assert time.process_time() - start < 2  # 0.4 seconds of work
