"""Reading a practitioner's own file: every format alike, and every bad file refused in one clear line."""

import csv
import gzip
import io
import itertools
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import foretune as ft
from foretune.tables import read
from foretune.tables.labelled import Labelled, check_training, match_test

GOOD = "a,1,2.5\nb,-3,4e-1\n"
TS = "#c\n@problemName x\n@univariate true\n@classLabel true a b\n@data\n1,2.5:a\n-3,4e-1:b\n"
ARFF = (
    "% c\n@relation x\n@attribute t0 numeric\n@attribute t1 real\n@attribute target {a,b}\n@data\n1,2.5,a\n-3,4e-1,b\n"
)
X = np.array([[1, 2.5], [-3, 0.4]])


def put(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table(values, labels, mark=",", end="\n", header=False, last=False, quote=False, comma=False):
    """A text table written in the plainest way."""
    lines = [[f"t{step}" for step in range(values.shape[1])]] if header else []
    lines += [[f"{value!r}".replace(".", ",") if comma else f"{value!r}" for value in row] for row in values.tolist()]
    names = (["class"] if header else []) + [f'"{label}"' if quote else str(label) for label in labels]
    rows = ([*line, name] if last else [name, *line] for line, name in zip(lines, names, strict=True))
    return end.join(mark.join(row) for row in rows) + end


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (GOOD, "plain.csv"),
        (GOOD.replace(",", "\t"), "tabs.tsv"),
        (GOOD.replace(",", ";"), "semicolons.csv"),
        (GOOD.replace(",", ";").replace(".", ","), "decimal-comma.csv"),
        (GOOD.replace(",", "\t").replace(".", ","), "decimal-comma.tsv"),
        (GOOD.replace(",", "|"), "bars.txt"),
        (GOOD.replace(",", "   "), "blanks.txt"),
        (GOOD.replace(",", ", "), "spaced.csv"),
        (GOOD.replace("\n", "\r\n"), "crlf.csv"),
        (GOOD.replace("\n", "\r"), "cr.csv"),
        (GOOD.strip(), "no-last-newline.csv"),
        ("\ufeff" + GOOD, "mark.csv"),
        (GOOD.encode("utf-16"), "utf16.csv"),
        ("# by hand\n\n" + GOOD.replace("\n", "\n\n") + "\n ,, \n", "empty-lines-and-comments.csv"),
        ("class,x,y\n" + GOOD, "header.csv"),
        ("class,x,x\n" + GOOD, "twice-the-same-name.csv"),
        ("x,y,class\n1,2.5,a\n-3,4e-1,b\n", "named-last.csv"),
        (",class,x,y\n0,a,1,2.5\n1,b,-3,4e-1\n", "pandas-with-index.csv"),
        ('"","class","x","y"\n"1","a",1,2.5\n"2","b",-3,4e-1\n', "from-r.csv"),
        ('"a","1","2.5"\n"b","-3","4e-1"\n', "quoted.csv"),
        ("a,1,2.5,\nb,-3,4e-1,\n", "delimiter-at-the-end.csv"),
        ("a,1,2.5,,NA\nb,-3,4e-1,,\n", "nothing-at-the-end.csv"),
        (TS, "set.ts"),
        (TS.replace("\n", "\r\n"), "crlf.ts"),
        (TS.replace("2.5:a", "2.5,?:a"), "missing-at-the-end.ts"),
        (ARFF, "set.arff"),
        (gzip.compress(GOOD.encode(), mtime=0), "packed.csv.gz"),
        (gzip.compress(TS.encode(), mtime=0), "packed.ts.gz"),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value and len(value) < 40 else "",
)
def test_every_way_of_writing_gives_the_same(tmp_path, content, name):
    data = read(put(tmp_path, content, name))
    np.testing.assert_array_equal(data.X, X)
    assert data.X.dtype == np.float64
    assert data.y.tolist() == ["a", "b"]
    assert data.lengths is None
    assert str(tmp_path / name) == data.source


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [False, True])
def test_it_equals_a_plain_reading_with_the_csv_module(tmp_path, rng, mark, end, header):
    values, labels = rng.normal(size=(30, 9)) * 10.0 ** rng.integers(-9, 9, (30, 9)), rng.integers(0, 3, 30)
    for last, quote, comma in itertools.product([False, True], [False, True], [False, True]):
        if comma and mark == ",":
            continue
        text = table(values, labels, mark, end, header, last, quote, comma)
        data = read(put(tmp_path, text), label=-1 if last else 0)
        rows = list(csv.reader(io.StringIO(text), delimiter=mark))[header:]
        plain = [[float(cell.replace(",", ".")) for cell in (row[:-1] if last else row[1:])] for row in rows]
        np.testing.assert_array_equal(data.X, plain)
        np.testing.assert_array_equal(data.y, labels)


