"""What the page of a study shows beyond its tables: pictures as plain data, the runs, and which numbers rest on which."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..report import Chart, Dots, Line, Marks, Matrix, Sheet, Trace
from .paper import Published
from .rows import Row, Table
from .statistics import Interval, by_dataset, cells, overall, paired, regime
from .tables import arms, unique
from .traces import COLUMNS, MEASURES, trace

__all__ = [
    "answer",
    "epoch_charts",
    "facts",
    "improvement_dots",
    "improvement_matrices",
    "palette",
    "ratio_charts",
    "run_sheet",
]


def present_pairs(table: Table) -> list[tuple[str, str]]:
    """The pairs of which both arms have runs."""
    there = set(arms(table))
    return [pair for pair in table.roles.pairs if set(pair) <= there]


def answer(table: Table) -> str:
    """The one sentence: what each pair's arm changes where data are few, and whether the intervals tell it from 0."""
    low, found = table.roles.low, {}
    for arm, baseline in present_pairs(table):
        gain = overall(paired(table.rows, arm, baseline, "final_acc"), low)
        if gain is not None:
            found[f"{arm} over {baseline}"] = gain
    if not found:
        return ""
    gains = ", ".join(f"{name} {_interval(gain)}" for name, gain in found.items())
    open_ones = [name for name, gain in found.items() if not (gain.low > 0 or gain.high < 0)]
    if len(open_ones) == len(found):
        verdict = "no average effect is certain, as every interval holds 0" if len(found) > 1 else "this may be nothing"
    else:
        verdict = f"that of {' and of '.join(open_ones)} may be nothing" if open_ones else "no interval holds 0"
    return f"Points of accuracy with few data (ratio ≤ {low:g}): {gains}; {verdict}."


def _interval(gain: Interval) -> str:
    if math.isnan(gain.low):
        return f"{100 * gain.mean:+.1f}"
    return f"{100 * gain.mean:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"


def improvement_dots(table: Table, published: Published) -> tuple[Dots, ...]:
    """The improvement of each pair on each data set with few data, and the paper's beside it."""
    low, pairs = table.roles.low, present_pairs(table)
    datasets = unique(row.dataset for row in table.rows)
    names, marks = (*datasets, "all data sets"), []
    for arm, baseline in pairs:
        deltas = paired(table.rows, arm, baseline, "final_acc")
        found: list[Interval | None] = [by_dataset(deltas, low).get(name) for name in datasets]
        ratios = sorted({ratio for _, ratio in deltas if regime(ratio, low) == "low"})
        traces = [
            trace("final_acc", arms=(arm, baseline), ratios=ratios, datasets=[name] if name in datasets else ())
            for name in names
        ]
        if any(found):
            marks.append(_marks(f"{arm} over {baseline}", [*found, overall(deltas, low)], arm, traces))
        if any(found) and (arm, baseline) == published.pair:
            theirs = [published.improvement("final_acc", name) for name in (*datasets, "")]
            if any(theirs):
                marks.append(_marks(f"{arm} over {baseline}, paper", theirs, arm, (), hollow=True))
    label = "points of final accuracy, 95 % intervals"
    title = f"What changed with few data (ratio ≤ {low:g})"
    return (Dots(title, label, names, tuple(marks), totals=1),) if marks else ()


def _marks(
    name: str, intervals: list[Interval | None], like: str, traces: Iterable[Trace], hollow: bool = False
) -> Marks:
    def column(part: str) -> tuple[float, ...]:
        return tuple(math.nan if each is None else round(100 * getattr(each, part), 4) for each in intervals)

    return Marks(name, column("mean"), column("low"), column("high"), hollow, like, tuple(traces))


def improvement_matrices(table: Table) -> tuple[Matrix, ...]:
    """The improvement of each pair on each data set at each ratio."""
    found = []
    datasets, ratios = unique(row.dataset for row in table.rows), sorted({row.ratio for row in table.rows})
    for arm, baseline in present_pairs(table):
        deltas = paired(table.rows, arm, baseline, "final_acc")
        if not deltas:
            continue
        values = tuple(tuple(100 * deltas.get((d, ratio), math.nan) for ratio in ratios) for d in datasets)
        traces = tuple(
            tuple(
                trace("final_acc", arms=(arm, baseline), ratios=[ratio], datasets=[d]) if (d, ratio) in deltas else None
                for ratio in ratios
            )
            for d in datasets
        )
        shown = tuple(tuple(round(value, 1) for value in line) for line in values)
        found.append(
            Matrix(
                f"{arm} over {baseline}, by data set and ratio",
                tuple(datasets),
                tuple(f"{ratio:g}" for ratio in ratios),
                shown,
                column_label="ratio",
                unit="points of final accuracy, mean over seeds",
                traces=traces,
            )
        )
    return tuple(found)


