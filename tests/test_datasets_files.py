"""Small files in the official formats of CIFAR-10, Speech Commands, ListOps and PathFinder."""

import gzip
import io
import os
import pickle
import tarfile
import wave

import numpy as np
import pytest

import foretune as ft
from foretune.datasets import registry
from foretune.datasets.cifar import BATCHES, gray_pixels
from foretune.datasets.listops import VOCABULARY, tokenize
from foretune.datasets.pathfinder import pathfinder_dataset
from foretune.datasets.speech import _thirds, which_set
from foretune.datasets.store import Store


def read(name, folder):
    entry = registry.find(name)
    return entry.read(entry.locate(Store((folder,))))


def tar(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def put(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


# CIFAR-10


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


# Speech Commands


def clip(samples, rate=16000, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.asarray(samples, dtype="<i2").tobytes())
    return file.getvalue()


def speech_files(rng, words=("bed", "no", "yes"), speakers=30):
    files = {}
    for word in words:
        for speaker in range(speakers):
            count = 16000 if speaker else 9000
            name = f"{word}/{speaker:08x}_nohash_0.wav"
            files[name] = clip(rng.integers(-32768, 32768, count))
    return {**files, "_background_noise_/hum.wav": clip(np.zeros(99)), "README.md": b"read me"}


@pytest.mark.parametrize("form", ["folder", "tar"])
@pytest.mark.parametrize("listed", [True, False])
def test_speech_commands(tmp_path, rng, form, listed):
    files = speech_files(rng)
    if listed:
        files["validation_list.txt"] = b"bed/00000001_nohash_0.wav\nyes/00000002_nohash_0.wav\n"
        files["testing_list.txt"] = b"no/00000000_nohash_0.wav\n"
    if form == "folder":
        put(tmp_path / "speech_commands_v0.02", files)
    else:  # the official archive's names begin with ./ and come in no order
        shuffled = dict(sorted(files.items(), key=lambda item: item[0][::-1]))
        tar(tmp_path / "speech_commands/speech_commands_v0.02.tar.gz", {"./" + k: v for k, v in shuffled.items()})
    data = read("SC", tmp_path)
    clips = sorted(name for name in files if name.endswith(".wav") and not name.startswith("_"))
    expected = {"training": [], "validation": [], "testing": []}
    for name in clips:
        part = which_set(name)
        if listed:
            part = {b: a for a in ("validation", "testing") for b in files[f"{a}_list.txt"].decode().split()}.get(
                name, "training"
            )
        expected[part].append(name)
    assert data.classes == ("bed", "no", "yes")
    for split, part in ((data.train, "training"), (data.validation, "validation"), (data.test, "testing")):
        assert split.X.shape == (len(expected[part]), 16000)
        assert [data.classes[code] for code in split.y] == [name.partition("/")[0] for name in expected[part]]
        for row, name in zip(split.X[:], expected[part], strict=True):
            samples = np.frombuffer(files[name][44:], dtype="<i2")
            np.testing.assert_array_equal(row[: len(samples)] * 32768, samples)
            assert not row[len(samples) :].any()
    with pytest.raises(ft.DataError, match="SC has"):
        ft.datasets.load("SC", tmp_path)


def test_large_sets_are_kept_once_and_read_by_the_row(tmp_path, rng):
    put(tmp_path / "speech_commands_v0.02", speech_files(rng))
    first = read("SC", tmp_path).train
    kept = list((tmp_path / "prepared").iterdir())
    assert len(kept) == 1
    stamp = (kept[0] / "rows.bin").stat().st_mtime_ns
    part = read("SC", tmp_path).train.take(np.array([5, 2]))
    assert (kept[0] / "rows.bin").stat().st_mtime_ns == stamp
    assert type(part.X[:]) is np.ndarray
    assert isinstance(part.X, ft.datasets.Rows)
    assert part.X[0].shape == (16000,)
    assert len(part.X) == 2
    np.testing.assert_array_equal(part.X[:], first.X[[5, 2]])
    np.testing.assert_array_equal(np.asarray(part.X, dtype=np.float64), first.X[[5, 2]])
    np.testing.assert_array_equal(first.X[first.y == 1], np.asarray(first.X)[first.y == 1])


def test_a_set_that_grew_is_read_again(tmp_path, rng):
    files = speech_files(rng)
    put(tmp_path / "speech_commands_v0.02", files)
    before = read("SC", tmp_path)
    more = {f"bed/{speaker:08x}_nohash_1.wav": clip(np.zeros(16000)) for speaker in range(30)}
    put(tmp_path / "speech_commands_v0.02", more)
    after = read("SC", tmp_path)
    counts = [len(data.train) + len(data.validation) + len(data.test) for data in (before, after)]
    assert counts == [90, 120]


def test_nothing_is_kept_of_a_damaged_set(tmp_path, rng):
    put(tmp_path / "speech_commands_v0.02", {**speech_files(rng), "yes/0_nohash_0.wav": b"RIFF"})
    with pytest.raises(ft.DataError, match=r"yes/0_nohash_0.wav is no wav file"):
        read("SC", tmp_path)
    assert list((tmp_path / "prepared").iterdir()) == []


@pytest.mark.parametrize("form", [{"rate": 8000}, {"channels": 2}])
def test_other_audio_is_refused(tmp_path, form):
    put(tmp_path, {"yes/0_nohash_0.wav": clip(np.zeros(100), **form)})
    with pytest.raises(ft.DataError, match="16000 Hz, 1, 16 are due"):
        ft.datasets.read_speech_clips(tmp_path)


def test_sc10_takes_full_seconds_of_ten_words(tmp_path, rng):
    put(tmp_path / "speech_commands_v0.02", speech_files(rng))
    data = read("SC10", tmp_path)
    splits = (data.train, data.validation, data.test)
    assert [len(split) for split in splits] == [40, 9, 9]
    assert all({data.classes[code] for code in split.y} == {"no", "yes"} for split in splits)
    rows = np.concatenate([split.X[:] for split in splits])
    assert len({row.tobytes() for row in rows}) == 58


def test_the_published_counts_of_sc10_follow_from_its_34975_clips(rng):
    parts = _thirds(np.arange(34975), rng.integers(10, size=34975))
    assert [len(part) for part in parts] == [24482, 5246, 5247]
    assert sorted(np.concatenate(parts)) == list(range(34975))


def test_the_real_clips_are_of_the_test_set_by_the_published_rule(data_root):
    folder = data_root / "speech_commands_test_set_v0.02"
    X, y, words, names = ft.datasets.read_speech_clips(folder)
    assert X.shape == (1000, 16000)
    assert X.dtype == np.float32
    assert np.bincount(y).tolist() == [100] * 10
    assert words == ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes")
    assert {which_set(name) for name in names} == {"testing"}
    scipy_io = pytest.importorskip("scipy.io.wavfile")
    _, samples = scipy_io.read(folder / names[123])
    np.testing.assert_array_equal(X[123, : len(samples)] * 32768, samples[:16000])


def test_a_folder_without_clips(tmp_path):
    with pytest.raises(ft.DataMissing, match="holds no clips"):
        ft.datasets.read_speech_clips(tmp_path)
    with pytest.raises(ft.DataMissing, match="is no folder"):
        ft.datasets.read_speech_clips(tmp_path / "nowhere")


# ListOps

LRA = b"Source\tTarget\n( ( ( [MAX 2 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )\t4\n( ( ( [SM 9 ) 3 ) ] )\t2\n"


def words(tokens):
    return " ".join(VOCABULARY[token] for token in tokens)


def test_listops_of_lra(tmp_path):
    put(tmp_path / "listops", {f"basic_{part}.tsv": LRA for part in ("train", "val", "test")})
    data = read("ListOps", tmp_path)
    assert data.train.X.shape == (2, 2048)
    assert words(data.train.X[0][:10]) == "[MAX 2 [MIN 4 7 ] ] <eos> <pad> <pad>"
    assert data.train.lengths.tolist() == [8, 5]
    assert data.validation.y.tolist() == [4, 2]
    assert np.issubdtype(data.train.X.dtype, np.integer)
    assert data.vocabulary == VOCABULARY


def test_listops_inside_the_whole_archive(tmp_path):
    files = {f"lra_release/lra_release/listops-1000/basic_{part}.tsv": LRA for part in ("train", "val", "test")}
    tar(tmp_path / "lra/lra_release.gz", {"lra_release/readme": b"", **files})
    assert read("ListOps", tmp_path).test.y.tolist() == [4, 2]
    tar(tmp_path / "lra/lra_release.gz", dict(list(files.items())[:2]))
    with pytest.raises(ft.DataError, match=r"holds no listops-1000/basic_test.tsv"):
        read("ListOps", tmp_path)


def test_long_expressions_are_cut_before_the_end_token():
    X, lengths = tokenize(["( ( ( [MAX 2 ) 3 ) ] )", "7"], length=4)
    assert [words(row) for row in X] == ["[MAX 2 3 <eos>", "7 <eos> <pad> <pad>"]
    assert lengths.tolist() == [4, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"Source\tTarget\n", "is empty"),
        (b"3\t( ( ( [AVG 2 ) 3 ) ] )\n", "something else than ListOps in expression 1"),
        (b"3\t( ( ( [MAX 12 ) 3 ) ] )\n", "something else than ListOps"),
        (b"3\t\n", "something else than ListOps"),
        (b"3\n", "no label and expression in sequence 1"),
        (b"x\t3\n", "no label and expression"),
        (b"\xff\xfe", "is no text"),
        (gzip.compress(b"3\t3\n")[:-3], "cannot be unpacked"),
    ],
)
def test_damaged_listops(tmp_path, content, message):
    (tmp_path / "x.tsv").write_bytes(content)
    with pytest.raises(ft.DataError, match=message):
        ft.datasets.read_listops_file(tmp_path / "x.tsv")


