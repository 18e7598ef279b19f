import numpy as np
import pytest

import foretune as ft
from foretune.datasets import generated, registry
from foretune.datasets.generated_listops import BATCH, _batch
from foretune.datasets.generated_pathfinder import SEED_DISTANCE, _circles, _scenes
from foretune.datasets.listops import VOCABULARY
from foretune.datasets.store import Store


def evaluate(symbols):
    """ListOps by a stack of lists, as a reader would."""
    stack = [[]]
    for symbol in symbols:
        if symbol.startswith("["):
            stack.append([symbol])
        elif symbol == "]":
            operator, *values = stack.pop()
            ranked = sorted(values)
            half = len(values) // 2
            median = ranked[half] if len(values) % 2 else (ranked[half - 1] + ranked[half]) / 2
            results = {"[MAX": max(values), "[MIN": min(values), "[SM": sum(values) % 10, "[MED": int(median)}
            stack[-1].append(results[operator])
        else:
            stack[-1].append(int(symbol))
    ((value,),) = stack
    return value


def symbols(row, length):
    assert VOCABULARY[row[length - 1]] == "<eos>"
    assert not row[length:].any()
    return [VOCABULARY[token] for token in row[: length - 1]]


def depth(expression):
    level = np.cumsum([(s[0] == "[") - (s == "]") for s in expression])
    return 1 + level.max()


@pytest.fixture(scope="module")
def listops():
    return ft.datasets.generate_listops(300, seed=3)


def test_labels_are_the_values_of_the_expressions(listops):
    short = ft.datasets.generate_listops(2000, seed=1, min_length=5, max_length=100)
    for split in (listops, short):
        for row, length, value in zip(split.X, split.lengths, split.y, strict=True):
            assert evaluate(symbols(row, length)) == value


def test_the_original_listops_has_the_values_that_we_compute(data_root):
    split = ft.datasets.read_listops_file(data_root / "listops_spinn/test_d20s.tsv.gz")
    assert split.X.shape == (10000, 2048)
    for row, length, value in zip(split.X[:3000], split.lengths, split.y, strict=False):
        assert evaluate(symbols(row, length)) == value


def test_expressions_keep_to_the_published_bounds(listops):
    assert listops.X.shape == (300, 2000)
    lengths = listops.lengths - 1  # without the end token
    assert lengths.min() > 500
    assert lengths.max() < 2000
    operators = []
    for row, length in zip(listops.X, listops.lengths, strict=True):
        expression = symbols(row, length)
        assert depth(expression) <= 10
        counts, stack = [], []
        for symbol in expression:
            if symbol == "]":
                counts.append(stack.pop())
                continue
            if stack:
                stack[-1] += 1
            if symbol.startswith("["):
                stack.append(0)
                operators.append(symbol)
        assert min(counts) >= 2
        assert max(counts) <= 10
    shares = np.unique(operators, return_counts=True)[1] / len(operators)
    np.testing.assert_allclose(shares, 0.25, atol=0.01)
    assert set(listops.y) == set(range(10))


def test_small_trees_come_as_often_as_the_grammar_says():
    # Two digits in an operator have 4 symbols, three have 5, and no other tree has either.
    rng = np.random.default_rng(5)
    sizes = np.concatenate([_batch(rng, (3, 6), 10, 10)[2] for _ in range(10)])
    assert abs(len(sizes) / (10 * BATCH) - (0.75**2 + 0.75**3) / 9) < 0.01
    assert abs(np.mean(sizes == 4) - 1 / 1.75) < 0.04


def test_all_expressions_differ():
    split = ft.datasets.generate_listops(5000, seed=2, min_length=4, max_length=40)
    assert len({row.tobytes() for row in split.X}) == 5000


def test_the_seed_decides():
    make = ft.datasets.generate_listops
    np.testing.assert_array_equal(make(20, 1).X, make(20, 1).X)
    assert not np.array_equal(make(20, 1).X, make(20, 2).X)
    draw = ft.datasets.generate_pathfinder
    np.testing.assert_array_equal(draw(20, 1)[0], draw(20, 1)[0])
    assert not np.array_equal(draw(20, 1)[0], draw(20, 2)[0])


def test_impossible_wishes_are_refused():
    with pytest.raises(ft.InputError, match=r"only \d+ of 2000 different trees of depth 2, 2 arguments"):
        ft.datasets.generate_listops(2000, max_depth=2, max_args=2, min_length=2, max_length=9)
    for wishes, message in (
        ({"samples": 0}, "samples is 0"),
        ({"samples": 1, "min_length": 5, "max_length": 5}, "are 5, 5, 5"),
        ({"samples": 1, "max_args": 1}, "max_args 1"),
    ):
        with pytest.raises(ft.InputError, match=message):
            ft.datasets.generate_listops(**wishes)
    with pytest.raises(ft.InputError, match="dashes is 40"):
        ft.datasets.generate_pathfinder(1, dashes=40)
    with pytest.raises(ft.InputError, match="samples is 0"):
        ft.datasets.generate_pathfinder(0)


