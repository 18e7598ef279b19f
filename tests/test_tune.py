import numpy as np
import pytest
import torch

import foretune as ft
from conftest import local_maxima, peaked

STARTS = {
    "lin": lambda rule: ft.DiagonalSSM.s4d_lin(heads=8, state=64, seed=0),
    "inv": lambda rule: ft.DiagonalSSM.s4d_inv(heads=8, state=64, seed=0),
    "legs": lambda rule: ft.DiagonalSSM.s4d_legs(heads=8, state=64, seed=0),
    "low": lambda rule: ft.DiagonalSSM.low_frequency(heads=1, state=64, seed=0),
    "high": lambda rule: ft.DiagonalSSM.high_frequency(heads=2, state=64, seed=0),
    "real": lambda rule: ft.RealSSM.fourier(64, dt=1 / 256),
}


def with_rule(ssm, rule):
    return type(ssm)(ssm.dt, ssm.A, ssm.B, ssm.C, rule)


@pytest.mark.parametrize("gains", ["phase", "scaled", "literal", "balanced"])
@pytest.mark.parametrize("rule", ["zoh", "bilinear"])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("length", [256, 255])
def test_construct_puts_the_peaks_of_the_response_at_the_task_frequencies(start, rule, gains, length):
    places = [9, 31, 60, 100]
    spectrum = peaked(length, places, [1.0, 0.8, 0.9, 0.6], floor=0.0)
    tuned, record = ft.tune(with_rule(STARTS[start](rule), rule), spectrum, "construct", gains=gains)
    assert sorted(np.round(record.frequencies * length).astype(int)) == places
    power = ft.model_spectrum(tuned, length).power
    assert set(places) <= local_maxima(power)
    # Nothing else rises as high as the weakest of them.
    assert set(np.argsort(-power)[:4].tolist()) == set(places)
    assert record.loss_after < record.loss_before


def test_construct_on_random_tasks_finds_their_local_maxima():
    rng = np.random.default_rng(0)
    found = total = 0
    for _ in range(20):
        spectrum = ft.Spectrum(rng.random(129) ** 4, 256)
        tuned, record = ft.tune(ft.DiagonalSSM.s4d_lin(8, 64, seed=0), spectrum)
        wanted = set(np.round(record.frequencies[:16] * 256).astype(int)) & local_maxima(spectrum.power)
        found += len(wanted & local_maxima(ft.model_spectrum(tuned, 256).power))
        total += len(wanted)
    assert found / total > 0.95


def test_construct_keeps_dt_the_sign_and_the_rest_of_algorithm_3():
    start = ft.DiagonalSSM.s4d_lin(heads=3, state=8, seed=0)
    spectrum = peaked(64, [5, 11], [1.0, 0.5], floor=0.0)
    tuned, record = ft.tune(start, spectrum, gains="literal", max_width=None, damping=(0.1, 0.7), gain=(0.2, 1.0))
    assert torch.equal(tuned.dt, start.dt)
    assert record.strengths.tolist() == [1.0, 0.5]
    np.testing.assert_allclose(tuned.A[:, :2].real, [[-0.1, -0.4]] * 3)
    np.testing.assert_allclose(tuned.A[:, :2].imag * start.dt[:, None], 2 * np.pi * np.array([[5, 11]] * 3) / 64)
    np.testing.assert_allclose(tuned.B[:, :2], [[1.0, 0.6]] * 3)
    np.testing.assert_allclose(tuned.C[:, :2], [[1.0, 0.6]] * 3)
    assert (tuned.C[:, 2:] == 0).all()  # no task frequency is left for them
    mirrored, _ = ft.tune(start.replace(A=start.A.conj()), spectrum)
    assert (mirrored.A[:, :2].imag < 0).all()


