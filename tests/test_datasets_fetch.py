"""Downloads against a server on loopback that can be slow-witted, broken or gone."""

import errno
import gzip
import hashlib
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import foretune as ft
from foretune.datasets import Remote, fetch, registry
from foretune.datasets import download as fetching
from foretune.datasets.store import Store
from test_datasets_ucr import TS

CONTENT = bytes(range(256)) * 4000
SHA = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `files`; `faults` are used up one for each request: a status, ("cut", bytes), ("page",) or None."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.faults, self.requests, self.tags = {}, [], [], {}

    def handle_error(self, *_):
        pass

    def url(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server, name = self.server, self.path.strip("/")
        server.requests.append((name, self.headers.get("Range")))
        fault = server.faults.pop(0) if server.faults else None
        if isinstance(fault, int) or name not in server.files:
            return self.send_error(fault if isinstance(fault, int) else 404)
        body = b"<html>busy</html>" if fault == ("page",) else server.files[name]
        tag = server.tags.get(name, '"1"')
        start = 0
        if (asked := self.headers.get("Range")) and self.headers.get("If-Range", tag) == tag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.send_header("ETag", tag)
        self.end_headers()
        end = fault[1] if fault and fault[0] == "cut" else len(body)
        self.wfile.write(body[start:end])
        return None


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(fetching, "BACKOFF", 0.01)
    with Server() as server:
        server.files["data.bin"] = CONTENT
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def remote(server, *names, known=SHA, path="set/data.bin"):
    return Remote(path, tuple(server.url(name) for name in names or ("data.bin",)), known)


def test_a_file_is_fetched_once(server, tmp_path):
    path = fetch(remote(server), tmp_path)
    assert path.read_bytes() == CONTENT
    fetch(remote(server), tmp_path)
    assert len(server.requests) == 1
    assert fetch(remote(server), tmp_path, again=True).read_bytes() == CONTENT
    assert len(server.requests) == 2
    assert [entry.name for entry in path.parent.iterdir()] == ["data.bin"]


def test_other_published_hashes(server, tmp_path):
    known = "md5:" + hashlib.md5(CONTENT).hexdigest()
    assert fetch(remote(server, known=known), tmp_path).read_bytes() == CONTENT


def test_a_flaky_server_is_asked_again(server, tmp_path):
    server.faults = [503, 429]
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 3


@pytest.mark.parametrize("known", [SHA, None])
def test_a_download_cut_short_is_resumed(server, tmp_path, known):
    server.faults = [("cut", 300_000), ("cut", 700_000)]
    assert fetch(remote(server, known=known), tmp_path).read_bytes() == CONTENT
    assert server.requests[0] == ("data.bin", None)
    starts = [int(asked.removeprefix("bytes=").rstrip("-")) for _, asked in server.requests[1:]]
    assert 0 < starts[0] <= 300_000 < starts[1] <= 700_000


def test_a_half_written_file_of_an_earlier_session_is_resumed(server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/data.bin.part").write_bytes(CONTENT[:1000])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.requests == [("data.bin", "bytes=1000-")]
    assert [entry.name for entry in (tmp_path / "set").iterdir()] == ["data.bin"]


def test_a_damaged_half_is_found_by_the_hash_and_fetched_anew(server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/data.bin.part").write_bytes(bytes(1000))
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.requests == [("data.bin", "bytes=1000-"), ("data.bin", None)]
    assert [entry.name for entry in (tmp_path / "set").iterdir()] == ["data.bin"]


@pytest.mark.parametrize("fault", [404, ("cut", 1000)])
def test_fetching_again_in_vain_keeps_the_old_file(server, tmp_path, fault):
    path = fetch(remote(server), tmp_path)
    server.faults = [fault] * 3
    with pytest.raises(ft.DownloadFailed):
        fetch(remote(server), tmp_path, again=True)
    assert path.read_bytes() == CONTENT
    server.files["data.bin"], server.faults = CONTENT[::-1], []
    assert fetch(remote(server, known=None), tmp_path, again=True).read_bytes() == CONTENT[::-1]


def test_a_complete_but_unmoved_file_is_taken(server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/data.bin.part").write_bytes(CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_a_half_written_file_that_is_too_long_is_fetched_anew(server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/data.bin.part").write_bytes(CONTENT + b"more")
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_halves_of_two_versions_are_never_joined(server, tmp_path):
    server.faults = [("cut", 300_000), 404]
    with pytest.raises(ft.DownloadFailed, match="half-written file is resumed"):
        fetch(remote(server, known=None), tmp_path)
    server.files["data.bin"], server.tags["data.bin"] = CONTENT[::-1], '"2"'
    assert fetch(remote(server, known=None), tmp_path).read_bytes() == CONTENT[::-1]


def test_mirrors_are_asked_in_order(server, tmp_path):
    server.files["good"], server.files["wrong"] = CONTENT, b"something else"
    path = fetch(remote(server, "gone", "wrong", "good"), tmp_path)
    assert path.read_bytes() == CONTENT
    assert [name for name, _ in server.requests] == ["gone", "wrong", "good"]


def test_a_wrong_checksum_leaves_nothing_behind(server, tmp_path):
    server.files["data.bin"] = CONTENT[:-1] + b"x"
    with pytest.raises(ft.DownloadFailed, match=r"checksum is not the published one.*place it at .*set/data.bin"):
        fetch(remote(server), tmp_path)
    assert list((tmp_path / "set").iterdir()) == []


@pytest.mark.parametrize("name", ["archive.zip", "archive.tar.gz"])
def test_a_page_instead_of_a_file_leaves_nothing_behind(server, tmp_path, name):
    server.files[name] = gzip.compress(b"x")
    server.faults = [("page",)]
    with pytest.raises(
        ft.DownloadFailed, match=rf"what came is no \{name[-4:].lstrip('r') if 'zip' in name else '.gz'}"
    ):
        fetch(remote(server, name, known=None, path=name), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_network(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "BACKOFF", 0.01)
    with Server() as server:
        url = server.url("data.bin")
    with pytest.raises(ft.DownloadFailed) as failure:
        fetch(Remote("set/data.bin", (url,), SHA), tmp_path)
    message = str(failure.value)
    assert "no connection to the server" in message
    assert f"get it by hand from {url} and place it at {tmp_path / 'set/data.bin'}" in message
    assert list((tmp_path / "set").iterdir()) == []


def test_a_disk_without_room_is_seen_before_anything_is_written(server, tmp_path, monkeypatch):
    usage = fetching.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(ft.DataError, match=r"is full .*1 MB are needed, 0 MB are free.*pass another root"):
        fetch(remote(server), tmp_path)
    assert list((tmp_path / "set").iterdir()) == []


def test_a_disk_that_fills_up_is_one_clear_error(server, tmp_path, monkeypatch):
    class Full:
        def __init__(self, *arguments):
            self.file = open(*arguments)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, chunk):
            self.file.write(chunk[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "open", Full, raising=False)
    with pytest.raises(ft.DataError, match=r"is full \(No space left on device\); nothing was kept of data.bin"):
        fetch(remote(server), tmp_path)
    assert list((tmp_path / "set").iterdir()) == []


def test_a_folder_that_cannot_be_made(server, tmp_path):
    (tmp_path / "set").write_text("a file")
    with pytest.raises(ft.DataError, match="cannot be made"):
        fetch(remote(server), tmp_path)


def test_progress_shows_the_file(server, tmp_path, capsys):
    fetch(remote(server), tmp_path, progress=True)
    assert "data.bin" in capsys.readouterr().err
    fetch(remote(server), tmp_path, again=True)
    assert capsys.readouterr().err == ""


@pytest.fixture
def wafer(server, monkeypatch):
    """The catalogue with one small set, whose archive is on the server."""
    own = Remote("ucr/Wafer.zip", (server.url("Wafer.zip"),))
    whole = Remote("ucr/UCRArchive_2018.zip", (server.url("UCRArchive_2018.zip"),))
    entry = replace(registry.find("wafer"), counts=(2, 0, 2), length=2, sources=((own,), (whole,)))
    monkeypatch.setattr(registry, "ENTRIES", (entry, registry.find("binary-frequency")))
    return server


def pack(path, folder=""):
    with zipfile.ZipFile(path, "w") as archive:
        for part in ("TRAIN", "TEST"):
            archive.writestr(f"{folder}Wafer_{part}.ts", TS)
    return path.read_bytes()


def test_load_fetches_what_is_missing(wafer, tmp_path):
    wafer.files["Wafer.zip"] = pack(tmp_path / "made.zip")
    assert len(ft.datasets.load("wafer", tmp_path / "new").train) == 2
    assert ft.datasets.at_hand("wafer", tmp_path / "new")


def test_load_falls_back_on_the_whole_archive(wafer, tmp_path):
    wafer.files["UCRArchive_2018.zip"] = pack(tmp_path / "made.zip", "UCRArchive_2018/Wafer/")
    assert len(ft.datasets.load("wafer", tmp_path / "new").train) == 2


def test_load_names_every_source_that_failed(wafer, tmp_path):
    with pytest.raises(ft.DownloadFailed, match=r"Wafer: Wafer.zip could not .*404.*Nor .*UCRArchive_2018.zip could"):
        ft.datasets.load("wafer", tmp_path)


def test_load_fetches_into_the_cache_where_the_root_is_read_only(wafer, tmp_path, monkeypatch):
    monkeypatch.setattr("foretune.datasets.store.cache_folder", lambda: tmp_path / "cache")
    wafer.files["Wafer.zip"] = pack(tmp_path / "made.zip")
    (tmp_path / "shared").mkdir(mode=0o555)
    assert len(ft.datasets.load("wafer", tmp_path / "shared").train) == 2
    assert (tmp_path / "cache/ucr/Wafer.zip").exists()
    assert Store((tmp_path / "shared",)).find("ucr") is None


def test_the_command_line_lists_and_fetches(wafer, tmp_path, capsys, monkeypatch):
    from foretune import cli

    monkeypatch.setenv("COLUMNS", "140")
    wafer.files["Wafer.zip"] = pack(tmp_path / "made.zip")

    def run(*words):
        with pytest.raises(SystemExit) as stop:
            cli.app([*words, "--root", str(tmp_path)])
        assert stop.value.code == 0
        return capsys.readouterr().out

    assert "fetch 10 MB" in run("data", "list")
    assert run("data", "fetch", "wafer", "Binary Freq.") == (
        "wafer: at hand\nbinary-frequency: generated, needs no files\n"
    )
    assert "at hand" in run("data", "list")
    with pytest.raises(ft.InputError, match="no data set 'waffle'; did you mean 'wafer'"):
        cli.app(["data", "fetch", "waffle"])
    with pytest.raises(ft.InputError, match="no data set is named"):
        cli.app(["data", "fetch"])
