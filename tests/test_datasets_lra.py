"""Small files in the official forms of LRA's ListOps and PathFinder."""

import gzip
import io

import numpy as np
import pytest

import foretune as ft
from foretune.datasets.listops import VOCABULARY, tokenize
from foretune.datasets.pathfinder import pathfinder_dataset
from official_files import put, read, tar

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
        (gzip.compress(b"3\t3\n", mtime=0)[:-3], "cannot be unpacked"),
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
