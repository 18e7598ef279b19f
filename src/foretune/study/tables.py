"""The tables of a report: pure functions from rows to text in cells, whatever renders them afterwards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from ..report import Sheet, Trace
from .paper import Published
from .rows import Table, collapsed
from .statistics import Interval, Spread, by_dataset, by_ratio, cells, overall, paired, regime, regimes
from .traces import MEASURES, trace

__all__ = ["cell_sheet", "count_sheet", "distance_sheet", "failure_sheet", "paired_sheets", "regime_sheet"]

SHORT = {"final_acc": "final", "first5_acc": "first 5", "first10_acc": "first 10"}
NOTHING = "–"
Entry = tuple[str, Trace | None]


def unique(values: Iterable[str]) -> list[str]:
    """In order of appearance."""
    return list(dict.fromkeys(values))


def arms(table: Table) -> list[str]:
    """The arms: those of the pairs last, each baseline before its arm, the others first."""
    present = unique(row.arm for row in table.rows)
    named = unique(name for arm, base in table.roles.pairs for name in (base, arm))
    return [arm for arm in present if arm not in named] + [arm for arm in named if arm in present]


def _sheet(title: str, header: Iterable[str], lines: Iterable[Iterable[Entry]], totals: int = 0) -> Sheet:
    """A table of cells with their traces; the paper's columns are the quiet ones."""
    rows, header = [tuple(line) for line in lines], tuple(header)
    texts = tuple(tuple(text for text, _ in row) for row in rows)
    traces = tuple(tuple(found for _, found in row) for row in rows)
    return Sheet(title, header, texts, traces, totals, tuple(name for name in header if name.endswith(", paper")))


def count_sheet(table: Table) -> Sheet:
    """How many runs of each arm are done, failed, collapsed."""
    depth, rows = table.roles.collapse, table.rows
    curves = any(row.accuracy for row in rows)
    kept = table.provenance.get("collapsed", {}) if not curves else Counter(r.arm for r in rows if collapsed(r, depth))
    known = curves or "collapsed" in table.provenance
    lines = []
    for arm in arms(table):
        status = Counter(row.status == "done" for row in rows if row.arm == arm)
        lines.append((arm, str(status[True]), str(status[False]), str(kept.get(arm, 0)) if known else NOTHING))
    return Sheet("Runs of each arm", ("arm", "done", "failed", "collapsed"), tuple(lines))


def failure_sheet(table: Table) -> Sheet:
    """Every failed run and its reason."""
    failed = [row for row in table.rows if row.status != "done"]
    lines = ((row.dataset, f"{row.ratio:g}", row.seed, row.arm, row.reason or NOTHING) for row in failed)
    return Sheet("Failed runs", ("data set", "ratio", "seed", "arm", "reason"), tuple(lines))


def cell_sheet(table: Table, published: Published, measure: str) -> Sheet:
    """Every data set, ratio and arm beside the paper's."""
    names, spreads = arms(table), cells(table.rows, measure)
    seeds = len({row.seed for row in table.rows})
    failed = Counter((row.dataset, row.ratio, row.arm) for row in table.rows if row.status != "done")
    lines, header, theirs_for = [], ["data set", "ratio"], _compared(table, published, names, measure)
    for arm in names:
        header += [arm, f"{arm}, paper"] if arm in theirs_for else [arm]
    for dataset in unique(row.dataset for row in table.rows):
        for ratio in sorted({row.ratio for row in table.rows if row.dataset == dataset}):
            line: list[Entry] = [(dataset, None), (f"{ratio:g}", None)]
            for arm in names:
                cell = spreads.get((dataset, ratio, arm))
                rests = trace(measure, datasets=[dataset], ratios=[ratio], arms=[arm]) if cell else None
                line.append((_spread(cell, measure, seeds, failed[dataset, ratio, arm]), rests))
                if arm in theirs_for:
                    line.append((_spread(published.cell(measure, dataset, ratio, arm), measure), None))
            lines.append(line)
    return _sheet(f"Every cell: {MEASURES[measure]}", header, lines)


def _compared(table: Table, published: Published, names: list[str], measure: str) -> set[str]:
    places = {(row.dataset, row.ratio) for row in table.rows}
    return {arm for arm in names if any(published.cell(measure, d, ratio, arm) for d, ratio in places)}


