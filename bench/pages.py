"""Run the code blocks of a page of documentation, and put down what its console blocks print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from foretune.cli import main as foretune

__all__ = ["executed", "without_times"]

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.S)


def executed(text: str, name: str) -> str:
    """The page with its Python and console blocks run in order, in the working directory and one namespace."""
    space: dict[str, object] = {}

    def run(block: re.Match[str]) -> str:
        kind, body = block[1], block[2]
        if kind == "python":
            exec(compile(body, name, "exec"), space)
            return block[0]
        fresh = "".join(f"$ {line}\n{_shown(line)}" for line in re.findall(r"^\$ (.*)$", body, re.M))
        same = without_times(fresh) == without_times(body)
        return block[0] if same else f"```console\n{fresh}```"

    return BLOCK.sub(run, text)


def without_times(text: str) -> str:
    """Seconds differ from run to run."""
    return re.sub(r"\d+\.\d+ s\b", "… s", text)


def main(names: list[str]) -> int:
    """Bring the console blocks of these pages up to date, of all in docs/ unless some are named."""
    for page in map(Path, names) if names else sorted((ROOT / "docs").glob("*.md")):
        text = page.resolve().read_text(encoding="utf-8")
        if "```console\n" not in text:
            continue
        home = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                fresh = executed(text, page.name)
            finally:
                os.chdir(home)
        page.write_text(fresh, encoding="utf-8")
        print(page.name)
    return 0


def _shown(command: str) -> str:
    """What a command of foretune prints, on either channel."""
    program, *arguments = shlex.split(command)
    if program != "foretune":
        raise ValueError(f"{command!r}: console blocks hold commands of foretune alone")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown), contextlib.suppress(SystemExit):
        foretune(arguments)
    return shown.getvalue()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
