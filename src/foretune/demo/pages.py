"""The page of the demo as plain data: the question, the answer, the picture, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..diagnosis import Diagnosis
from ..diagnosis.pages import spectra
from ..report import Chart, Line, Matrix, Report, Section, Sheet, Trace
from ..study.paper import Published
from ..study.rows import Table, failures
from ..study.tables import cell_sheet, unique
from ..study.traces import trace
from ..study.views import epoch_charts, facts, improvement_matrices, palette, ratio_charts, run_sheet
from . import tasks
from .evidence import CLAIMS, HELPED, Claim, Gain, Start, claims, gains, happened, labels, middle, word

__all__ = ["answer", "compose"]

Diagnoses = Mapping[tuple[str, float], Diagnosis]
Starts = Mapping[tuple[str, str], Start]


def compose(table: Table, found: Diagnoses, before: Starts) -> Report:
    """The whole page."""
    sections = [_gains(table), _why(table, found, before), _verdicts(table, found), _accuracy(table)]
    curves = "Mean over the seeds, between the lowest and the highest of them."
    sections.append(Section("Accuracy over the epochs", (curves,), charts=epoch_charts(table)))
    told = tuple((task, tasks.TASKS[task].question) for task in unique(row.dataset for row in table.rows))
    return Report(
        "Does tuning to the task help here?",
        tuple(sections),
        answer=answer(table),
        runs=run_sheet(table),
        facts=(*told, *((name, fact) for name, fact in facts(table) if name != "statistics")),
        palette=palette(table),
    )


def answer(table: Table) -> str:
    """One sentence for each claim, the question's first, in words that the intervals give."""
    sentences = []
    for claim in claims(table.rows):
        found = gains(table.rows, claim)
        words = {task: word(gain) for task, gain in found.items()}
        if len(words) > 1 and len(set(words.values())) == 1:
            numbers = ", ".join(f"{task} {_interval(gain)}" for task, gain in found.items())
            verb = next(iter(words.values()))
            said = f"{verb} on {'both tasks' if verb in ('helped', 'hurt') else 'either task'} ({numbers})"
        else:
            said = ", and ".join(f"{words[task]} on {task} ({_interval(gain)})" for task, gain in found.items())
        sentences.append(f"{claim.subject[0].upper()}{claim.subject[1:]} {said}.")
    return " ".join(sentences) or "No pair of arms has finished runs, so there is no answer."


def _interval(gain: Gain) -> str:
    if np.isnan(gain.low):
        return f"{gain.mean:+.1f}, one pair of runs"
    return f"{gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"


def _gains(table: Table) -> Section:
    there = claims(table.rows)
    boards = {board.title.partition(",")[0]: board for board in improvement_matrices(table)}
    charts = [_titled(boards[str(claim)], claim) for claim in there if str(claim) in boards]
    lost = [f"{count} runs failed: {reason}." for reason, count in failures(table.rows).most_common()]
    words = "Points of test accuracy, gained or lost, by task and number of labels; every arm has the same data, epochs and parameter count."
    return Section("What helped, and what did not", (words, *lost), (_paired(table),), tuple(charts))


def _titled(board: Matrix, claim: Claim) -> Matrix:
    columns = tuple(f"{labels(float(ratio))}" for ratio in board.columns)
    return replace(board, title=f"{claim.what}: {claim}", columns=columns, column_label="labels", unit="")


def _paired(table: Table) -> Sheet:
    lines, traces = [], []
    for claim in claims(table.rows):
        for task, gain in gains(table.rows, claim).items():
            lines.append((claim.what, str(claim), task, _interval(gain), str(gain.runs), word(gain)))
            rests = trace("final_acc", datasets=[task], arms=(claim.arm, claim.baseline))
            traces.append((None, None, None, rests, None, None))
    header = ("what changed", "arms", "task", "points", "matched pairs", "it")
    title = (
        "Over all numbers of labels: differences of matched runs (same labels, same seed), 95 % percentile bootstrap"
    )
    return Sheet(title, header, tuple(lines), tuple(traces))


