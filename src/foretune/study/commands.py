"""`foretune study …`: thin commands over the study package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from rich.console import Console

from ..errors import InputError

if TYPE_CHECKING:
    from .engine import Summary
    from .plan import Plan
    from .rows import Table

__all__ = ["app"]

app = App(name="study", help="Run many trainings as one resumable study, and report them.")


@app.command
def run(
    plan: str,
    /,
    *,
    out: Path | None = None,
    workers: int | None = None,
    only: str = "",
    limit: int | None = None,
    shard: str | None = None,
    retry_failed: Annotated[bool, Parameter(negative="")] = False,
    backend: Literal["processes", "ray"] = "processes",
) -> int:
    """Do the runs of a plan that the folder still lacks; stop and restart it at will.

    Example: foretune study run one-layer --only arm=tdi,dataset=FordA --workers 2

    Parameters
    ----------
    plan
        A built-in plan, such as one-layer or deep, or a TOML file.
    out
        Folder for the results; `studies/<name of the plan>` if not given.
    workers
        Processes with one thread each; one for each core if not given.
    only
        Filter such as `arm=tdi,dataset=FordA`; the same name twice means either.
    limit
        Do at most this many runs now.
    shard
        `2/8` does the second of eight equal parts of the plan.
    retry_failed
        Do the failed runs again as well.
    backend
        `ray` spreads the runs over a ray cluster whose machines share the folder.
    """
    from . import engine
    from .plan import parse_filter
    from .progress import watcher

    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit}; pass at least 1")
    loaded = _load(plan)
    folder = out or _folder(loaded)
    with watcher(Console(stderr=True)) as watch:
        try:
            summary = engine.run(
                loaded,
                folder,
                workers=workers,
                backend=backend,
                retry_failed=retry_failed,
                shard=None if shard is None else _shard(shard),
                only=parse_filter(only),
                limit=limit,
                watcher=watch,
            )
        except KeyboardInterrupt:
            print(f"stopped; every finished run is kept in {folder}, the same command goes on", file=sys.stderr)
            raise
    return _print(summary, folder)


@app.command
def status(plan: str, /, *, out: Path | None = None, only: str = "") -> int:
    """Say how many runs of a plan are done, failed and missing.

    Example: foretune study status one-layer

    Parameters
    ----------
    plan
        A built-in plan, such as one-layer or deep, or a TOML file.
    out
        Folder of the results; `studies/<name of the plan>` if not given.
    only
        Filter such as `arm=tdi,dataset=FordA`.
    """
    from .engine import chosen_runs, summarize
    from .plan import parse_filter
    from .store import Store

    loaded = _load(plan)
    folder = out or _folder(loaded)
    summary = summarize(Store(folder), chosen_runs(loaded, None, parse_filter(only)))
    return _print(summary, folder)


@app.command
def report(
    plan: str | None = None, /, *, csv: Path | None = None, out: Path | None = None, to: Path | None = None
) -> int:
    """Write the tables and pictures of a study as a page and as Markdown, beside the paper's where it has them.

    Example: foretune study report one-layer

    Parameters
    ----------
    plan
        A built-in plan, such as one-layer or deep, or a TOML file; may be left out with --csv.
    csv
        Report this exported CSV file in place of the folder of results.
    out
        Folder of the results; `studies/<name of the plan>` if not given.
    to
        Folder for report.html and report.md; `report` in the folder of results, or `<name>-report` beside the CSV.
    """
    from .report import write
    from .rows import read_csv

    if csv is not None:
        table = read_csv(csv, None if plan is None else _load(plan))
        target = to or csv.with_name(f"{csv.stem}-report")
    elif plan is not None:
        table = _collect(_load(plan), out)
        target = to or (out or _folder(_load(plan))) / "report"
    else:
        raise InputError("name a plan, or a file with --csv")
    path = write(table, target)
    print(path, path.with_suffix(".html"), sep="\n")
    return 0


@app.command
def export(plan: str, /, *, csv: Path, out: Path | None = None) -> int:
    """Write one line for each finished run as CSV, and where it comes from as JSON beside it.

    Example: foretune study export one-layer --csv results/one-layer.csv

    Parameters
    ----------
    plan
        A built-in plan, such as one-layer or deep, or a TOML file.
    csv
        File to write.
    out
        Folder of the results; `studies/<name of the plan>` if not given.
    """
    from .rows import write_csv

    if csv.suffix == ".json":
        raise InputError(f"--csv {csv}; its provenance goes to that name, so end it in .csv")
    table = _collect(_load(plan), out)
    write_csv(table, csv)
    print(f"{len(table.rows)} runs in {csv}, provenance in {csv.with_suffix('.json')}")
    return 0


def _load(plan: str) -> Plan:
    from .plan import Plan

    return Plan.load(plan)


def _collect(plan: Plan, out: Path | None) -> Table:
    from .rows import collect
    from .store import Store

    folder = out or _folder(plan)
    table = collect(plan, Store(folder))
    if not table.rows:
        raise InputError(f"{folder} holds no runs of the plan {plan.name!r}; do them with `foretune study run`")
    return table


def _folder(plan: Plan) -> Path:
    return Path("studies") / plan.name


def _shard(text: str) -> tuple[int, int]:
    index, separator, count = text.partition("/")
    if not separator or not (index.isdecimal() and count.isdecimal()):
        raise InputError(f"--shard {text}; write for instance 2/8")
    return int(index), int(count)


def _print(summary: Summary, folder: Path) -> int:
    """The exit code as well."""
    print(f"{summary.done} done, {summary.failed} failed, {summary.left} missing in {folder}")
    if summary.performed:
        print(f"{summary.performed} runs in {summary.seconds:.0f} s")
    for reason, count in summary.reasons.most_common(10):
        print(f"  {count} × {reason}")
    return 1 if summary.failed else 0
