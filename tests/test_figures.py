"""The figures: their numbers on small made-up images, their drawing, and the command."""

import csv
from functools import partial

import numpy as np
import pytest
import torch
from rich.console import Console

import foretune as ft
from foretune import cli
from foretune.figures import (
    FIGURES,
    data,
    eigendecomposition,
    frequency_bias,
    grid,
    make,
    mechanism,
    singular_values,
    stability,
)
from foretune.figures.tables import rows, save_tables

PIXELS = 64


def made_up_images():
    """Smooth random sequences of ten classes."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 900)
    waves = np.cos(np.outer(1 + np.arange(10), np.linspace(0, 3, PIXELS)))
    noise = np.cumsum(rng.standard_normal((900, PIXELS)), axis=1) / 8 + rng.standard_normal((900, PIXELS))
    return waves[labels] * rng.random((900, 1)) + noise, labels


@pytest.fixture
def one_thread():
    """Small matrices are slower on several threads, above all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def small(monkeypatch, one_thread):
    monkeypatch.setattr(data, "mnist_images", made_up_images)
    monkeypatch.setattr(stability, "mnist_images", made_up_images)
    monkeypatch.setattr(mechanism, "tune", partial(ft.tune, steps=5))
    changes = [
        (data, {"SAMPLE": 600}),
        (eigendecomposition, {"DIMENSIONS": 40, "TOP": 30, "SIZES": (10, 30, 100, 300), "REPEATS": 20}),
        (mechanism, {"SIZES": (10, 100), "STATE": 8, "DRAWS": 2, "REPEATS": 3, "TEST": 100}),
        (grid, {"STATES": (4, 8, 12), "SIZES": (10, 100), "DRAWS": 1, "REPEATS": 2, "TEST": 100}),
        (stability, {"TRAIN": 800, "RATIOS": (0.05, 0.1, 0.2, 0.3, 0.5, 1.0), "SEEDS": 2}),
        (frequency_bias, {"HEADS": 400, "SHOWN": 8, "LENGTH": 64}),
        (singular_values, {"LENGTHS": (16, 32), "SHOWN": 16}),
    ]
    for module, settings in changes:
        for name, value in settings.items():
            monkeypatch.setattr(module, name, value)


def value(tables, what, name):
    summary = tables["summary"]
    return summary["value"][(summary["what"] == what) & (summary["moments from"] == name)].item()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("whitened", [True, False])
def test_eigendecomposition_agrees_with_itself_and_predicts_regression(whitened):
    tables = eigendecomposition.compute(whitened)
    assert value(tables, "eigenvalues: largest relative error, top 30", "own") < 1e-8
    assert value(tables, "eigenfunctions: share of modes above 0.9", "own") == 1
    assert 1e-3 < value(tables, "eigenvalues: median relative error, top 30", "held out") < 0.3
    assert value(tables, "theory against regression: median relative gap", "own") < 0.1
    curve = tables["curve"]
    assert (curve["offset only, own"] < curve["theory, own"]).all()


@pytest.mark.usefixtures("small")
def test_mechanism_tables_hold_together():
    tables = mechanism.compute()
    curves = tables["curves"]
    assert len(curves["size"]) == 4 * len(mechanism.SIZES)
    np.testing.assert_allclose(curves["factor"], curves["before"] / curves["after"])
    assert (tables["summary"]["L_spec after"] < tables["summary"]["L_spec before"]).all()
    assert set(zip(curves["system"].tolist(), curves["task"].tolist(), strict=True)) == {
        (a, b) for a in ("low", "high") for b in ("low", "high")
    }
    spectra = tables["spectra"]
    assert spectra["task spectrum"].max() == 1
    assert set(spectra["task"].tolist()) == {"low", "high"}


@pytest.mark.usefixtures("small")
def test_kernels_of_the_mechanism_have_unit_trace():
    task = mechanism.tasks()["low"]
    arm = mechanism.measure(ft.DiagonalSSM.low_frequency(state=8), task)
    assert np.trace(ft.theory.gram(arm.h, task.U)) / len(task.U) == pytest.approx(1)
    assert arm.power.sum() == pytest.approx(1)  # the labels are linear in the input


