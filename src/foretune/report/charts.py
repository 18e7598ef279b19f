"""Curves as SVG: bands, direct labels at the ends of lines, and the data that hovering shows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from .content import Chart, Line, Trace
from .scales import Axis, number
from .svg import Box, Palette, clip, element, escaped, path, spread, text, text_width

__all__ = ["Drawn", "data", "draw", "thinned"]

MOST_POINTS = 1200  # of a line; more are thinned to the lowest and highest of each stretch
MARKED = 16  # lines of at most so many points show each of them
LABEL_HEIGHT = 13.0
Encoder = Callable[[Trace], str]


@dataclass(frozen=True)
class Drawn:
    """A picture, and whether it names its lines itself."""

    svg: str
    labelled: bool


def thinned(line: Line) -> Line:
    """The same to the eye: of a long line, each stretch's lowest and highest point (and gaps) in their order."""
    count = len(line.x)
    if count <= MOST_POINTS:
        return line
    stretch = math.ceil(count / (MOST_POINTS // 2))
    kept = {0, count - 1}
    for start in range(0, count, stretch):
        places = range(start, min(start + stretch, count))
        known = [i for i in places if math.isfinite(line.y[i])] or list(places)
        kept |= {min(known, key=lambda i: line.y[i]), max(known, key=lambda i: line.y[i])}
        kept |= {i for i in places if not math.isfinite(line.y[i])}
    order = sorted(kept)[: 2 * MOST_POINTS]
    x, y, low, high = (
        tuple(values[i] for i in order) if values else () for values in (line.x, line.y, line.low, line.high)
    )
    traces = tuple(line.traces[i] for i in order) if len(line.traces) == count else line.traces
    return replace(line, x=x, y=y, low=low, high=high, traces=traces)


def axes(chart: Chart) -> tuple[Axis, Axis]:
    """The horizontal and the vertical axis."""
    xs = [x for line in chart.lines for x in line.x]
    ys = [y for line in chart.lines for values in (line.y, line.low, line.high) for y in values]
    ys += chart.y_limits or ()
    few = len(set(xs)) <= MARKED
    across = Axis.over(xs, log=chart.log_x, count=5, pad=0.02 if few else 0.0)
    return across, Axis.over(ys, log=chart.log_y, count=4, pad=0.0 if chart.y_limits else 0.05)


def draw(chart: Chart, palette: Palette, width: float = 340, height: float = 220, labels: bool = True) -> Drawn:
    """The chart as SVG; with `labels` each line is named at its end if that leaves room."""
    lines = [thinned(line) for line in chart.lines]
    across, up = axes(chart)
    stops = sorted({x for line in lines for x in line.x if math.isfinite(across.at(x))})
    widest = max((text_width(label) for _, label in up.ticks), default=0.0)
    left, top, bottom = max(widest + 8, 22.0), 24.0, 38.0
    unnamed = not any(line.name for line in lines)
    names = _room_for_names(lines, width) if labels and not unnamed else 0.0
    box = Box(left, top, width - left - max(names, 12.0), height - top - bottom)
    ends = _ends(lines, box, across, up) if names else None
    if names and ends is None:
        box = replace(box, width=width - left - 12.0)
    if len(stops) <= 9 and stops:
        longest = max(text_width(number(x)) for x in stops)
        across = across.with_ticks_at(stops, (longest + 4) / box.width)
    parts = [_frame(chart, box, across, up, width, height)]
    parts += [_band(line, palette, box, across, up) for line in lines if line.low and line.high]
    parts += [_stroke(line, palette, box, across, up) for line in lines]
    if ends is not None:
        letters = int(names / 6.3)
        for line, y in zip(lines, ends, strict=True):
            where = {"class_": f"name {palette.style(line.like or line.name)}", "dominant_baseline": "middle"}
            label = element("title", escaped(line.name)) if len(line.name) > letters else ""
            words = text(box.left + box.width + 8, y, clip(line.name, letters), **where)
            parts.append(words.replace("</text>", f"{label}</text>"))
    return Drawn(_wrapped(chart, "".join(parts), box, width, height), unnamed or ends is not None)


def _wrapped(chart: Chart, content: str, box: Box, width: float, height: float) -> str:
    return element(
        "svg",
        content + '<g class="cross"></g>',
        class_="plot",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        aria_label=f"{chart.title}: {chart.y_label} over {chart.x_label}, {len(chart.lines)} lines".lstrip(": "),
        data_box=",".join(f"{side:g}" for side in (box.left, box.top, box.width, box.height)),
    )


def _room_for_names(lines: list[Line], width: float) -> float:
    if not lines or len(lines) > 12:
        return 0.0
    room = max(text_width(line.name) for line in lines) + 14
    return room if room <= 0.3 * width else 0.0


def _ends(lines: list[Line], box: Box, across: Axis, up: Axis) -> list[float] | None:
    """Heights of the names beside the last points; None where they would not all fit near them."""
    wanted = []
    for line in lines:
        known = [box.y(up, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(across.at(x) + up.at(y))]
        wanted.append(known[-1] if known else box.top + box.height)
    found = spread(wanted, LABEL_HEIGHT, box.top, box.top + box.height)
    moved = max((abs(a - b) for a, b in zip(found or (), wanted, strict=False)), default=0.0)
    return None if moved > 1.3 * LABEL_HEIGHT else found


def _frame(chart: Chart, box: Box, across: Axis, up: Axis, width: float, height: float) -> str:
    """Quiet horizontal lines, ticks, and what the axes mean: the vertical one's name stands level above it."""
    right, bottom = box.left + box.width, box.top + box.height
    grid = "".join(f"M{box.left:.1f} {box.y(up, tick):.1f}H{right:.1f}" for tick, _ in up.ticks)
    ticks = "".join(f"M{box.x(across, tick):.1f} {bottom:.1f}v4" for tick, _ in across.ticks)
    parts = [
        element("path", d=grid, class_="grid"),
        element("path", d=f"M{box.left:.1f} {bottom:.1f}H{right:.1f}{ticks}", class_="axis"),
    ]
    for tick, label in up.ticks:
        parts.append(text(box.left - 6, box.y(up, tick), label, text_anchor="end", dominant_baseline="middle"))
    for tick, label in across.ticks:
        parts.append(text(box.x(across, tick), bottom + 16, label, text_anchor="middle"))
    letters = int(width / 6.2)
    parts.append(text(0, 11, clip(chart.y_label, letters), class_="label"))
    parts.append(text(right, height - 5, clip(chart.x_label, letters), class_="label", text_anchor="end"))
    return "".join(parts)


def _band(line: Line, palette: Palette, box: Box, across: Axis, up: Axis) -> str:
    style = palette.style(line.like or line.name)
    runs: list[list[tuple[float, float, float]]] = [[]]
    for x, low, high in zip(line.x, line.low, line.high, strict=True):
        floor = max(low, up.low) if up.log else low
        point = (box.x(across, x), box.y(up, floor), box.y(up, high))
        if all(math.isfinite(part) for part in point):
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    outlines = []
    for run in runs:
        around = [(x, high) for x, _, high in run] + [(x, low) for x, low, _ in reversed(run)]
        if len(run) == 1:
            (x, low, high) = run[0]
            around = [(x - 2, high), (x + 2, high), (x + 2, low), (x - 2, low)]
        if around:
            outlines.append(path(around) + "Z")
    return element("path", d="".join(outlines), class_=f"band {style}") if outlines else ""


def _stroke(line: Line, palette: Palette, box: Box, across: Axis, up: Axis) -> str:
    style = palette.style(line.like or line.name) + (" dashed" if line.dashed else "")
    points = [(box.x(across, x), box.y(up, y)) for x, y in zip(line.x, line.y, strict=True)]
    parts = [element("path", d=path(points), class_=f"line {style}")]
    if len(points) <= MARKED and not line.dashed:
        for (px, py), x, y in zip(points, line.x, line.y, strict=True):
            if math.isfinite(px) and math.isfinite(py):
                words = element("title", escaped(f"{line.name} at {number(x)}: {number(y)}"))
                parts.append(element("circle", words, cx=px, cy=py, r=2.5, class_=f"dot {style}"))
    return "".join(parts)


def data(chart: Chart, palette: Palette, encode: Encoder) -> str:
    """What hovering needs, as JSON: axes, and each line's points in the numbers that were drawn."""
    across, up = axes(chart)
    lines = [
        {
            "n": line.name,
            "c": palette.style(line.like or line.name),
            "x": _short(line.x),
            "y": _short(line.y),
            **({"l": _short(line.low), "h": _short(line.high)} if line.low and line.high else {}),
            **({"t": [encode(trace) for trace in line.traces]} if line.traces else {}),
        }
        for line in map(thinned, chart.lines)
    ]
    content = {
        "X": [across.low, across.high, int(across.log)],
        "Y": [up.low, up.high, int(up.log)],
        "x": chart.x_label,
        "lines": lines,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _short(values: tuple[float, ...]) -> list[float | None]:
    rounded = (float(f"{value:.5g}") for value in values)
    return [value if math.isfinite(value) else None for value in rounded]
