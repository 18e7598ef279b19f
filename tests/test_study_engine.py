import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import foretune
from foretune import DependencyMissing, InputError, StudyError
from foretune.cli import main
from foretune.study import Plan, Store, run
from foretune.study.progress import Estimate
from foretune.study.worker import Outcome

HERE = Path(__file__).parent
TOY = HERE / "toy.toml"
TROUBLE = """
name = "trouble"
task = "toy_study:learn"
[settings]
epochs = 2
dataset = "a"
ratio = 0.1
seed = 1
arm = "tdi"
[[grid]]
trouble = ["raise", "nan", "die", "die once", "none"]
"""
linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")


def text(**changes):
    """The toy plan with other settings."""
    return TOY.read_text().replace("[settings]", "[settings]\n" + "\n".join(f"{k} = {v}" for k, v in changes.items()))


def results(folder):
    return {path.name: path.read_bytes() for path in (folder / "runs").glob("*.json") if ".time" not in path.name}


def spawn(folder, *options, log=None):
    command = [sys.executable, "-m", "foretune.cli", "study", "run", str(TOY), "--out", str(folder), *options]
    source = str(Path(foretune.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, **({"TOY_LOG": str(log)} if log else {})}
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def descendants(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] + [deep for child in children for deep in descendants(child)]


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    summary = run(Plan.load(TOY), folder, workers=2)
    assert (summary.done, summary.failed, summary.left, summary.performed) == (24, 0, 0, 24)
    assert {record.result["threads"] for record in Store(folder).records().values()} == {1}
    return folder


@linux
def test_a_study_killed_twice_and_resumed_is_bit_identical(unbroken, tmp_path):
    log = tmp_path / "log"
    chance = random.Random()
    counts = []
    for workers, fewest in (("2", 2), ("1", 8)):
        process = spawn(tmp_path, "--workers", workers, log=log)
        wait_until(lambda: len(list(tmp_path.glob("runs/*.json"))) >= 2 * fewest)  # noqa: B023
        time.sleep(chance.uniform(0, 0.15))
        team = descendants(process.pid)
        process.kill()
        process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in team))  # noqa: B023 - no orphans
        counts.append(len(results(tmp_path)))
        assert fewest <= counts[-1] < 24
    assert run(Plan.load(TOY), tmp_path, workers=1).performed == 24 - counts[-1]
    assert results(tmp_path) == results(unbroken)
    assert len(log.read_text().splitlines()) <= counts[-1] + 2 + 1  # at most the runs in flight were done twice


def test_repeating_a_finished_study_does_nothing(unbroken):
    before = results(unbroken)
    assert run(Plan.load(TOY), unbroken).performed == 0
    assert results(unbroken) == before


def test_trouble_is_recorded_and_the_study_goes_on(unbroken, tmp_path):
    plan = Plan.parse(TROUBLE, HERE)
    summary = run(plan, tmp_path, workers=2)
    assert (summary.done, summary.failed, summary.left) == (2, 3, 0)
    assert summary.reasons == Counter(
        {
            "ValueError: the toy is broken": 1,
            "result.test_loss[1] is nan": 1,
            "its worker died 2 times (signal 9, as when memory runs out)": 1,
        }
    )
    kept = {record.run.settings["trouble"]: record for record in Store(tmp_path).records().values()}
    assert kept["nan"].result["test_loss"][1] is None  # what there is of the curve is kept
    assert kept["nan"].result["test_accuracy"] == kept["none"].result["test_accuracy"]
    assert "misbehave" in Store(tmp_path).timing(kept["raise"].run.key)["traceback"]
    assert not list((tmp_path / "scratch").iterdir())
    assert run(plan, tmp_path, workers=1).performed == 0
    again = run(plan, tmp_path, workers=1, only={"trouble": {"raise"}}, retry_failed=True)
    assert (again.performed, again.failed) == (1, 1)


