"""The results of a study as a plain table, one row for each run: from its folder, from a CSV file and to one."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import InputError
from .axes import follows, label, shared
from .plan import Plan
from .store import Record, Store

__all__ = ["COLUMNS", "Roles", "Row", "Table", "collect", "read_csv", "write_csv"]

COLUMNS = (
    *("dataset", "ratio", "seed", "arm"),
    *("final_acc", "first5_acc", "first10_acc", "final_loss", "seconds", "status"),
)
PROFILE = "profile"  # one more column, where a study has profiles
PAPER = ("", "paper")  # profiles whose setting is the paper's; another's mark stands behind the name of its data set


@dataclass(frozen=True)
class Row:
    """One run. Accuracies lie in [0, 1]; what a failed run does not have is None."""

    dataset: str
    ratio: float
    seed: str
    arm: str
    final_acc: float | None = None
    first5_acc: float | None = None
    first10_acc: float | None = None
    final_loss: float | None = None
    seconds: float | None = None
    status: str = "done"
    reason: str = ""
    profile: str = ""
    accuracy: tuple[float, ...] = ()  # after each epoch; not in the CSV file
    key: str = ""  # of the run's file, or the line of the CSV file


@dataclass(frozen=True)
class Roles:
    """How a plan's results are read: `[report]` of its TOML file.

    The first five name the settings that play these roles; other settings that differ between runs join the arm.
    """

    dataset: str = "dataset"
    ratio: str = "ratio"
    seed: str = "seed"
    arm: str = "arm"
    profile: str = PROFILE  # "paper", or that of a smaller setting
    low: float = 0.16  # ratios up to here are the low-data regime
    collapse: float = 0.2  # a final accuracy this far below the best epoch counts as collapsed
    published: str = ""  # "one_layer" or "deep": the paper's tables
    names: Mapping[str, str] = field(default_factory=dict)  # ours = theirs
    pairs: tuple[tuple[str, str], ...] = ()  # arm and baseline

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Roles:
        """Check `[report]` of a plan."""
        if unknown := sorted(set(table) - set(cls.__dataclass_fields__)):
            raise InputError(f"report.{unknown[0]} is unknown; there is {', '.join(cls.__dataclass_fields__)}")
        pairs = table.get("pairs", ())
        if not isinstance(pairs, list | tuple) or not all(
            isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
        ):
            raise InputError(f'report.pairs = {pairs!r}; write a list such as [["tdi", "default"]]')
        numbers, words = ("low", "collapse"), ("dataset", "ratio", "seed", "arm", "profile", "published")
        kinds: dict[str, Any] = {"names": dict, **dict.fromkeys(numbers, (int, float)), **dict.fromkeys(words, str)}
        for key, kind in kinds.items():
            if key in table and not isinstance(table[key], kind):
                raise InputError(f"report.{key} = {table[key]!r} has the wrong type")
        return cls(**{**table, "pairs": tuple((str(arm), str(base)) for arm, base in pairs)})


@dataclass(frozen=True)
class Table:
    """Every row of a study, how to read them, and where they come from."""

    name: str
    rows: tuple[Row, ...]
    roles: Roles
    provenance: dict[str, Any]


def collect(plan: Plan, store: Store) -> Table:
    """The finished runs of a plan."""
    roles, records = Roles.parse(plan.report), store.records()
    played = (roles.dataset, roles.ratio, roles.seed, roles.arm, roles.profile)
    extra = [axis for axis in plan.axes if axis not in played]
    extra = [axis for axis in extra if not follows(plan, axis, (roles.dataset, roles.profile, roles.ratio, roles.arm))]
    common = {axis: shared(plan, axis) for axis in extra}
    rows, seconds, used = [], 0.0, []
    for run in plan.runs:
        record = records.get(run.key)
        if record is not None:
            timing = store.timing(run.key).get("seconds")
            rows.append(_row(record, roles, extra, common, plan.name, timing))
            seconds += timing or 0.0
            used.append(record)
    rows.sort(key=_order)
    return Table(plan.name, tuple(rows), roles, _provenance(plan, rows, used, seconds))


def _row(
    record: Record, roles: Roles, extra: list[str], common: Mapping[str, Any], name: str, seconds: float | None
) -> Row:
    settings = record.run.settings
    try:
        ratio = float(settings.get(roles.ratio, 1.0))
    except (TypeError, ValueError) as error:
        raise InputError(f"{roles.ratio} = {settings[roles.ratio]!r}; the report needs a number as ratio") from error
    parts = [str(settings[roles.arm])] if roles.arm in settings else []
    parts += [label(axis, settings[axis], common) for axis in extra if axis in settings]
    profile = str(settings.get(roles.profile, ""))
    row = Row(
        dataset=_marked(str(settings.get(roles.dataset, name)), profile),
        ratio=ratio,
        seed=str(settings.get(roles.seed, "")),
        arm=", ".join(parts) or "all",
        seconds=None if seconds is None else round(seconds, 1),
        status=record.status,
        reason=record.reason,
        profile=profile,
        key=record.run.key,
    )
    if record.status != "done":
        return row
    accuracy, loss = (_curve(record, key) for key in ("test_accuracy", "test_loss"))
    if odd := [value for value in accuracy if not 0 <= round(value, 6) <= 1]:
        raise InputError(f"test_accuracy of the run {record.run.key[:8]} holds {odd[0]}; accuracies lie in [0, 1]")
    return replace(
        row,
        final_acc=_last(accuracy),
        first5_acc=_mean(accuracy[:5]),
        first10_acc=_mean(accuracy[:10]),
        final_loss=_last(loss),
        accuracy=accuracy,
    )


def _marked(dataset: str, profile: str) -> str:
    """The name that a data set goes by in tables, so that smaller settings are never taken for the paper's."""
    return dataset if profile in PAPER else f"{dataset} ({profile})"


