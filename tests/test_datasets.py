import gzip
import re
import struct
from dataclasses import replace

import numpy as np
import pytest

import foretune as ft
from foretune.datasets import registry
from foretune.datasets.store import Store, open_store

# The paper's two tables of data set statistics: training, validation, test, classes, length.
PAPER = {
    "Binary Freq.": (40000, 0, 10000, 2, 256),
    "ECG5000": (500, 0, 4500, 5, 140),
    "FordA": (3601, 0, 1320, 2, 500),
    "FordB": (3636, 0, 810, 2, 500),
    "MNIST": (60000, 0, 10000, 10, 784),
    "TwoPatterns": (1000, 0, 4000, 4, 128),
    "Wafer": (1000, 0, 6164, 2, 152),
    "Freq. Cls.": (10000, 1000, 1000, 10, 1024),
    "sMNIST": (54000, 6000, 10000, 10, 784),
    "pMNIST": (54000, 6000, 10000, 10, 784),
    "Pathfinder": (480001, 59999, 59999, 2, 1024),
    "CIFAR-10": (45000, 5000, 10000, 10, 1024),
    "ListOps": (96000, 2000, 2000, 10, 2048),
    "SC": (84843, 9981, 11005, 35, 16000),
    "SC10": (24482, 5246, 5247, 10, 16000),
}
AT_HAND = ["MNIST", "ECG5000", "FordA", "FordB", "TwoPatterns", "Wafer", "sMNIST", "pMNIST"]


@pytest.mark.parametrize("title", PAPER)
def test_the_catalogue_is_the_papers(title):
    entry = registry.find(title)
    assert (*entry.counts, entry.classes, entry.length) == PAPER[title]


@pytest.mark.parametrize("title", [*AT_HAND, "Binary Freq.", "Freq. Cls."])
def test_counts_shapes_and_classes(title, request):
    root = request.getfixturevalue("data_root") if title in AT_HAND else None
    train, validation, test, classes, length = PAPER[title]
    data = ft.datasets.load(title, root, download=False)
    for split, count in ((data.train, train), (data.validation, validation), (data.test, test)):
        if count == 0:
            assert split is None
            continue
        assert split.X.shape == (count, length)
        assert split.X.dtype == np.float32
        assert split.y.shape == (count,)
        assert split.y.dtype == np.int64
        assert np.isfinite(split.X).all()
        assert set(split.y.tolist()) == set(range(classes))
    assert (data.length, data.channels, len(data.classes)) == (length, 1, classes)


def test_mnist_agrees_with_a_plain_reading_of_its_files(data_root):
    data = ft.datasets.load("mnist", data_root, download=False)
    raw = gzip.decompress((data_root / "mnist/t10k-images-idx3-ubyte.gz").read_bytes())
    assert struct.unpack(">4I", raw[:16]) == (2051, 10000, 28, 28)
    for number in (0, 1234, 9999):
        image = np.frombuffer(raw[16 + 784 * number : 16 + 784 * (number + 1)], dtype=np.uint8)
        np.testing.assert_array_equal(np.round(255 * data.test.X[number]), image)
    assert np.bincount(data.test.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.train.X.min() == 0
    assert data.train.X.max() == 1


def test_permuted_mnist_is_sequential_mnist_with_one_order_of_pixels(data_root):
    plain, permuted = (ft.datasets.load(name, data_root, ratio=0.1, download=False) for name in ("smnist", "pmnist"))
    order = np.random.default_rng(42).permutation(784)
    for name in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(permuted, name).X, getattr(plain, name).X[:, order])
        np.testing.assert_array_equal(getattr(permuted, name).y, getattr(plain, name).y)
    assert (order != np.arange(784)).mean() > 0.99


def test_validation_digits_are_none_of_the_training_digits(data_root):
    whole, data = (ft.datasets.load(name, data_root, download=False) for name in ("mnist", "smnist"))
    parts = [{row.tobytes() for row in split.X} for split in (whole.train, data.train, data.validation)]
    assert parts[1] | parts[2] == parts[0]
    assert len(parts[1] & parts[2]) <= len(data.train) + len(data.validation) - len(parts[0])