@pytest.mark.parametrize("part", ["TRAIN", "TEST"])
def test_it_equals_the_reader_of_the_archive(data_root, part):
    path = data_root / f"ucr/ECG5000/ECG5000_{part}.tsv.gz"
    values, labels = ft.datasets.read_ucr_file(path)
    data = read(path)
    np.testing.assert_array_equal(data.X, values)
    assert data.y.dtype == np.int64
    assert data.y.astype(str).tolist() == labels


def test_a_ts_file_with_several_channels(tmp_path):
    head = "@problemName x\n@univariate false\n@dimensions 2\n@equalLength false\n@classLabel true a b\n@data\n"
    equal = read(put(tmp_path, head + "1,2:3,4:a\n5,6:7,8:b\n", "x.ts"))
    np.testing.assert_array_equal(equal.X, [[[1, 3], [2, 4]], [[5, 7], [6, 8]]])
    path = put(tmp_path, head + "1,2:3,4:a\n5,6,9:7,8,0:b\n", "x.ts")
    with pytest.raises(ft.DataError, match="line 8: 3 values where most rows have 2; pad"):
        read(path)
    padded = read(path, pad=True)
    np.testing.assert_array_equal(padded.X, [[[1, 3], [2, 4], [0, 0]], [[5, 7], [6, 8], [9, 0]]])
    assert padded.lengths.tolist() == [2, 3]
    with pytest.raises(ft.DataError, match="line 7, channel 2, value 2: a missing value"):
        read(put(tmp_path, head + "1,2:3:a\n", "x.ts"), pad=True)
    with pytest.raises(ft.DataError, match="line 8: 1 channels where the first sequence has 2"):
        read(put(tmp_path, head + "1,2:3,4:a\n5,6:b\n", "x.ts"))


def test_arrays(tmp_path):
    X, y = np.arange(12.0).reshape(3, 4), np.array(["a", "b", "a"])
    for names in (("X", "y"), ("x_train", "y_train"), ("X_train", "Y_train"), ("data", "labels")):
        np.savez(tmp_path / "pair.npz", **dict(zip(names, (X, y), strict=True)))
        data = read(tmp_path / "pair.npz")
        np.testing.assert_array_equal(data.X, X)
        assert data.y.tolist() == ["a", "b", "a"]
    np.savez_compressed(tmp_path / "both.npz", x_train=X, y_train=y, x_test=X[:1] + 9, y_test=y[:1], about=y)
    assert len(read(tmp_path / "both.npz")) == 3
    assert "about, x_test, y_test left out" in read(tmp_path / "both.npz").notes[0]
    assert read(tmp_path / "both.npz", part="test").X.tolist() == [[9, 10, 11, 12]]
    np.savez(tmp_path / "named.npz", series=X, activity=y)
    assert read(tmp_path / "named.npz", label="activity").y.tolist() == ["a", "b", "a"]
    for sequences, labels in (("X.npy", "y.npy"), ("walk_X.npy", "walk_y.npy"), ("X_train.npy", "y_train.npy")):
        np.save(tmp_path / sequences, X.astype(np.float32))
        np.save(tmp_path / labels, np.array([3.0, 1.0, 3.0]))
        data = read(tmp_path / sequences)
        assert data.X.dtype == np.float32
        assert data.y.tolist() == [3, 1, 3]
        assert data.y.dtype == np.int64
    aeon = np.stack([X], axis=1)
    np.savez(tmp_path / "aeon.npz", X=aeon, y=y)
    np.testing.assert_array_equal(read(tmp_path / "aeon.npz").X, X)