def regime_sheet(table: Table, published: Published, measure: str, where: str) -> Sheet:
    """Averages over the ratios of a regime, and over the data sets in the last line."""
    names, low = arms(table), table.roles.low
    ours = regimes(cells(table.rows, measure), low)
    theirs = {
        **regimes(published.spreads(measure), low),
        **{key[1:]: spread for key, spread in published.summary.items() if key[0] == measure},
    }
    datasets = unique(row.dataset for row in table.rows)
    compared = [arm for arm in names if any((d, where, arm) in theirs for d in datasets)]
    expected = max((spread.count for key, spread in ours.items() if key[1] == where), default=0)
    header = ["data set"] + [text for arm in names for text in ((arm, f"{arm}, paper") if arm in compared else (arm,))]
    inside = sorted({row.ratio for row in table.rows if regime(row.ratio, low) == where})
    lines = []
    for dataset in datasets:
        line: list[Entry] = [(dataset, None)]
        for arm in names:
            mean = ours.get((dataset, where, arm))
            rests = trace(measure, datasets=[dataset], ratios=inside, arms=[arm]) if mean else None
            line.append((_spread(mean, measure, expected), rests))
            if arm in compared:
                line.append((_spread(theirs.get((dataset, where, arm)), measure), None))
        lines.append(line)
    last: list[Entry] = [("mean over data sets", None)]
    for arm in names:
        for source in (ours, theirs) if arm in compared else (ours,):
            means = [source[d, where, arm].mean for d in datasets if (d, where, arm) in source]
            text = _number(sum(means) / len(means), measure) if means else NOTHING
            rests = trace(measure, ratios=inside, arms=[arm]) if means and source is ours else None
            last.append((text + _few(len(means), len(datasets)) if means else text, rests))
    ratios = f"≤ {low:g}" if where == "low" else f"> {low:g}"
    title = f"{where.capitalize()}-data regime (ratio {ratios}): {MEASURES[measure]}"
    return _sheet(title, header, [*lines, last], totals=1)


def paired_sheets(table: Table, published: Published, arm: str, baseline: str) -> tuple[Sheet, Sheet]:
    """Improvements of an arm over its baseline: by ratio, and by data set in the low-data regime."""
    low, known = table.roles.low, (arm, baseline) == published.pair
    measures = list(SHORT)
    deltas = {measure: paired(table.rows, arm, baseline, measure) for measure in measures}
    ratios = {measure: by_ratio(deltas[measure]) for measure in measures}
    datasets = {measure: by_dataset(deltas[measure], low) for measure in measures}
    header = [text for m in measures for text in ((SHORT[m], f"{SHORT[m]}, paper") if known else (SHORT[m],))]

    inside = sorted({row.ratio for row in table.rows if regime(row.ratio, low) == "low"})

    def line(name: str, key: str | float, found: dict[str, Interval | None]) -> list[Entry]:
        entries: list[Entry] = [(name, None)]
        places = ([key], ()) if isinstance(key, float) else (inside, [key] if key else ())
        for measure in measures:
            rests = trace(measure, ratios=places[0], datasets=places[1], arms=(arm, baseline))
            entries.append((_interval(found[measure]), rests if found[measure] else None))
            if known:
                entries.append((_interval(published.improvement(measure, key)), None))
        return entries

    first = [line(f"{r:g}", r, {m: ratios[m].get(r) for m in measures}) for r in ratios[measures[0]]]
    second = [line(d, d, {m: datasets[m].get(d) for m in measures}) for d in datasets[measures[0]]]
    second.append(line("all data sets", "", {m: overall(deltas[m], low) for m in measures}))
    what = f"{arm} over {baseline}, points of accuracy"
    return (
        _sheet(f"By ratio: {what}; data sets as clusters", ("ratio", *header), first),
        _sheet(f"By data set, ratio ≤ {low:g}: {what}; ratios as clusters", ("data set", *header), second, totals=1),
    )


def distance_sheet(table: Table, published: Published) -> Sheet:
    """How far our cells lie from the paper's: mean |ours - theirs| of the final accuracy, by data set."""
    ours, names = regimes(cells(table.rows, "final_acc"), table.roles.low), arms(table)
    theirs = regimes(published.spreads("final_acc"), table.roles.low)
    compared = [arm for arm in names if any(arm == key[2] for key in theirs)]
    lines = []
    gaps: dict[tuple[str, str], list[float]] = {}
    for dataset in unique(row.dataset for row in table.rows):
        line = [dataset]
        for arm in compared:
            for where in ("low", "high"):
                key = (dataset, where, arm)
                if key in ours and key in theirs:
                    gap = ours[key].mean - theirs[key].mean
                    gaps.setdefault((arm, where), []).append(abs(gap))
                    line.append(f"{100 * gap:+.1f}")
                else:
                    line.append(NOTHING)
        lines.append(tuple(line))
    last = ["mean of absolute values"]
    for arm in compared:
        for where in ("low", "high"):
            values = gaps.get((arm, where), [])
            last.append(f"{100 * sum(values) / len(values):.1f}" if values else NOTHING)
    header = ("data set", *(f"{arm}, {where}" for arm in compared for where in ("low", "high")))
    title = "Ours minus the paper's, final accuracy in points, by regime"
    return Sheet(title, header, (*lines, tuple(last)), totals=1)


def _spread(spread: Spread | None, measure: str, expected: int = 0, failed: int = 0) -> str:
    """A cell; it says so where it rests on fewer values than expected."""
    lost = f" ({failed} failed)" if failed else ""
    if spread is None:
        return NOTHING + lost
    text = _number(spread.mean, measure)
    if not math.isnan(spread.std):
        text += f" ± {_number(spread.std, measure)}"
    return text + _few(spread.count, expected) + lost


def _few(count: int, expected: int) -> str:
    return f" (n={count})" if 0 < count < expected else ""


def _number(value: float, measure: str) -> str:
    return f"{value:.3f}" if measure == "final_loss" else f"{100 * value:.1f}"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return NOTHING
    if math.isnan(interval.low):
        return f"{100 * interval.mean:+.1f} (one cluster)"
    return f"{100 * interval.mean:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
