"""Small files in the official forms of CIFAR-10, and the real batches."""

import gzip
import os
import pickle

import numpy as np
import pytest

import foretune as ft
from foretune.datasets.cifar import BATCHES, gray_pixels
from official_files import put, read, tar


@pytest.fixture
def images(rng):
    return [rng.integers(256, size=(1200, 3072), dtype=np.uint8) for _ in BATCHES], [
        rng.integers(10, size=1200) for _ in BATCHES
    ]


def cifar_files(images, version):
    files = {}
    for name, pixels, labels in zip(BATCHES, *images, strict=True):
        if version == "python":
            content = {b"data": pixels, b"labels": labels.tolist(), b"batch_label": b"x", b"filenames": [b"a.png"]}
            files[f"cifar-10-batches-py/{name}"] = pickle.dumps(content, protocol=2)
        else:
            records = np.concatenate([labels[:, None].astype(np.uint8), pixels], axis=1)
            files[f"cifar-10-batches-bin/{name}.bin"] = records.tobytes()
    return files


@pytest.mark.parametrize("version", ["python", "binary"])
@pytest.mark.parametrize("form", ["tar", "folder", "gz"])
def test_every_form_of_cifar_is_read_alike(tmp_path, images, version, form):
    files = cifar_files(images, version)
    if form == "tar":
        tar(tmp_path / f"cifar10/cifar-10-{version}.tar.gz", files)
    elif form == "folder":
        put(tmp_path / "cifar10", files)
    else:
        put(tmp_path, {f"{name}.gz": gzip.compress(content, 1) for name, content in files.items()})
    data = read("CIFAR-10", tmp_path)
    assert (len(data.train), len(data.validation), len(data.test)) == (1000, 5000, 1200)
    assert data.train.X.shape == (1000, 1024)
    np.testing.assert_array_equal(data.test.y, images[1][5])
    np.testing.assert_allclose(61 * data.test.X + 122.6, gray_pixels(images[0][5].reshape(-1, 3, 32, 32)), atol=1e-4)
    both = np.concatenate([data.train.X, data.validation.X])
    whole = gray_pixels(np.concatenate(images[0][:5]).reshape(-1, 3, 32, 32))
    np.testing.assert_allclose(np.sort(61 * both[:, 7] + 122.6), np.sort(whole[:, 7]), atol=1e-4)
    with pytest.raises(ft.DataError, match="CIFAR-10 has 1000 training sequences where 45000 are due"):
        ft.datasets.load("cifar10", tmp_path)


def test_gray_is_the_gray_of_pillow(rng):
    Image = pytest.importorskip("PIL.Image")
    images = rng.integers(256, size=(5, 3, 32, 32), dtype=np.uint8)
    expected = [np.asarray(Image.fromarray(image.transpose(1, 2, 0)).convert("L")).ravel() for image in images]
    np.testing.assert_array_equal(gray_pixels(images), expected)


def test_the_real_batches_of_cifar(data_root):
    folder = data_root / "cifar10/cifar-10-batches-bin"
    images, labels = ft.datasets.read_cifar_batch(folder / "test_batch.bin.gz")
    assert images.shape == (10000, 3, 32, 32)
    assert np.bincount(labels).tolist() == [1000] * 10
    images, labels = ft.datasets.read_cifar_batch(folder / "data_batch_1.bin.gz")
    assert np.bincount(labels).tolist() == [1005, 974, 1032, 1016, 999, 937, 1030, 1001, 1025, 981]
    assert abs(gray_pixels(images).mean() - 122.6) < 2  # the batch has nearly the mean of all five
    assert abs(gray_pixels(images).std() - 61) < 2


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({b"data": Evil(), b"labels": []}, protocol=2), "asks for (posix|nt).mkdir"),
        (pickle.dumps({b"data": np.zeros((2, 3072), np.uint8)}, protocol=2), "no batch of CIFAR-10"),
        (pickle.dumps({b"data": np.zeros((2, 9), np.uint8), b"labels": [1, 2]}, protocol=2), r"shape \(2, 9\)"),
        (pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2]}, protocol=2)[:-9] + b".", "no batch"),
        (bytes(3073 * 2 - 1), "no multiple of 3073"),
        (b"", "no multiple of 3073"),
        (bytes((11,)) + bytes(3072), "label 11"),
    ],
)
def test_damaged_or_evil_batches(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(ft.DataError, match=message):
        ft.datasets.read_cifar_batch(tmp_path / "batch")
    assert not (tmp_path / "evil").exists()


def test_damaged_tar_archives(tmp_path, images):
    path = tmp_path / "cifar10/cifar-10-binary.tar.gz"
    files = cifar_files(images, "binary")
    tar(path, dict(list(files.items())[:3]))
    with pytest.raises(ft.DataError, match="holds no data_batch_4, data_batch_5, test_batch"):
        read("cifar10", tmp_path)
    tar(path, files)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:5000] + bytes(100) + whole[5100:]):
        path.write_bytes(content)
        with pytest.raises(ft.DataError, match="cannot be unpacked"):
            read("cifar10", tmp_path)