def test_labels_in_a_file_of_their_own_and_no_labels(tmp_path):
    path, labels = put(tmp_path, "1,2\n3,4\n"), put(tmp_path, "walk\nrun\n", "labels.txt")
    data = read(path, labels=labels)
    assert (data.X.tolist(), data.y.tolist()) == ([[1, 2], [3, 4]], ["walk", "run"])
    np.save(tmp_path / "labels.npy", np.array([7, 8]))
    assert read(path, labels=tmp_path / "labels.npy").y.tolist() == [7, 8]
    with pytest.raises(ft.DataError, match="has 2 samples but 3 labels"):
        read(path, labels=put(tmp_path, "1\n2\n3\n", "three.txt"))
    bare = read(path, labelled=False)
    assert bare.X.tolist() == [[1, 2], [3, 4]]
    assert bare.y.size == 0
    assert read(
        put(tmp_path, "@problemName x\n@classLabel false\n@data\n1,2\n", "x.ts"), labelled=False
    ).X.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("labels", "kind", "values"),
    [
        (["1", "2"], "i", [1, 2]),
        (["1.0000000e+00", "-1"], "i", [1, -1]),
        (["0.5", "1"], "f", [0.5, 1]),
        (["cat", "1"], "U", ["cat", "1"]),
        (["007", "7"], "U", ["007", "7"]),
        (["12345678901234567890123", "12345678901234567890124"], "U", None),
        (["9223372036854775807", "9223372036854775806"], "i", None),
        (["1e300", "1e301"], "U", None),
        (["Äpfel", "Birnen"], "U", None),
        (["None", "walk"], "U", None),
        (["True", "False"], "U", None),
    ],
)
def test_labels_stay_what_they_are(tmp_path, labels, kind, values):
    data = read(put(tmp_path, f"{labels[0]},1,2\n{labels[1]},3,4\n"))
    assert data.y.dtype.kind == kind
    assert data.y.tolist() == (values or [int(label) if kind == "i" else label for label in labels])
    packed = read(put(tmp_path, f"{labels[0]},1,2\n{labels[1]},3,4\n".encode("latin-1")))
    assert packed.y.tolist() == data.y.tolist()
    assert labels[0].isascii() or "latin-1" in packed.notes[1]


def test_ragged_rows_are_padded_on_demand(tmp_path):
    path = put(tmp_path, "a,1,2,3\nb,4\na,5,6,\nb,7,8,nan\n")
    with pytest.raises(ft.DataError, match=r"line 1: 3 values where most rows have 2; .*--pad"):
        read(path)
    data = read(path, pad=True)
    np.testing.assert_array_equal(data.X, [[1, 2, 3], [4, 0, 0], [5, 6, 0], [7, 8, 0]])
    assert data.lengths.tolist() == [3, 1, 2, 2]
    last = read(put(tmp_path, "1,2,3,a\n4,,,b\n"), label=-1, pad=True)
    assert (last.X.tolist(), last.lengths.tolist()) == ([[1, 2, 3], [4, 0, 0]], [3, 1])
    with pytest.raises(ft.DataError, match="line 2, column 3: a missing value"):
        read(put(tmp_path, "a,1,2,3\nb,4,,6\n"), pad=True)


TEN = range(10)


