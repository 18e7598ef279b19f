"""The page of the demo as plain data: the question, the answer, the picture, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..diagnosis import Diagnosis
from ..diagnosis.pages import spectra
from ..diagnosis.verdict import HELP, NONE, THRESHOLD
from ..diagnosis.wording import percent
from ..report import Chart, Dots, Line, Marks, Matrix, Report, Section, Sheet, Trace
from ..study.paper import Published
from ..study.rows import Table, failures
from ..study.tables import cell_sheet, unique
from ..study.traces import trace
from ..study.views import epoch_charts, facts, improvement_matrices, ratio_charts, run_sheet
from . import tasks
from .evidence import CLAIMS, HELPED, Claim, Start, claims, gains, happened, interval, labels, middle, signed, word

__all__ = ["answer", "compose"]

ARMS = ("default", "tdi", "default+gain", "tdi+gain")
SAID = {"helped": "helped", "hurt": "hurt", "unclear": "made no clear difference"}
Diagnoses = Mapping[tuple[str, float], Diagnosis]
Starts = Mapping[tuple[str, str], Start]


def compose(table: Table, found: Diagnoses, before: Starts) -> Report:
    """The whole page."""
    sections = [_gains(table), _why(table, found, before), _verdicts(table, found), _accuracy(table)]
    words = (
        "Mean over the seeds, between the lowest and the highest of them; on 250 test sequences until the last epoch."
    )
    curves = tuple(
        replace(chart, title=f"{labels(float(chart.title.split()[-1]))} labels") for chart in epoch_charts(table)
    )
    sections.append(Section("Accuracy over the epochs", (words,), charts=curves))
    told = tuple((task, tasks.TASKS[task].question) for task in unique(row.dataset for row in table.rows))
    return Report(
        "Does tuning to the task help here?",
        tuple(sections),
        answer=answer(table),
        runs=run_sheet(table),
        facts=(*told, *((name, fact) for name, fact in facts(table) if name != "statistics")),
        palette=("default+gain", "tdi+gain", "task", "default", "tdi", "permuted labels"),
    )


def answer(table: Table) -> str:
    """One sentence for each claim, the question's first, in words that the intervals give."""
    sentences = []
    for claim in claims(table.rows):
        found = gains(table.rows, claim)
        words = {task: SAID[word(gain)] for task, gain in found.items()}
        if len(words) > 1 and len(set(words.values())) == 1:
            verb, numbers = next(iter(words.values())), " and ".join(signed(gain.mean) for gain in found.values())
            said = f"{verb} on {'either task' if ' no ' in verb else 'both tasks'} ({numbers} points)"
        else:
            said = " and ".join(f"{words[task]} on {task} ({signed(gain.mean)})" for task, gain in found.items())
        sentences.append(f"{claim.subject} {said}.")
    return " ".join(sentences) or "No pair of arms has finished runs, so there is no answer."


def _gains(table: Table) -> Section:
    """Every cell in the same colours, then the means with their intervals."""
    lost = tuple(f"{count} runs failed: {reason}." for reason, count in failures(table.rows).most_common())
    words = (
        "Points of test accuracy, gained (blue) or lost, for each number of labels; all models have the same data, epochs "
        "and number of parameters."
    )
    arms = "; ".join(f"{claim.what}: {claim}" for claim in claims(table.rows))
    return Section(
        "What helped, and what did not", (f"{words} {arms[0].upper()}{arms[1:]}.", *lost), (), _pictures(table)
    )


def _pictures(table: Table) -> tuple[Matrix | Dots, ...]:
    there = claims(table.rows)
    if not there:
        return ()
    boards = {board.title.partition(",")[0]: board for board in improvement_matrices(table)}
    kept = [(claim, boards[str(claim)]) for claim in there if str(claim) in boards]
    matrix = Matrix(
        "Points of accuracy, by number of labels",
        tuple(f"{claim.what}, {task}" for claim, board in kept for task in board.rows),
        tuple(str(labels(float(ratio))) for ratio in kept[0][1].columns),
        tuple(line for _, board in kept for line in board.values),
        column_label="labels",
        traces=tuple(line for _, board in kept for line in board.traces),
    )
    names = unique(row.dataset for row in table.rows)
    return matrix, Dots(
        "Over all numbers of labels, with 95 % intervals",
        "points; bootstrap over matched runs",
        tuple(names),
        tuple(_marks(table, claim, names) for claim in there),
    )


def _marks(table: Table, claim: Claim, names: list[str]) -> Marks:
    found = gains(table.rows, claim)
    means, low, high = (
        tuple(getattr(found[task], part) if task in found else math.nan for task in names)
        for part in ("mean", "low", "high")
    )
    rests = tuple(trace("final_acc", datasets=[task], arms=(claim.arm, claim.baseline)) for task in names)
    return Marks(claim.what, means, low, high, traces=rests)