def test_frequency_bias_reproduces_the_probabilities_of_the_paper(monkeypatch):
    monkeypatch.setattr(frequency_bias, "SHOWN", 8)
    summary = frequency_bias.compute()["summary"]
    np.testing.assert_allclose(summary["formula"], summary["P(edge < x), paper"], atol=0.005)
    np.testing.assert_allclose(summary["4000 heads"], summary["formula"], atol=0.03)


@pytest.mark.usefixtures("small")
def test_every_figure_is_made_labelled_and_without_overlaps(tmp_path, monkeypatch):
    drawn = {}
    for name, plan in FIGURES.items():
        monkeypatch.setitem(
            FIGURES, name, type(plan)(plan.title, plan.compute, remember(plan.draw, drawn, name), plan.printed)
        )
    console = Console(width=200, record=True)
    paths = make(list(FIGURES), tmp_path / "new", console)
    assert [path.stem for path in paths] == list(FIGURES)
    text = console.export_text()
    for name, figure in drawn.items():
        assert (tmp_path / "new" / f"{name}.pdf").read_bytes()[:4] == b"%PDF"
        assert (tmp_path / "new" / f"{name}.png").stat().st_size < 150_000
        assert (tmp_path / "new" / f"{name}-summary.csv").exists()
        assert f"{name}.png" in text
        check_layout(figure)


def remember(draw, drawn, name):
    def drawing(tables):
        drawn[name] = draw(tables)
        return drawn[name]

    return drawing


def check_layout(figure):
    assert figure.get_figwidth() <= 5.5
    figure.draw_without_rendering()
    for ax in figure.axes:
        grid_place = ax.get_subplotspec()
        assert ax.get_xlabel() or not grid_place.is_last_row()
        assert ax.get_ylabel() or not grid_place.is_first_col()
        letter, title = ax._left_title.get_window_extent(), ax._right_title.get_window_extent()
        assert not ax.get_title(loc="right") or letter.x1 <= title.x0
        assert all(text.get_fontsize() >= 7 for text in [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels()])
        legend = ax.get_legend()
        if legend is not None:
            inside = legend.get_window_extent()
            assert ax.get_window_extent().x0 <= inside.x0
            assert inside.x1 <= ax.get_window_extent().x1 + 1


def test_tables_survive_the_csv(tmp_path):
    table = rows([{"name": "a", "x": 0.1 + 0.2}, {"name": "b", "x": 1e-300}])
    save_tables({"t": table}, tmp_path, "figure")
    with (tmp_path / "figure-t.csv").open(encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    assert [float(record["x"]) for record in records] == table["x"].tolist()


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(["figures", *arguments])
    return stop.value.code


def test_the_command_lists_and_refuses(monkeypatch, capsys, tmp_path):
    assert not run()
    listed = capsys.readouterr().out
    assert all(name in listed for name in FIGURES)
    assert run("nonsense", "--out", str(tmp_path)) == 2
    assert capsys.readouterr().err.count("\n") == 1

    def missing(name):
        raise ft.DataMissing(f"{name} is not at hand")

    monkeypatch.setattr(data, "load", missing)
    assert run("stability", "--out", str(tmp_path)) == 2
    assert capsys.readouterr().err == "foretune: mnist is not at hand\n"


def test_the_command_makes_a_figure(monkeypatch, tmp_path):
    monkeypatch.setattr(singular_values, "LENGTHS", (16, 32))
    assert not run("singular-values", "--out", str(tmp_path))
    assert (tmp_path / "singular-values.png").exists()


def test_the_real_images(data_root, monkeypatch):
    monkeypatch.setenv("FORETUNE_DATA", str(data_root))
    images, labels = data.mnist_images()
    assert images.shape == (60_000, 784)
    assert labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert images.max() == 1


@pytest.mark.slow
@pytest.mark.parametrize("whitened", [True, False])
def test_theory_on_the_real_images(data_root, monkeypatch, whitened):
    monkeypatch.setenv("FORETUNE_DATA", str(data_root))
    monkeypatch.setattr(eigendecomposition, "REPEATS", 5)
    tables = eigendecomposition.compute(whitened)
    for name in ("own", "held out"):
        assert value(tables, "eigenvalues: median relative error, top 500", name) < 0.05
        assert value(tables, "theory against regression: median relative gap", name) < 0.1