@pytest.mark.parametrize("ratio", [0.001, 0.01, 0.64, 1.0])
@pytest.mark.parametrize("count", [1, 37, 3636])
def test_subsets_are_the_beginning_of_one_permutation(count, ratio):
    whole = ft.datasets.subset_indices(count, 1.0, 7)
    assert sorted(whole) == list(range(count))
    part = ft.datasets.subset_indices(count, ratio, 7)
    assert len(part) == max(1, round(ratio * count))
    np.testing.assert_array_equal(part, whole[: len(part)])


def test_the_seed_decides_the_subset_and_nothing_else():
    whole = ft.datasets.load("binary-frequency")
    small, larger, other = (
        ft.datasets.load("Binary Freq.", ratio=r, seed=s) for r, s in ((0.01, 3), (0.02, 3), (0.01, 4))
    )
    assert len(small.train) == 400
    np.testing.assert_array_equal(small.train.X, larger.train.X[:400])
    np.testing.assert_array_equal(small.train.y, larger.train.y[:400])
    assert not np.array_equal(small.train.X, other.train.X)
    np.testing.assert_array_equal(small.test.X, whole.test.X)
    np.testing.assert_array_equal(other.test.y, whole.test.y)
    assert {row.tobytes() for row in small.train.X} <= {row.tobytes() for row in whole.train.X}


def test_stratified_subsets_keep_the_proportions_and_stay_nested(rng):
    labels = rng.permutation(np.repeat([0, 1, 2], [700, 290, 10]))
    previous = np.array([], dtype=int)
    for ratio in (0.1, 0.3, 1.0):
        part = ft.datasets.subset_indices(1000, ratio, 5, labels)
        np.testing.assert_array_equal(part[: len(previous)], previous)
        assert np.abs(np.bincount(labels[part]) - ratio * np.array([700, 290, 10])).max() <= 1
        previous = part
    assert not np.array_equal(part, ft.datasets.subset_indices(1000, 1.0, 6, labels))


@pytest.mark.parametrize(
    ("ratio", "seed"), [(0, 0), (1.5, 0), ("half", 0), (None, 0), (float("nan"), 0), (0.5, -1), (0.5, 1.5), (0.5, True)]
)
def test_impossible_subsets_are_refused(ratio, seed):
    with pytest.raises(ft.InputError, match=f"{ratio if seed == 0 else seed}"):
        ft.datasets.subset_indices(10, ratio, seed)


@pytest.mark.parametrize("name", ["s-MNIST", "Sequential mnist", "smnist"])
def test_names_are_forgiving(name):
    assert registry.find(name).name == "smnist"


def test_unknown_names_get_a_hint():
    with pytest.raises(ft.InputError, match=r"no data set 'ECG500'; did you mean 'ecg5000'.*known are.*wafer"):
        ft.datasets.load("ECG500")
    with pytest.raises(ft.InputError, match="name is 3"):
        ft.datasets.load(3)


def test_every_name_and_alias_leads_to_one_set():
    keys = [re.sub("[^a-z0-9]", "", alias.lower()) for e in registry.catalogue() for alias in {e.name, *e.aliases}]
    assert len(keys) == len(set(keys))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ft.DataMissing, match=r"mnist/train-images-idx3-ubyte.gz.*foretune data fetch mnist.*https://"):
        ft.datasets.load("mnist", tmp_path, download=False)
    assert not ft.datasets.at_hand("mnist", tmp_path)
    assert ft.datasets.at_hand("binary-frequency", tmp_path)


def test_part_of_a_set_is_refused_with_what_is_missing(data_root):
    with pytest.raises(ft.DataMissing, match=r"lacks data_batch_2.bin, .*data_batch_5.bin in .*read_cifar_batch"):
        ft.datasets.load("cifar10", data_root, download=False)
    with pytest.raises(ft.DataMissing, match="is its test set alone"):
        ft.datasets.load("Speech Commands 35", data_root, download=False)
    with pytest.raises(ft.DataMissing, match="is the original, shorter set"):
        ft.datasets.load("listops", data_root, download=False)