def ratio_charts(table: Table, published: Published) -> tuple[Chart, ...]:
    """For each data set: mean and standard deviation over seeds, and the paper's means dashed."""
    spreads, charts = cells(table.rows, "final_acc"), []
    log = all(row.ratio > 0 for row in table.rows)
    for dataset in unique(row.dataset for row in table.rows):
        lines = []
        for arm in arms(table):
            ratios = sorted(ratio for d, ratio, a in spreads if (d, a) == (dataset, arm))
            ours = [spreads[dataset, ratio, arm] for ratio in ratios]
            traces = tuple(trace("final_acc", arms=[arm], ratios=[ratio], datasets=[dataset]) for ratio in ratios)
            wide = [0.0 if math.isnan(cell.std) else cell.std for cell in ours]
            if ours:
                lines.append(
                    Line(
                        arm,
                        tuple(ratios),
                        tuple(100 * cell.mean for cell in ours),
                        tuple(100 * (cell.mean - std) for cell, std in zip(ours, wide, strict=True)),
                        tuple(100 * (cell.mean + std) for cell, std in zip(ours, wide, strict=True)),
                        traces=traces,
                    )
                )
            theirs = [(ratio, published.cell("final_acc", dataset, ratio, arm)) for ratio in ratios]
            known = [(ratio, 100 * cell.mean) for ratio, cell in theirs if cell is not None]
            if known:
                x, y = zip(*known, strict=True)
                lines.append(Line(f"{arm}, paper", x, y, dashed=True, like=arm))
        if lines:
            group = "Each data set"
            charts.append(Chart(dataset, "training ratio", "accuracy (%)", tuple(lines), log_x=log, group=group))
    return tuple(charts)


def epoch_charts(table: Table) -> tuple[Chart, ...]:
    """For each data set and ratio: the mean over seeds after each epoch, between the lowest and the highest of them."""
    charts = []
    curved = [row for row in table.rows if len(row.accuracy) > 1]
    for dataset in unique(row.dataset for row in curved):
        here = [row for row in curved if row.dataset == dataset]
        every = [100 * value for row in here for value in row.accuracy]
        limits = (min(every), max(every))
        for ratio in sorted({row.ratio for row in here}):
            lines = []
            for arm in arms(table):
                line = _curve([row for row in here if (row.ratio, row.arm) == (ratio, arm)])
                if line is not None:
                    lines.append(line)
            charts.append(
                Chart(f"ratio {ratio:g}", "epoch", "accuracy (%)", tuple(lines), group=dataset, y_limits=limits)
            )
    return tuple(charts)


def _curve(rows: list[Row]) -> Line | None:
    shared = min((len(row.accuracy) for row in rows), default=0)
    if not shared:
        return None
    values = 100 * np.array([row.accuracy[:shared] for row in rows])
    mean, low, high = (tuple(map(float, part)) for part in (values.mean(0), values.min(0), values.max(0)))
    x = tuple(float(epoch) for epoch in range(1, shared + 1))
    first = rows[0]
    traces = (trace("final_acc", arms=[first.arm], ratios=[first.ratio], datasets=[first.dataset]),)
    return Line(first.arm, x, mean, low if len(rows) > 1 else (), high if len(rows) > 1 else (), traces=traces)


def run_sheet(table: Table) -> Sheet:
    """Every run; `run` names the file that holds it, or the line of the exported table."""
    measures = [name for name in MEASURES if any(getattr(row, name) is not None for row in table.rows)]
    header = tuple(COLUMNS[name] for name in ("dataset", "ratio", "seed", "arm", *measures))
    named = any(row.key for row in table.rows)
    lines = []
    for row in table.rows:
        line = [row.dataset, f"{row.ratio:g}", row.seed, row.arm]
        line += [_measure(getattr(row, name), name) for name in measures]
        line += ["–" if row.seconds is None else f"{row.seconds:.1f}"]
        line += [row.status if row.status == "done" else f"failed: {row.reason or 'no reason kept'}"]
        lines.append((*line, row.key[:12] or "–") if named else tuple(line))
    return Sheet("Every run", (*header, "seconds", "status", *(("run",) if named else ())), tuple(lines))


def _measure(value: float | None, name: str) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if name == "final_loss" else f"{100 * value:.2f}"


def palette(table: Table) -> tuple[str, ...]:
    """The arms in the order of their colours: those that the study is about first."""
    pairs = present_pairs(table)
    return tuple(unique([*(arm for arm, _ in pairs), *(baseline for _, baseline in pairs), *arms(table)]))


def facts(table: Table) -> tuple[tuple[str, str], ...]:
    """Where the numbers come from."""
    known = table.provenance
    counts = ", ".join(f"{count} {word}" for word, count in known.get("runs", {}).items())
    found = {
        "plan": table.name,
        "hash of the plan": known.get("plan_hash", ""),
        "task": f"{known['task']}, version {known.get('version', 1)}" if "task" in known else "",
        "runs": counts,
        "software": "; ".join(
            ", ".join(f"{name} {version}" for name, version in versions.items())
            for versions in known.get("versions", [])
        ),
        "statistics": "means over seeds; 95 % percentile bootstrap intervals over clusters, 10,000 resamples",
    }
    return tuple((name, fact) for name, fact in found.items() if fact)