def _curve(record: Record, key: str) -> tuple[float, ...]:
    """A result's values by epoch; a single number counts as one epoch."""
    value = record.result.get(key, [])
    values = value if isinstance(value, list) else [value]
    return tuple(v for v in values if isinstance(v, int | float))


def _last(values: tuple[float, ...]) -> float | None:
    return round(values[-1], 6) if values else None


def _mean(values: tuple[float, ...]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None


def _order(row: Row) -> tuple[str, float, int, str, str]:
    return row.dataset, row.ratio, len(row.seed), row.seed, row.arm


def _provenance(plan: Plan, rows: list[Row], records: list[Record], seconds: float) -> dict[str, Any]:
    roles = Roles.parse(plan.report)
    versions = {json.dumps(record.versions, sort_keys=True) for record in records}
    failed = [row for row in rows if row.status != "done"]
    return {
        "plan": plan.name,
        "plan_hash": plan.hash,
        "task": plan.task,
        "version": plan.version,
        "runs": {"done": len(rows) - len(failed), "failed": len(failed), "missing": len(plan.runs) - len(rows)},
        "collapsed": dict(sorted(Counter(row.arm for row in rows if collapsed(row, roles.collapse)).items())),
        "failures": [
            {"dataset": r.dataset, "ratio": r.ratio, "seed": r.seed, "arm": r.arm, "reason": r.reason} for r in failed
        ],
        "seconds": round(seconds, 1),
        "cpu_count": os.cpu_count(),
        "versions": [json.loads(text) for text in sorted(versions)],
        "report": plan.report,
    }


def collapsed(row: Row, depth: float) -> bool:
    """Whether training lost what it had: the final accuracy lies far below the best epoch."""
    return bool(row.accuracy) and row.accuracy[-1] < max(row.accuracy) - depth


def write_csv(table: Table, path: Path) -> None:
    """The rows as CSV, and where they come from as JSON beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = (*COLUMNS, PROFILE) if any(row.profile for row in table.rows) else COLUMNS
    writer.writerow(columns)
    for row in table.rows:
        bare = replace(row, dataset=row.dataset.removesuffix(_marked("", row.profile)))
        writer.writerow(["" if (value := getattr(bare, name)) is None else value for name in columns])
    path.write_text(text.getvalue(), encoding="utf-8")
    path.with_suffix(".json").write_text(json.dumps(table.provenance, indent=1) + "\n", encoding="utf-8")


def read_csv(path: Path, plan: Plan | None = None) -> Table:
    """Rows that `write_csv` wrote; how to read them comes from the plan, or from the JSON file beside it."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}; write it with `foretune study export PLAN --csv {path}`") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text ({error.reason}); export the study again") from error
    beside = path.with_suffix(".json")
    try:
        provenance = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        reasons = {_identity(item): item["reason"] for item in provenance.get("failures", [])}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(
            f"{beside} is not what `foretune study export` writes ({error}); remove it or export the study again"
        ) from error
    reader = csv.DictReader(lines)
    if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
        raise InputError(f"{path} has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
    rows = tuple(
        replace(_parse(item, reasons, f"{path}, line {number}"), key=f"line {number}")
        for number, item in enumerate(reader, 2)
    )
    if not rows:
        raise InputError(f"{path} holds no runs")
    roles = Roles.parse(plan.report if plan else provenance.get("report", {}))
    return Table(plan.name if plan else provenance.get("plan", path.stem), rows, roles, provenance)


def _identity(item: Mapping[str, Any]) -> tuple[str, float, str, str]:
    dataset = _marked(str(item["dataset"]), item.get(PROFILE) or "")
    return dataset, float(item["ratio"]), str(item["seed"]), str(item["arm"])


def _parse(item: Mapping[str, str], reasons: Mapping[Any, str], place: str) -> Row:
    try:
        numbers = {name: float(item[name]) if item[name] else None for name in COLUMNS[4:9]}
        dataset, ratio, seed, arm = identity = _identity(item)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: {error}") from error
    for name in COLUMNS[4:7]:
        value = numbers[name]
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"{place}: {name} is {value}; accuracies lie in [0, 1]")
    if item["status"] not in ("done", "failed"):
        raise InputError(f"{place}: status is {item['status']!r}; it is done or failed, and the line may be cut short")
    final, first5, first10, loss, seconds = numbers.values()
    reason = reasons.get(identity, "")
    return Row(
        dataset,
        ratio,
        seed,
        arm,
        final,
        first5,
        first10,
        loss,
        seconds,
        item["status"],
        reason,
        item.get(PROFILE) or "",
    )


def failures(rows: Iterable[Row]) -> Counter[str]:
    """How often each reason of a failure occurs."""
    return Counter(row.reason or "no reason kept" for row in rows if row.status != "done")