def _why(table: Table, found: Diagnoses, before: Starts) -> Section:
    names = unique(task for task, _ in found)
    charts = tuple(_spectra(task, found[task, middle(found, task)], before) for task in names)
    sentences = []
    for task in names:
        default, control, tuned = (before[task, arm] for arm in ("default", "default+gain", "tdi+gain"))
        sentences.append(
            f"{task}: how loud. The state of the default varies by {default.deviation:.2g} over the sequences (standard deviation "
            f"before training), that of the control by {control.deviation:.2g}."
        )
        closer = "closer to" if tuned.loss < control.loss else "no closer to"
        sentences.append(
            f"{task}: where. Tuning takes L_spec from {control.loss:.2f} to {tuned.loss:.2f}, {closer} the task's spectrum."
        )
    lines = [(task, arm, f"{start.deviation:.3g}", f"{start.loss:.3f}") for (task, arm), start in before.items()]
    header = ("task", "arm", "deviation of the state", "L_spec (0: same shape, 2: disjoint)")
    sheet = Sheet("Before training, the first seed", header, tuple(lines))
    return Section("Why: how loud the state is, and where it listens", tuple(sentences), (sheet,), charts)


def _spectra(task: str, found: Diagnosis, before: Starts) -> Chart:
    """Up to twice the frequency below which 99 % of the task's power lies."""
    chart = spectra(found)
    share = np.cumsum(found.spectrum.power) / found.spectrum.power.sum()
    end = 2 * int(np.searchsorted(share, 0.99)) + 1
    lines = [line for line in chart.lines if line.name in ("task", "permuted labels")]
    for arm in ("default+gain", "tdi+gain"):
        power = before[task, arm].spectrum.power
        lines.append(Line(arm, chart.lines[0].x, tuple((power / (power.max() or 1.0)).tolist())))
    cut = tuple(
        replace(line, x=line.x[:end], y=line.y[:end], low=line.low[:end], high=line.high[:end]) for line in lines
    )
    return replace(chart, title=f"{task}, {found.samples} labels", lines=cut)


def _verdicts(table: Table, found: Diagnoses) -> Section:
    """What was said beforehand beside what came, also where it was wrong."""
    lines, traces, right, given = [], [], 0, 0
    for (task, ratio), diagnosis in found.items():
        gain = happened(table, task, ratio)
        said = {"help expected": True, "no benefit expected": False}.get(diagnosis.verdict)
        if gain is None or said is None:
            was = "–"
        else:
            correct = said == (gain.mean > HELPED)
            right, given, was = right + correct, given + 1, "right" if correct else "wrong"
        rests = trace("final_acc", datasets=[task], ratios=[ratio], arms=(CLAIMS[0].arm, CLAIMS[0].baseline))
        missed = f"{100 * diagnosis.evidence.default_error:.0f} %"
        shown = "–" if gain is None else f"{gain.mean:+.1f}"
        lines.append((task, str(labels(ratio)), diagnosis.verdict, missed, shown, was))
        traces.append((None, None, None, None, rests if gain else None, None))
    header = ("task", "labels", "verdict before training", "default misses", f"{CLAIMS[0]} (points)", "the verdict was")
    words = (
        f"{right} of {given} verdicts were right. They are about {CLAIMS[0]}; a mean gain of more than {HELPED:g} point over "
        "the seeds counts as help, as in their calibration. Each diagnosis saw the labels of the first seed, and no training."
    )
    return Section("What the diagnosis said, and what happened", (words,), (_sheet(header, lines, traces),))


def _sheet(header: tuple[str, ...], lines: list[tuple[str, ...]], traces: list[tuple[Trace | None, ...]]) -> Sheet:
    return Sheet("Verdicts", header, tuple(lines), tuple(traces))


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