@pytest.fixture(scope="module")
def scenes():
    rng = np.random.default_rng(4)
    return np.concatenate([_scenes(rng, 14) for _ in range(3)])


def test_dashes_stay_apart_and_inside(scenes):
    assert len(scenes) > 100
    for segments in scenes[:60]:
        present = segments[segments[:, 0, 0] > 0]
        assert present.min() >= 2
        assert present.max() <= 30
        np.testing.assert_allclose(np.linalg.norm(present[:, 1] - present[:, 0], axis=1), 2, rtol=1e-5)
        middle = present.mean(axis=1)
        apart = np.linalg.norm(middle[:, None] - middle[None], axis=-1) + 99 * np.eye(len(middle))
        assert apart.min() > 1.7


def test_long_paths_are_unbroken(scenes):
    for start in (0, 14):
        path = scenes[:, start : start + 14]
        gaps = np.linalg.norm(path[:, 1:, 0] - path[:, :-1, 1], axis=-1)
        np.testing.assert_allclose(gaps, 1, rtol=1e-4)


def test_circles_lie_on_the_ends_that_the_label_says(scenes, rng):
    y = np.arange(len(scenes)) % 2
    circles = _circles(rng, scenes, y, 14)
    tips = scenes[:, [0, 13, 14, 27], [0, 1, 0, 1]]
    path = np.linalg.norm(circles[:, :, None] - tips[:, None], axis=-1).argmin(axis=-1) // 2
    np.testing.assert_array_equal(path[:, 0] == path[:, 1], y == 1)
    distance = np.linalg.norm(circles[:, 0] - circles[:, 1], axis=-1)
    assert distance.min() > SEED_DISTANCE


def test_images_show_the_scene():
    X, y = ft.datasets.generate_pathfinder(600, seed=2)
    assert X.shape == (600, 1024)
    assert X.dtype == np.uint8
    assert abs(y.mean() - 0.5) < 0.01
    assert (X == 255).any(axis=1).all()  # circles are the brightest
    lit = (X > 60).mean(axis=1)
    assert lit.min() > 0.05
    assert lit.max() < 0.4
    # Neither brightness nor the number of lit pixels gives the label away.
    for feature in (X.mean(axis=1), lit, (X == 255).sum(axis=1)):
        assert abs(np.corrcoef(feature, y)[0, 1]) < 0.15


def test_the_distance_of_the_circles_says_little(scenes, rng):
    y = rng.permutation(len(scenes)) % 2
    circles = _circles(rng, scenes, y, 14)
    distance = np.linalg.norm(circles[:, 0] - circles[:, 1], axis=-1)
    best = max(max(np.mean((distance > t) == y), np.mean((distance < t) == y)) for t in np.arange(7, 35))
    assert best < 0.68


def test_generated_sets_are_kept_and_split(tmp_path, monkeypatch):
    monkeypatch.setattr(generated, "PATHFINDER_SAMPLES", 100)
    store = Store((tmp_path,))
    data = generated.make_pathfinder(store)
    assert (len(data.train), len(data.validation), len(data.test)) == (80, 10, 10)
    assert "not the published" in data.provenance
    again = generated.make_pathfinder(store)
    np.testing.assert_array_equal(again.train.X[:], data.train.X[:])
    X, y = ft.datasets.generate_pathfinder(100, seed=1)
    rows = {row.tobytes(): label for row, label in zip(X, y.tolist(), strict=True)}
    for row, label in zip(data.test.X[:], data.test.y, strict=True):
        assert rows[np.round((row + 1) * 127.5).astype(np.uint8).tobytes()] == label


def test_generated_short_listops_by_name(tmp_path):
    data = ft.datasets.load("generated-listops-short", tmp_path, ratio=0.01, seed=2)
    assert (len(data.train), len(data.validation), len(data.test)) == (200, 2000, 2000)
    assert data.train.X.shape == (200, 128)
    for row, length, value in zip(data.test.X[:200], data.test.lengths, data.test.y, strict=False):
        assert evaluate(symbols(row, length)) == value
    parts = [{row.tobytes() for row in np.asarray(split.X)} for split in (data.train, data.validation, data.test)]
    assert len(parts[0] | parts[1] | parts[2]) == 4200
    assert registry.find("generated listops short").generated