def _why(table: Table, found: Diagnoses, before: Starts) -> Section:
    names = unique(task for task, _ in found)
    charts = tuple(
        _spectra(task, found[task, middle(found, task)], before, pair)
        for task in names
        for pair in (("default", "tdi"), ("default+gain", "tdi+gain"))
    )
    published = gains(table.rows, CLAIMS[2])
    sentences = []
    for task in names:
        starts = {arm: before[task, arm] for arm in ARMS}
        default, tdi, control, tuned = starts.values()
        sentences.append(
            f"{task}, how loud: before training, what the state-space layer adds has a standard deviation of "
            f"{default.deviation:.2g} in default, {tdi.deviation:.2g} in tdi, and {control.deviation:.2g} in the control."
        )
        where = (
            f"{task}, where: tuning takes L_spec from {default.loss:.2f} to {tdi.loss:.2f} as published, and from "
            f"{control.loss:.2f} to {tuned.loss:.2f} with the control"
        )
        if task in published and tdi.loss < default.loss and word(published[task]) != "helped":
            where += (
                f"; a closer spectrum was not enough, as the published tuning gave {interval(published[task])} points"
            )
        sentences.append(f"{where}.")
    lines = [
        (task, arm, f"{before[task, arm].deviation:.3g}", f"{before[task, arm].loss:.3f}")
        for task in names
        for arm in ARMS
    ]
    header = ("task", "arm", "deviation of what the layer adds", "L_spec (0: same shape, 2: disjoint)")
    sheet = Sheet("Before training, the first seed", header, tuple(lines))
    return Section("Why: how loud the layer is, and where it listens", tuple(sentences), (sheet,), charts)


def _spectra(task: str, found: Diagnosis, before: Starts, arms: tuple[str, str]) -> Chart:
    """Task and models over all frequencies; on a logarithmic axis, without frequency 0, where the task is low."""
    chart, power = spectra(found), found.spectrum.power
    lines = [line for line in chart.lines if line.name in ("task", "permuted labels")]
    for arm in arms:
        heard = before[task, arm].spectrum.power
        lines.append(Line(arm, chart.lines[0].x, tuple((heard / (heard.max() or 1.0)).tolist())))
    log = bool(np.flatnonzero(power >= power.max() / 4)[-1] < 0.05 * len(power))
    kept = slice(int(log), None)
    cut = tuple(replace(n, x=n.x[kept], y=n.y[kept], low=n.low[kept], high=n.high[kept]) for n in lines)
    return replace(chart, title=f"{task}, {found.samples} labels: {' and '.join(arms)}", lines=cut, log_x=log)


def _verdicts(table: Table, found: Diagnoses) -> Section:
    """What was said beforehand beside what came, also where it was wrong."""
    lines: list[tuple[str, ...]] = []
    traces: list[tuple[Trace | None, ...]] = []
    right = given = unsure = 0
    for (task, ratio), diagnosis in found.items():
        gain = happened(table, task, ratio)
        said = {HELP: True, NONE: False}.get(diagnosis.verdict)
        if gain is None or said is None:
            was = "–"
        else:
            correct = said == (gain.mean > HELPED)
            right, given, was = right + correct, given + 1, "right" if correct else "wrong"
        rests = trace("final_acc", datasets=[task], ratios=[ratio], arms=(CLAIMS[0].arm, CLAIMS[0].baseline))
        unsure += gain is not None and word(gain) == "unclear"
        shown = "–" if gain is None else interval(gain)
        lines.append(
            (task, str(labels(ratio)), diagnosis.verdict, percent(diagnosis.evidence.default_error), shown, was)
        )
        traces.append((None, None, None, None, rests if gain else None, None))
    header = ("task", "labels", "verdict before training", "default misses", f"{CLAIMS[0]} (points)", "the verdict was")
    words = (
        f"{right} of {given} verdicts were right. They are about {CLAIMS[0]}; a mean gain of more than {HELPED:g} point over "
        f"the seeds counts as help, as in their calibration. {unsure} of the {len(lines)} bootstrap intervals over the seeds, "
        "in brackets, hold 0: there chance may have decided."
    )
    basis = (
        "Each diagnosis saw the sequences of the first seed, and no training. It expects help where labels shape the spectrum "
        f"and the default misses more than {percent(THRESHOLD)} of the task; it was calibrated on the one-layer model."
    )
    sheet = Sheet("Verdicts", header, tuple(lines), tuple(traces))
    return Section("What the diagnosis said, and what happened", (words, basis), (sheet,))


def _accuracy(table: Table) -> Section:
    charts = []
    for chart in ratio_charts(table, Published()):
        lines = tuple(replace(line, x=tuple(float(labels(x)) for x in line.x)) for line in chart.lines)
        charts.append(replace(chart, lines=lines, x_label="labelled sequences", group=""))
    sheet = cell_sheet(table, Published(), "final_acc")
    rows = tuple((task, str(labels(float(ratio))), *rest) for task, ratio, *rest in sheet.rows)
    sheet = replace(sheet, title="Accuracy (%)", header=("task", "labels", *sheet.header[2:]), rows=rows)
    words = "Mean over the seeds; bands and ± are the standard deviation."
    return Section("Accuracy over the number of labels", (words,), (sheet,), tuple(charts))