def test_thousandths_with_decimal_commas_are_read_when_told(tmp_path):
    text = "class;t0;t1\na;1,500;16,679\nb;2,250;17,125\n"
    data = read(put(tmp_path, text), decimal_comma=True)
    np.testing.assert_array_equal(data.X, [[1.5, 16.679], [2.25, 17.125]])
    np.save(tmp_path / "X.npy", np.ones((2, 3)))
    with pytest.raises(ft.InputError, match="decimal_comma means nothing"):
        read(tmp_path / "X.npy", decimal_comma=True)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "is empty"),
        (" \n\n", {}, "is empty"),
        ("# only a comment\n", {}, "holds no rows"),
        ("class,x,y\n", {}, "a header but no rows"),
        ("1\n2\n", {}, "has one column; give a label and its sequence"),
        ("class\na\nb\n", {}, "has one column"),
        ("a,1,2\nb,3,nan\nc,4,5\n", {}, "line 2: 1 value where most rows have 2"),
        ("a,nan,2\nb,3,4\n", {}, "line 1, column 2: a missing value; fill it in"),
        ("a,1,inf\nb,3,4\n", {}, "line 1, column 3: an infinite value; replace it"),
        ("a,1,2\nb,3,1e999\n", {}, "line 2, column 3: an infinite value"),
        ("a,1,2\nb,3,-1e200\n", {}, "line 2, column 3: a value beyond 1e.100; rescale"),
        ("a,1,2\nb,3,x7\n", {}, "line 2, column 3: 'x7' is no number; correct it"),
        ("class,t,u\na,1,2\nb,3,x7\n", {}, "line 3, column 3: 'x7' is no number"),
        ("a,x7,2\nb,3,4\nb,3,4\n", {}, "line 1, column 2: 'x7' is no number"),
        ("a,1_0,2\nb,3,4\n", {}, "'1_0' is no number"),
        ("a,0x1,2\nb,3,4\n", {}, "'0x1' is no number"),
        ("a,1 5,2\nb,3,4\n", {}, "'1 5' is no number"),
        ("a;1;2\nb;3;4\n", {"delimiter": ","}, "one column when its lines are cut at commas, but 3 at semicolons"),
        ("1;0,5;7\n2;3,5;6\n", {"delimiter": ","}, "'5;7' is no number when cells are cut at commas; name the right"),
        (
            "1;0,5;7\n2;3.5;6\n",
            {},
            "'3.5' is no number; write numbers with decimal points, without quotes, in the whole",
        ),
        ("a;1,500;2\nb;2,500;3\n", {"delimiter": ",", "decimal_comma": True}, "decimal mark and as delimiter"),
        ("a,1,2\nb,x,4\nb,3,4\n", {}, r"'x' is no number; if this is the label, name its column \(--label\)"),
        ("1;1,500;2\n2;2,500;3\n", {}, "1,500 may mean 1.500 or 1500; if it is the former, pass --decimal-comma"),
        ('a,"0,5",2\nb,"1,5",3\n', {}, "'0,5' is no number; write numbers with decimal points, without quotes"),
        ("a,1,2\nb,3,4\n", {"delimiter": "<>"}, "the delimiter is '<>'; pass one character"),
        ("a,1,2\nb,3\n", {}, "line 2: 1 value where most rows have 2; pad"),
        ("a,,\nb,3,4\n", {}, "line 1: no values; fill them in"),
        (",1,2\nb,3,4\n", {}, r"line 1: the label is missing \(''\); add it"),
        ("a,1,2\nnan,3,4\n", {}, r"line 2: the label is missing \('nan'\)"),
        ("1,2,a\n1,2,\n", {"label": -1}, "line 2: the label is missing"),
        ("#1,1,2\n#2,3,4\n3,5,6\n", {}, "line 1: a row behind a #"),
        ("x,y,class\n1,2,a\n3,4,b\n", {"label": "klass"}, "has no column 'klass'; did you mean 'class'"),
        ("x,y,z\n1,2,a\n3,4,b\n", {"label": "label"}, "has no column 'label'; the header names x, y, z"),
        ("class,class,y\n1,2,3\n3,4,4\n", {"label": "class"}, "names 2 columns 'class'; rename one"),
        (GOOD, {"label": "class"}, "has no header, so no column is named 'class'"),
        (GOOD, {"label": 3}, "has 3 columns, so none has the number 3; count from 0"),
        ("class,x\na,1,2\nb,3,4\n", {}, "line 2: 3 cells but the header names 2 columns"),
        ("".join(f"{i},{i * 0.5},{i % 2}\n" for i in TEN), {}, "first column holds 10 different labels in 10 rows"),
        (
            "".join(f"{i % 7}.5,{i * 0.5},{i % 2}\n" for i in TEN),
            {},
            "holds 7 different labels in 10 rows .*--label -1",
        ),
        (bytes(range(256)), {}, "is no text"),
        (b"\x00\x01" * 500, {}, "is no text"),
        (b"PAR1" + bytes(50), {}, "is a Parquet file; save it as CSV"),
        (pickle.dumps([1, 2]), {}, "is a Python pickle"),
        (b"\xff\xfea", {}, "begins like UTF-16 but is not"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], {}, "cannot be unpacked .*cut short"),
        (gzip.compress(b"", mtime=0), {}, "is empty"),
        ("<!DOCTYPE html><html>", {}, "is a web page"),
        (TS.replace("@data", ""), {}, "has no @data line"),
        (TS.replace("2.5:a", "x:a"), {}, "line 6, channel 1: .*'x'; write numbers"),
        (TS.replace("@classLabel true a b", "@targetLabel true"), {}, "no class labels"),
        (TS.replace("@univariate", "@timeStamps true\n@univariate"), {}, "time stamps"),
        (TS, {"label": "a"}, "a .ts file, where label means nothing; leave out label"),
        (ARFF.replace("@data", ""), {}, "has no @data line"),
        (ARFF.replace("2.5", "x"), {}, "line 7, column 2: 'x' is no number"),
        (ARFF.replace("t0 numeric", "t0 relational"), {}, "relational"),
        (b"\x93NUMPY\x01\x00junk", {"labelled": False}, "cannot be read .*save it again"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, content, options, message):
    path = put(tmp_path, content)
    with pytest.raises(ft.ForetuneError, match=message) as refused:
        read(path, **options)
    text = str(refused.value)
    assert "\n" not in text
    assert len(text) < 330
    assert str(path) in text or "delimiter is" in text
    assert ";" in text or "," in text  # a remedy follows


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path.read_bytes()


