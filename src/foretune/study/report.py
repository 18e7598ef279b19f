"""The report of a study: what is in it (`compose`, pure), and its rendering as a page and as Markdown (`write`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..report import Picture, Report, Section
from .paper import Published
from .pictures import draw
from .rows import PAPER, Table, failures
from .statistics import by_dataset, cells, overall, paired, regimes
from .tables import (
    arms,
    cell_sheet,
    count_sheet,
    distance_sheet,
    failure_sheet,
    paired_sheets,
    regime_sheet,
    unique,
)
from .views import answer, epoch_charts, facts, improvement_dots, improvement_matrices, palette, ratio_charts, run_sheet

__all__ = ["compose", "markdown", "write"]


def compose(table: Table, published: Published) -> Report:
    """The content of a report."""
    headlines = tuple(_headlines(table, published))
    first: tuple[Picture, ...] = (*improvement_dots(table, published), *improvement_matrices(table))
    sections = [Section("What comes out", headlines, charts=first)] if headlines else []
    sections.append(_runs(table))
    summary = [
        regime_sheet(table, published, measure, where)
        for measure in ("final_acc", "final_loss")
        for where in ("low", "high")
    ]
    if published.rows:
        summary.append(distance_sheet(table, published))
    words = "Each ratio is averaged over its seeds first; ± is the standard deviation over all runs of the regime."
    sections.append(Section("Low and high data", (words,), tuple(summary)))
    words = (
        "Differences of matched runs (data set, ratio, seed), averaged over seeds; in brackets the 95 % percentile "
        "bootstrap interval over the clusters."
    )
    present = set(arms(table))
    for arm, baseline in table.roles.pairs:
        if {arm, baseline} <= present:
            pair = paired_sheets(table, published, arm, baseline)
            sections.append(Section(f"Paired improvement: {arm} over {baseline}", (words,), pair))
    words = "Bars and bands: standard deviation over seeds. Dashed: the paper."
    charts = ratio_charts(table, published)
    sections.append(Section("Accuracy over the ratio", (words,), charts=charts, pictures="ratio"))
    words = (
        "Mean ± standard deviation over seeds; n where a cell has fewer seeds than the study, failed runs never count."
    )
    sheets = tuple(cell_sheet(table, published, measure) for measure in ("final_acc", "first5_acc", "final_loss"))
    sections.append(Section("Every cell", (words,), sheets))
    if any(len(row.accuracy) > 1 for row in table.rows):
        words = "Mean over seeds; faintly each seed, or the band from the lowest to the highest."
        sections.append(Section("Accuracy over the epochs", (words,), charts=epoch_charts(table), pictures="epochs"))
    return Report(
        f"The study {table.name}",
        tuple(sections),
        answer=answer(table),
        runs=run_sheet(table),
        facts=facts(table),
        palette=palette(table),
    )


def _runs(table: Table) -> Section:
    failed = failures(table.rows)
    missing = table.provenance.get("runs", {}).get("missing", 0)
    seconds = sum(row.seconds or 0.0 for row in table.rows)
    sentences = [
        f"{len(table.rows) - failed.total()} runs done, {failed.total()} failed, {missing} missing.",
        f"They took {seconds:.0f} s of single-thread work.",
        f"Collapsed: the final accuracy lies more than {100 * table.roles.collapse:g} points below the best epoch.",
        *_smaller(table),
        *(f"Failed {count} ×: {reason}" for reason, count in failed.most_common()),
    ]
    sheets = (count_sheet(table), failure_sheet(table)) if failed else (count_sheet(table),)
    return Section("Runs", tuple(sentences), sheets)


def _smaller(table: Table) -> Iterator[str]:
    """What the mark of a profile means."""
    for profile in unique(row.profile for row in table.rows if row.profile not in PAPER):
        yield (
            f"Data sets marked ({profile}) ran in a smaller setting than the paper's, so no published number stands beside "
            "them; means over data sets include them."
        )


def _headlines(table: Table, published: Published) -> Iterator[str]:
    """One sentence for each claim: improvements, the worst case at the largest ratio, the distance to the paper."""
    low, top = table.roles.low, max(row.ratio for row in table.rows)
    ours, theirs = (regimes(c, low) for c in (cells(table.rows, "final_acc"), published.spreads("final_acc")))
    datasets = unique(row.dataset for row in table.rows)
    for arm, baseline in table.roles.pairs:
        deltas = paired(table.rows, arm, baseline, "final_acc")
        gain = overall(deltas, low)
        if gain is not None:
            better = sum(interval.mean > 0 for interval in by_dataset(deltas, low).values())
            yield (
                f"{arm} over {baseline}, ratio ≤ {low:g}: {100 * gain.mean:+.1f} points "
                f"[{100 * gain.low:+.1f}, {100 * gain.high:+.1f}] of final accuracy over {gain.clusters} data sets, "
                f"better on {better} of them."
            )
        at_top = {dataset: delta for (dataset, ratio), delta in deltas.items() if ratio == top}
        if at_top:
            worst = min(at_top, key=lambda name: at_top[name])
            yield (
                f"{arm} over {baseline} at ratio {top:g}: at worst {100 * at_top[worst]:+.1f} points (on {worst}), "
                f"on average {100 * sum(at_top.values()) / len(at_top):+.1f}."
            )
    for arm in arms(table):
        both = [d for d in datasets if (d, "low", arm) in ours and (d, "low", arm) in theirs]
        if both:
            gap = sum(abs(ours[d, "low", arm].mean - theirs[d, "low", arm].mean) for d in both) / len(both)
            yield (
                f"{arm} against the paper's, ratio ≤ {low:g}: {100 * gap:.1f} points apart on average "
                f"over {len(both)} data sets."
            )


def markdown(report: Report, pictures: dict[str, list[str]]) -> str:
    """The report as Markdown."""
    parts = [f"# {report.title}"]
    for section in report.sections:
        parts.append(f"## {section.title}")
        if section.sentences:
            parts.append("\n".join(f"- {sentence}" for sentence in section.sentences))
        for sheet in section.sheets:
            parts.append(f"### {sheet.title}")
            lines = [sheet.header, ("---",) * len(sheet.header), *sheet.rows]
            parts.append("\n".join("| " + " | ".join(map(_escape, line)) + " |" for line in lines))
        parts.extend(f"![{section.title}]({name})" for name in pictures.get(section.pictures, []))
    return "\n\n".join(parts) + "\n"


def write(table: Table, folder: Path) -> Path:
    """Write `report.html`, and `report.md` with its pictures; returns the path of the latter."""
    from ..report.html import save

    published = Published.load(table.roles.published, table.roles.names)
    folder.mkdir(parents=True, exist_ok=True)
    report, path = compose(table, published), folder / "report.md"
    save(report, folder / "report.html")
    path.write_text(markdown(report, draw(table, published, folder)), encoding="utf-8")
    return path


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