# PathFinder


def pathfinder_files(rng, count=10):
    Image = pytest.importorskip("PIL.Image")
    files, truth = {}, []
    for level in ("curv_baseline", "curv_contour_length_9", "curv_contour_length_14"):
        lines = []
        for number in range(count):
            pixels = rng.integers(256, size=(32, 32), dtype=np.uint8)
            out = io.BytesIO()
            Image.fromarray(pixels).save(out, "png")
            label = int(rng.integers(2))
            files[f"{level}/imgs/{number % 2}/sample_{number}.png"] = out.getvalue()
            lines.append(f"imgs/{number % 2} sample_{number}.png {number} {label} 1.0 14 4 2 0.5 1 1")
            truth.append((pixels.tobytes(), label))
        files[f"{level}/metadata/0.npy"] = "\n".join(lines).encode()
    files["curv_baseline/imgs/0/sample_172.png"] = b""  # as in the published archive
    files["curv_baseline/metadata/0.npy"] += b"\nimgs/0 sample_172.png 172 1 1.0 14 4 2 0.5 1 1"
    return files, truth


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_pathfinder(tmp_path, rng, form):
    files, truth = pathfinder_files(rng)
    if form == "folder":
        put(tmp_path / "pathfinder/pathfinder32", files)
    else:
        path = tmp_path / "lra/lra_release.gz"
        files["pathfinder64/curv_baseline/imgs/0/sample_0.png"] = b"of another size"
        prefix = "lra_release/lra_release/"
        tar(path, {prefix + ("" if "64/" in k else "pathfinder32/") + k: v for k, v in files.items()})
    data = read("Pathfinder", tmp_path)
    splits = (data.train, data.validation, data.test)
    assert [len(split) for split in splits] == [24, 3, 3]
    found = {
        (np.round((row + 1) * 127.5).astype(np.uint8).tobytes(), int(label))
        for split in splits
        for row, label in zip(split.X[:], split.y, strict=True)
    }
    assert found == set(truth)
    assert np.abs(data.train.X[:]).max() <= 1


