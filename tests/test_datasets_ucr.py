"""The UCR archive's formats, and agreement with aeon."""

import gzip
import struct
import zipfile
import zlib

import numpy as np
import pytest

import foretune as ft
from foretune.datasets import registry
from foretune.datasets.store import Store
from foretune.datasets.ucr import read_ucr

UCR = ["ECG5000", "FordA", "FordB", "TwoPatterns", "Wafer"]
TSV = "1\t0.5\t-1.5e0\n-1\t2\t3\n"
TS = "#text\n@problemName x\n@timeStamps false\n@univariate true\n@classLabel true 1 -1\n@data\n0.5,-1.5e0:1\n2,3:-1\n"


def encrypted_zip(members, password=b"someone"):
    """A zip archive in the traditional encryption, which zipfile can only read (PKWARE's APPNOTE, section 6.1)."""

    def encrypt(data):
        keys = [0x12345678, 0x23456789, 0x34567890]

        def update(byte):
            keys[0] = zlib.crc32(bytes((byte,)), keys[0] ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
            keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
            keys[2] = zlib.crc32(bytes((keys[1] >> 24,)), keys[2] ^ 0xFFFFFFFF) ^ 0xFFFFFFFF

        for byte in password:
            update(byte)
        out = bytearray()
        for byte in data:
            word = keys[2] | 2
            out.append(byte ^ (((word * (word ^ 1)) >> 8) & 0xFF))
            update(byte)
        return bytes(out)

    body, directory = b"", b""
    for name, data in members.items():
        crc = zlib.crc32(data)
        secret = encrypt(bytes(11) + bytes((crc >> 24,)) + data)
        head = struct.pack("<4H3I2H", 1, 0, 0, 0, crc, len(secret), len(data), len(name), 0)
        local = b"PK\3\4" + struct.pack("<H", 20) + head + name.encode() + secret
        directory += b"PK\1\2" + struct.pack("<2H", 20, 20) + head + struct.pack("<3H2I", 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += local
    end = struct.pack("<4H2IH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + end


def write_ucr(folder, form):
    text = TS if "ts" in form.split(".") else TSV
    names = [f"Wafer_{part}{'.ts' if text is TS else '.tsv'}" for part in ("TRAIN", "TEST")]
    (folder / "ucr/Wafer").mkdir(parents=True)
    if "official" in form:
        content = encrypted_zip({f"UCRArchive_2018/Wafer/{name}": text.encode() for name in names})
        (folder / "ucr/UCRArchive_2018.zip").write_bytes(content)
        return
    if "zip" in form:
        with zipfile.ZipFile(folder / "ucr/Wafer.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.writestr(name, text)
        return
    for name in names:
        packed = gzip.compress(text.encode()) if "gz" in form else text.encode()
        (folder / f"ucr/Wafer/{name}{'.gz' if 'gz' in form else ''}").write_bytes(packed)


@pytest.mark.parametrize("form", ["tsv", "tsv.gz", "ts", "ts.gz", "ts.zip", "tsv.zip", "tsv.official"])
def test_every_form_of_a_ucr_set_is_read_alike(tmp_path, form):
    write_ucr(tmp_path, form)
    entry = registry.find("Wafer")
    data = entry.read(entry.locate(Store((tmp_path,))))
    np.testing.assert_array_equal(data.train.X, np.array([[0.5, -1.5], [2, 3]], dtype=np.float32))
    assert data.train.y.tolist() == [1, 0]
    assert data.classes == (-1, 1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "1\t0.5\tNaN\n", "missing value .* sequence 1, step 2"),
        ("x.tsv", "1\t0.5\t2\n1\t3\n", "1 values in line 2 but 2"),
        ("x.tsv", "1\t0.5\tx\n", "no number"),
        ("x.tsv", "", "is empty"),
        ("x.ts", TS.replace("@data", ""), "no @data line"),
        ("x.ts", TS.replace("2,3", "2,?"), "missing value .* sequence 2, step 2"),
        ("x.ts", TS.replace("2,3", "2"), "1 values in line 2 but 2"),
        ("x.ts", TS.replace("@univariate true", "@univariate false"), "only complete univariate"),
        ("x.ts", TS.replace("@timeStamps false", "@equalLength false"), "only complete univariate"),
        ("x.ts", TS.replace("@classLabel true 1 -1", "@targetLabel true"), "no class labels"),
        ("x.ts", TS.partition("0.5")[0], "no sequences"),
    ],
)
def test_unreadable_ucr_files(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ft.DataError, match=message):
        ft.datasets.read_ucr_file(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.ts", TS.replace("@data", "@DATA").replace("@classLabel true", "@CLASSLABEL TRUE")),
        ("x.ts", TS.replace("@", " @")),
        ("x.ts", TS.replace("#text", "# what comes after @data")),
        ("x.ts", "\ufeff" + TS),
        ("x.tsv", "\ufeff" + TSV),
        ("X.TS", TS),
    ],
)
def test_spellings_of_the_formats(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    X, labels = ft.datasets.read_ucr_file(tmp_path / name)
    assert X.tolist() == [[0.5, -1.5], [2, 3]]
    assert labels == ["1", "-1"]


def test_damaged_ucr_archives(tmp_path):
    write_ucr(tmp_path, "ts.zip")
    path = tmp_path / "ucr/Wafer.zip"
    whole = path.read_bytes()
    for content in (whole[:-30], whole[:60] + bytes(8) + whole[68:], b"PK"):
        path.write_bytes(content)
        with pytest.raises(ft.DataError, match="cannot be unpacked"):
            ft.datasets.load("wafer", tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "")
    with pytest.raises(ft.DataError, match="holds no Wafer_TRAIN"):
        ft.datasets.load("wafer", tmp_path)


def test_labels_with_words_and_splits_of_other_lengths(tmp_path):
    train, test = tmp_path / "a.tsv", tmp_path / "b.tsv"
    train.write_text("dog\t1\t2\ncat\t3\t4\n")
    test.write_text("cat\t1\t2\neel\t3\t4\n")
    data = read_ucr((train, test), "Animals")
    assert data.classes == ("cat", "dog", "eel")
    assert (data.train.y.tolist(), data.test.y.tolist()) == ([1, 0], [0, 2])
    test.write_text("cat\t1\n")
    with pytest.raises(ft.DataError, match="length 2 in training but 1 in the test"):
        read_ucr((train, test), "Animals")


@pytest.mark.parametrize("name", UCR)
def test_ucr_agrees_with_aeon(name, data_root, tmp_path):
    readers = pytest.importorskip("aeon.datasets", reason="aeon is not installed; see the extra `compare`")
    for part in ("TRAIN", "TEST"):
        source = data_root / f"ucr/{name}/{name}_{part}.tsv.gz"
        plain = tmp_path / f"{name}_{part}.tsv"
        plain.write_bytes(gzip.decompress(source.read_bytes()))
        X, labels = readers.load_from_tsv_file(str(plain))
        values, ours = ft.datasets.read_ucr_file(source)
        np.testing.assert_array_equal(values, X[:, 0])
        np.testing.assert_array_equal(np.array(ours, dtype=float), np.asarray(labels, dtype=float))
        if name == "ECG5000":
            text = "\n".join(",".join(map(repr, row.tolist())) + f":{c}" for row, c in zip(values, ours, strict=True))
            head = "@problemName x\n@timeStamps false\n@missing false\n@univariate true\n@equalLength true\n"
            sequences = plain.with_suffix(".ts")
            sequences.write_text(f"{head}@seriesLength 140\n@classLabel true 1 2 3 4 5\n@data\n{text}\n")
            X, labels = readers.load_from_ts_file(str(sequences))
            values, ours = ft.datasets.read_ucr_file(sequences)
            np.testing.assert_array_equal(values, X[:, 0])
            assert ours == list(labels)