def test_bad_arrays_are_refused_in_one_line(tmp_path):
    X, y = np.ones((3, 4)), np.array(["a", "b", "a"])
    objects = np.array(["a", None, "b"], dtype=object)
    nan = np.where(np.eye(3, 4) > 0, np.nan, 1)
    whole = npz(tmp_path / "x.npz", X=X, y=y)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    cases = [
        (npz(tmp_path / "x.npz", X=X), "holds X; name its arrays X and y"),
        (npz(tmp_path / "x.npz"), "holds no arrays"),
        (npz(tmp_path / "x.npz", X=X, y=objects), "holds Python objects"),
        (npz(tmp_path / "x.npz", X=objects, y=y), "holds Python objects"),
        (npz(tmp_path / "x.npz", X=X, y=y[:2]), "3 samples but 2 labels"),
        (npz(tmp_path / "x.npz", X=X[0], y=y), r"shape \(4,\); save \(samples, steps\)"),
        (npz(tmp_path / "x.npz", X=X[:, :0], y=y), "no values"),
        (npz(tmp_path / "x.npz", X=X + 1j, y=y), "type complex128"),
        (npz(tmp_path / "x.npz", X=X, y=np.eye(3)), r"labels have shape \(3, 3\)"),
        (npz(tmp_path / "x.npz", X=X, y=np.array([1, np.nan, 2])), "sample 1 .*the label is missing"),
        (npz(tmp_path / "x.npz", X=nan, y=y), r"X\[0, 0\]: a missing value"),
        (npz(tmp_path / "x.npz", X=X * np.inf, y=y), r"X\[0, 0\]: an infinite value"),
        (whole[:-40], "damaged or cut short"),
        (whole[:60] + bytes(90) + whole[150:], "damaged or cut short|save it again"),
        (book.getvalue(), "Excel workbook; unpack it"),
    ]
    for content, message in cases:
        path = put(tmp_path, content, "book.csv" if b"xl/" in content else "x.npz")
        with pytest.raises(ft.DataError, match=message) as refused:
            read(path)
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)
    np.save(tmp_path / "lonely.npy", X)
    with pytest.raises(ft.DataMissing, match="without labels; name the file of labels"):
        read(tmp_path / "lonely.npy")


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    (tmp_path / "broken.csv").symlink_to(tmp_path / "gone.csv")
    for name, message in (("none.csv", "there is no file"), ("broken.csv", "there is no file"), (".", "directory")):
        with pytest.raises(ft.DataError, match=message):
            read(tmp_path / name)
    path = put(tmp_path, GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser reads everything

        def refuse(self):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ft.DataError, match=r"cannot be read \(Permission denied\)"):
        read(path)