def test_two_engines_share_the_work(unbroken, tmp_path):
    log = tmp_path / "log"
    other = spawn(tmp_path, "--workers", "1", log=log)
    wait_until(lambda: len(results(tmp_path)) >= 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOY_LOG", str(log))
        summary = run(Plan.load(TOY), tmp_path, workers=1)
    assert other.wait(20) == 0
    assert summary.done == 24
    assert summary.performed <= 22  # the first two were there already
    calls = Counter(log.read_text().splitlines())
    assert len(calls) == 24
    assert set(calls.values()) == {1}
    assert results(tmp_path) == results(unbroken)


def test_a_full_disk_ends_the_study_with_a_clear_error(tmp_path):
    with pytest.raises(StudyError, match="No space left"):
        run(Plan.parse(text(trouble='"full"'), HERE), tmp_path, workers=1)
    assert results(tmp_path) == {}


def test_a_result_that_json_cannot_hold_fails(tmp_path):
    plan = Plan.parse(TOY.read_text().replace(":learn", ":not_json"), HERE)
    summary = run(plan, tmp_path, workers=1, limit=1)
    assert summary.reasons == Counter(
        {"TypeError: result.test_accuracy is a object; return numbers, strings, lists and dictionaries": 1}
    )


@linux
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    process = spawn(tmp_path, "--workers", "1")
    wait_until(lambda: len(results(tmp_path)) >= 3)
    workers = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert 3 <= len(Store(tmp_path).records()) < 24


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same_files(unbroken, tmp_path):
    ray = pytest.importorskip("ray")
    summary = run(Plan.load(TOY), tmp_path / "toy", workers=2, backend="ray")
    assert summary.done == 24
    assert results(tmp_path / "toy") == results(unbroken)
    trouble = run(Plan.parse(TROUBLE, HERE), tmp_path / "trouble", backend="ray")
    assert (trouble.done, trouble.failed) == (2, 3)
    with pytest.raises(StudyError, match="No space left"):
        run(Plan.parse(text(trouble='"full"'), HERE), tmp_path / "full", backend="ray")
    ray.shutdown()


def test_a_missing_ray_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DependencyMissing, match=r"foretune\[ray\]"):
        run(Plan.load(TOY), tmp_path, backend="ray")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "run", "nothing"], "there is no plan 'nothing'"),
        (["study", "run"], "needs PLAN"),
        (["study", "start"], 'Unknown command "start"'),
        (["study", "run", str(TOY), "--workers", "two"], "--workers"),
        (["study", "run", str(TOY), "--shard", "3"], "--shard 3"),
        (["study", "run", str(TOY), "--only", "arms=x"], "'arms'"),
        (["study", "run", str(TOY), "--workers", "0"], "workers = 0"),
        (["study", "run", str(TOY), "--limit", "0"], "--limit 0"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1


def test_exit_codes_of_a_study(tmp_path, monkeypatch, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(text(trouble='"raise"').replace("tdi", "d"))
    monkeypatch.syspath_prepend(str(HERE))
    for arguments, code in (
        (["run", str(TOY), "--limit", "1"], 0),
        (["run", str(plan), "--limit", "2"], 1),
        (["status", str(plan)], 1),
        (["status", str(TOY), "--only", "arm=tdi"], 0),
    ):
        with pytest.raises(SystemExit) as end:
            main(["study", *arguments, "--out", str(tmp_path / "out")])
        assert end.value.code == code
    shown = capsys.readouterr()
    assert "2 × ValueError: the toy is broken" in shown.out
    assert "0 done, 2 failed, 22 missing" in shown.out
    assert "1/1 runs, time left" in shown.err


def test_a_task_that_cannot_be_found_is_named(tmp_path):
    for task, words in (
        ("toy_study", "module:function"),
        ("no_module:f", "no_module"),
        ("toy_study:f", "function f"),
        ("math:hypot", "no Python function"),
    ):
        with pytest.raises(InputError, match=words):
            run(Plan.parse(TOY.read_text().replace("toy_study:learn", task)), tmp_path)
    with pytest.raises(InputError, match="cost"):
        run(Plan.parse(text(cost=0)), tmp_path)


def test_the_time_left_follows_costs_and_speed():
    estimate = Estimate()
    estimate.started(total=100.0, runs=4, workers=2)
    assert estimate.left is None
    estimate.start -= 30.0
    estimate.advanced(finished=0.0, running=5.0)  # no run is over, but they report how far they are
    assert estimate.left == pytest.approx(95.0 * 30.0 / 5.0, rel=0.01)
    some = Plan.load(TOY).runs[0]
    estimate.finished(some, Outcome("", "done", seconds=20.0), cost=10.0)
    estimate.finished(some, Outcome("", "ready"), cost=10.0)  # done elsewhere: says nothing about our speed
    estimate.advanced(finished=20.0, running=20.0)
    assert estimate.left == pytest.approx(60.0 * 2.0 / 2)
    estimate.finished(some, Outcome("", "failed", seconds=20.0), cost=30.0)
    estimate.advanced(finished=50.0, running=0.0)
    assert estimate.left == pytest.approx(50.0 * 1.0 / 1)  # one run left keeps one worker busy
    assert "3/4 runs, 1 failed" in estimate.words()
