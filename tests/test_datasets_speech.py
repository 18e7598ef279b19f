"""Small folders and archives in the official forms of Speech Commands, and real clips."""

import io
import wave

import numpy as np
import pytest

import foretune as ft
from foretune.datasets.speech import SC10, _thirds, which_set
from foretune.datasets.store import open_store
from official_files import put, read, tar


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
    part = read("sc10-clips", data_root)
    assert [len(split) for split in (part.train, part.validation, part.test)] == [650, 115, 235]
    scipy_io = pytest.importorskip("scipy.io.wavfile")
    _, samples = scipy_io.read(folder / names[123])
    np.testing.assert_array_equal(X[123, : len(samples)] * 32768, samples[:16000])


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_the_part_for_a_cpu_splits_by_speaker(tmp_path, form):
    # every clip holds its speaker's number, and the speakers beyond the first 100 of a word are left out
    files = {
        f"{word}/{speaker:08x}_nohash_{take}.wav": clip(np.full(4, speaker))
        for word in SC10
        for speaker in range(60)
        for take in range(2)
    }
    if form == "folder":
        put(tmp_path / "speech_commands_test_set_v0.02", files)
    else:
        shuffled = dict(sorted(files.items(), key=lambda item: hash(item[0])))
        tar(
            tmp_path / "speech_commands/speech_commands_test_set_v0.02.tar.gz",
            {"./" + k: v for k, v in shuffled.items()},
        )
    data = ft.datasets.speech.read_speech_part(ft.datasets.speech.locate_speech_part(open_store(tmp_path)))
    splits = [data.train, data.validation, data.test]
    assert [len(split) for split in splits] == [600, 200, 200]
    speakers = [set(np.round(split.X[:, 0] * 32768).astype(int)) for split in splits]
    assert sum(map(len, speakers)) == 50
    assert set.union(*speakers) == set(range(50))
    assert all(np.bincount(split.y).tolist() == [len(split) // 10] * 10 for split in splits)
    if form == "folder":
        (tmp_path / "speech_commands_test_set_v0.02/yes/00000000_nohash_0.wav").unlink()
        for speaker in range(50, 60):
            (tmp_path / f"speech_commands_test_set_v0.02/yes/{speaker:08x}_nohash_0.wav").unlink()
            (tmp_path / f"speech_commands_test_set_v0.02/yes/{speaker:08x}_nohash_1.wav").unlink()
        with pytest.raises(ft.DataError, match="fewer than 100 clips of 'yes'"):
            read("sc10-clips", tmp_path)


def test_a_folder_without_clips(tmp_path):
    with pytest.raises(ft.DataMissing, match="holds no clips"):
        ft.datasets.read_speech_clips(tmp_path)
    with pytest.raises(ft.DataMissing, match="is no folder"):
        ft.datasets.read_speech_clips(tmp_path / "nowhere")