def test_real_blocks_follow_algorithm_4():
    start = ft.RealSSM.fourier(20, dt=1 / 64)
    spectrum = ft.Spectrum(np.linspace(1, 2, 33), 64)
    tuned, record = ft.tune(start, spectrum)
    assert len(record.frequencies) == 10
    for j, f in enumerate(record.frequencies):
        alpha, omega = (0.1 if j < 6 else 0.5), 2 * np.pi * f * 64
        np.testing.assert_allclose(
            tuned.A[2 * j : 2 * j + 2, 2 * j : 2 * j + 2], [[-alpha, omega], [-omega, -alpha]], rtol=1e-12
        )
    assert (tuned.C == 1).all()
    np.testing.assert_array_equal(tuned.B[0::2], start.B[0::2])
    assert (tuned.B[1::2] == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_refine_lowers_the_loss_on_random_tasks(seed):
    rng = np.random.default_rng(seed)
    spectrum = ft.Spectrum(rng.random(65) ** rng.integers(1, 6), 128)
    start = ft.DiagonalSSM.s4d_lin(heads=2, state=32, seed=seed)
    _, built = ft.tune(start, spectrum, "construct")
    _, refined = ft.tune(start, spectrum, "refine")
    assert refined.loss_after < built.loss_after
    assert refined.loss_after < refined.loss_before


def test_refine_of_real_matrices_lowers_the_loss():
    spectrum = peaked(128, [5, 20, 21, 40], [1.0, 0.5, 0.8, 0.3])
    start = ft.RealSSM.fourier(16, dt=1 / 128)
    _, built = ft.tune(start, spectrum, "construct")
    tuned, refined = ft.tune(start, spectrum, "refine", steps=100)
    assert refined.loss_after < 0.5 * built.loss_after
    assert (tuned.C == 1).all()


def test_refine_keeps_shared_rows_shared_and_b_fixed():
    base = ft.DiagonalSSM.s4d_lin(4, 8, seed=0)
    shared = ft.DiagonalSSM(base.dt, base.A[:2], base.B[:2], base.C)
    spectrum = peaked(64, [3, 9, 20])
    built, _ = ft.tune(shared, spectrum)
    tuned, record = ft.tune(shared, spectrum, "refine", steps=50)
    assert tuned.A.shape == (2, 4)
    assert torch.equal(tuned.dt[:2], tuned.dt[2:])
    assert torch.equal(tuned.B, built.B)
    assert record.loss_after < record.loss_before


def test_tune_is_pure():
    start = ft.DiagonalSSM.s4d_lin(2, 8, seed=0)
    before = [getattr(start, n).clone() for n in ("dt", "A", "B", "C")]
    spectrum = peaked(64, [3, 9])
    first = ft.tune(start, spectrum, "refine", steps=5)[0]
    with torch.inference_mode(False), torch.no_grad():
        second = ft.tune(start, spectrum, "refine", steps=5)[0]
    for name, value in zip(("dt", "A", "B", "C"), before, strict=True):
        assert torch.equal(getattr(start, name), value)
        assert torch.equal(getattr(first, name), getattr(second, name))
        assert not getattr(first, name).requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_kept(dtype):
    for start in (ft.DiagonalSSM.s4d_lin(2, 8), ft.RealSSM.fourier(8)):
        for variant in ("construct", "refine"):
            tuned, record = ft.tune(start.to(dtype=dtype), peaked(64, [3, 9]), variant, steps=3)
            assert tuned.dt.dtype == dtype
            assert tuned.A.real.dtype == dtype
            assert "L_spec" in str(record)


def test_more_modes_than_frequencies_and_tiny_lengths():
    for length in (1, 2, 3):
        spectrum = ft.Spectrum(np.ones(length // 2 + 1), length)
        for start in (ft.DiagonalSSM.s4d_lin(2, 16), ft.RealSSM.fourier(8)):
            for variant in ("construct", "refine"):
                tuned, record = ft.tune(start, spectrum, variant, steps=3)
                assert len(record.frequencies) == length // 2 + 1
                assert torch.isfinite(tuned.impulse_response(8)).all()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"variant": "guess"}, "'guess'"),
        ({"damp": 1}, "no setting 'damp'"),
        ({"damping": (1, 0)}, "damping"),
        ({"modes": 0}, "modes is 0"),
        ({"modes": 99}, "room for 4"),
        ({"gains": "loud"}, "'loud'"),
        ({"settings": ft.Settings(), "lr": 1}, "both settings"),
        ({"lr": -1}, "lr is -1"),
    ],
)
def test_bad_settings(options, word):
    with pytest.raises(ft.InputError, match=word):
        ft.tune(ft.DiagonalSSM.s4d_lin(2, 8), peaked(64, [3]), **options)


def test_bad_arguments():
    with pytest.raises(ft.InputError, match="initialize_"):
        ft.tune(torch.nn.Linear(1, 1), peaked(64, [3]))
    with pytest.raises(ft.InputError, match="spectrum must be"):
        ft.tune(ft.DiagonalSSM.s4d_lin(2, 8), np.ones(3))
    with pytest.raises(ft.InputError, match="0 at every frequency"):
        ft.tune(ft.DiagonalSSM.s4d_lin(2, 8), ft.Spectrum(np.zeros(3), 4))


def test_the_mismatched_case_of_the_paper(data_root):
    """Low-frequency SSM, high-frequency task on MNIST: from above 1.5 to below 0.1."""
    import gzip

    raw = gzip.decompress((data_root / "mnist/train-images-idx3-ubyte.gz").read_bytes())
    images = np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784)[:5000] / 255
    t = np.linspace(0, 1, 784)
    for pattern in (np.cos(2 * np.pi * 300 * t) + np.sin(2 * np.pi * 350 * t),):
        Y = (images - images.mean(0)) @ (pattern / np.linalg.norm(pattern))
        spectrum = ft.task_spectrum(images, Y[:, None], method="cross")
        for seed in range(3):
            _, record = ft.tune(ft.DiagonalSSM.low_frequency(state=64, seed=seed), spectrum, "refine")
            assert record.loss_before > 1.5
            assert record.loss_after < 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"damping": 1.0},
        {"damping": (1,)},
        {"modes": 1.5},
        {"steps": "a"},
        {"min_separation": 1.5},
        {"lr": float("nan")},
        {"settings": 3},
    ],
)
def test_settings_of_other_kinds_are_refused(options):
    for call in (
        lambda: ft.tune(ft.DiagonalSSM.s4d_lin(2, 8), peaked(32, [5], [1.0]), **options),
        lambda: ft.initialize_(ft.nn.S4D(2, 8), peaked(32, [5], [1.0]), **options),
    ):
        with pytest.raises(ft.InputError):
            call()


def test_a_state_without_room_says_so():
    one = torch.ones(1)
    with pytest.raises(ft.InputError, match="room for no"):
        ft.tune(ft.RealSSM(0.1, -torch.eye(1), one, one), peaked(32, [5], [1.0]))
