import subprocess
import sys

import pytest

import foretune as ft
from foretune import cli


def test_importing_pulls_in_nothing_optional():
    optional = ("sklearn", "matplotlib", "ray", "aeon", "rich", "jinja2", "playwright", "scipy.linalg")
    code = f"import sys, foretune, foretune.report; print([m for m in {optional} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_errors_are_one_family():
    for error in (ft.InputError, ft.UnknownLayer, ft.InitializationLost, ft.DependencyMissing):
        assert issubclass(error, ft.ForetuneError)


def test_bad_input_on_the_command_line_is_one_line_and_exit_code_2(monkeypatch, capsys):
    def fail(*_, **__):
        raise ft.InputError("value 3 is wrong; use 4")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "foretune: value 3 is wrong; use 4\n"


@pytest.mark.parametrize("arguments", [["nosuch"], ["demo", "--bad"], ["demo", "x"], ["data", "fetch", "nosuch"]])
def test_a_mistyped_command_is_one_line_and_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    shown = capsys.readouterr()
    assert stopped.value.code == 2
    assert shown.err.startswith("foretune: ")
    assert shown.err.count("\n") == 1