def test_the_environment_names_the_root(tmp_path, monkeypatch):
    monkeypatch.setenv("FORETUNE_DATA", str(tmp_path))
    assert open_store(None).roots[0] == tmp_path
    assert open_store(tmp_path / "other").roots == (tmp_path / "other",)
    monkeypatch.setenv("FORETUNE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ft.InputError, match="nowhere"):
        open_store(None)


def test_a_folder_marked_read_only_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("foretune.datasets.store.cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "shared").mkdir(mode=0o555)
    assert Store((tmp_path / "shared",)).target == tmp_path / "cache"


# idx files


def idx(shape, content=None):
    content = bytes(int(np.prod(shape))) if content is None else content
    return bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + content


def write_mnist(folder, train=20, test=5, pack=lambda content: content, end=""):
    (folder / "mnist").mkdir()
    for name, shape in (
        ("train-images-idx3-ubyte", (train, 28, 28)),
        ("train-labels-idx1-ubyte", (train,)),
        ("t10k-images-idx3-ubyte", (test, 28, 28)),
        ("t10k-labels-idx1-ubyte", (test,)),
    ):
        (folder / f"mnist/{name}{end}").write_bytes(pack(idx(shape)))


@pytest.mark.parametrize(("pack", "end"), [(lambda c: c, ""), (gzip.compress, ".gz")])
def test_small_mnist_is_read_but_not_taken_for_mnist(tmp_path, pack, end):
    write_mnist(tmp_path, pack=pack, end=end)
    entry = registry.find("mnist")
    assert entry.read(entry.locate(Store((tmp_path,)))).train.X.shape == (20, 784)
    with pytest.raises(ft.DataError, match="MNIST has 20 training sequences where 60000 are due"):
        ft.datasets.load("mnist", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(idx((3, 2, 2)), mtime=0)[:-9], "cannot be unpacked"),
        (gzip.compress(idx((3, 2, 2)), mtime=0)[:-1], "cannot be unpacked"),
        (gzip.compress(idx((3, 2, 2)), mtime=0)[:12] + b"\xff" * 20, "cannot be unpacked"),
        (idx((3, 2, 2))[:-1], r"shape \(3, 2, 2\) but holds 11 bytes"),
        (idx((3, 2, 2))[:9], "damaged"),
        (b"<html>", "does not begin like an idx file"),
        (b"", "does not begin like an idx file"),
    ],
    ids=["cut end", "no checksum", "rubbish", "few bytes", "short header", "page", "empty"],
)
def test_damaged_idx_files(tmp_path, content, message):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(ft.DataError, match=message):
        ft.datasets.read_idx(path)


def test_images_and_labels_must_belong_together(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "mnist/train-labels-idx1-ubyte").write_bytes(idx((19,)))
    with pytest.raises(ft.DataError, match="do not belong together"):
        ft.datasets.load("mnist", tmp_path)


def test_another_version_of_a_set_is_refused(data_root, monkeypatch):
    entry = replace(registry.find("ecg5000"), length=139)
    monkeypatch.setattr(registry, "ENTRIES", (entry,))
    with pytest.raises(ft.DataError, match="140 steps where 139 are due"):
        ft.datasets.load("ecg5000", data_root)


@pytest.mark.parametrize("name", ["idx", "ucr_file", "cifar_batch", "listops_file"])
def test_readers_take_names_of_files_and_miss_them(tmp_path, name):
    read = getattr(ft.datasets, f"read_{name}")
    with pytest.raises(ft.DataMissing, match=r"there is no file .*nothing"):
        read(str(tmp_path / "nothing"))
    with pytest.raises(ft.DataError, match="cannot be read"):
        read(str(tmp_path))