def test_the_published_counts_of_pathfinder_follow_from_its_599999_images():
    pixels = np.broadcast_to(np.zeros(1024, dtype=np.uint8), (599_999, 1024))
    data = pathfinder_dataset("x", pixels, np.zeros(599_999, dtype=np.int64), np.arange(599_999), "")
    assert (len(data.train), len(data.validation), len(data.test)) == (480_001, 59_999, 59_999)


def test_incomplete_pathfinder(tmp_path, rng):
    files, _ = pathfinder_files(rng)
    put(tmp_path / "pathfinder32", {name: c for name, c in files.items() if not name.startswith("curv_baseline")})
    with pytest.raises(ft.DataMissing, match="lacks curv_baseline"):
        read("pathfinder", tmp_path)
    put(tmp_path / "pathfinder32", files)
    (tmp_path / "pathfinder32/curv_baseline/imgs/1/sample_3.png").unlink()
    with pytest.raises(ft.DataError, match="29 images and 31 labels"):
        read("pathfinder", tmp_path)
    put(tmp_path / "pathfinder32", files)
    assert len(read("pathfinder", tmp_path).train) == 24


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("imgs/0/sample_0.png", b"nothing", "is no image"),
        ("metadata/0.npy", b"imgs/0 sample_0.png", "names no image and label"),
    ],
)
def test_damaged_pathfinder(tmp_path, rng, name, content, message):
    files, _ = pathfinder_files(rng)
    put(tmp_path / "pathfinder32", {**files, f"curv_contour_length_9/{name}": content})
    with pytest.raises(ft.DataError, match=message):
        read("pathfinder", tmp_path)
    assert list((tmp_path / "prepared").iterdir()) == []
