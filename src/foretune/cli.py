"""The command line: `foretune demo` and its siblings. A thin shell; every command calls the library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Group, MissingArgumentError, Parameter
from rich.console import Console

from . import __version__
from .errors import ForetuneError
from .tables.commands import diagnose, fit, predict

__all__ = ["app", "main"]

app = App(
    name="foretune",
    version=__version__,
    help="""Tune a state-space model's prior to the task before training it.

    Example: foretune diagnose train.csv --sampling-rate 100 --out report.html
    """,
)
YOURS, PAPER = Group("Your own data", sort_key=1), Group("The paper", sort_key=2)
for command in (diagnose, fit, predict):
    app.command(command, group=YOURS)
app.command(
    "foretune.study.commands:app",
    name="study",
    group=PAPER,
    help="Run many trainings as one resumable study; report them.",
)


@app.command
def demo(*, out: Path = Path("out")) -> None:
    """Diagnose two built-in tasks, train default, tuned and control models on few labels, and show what helped.

    It takes about a minute, and ends with the path of its page. Stopped and started again, it goes on.

    Example: foretune demo --out out

    Parameters
    ----------
    out
        Folder for the page and the runs.
    """
    from .demo import run

    run(out, Console())


data = App(name="data", group=PAPER, help="The data sets of the paper: what is at hand, and fetching the others.")
app.command(data)


@data.command(name="list")
def list_data(*, root: Path | None = None) -> None:
    """Every data set with its counts, and whether it is at hand.

    Example: foretune data list

    Parameters
    ----------
    root
        Folder with data sets; without it the one that FORETUNE_DATA names, then the cache folder.
    """
    from .datasets.overview import overview

    Console().print(overview(root))


@data.command(name="fetch")
def fetch_data(*names: str, root: Path | None = None, again: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Fetch the files of data sets from their official sources.

    Example: foretune data fetch mnist ecg5000

    Parameters
    ----------
    names
        Data sets, as `foretune data list` names them.
    root
        Folder to fetch into; without it the one that FORETUNE_DATA names, then the cache folder.
    again
        Fetch files anew that are there already.
    """
    from .datasets.overview import fetch_all

    fetch_all(names, root, again, Console())


@app.command(group=PAPER)
def figures(*names: str, all: Annotated[bool, Parameter(negative="")] = False, out: Path = Path("out/figures")) -> None:
    """Make the paper's figures of the theory from real data: PNG, PDF and their numbers as CSV.

    Without a name it lists what there is. The images are read from the folder that FORETUNE_DATA names, or fetched.

    Example: foretune figures mechanism stability --out out/figures

    Parameters
    ----------
    names
        Which figures.
    all
        Every figure.
    out
        Folder for the files.
    """
    from .figures import FIGURES, make

    console = Console()
    if all or names:
        make(list(FIGURES) if all else names, out, console)
    else:
        for name, plan in FIGURES.items():
            console.print(f"{name:30}{plan.title}", highlight=False, soft_wrap=True)


def _mistyped(error: CycloptsError) -> str:
    command = " ".join(["foretune", *(error.command_chain or ())])
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"`{command}` needs {error.argument.name}. See `{command} --help`."
    return f"{' '.join(str(error).split())} See `{command} --help`."


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a mistake in the input is one line on stderr and exit code 2."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"foretune: {_mistyped(error)}", file=sys.stderr)
        raise SystemExit(2) from error
    except ForetuneError as error:
        print(f"foretune: {error}", file=sys.stderr)
        raise SystemExit(2) from error
    except OSError as error:
        print(f"foretune: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