def test_unusual_but_right(tmp_path):
    assert read(put(tmp_path, "a,1\nb,2\n")).X.shape == (2, 1)
    assert read(put(tmp_path, "a,1,1\nb,1,1\n")).X.tolist() == [[1, 1], [1, 1]]
    assert len(read(put(tmp_path, "a,1,2\n"))) == 1
    assert read(put(tmp_path, "a,1,100000000000000000000000\nb,3,4\n")).X[0, 1] == 1e23
    wide = ",".join(["1.5"] * 10**6)
    assert read(put(tmp_path, f"a,{wide}\nb,{wide}\na,{wide}\n")).X.shape == (3, 10**6)
    numbers = "class,0,1,2,3\nup,5,6,7,8\ndown,5,6,7,8\n"
    assert read(put(tmp_path, numbers)).X.shape == (2, 4)
    assert read(put(tmp_path, "1,x,2\n1,x,2\n"), label=1).y.tolist() == ["x", "x"]
    assert read(put(tmp_path, "h,1,2\n1,1,2\n"), header=False).y.tolist() == ["h", "1"]
    assert read(put(tmp_path, "1,1,2\n2,1,2\n"), header=True).y.tolist() == [2]
    blank = b"\n" * 20_000 + GOOD.encode()
    assert len(read(put(tmp_path, blank))) == 2


def data_of(X, y, name="test.csv", lengths=None):
    return Labelled(np.asarray(X, dtype=float), np.asarray(y), lengths, name)


def test_a_test_file_must_fit_the_training_file():
    train = data_of(np.ones((2, 3)), ["a", "b"], "train.csv")
    with pytest.raises(ft.InputError, match=r"test.csv has 4 steps a sequence but train.csv has 3"):
        match_test(train, data_of(np.ones((2, 4)), ["a", "b"]))
    with pytest.raises(ft.InputError, match=r"test.csv has 2 channels but train.csv has 1"):
        match_test(train, data_of(np.ones((2, 3, 2)), ["a", "b"]))
    with pytest.raises(ft.InputError, match=r"test.csv shares no class with train.csv: c against a, b"):
        match_test(train, data_of(np.ones((2, 3)), ["c", "c"]))
    mixed = match_test(data_of(np.ones((2, 3)), [1, 2]), data_of(np.ones((2, 3)), ["1", "x"]))
    assert [data.y.tolist() for data in mixed] == [["1", "2"], ["1", "x"]]
    padded = data_of(np.ones((2, 3)), ["a", "b"], "train.csv", np.array([2, 3]))
    fitted = match_test(padded, data_of([[7, 7]], ["a"]))[1]
    assert (fitted.X.tolist(), fitted.lengths.tolist()) == ([[7, 7, 0]], [2])


def test_too_little_to_train_on():
    with pytest.raises(ft.InputError, match="holds 1 sample; give at least two"):
        check_training(data_of([[1, 2]], ["a"]))
    with pytest.raises(ft.InputError, match="the one class a alone"):
        check_training(data_of([[1, 2], [1, 3]], ["a", "a"]))
