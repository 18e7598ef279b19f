import errno
import json
import logging
import os

import numpy as np
import pytest
import torch

from foretune import ForetuneError
from foretune.study import Record, Run, Store, store
from foretune.study.plan import Task
from foretune.study.worker import perform

RUN = Run("toy_study:learn", 1, {"dataset": "a", "ratio": 0.1, "seed": 1, "arm": "tdi", "epochs": 3})
RECORD = Record(RUN, "done", "", {"test_accuracy": [0.1, 0.7]}, {"python": "3"})


@pytest.fixture
def folder(tmp_path):
    Store(tmp_path).create().write(RECORD, {"seconds": 1.5})
    return tmp_path


def test_a_record_comes_back(folder):
    assert Store(folder).records() == {RUN.key: RECORD}
    assert Store(folder).timing(RUN.key) == {"seconds": 1.5}


@pytest.mark.parametrize("damage", ["cut", "foreign key", "not JSON", "a list", "no status", "binary"])
def test_damaged_results_are_set_aside(folder, damage, caplog):
    path = folder / "runs" / f"{RUN.key}.json"
    content = json.loads(path.read_text())
    if damage == "cut":
        path.write_text(path.read_text()[:200])
    elif damage == "foreign key":
        path.write_text(json.dumps({**content, "settings": {**content["settings"], "seed": 2}}))
    elif damage == "no status":
        del content["status"]
        path.write_text(json.dumps(content))
    elif damage == "binary":
        path.write_bytes(b"\xff\x00\x9f")
    else:
        path.write_text("[1]" if damage == "a list" else "nothing")
    with caplog.at_level(logging.WARNING, "foretune"):
        assert Store(folder).records() == {}
    assert "done again" in caplog.text
    assert (folder / "damaged" / path.name).exists()


def test_foreign_files_are_left_alone(folder, caplog):
    other = folder / "runs" / "notes.json"
    other.write_text("{}")
    with caplog.at_level(logging.WARNING, "foretune"):
        assert list(Store(folder).records()) == [RUN.key]
    assert "notes.json" in caplog.text
    assert other.exists()


def test_a_folder_of_another_version_is_refused(folder):
    path = folder / "study.json"
    path.write_text('{"format": 2}')
    for action in (Store(folder).create, Store(folder).records):
        with pytest.raises(ForetuneError, match=r"format 2.*writes 1"):
            action()
    path.write_text('{"format": 1}')
    result = folder / "runs" / f"{RUN.key}.json"
    result.write_text(result.read_text().replace('"format": 1', '"format": 9'))
    with pytest.raises(ForetuneError, match="format 9"):
        Store(folder).records()
    assert result.exists()
    path.write_text("{")
    with pytest.raises(ForetuneError, match="damaged"):
        Store(folder).create()


def test_a_full_disk_loses_nothing(folder, monkeypatch):
    other = Record(Run("toy_study:learn", 1, {"seed": 2}), "done", "", {}, {})

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(ForetuneError, match=r"No space left on device; every finished run is kept"):
        Store(folder).write(other, {"seconds": 1.0})
    monkeypatch.undo()
    assert Store(folder).records() == {RUN.key: RECORD}
    assert not [path for path in (folder / "runs").iterdir() if path.name.startswith(".")]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ForetuneError, match="file"):
        Store(tmp_path / "file" / "study").create()


def test_results_become_strict_json():
    clean, reason = store.strict(
        {"a": np.float32(0.5), "b": [torch.tensor(2.0), (1, None)], 3: np.arange(2), "c": True}
    )
    assert (clean, reason) == ({"a": 0.5, "b": [2.0, [1, None]], "3": [0, 1], "c": True}, "")
    clean, reason = store.strict({"x": [1.0, float("inf"), float("nan")]})
    assert (clean, reason) == ({"x": [1.0, None, None]}, "result.x[1] is inf")
    with pytest.raises(TypeError, match=r"result.x is a set"):
        store.strict({"x": {1}})


def test_a_claimed_run_is_busy_and_a_finished_one_is_not_repeated(tmp_path):
    task = Task.find("toy_study:learn")
    kept = Store(tmp_path).create()
    with kept.claim(RUN.key) as mine:
        assert mine
        assert perform(kept, task, RUN).status == "busy"
    assert perform(kept, task, RUN).status == "done"
    before = (tmp_path / "runs" / f"{RUN.key}.json").stat().st_mtime_ns
    assert perform(kept, task, RUN).status == "ready"
    assert (tmp_path / "runs" / f"{RUN.key}.json").stat().st_mtime_ns == before
    assert not list((tmp_path / "scratch").iterdir())


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch, caplog):
    fcntl = pytest.importorskip("fcntl")

    def no_locks(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    kept = Store(tmp_path).create()
    with caplog.at_level(logging.WARNING, "foretune"), kept.claim(RUN.key) as mine:
        assert mine
    assert "No locks available" in caplog.text
    assert "--shard" in caplog.text


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_lock_of_a_dead_process_is_free(tmp_path):
    kept = Store(tmp_path).create()
    child = os.fork()
    if child == 0:
        kept.claim(RUN.key).__enter__()
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert (tmp_path / "locks" / f"{RUN.key}.lock").exists()
    with kept.claim(RUN.key) as mine:
        assert mine
