"""Values with intervals as SVG, one row for each name."""

from __future__ import annotations

import math

from .charts import Encoder
from .content import Dots, Marks
from .scales import Axis, fixed
from .svg import Box, Palette, clip, element, escaped, text, text_width

__all__ = ["draw", "interval_text"]

ROW, GAP = 15.0, 9.0


def interval_text(dots: Dots, marks: Marks, index: int) -> str:
    """A value and its interval in words."""

    def write(value: float) -> str:
        return fixed(value, dots.digits, dots.signed)

    words = write(marks.values[index])
    if marks.low and marks.high and math.isfinite(marks.low[index]):
        words += f" [{write(marks.low[index])}, {write(marks.high[index])}]"
    return words


def draw(dots: Dots, palette: Palette, encode: Encoder, width: float = 760) -> str:
    """The dots as SVG; a wide picture prints the numbers as well."""
    shown = [*(v for m in dots.marks for part in (m.values, m.low, m.high) for v in part)]
    axis = Axis.over([*shown, *([] if dots.centre is None else [dots.centre])], count=5, pad=0.03)
    numbers = 130.0 if width >= 600 and len(dots.marks) <= 4 else 14.0
    letters = int(0.3 * width / 6.5)
    left = min(max((text_width(name) for name in dots.names), default=0.0), 0.3 * width) + 12
    step = ROW * max(len(dots.marks), 1) + GAP
    box = Box(left, 8.0, width - left - numbers, step * len(dots.names))
    height = box.top + box.height + 38
    parts = [_frame(dots, axis, box, height)]
    for row, name in enumerate(dots.names):
        middle = box.top + step * (row + 0.5)
        if dots.totals and row == len(dots.names) - dots.totals:
            parts.append(element("path", d=f"M0 {middle - step / 2:.1f}H{width:.1f}", class_="axis"))
        label = text(
            left - 12, middle, clip(name, letters), text_anchor="end", dominant_baseline="middle", class_="row"
        )
        parts.append(label)
        for index, marks in enumerate(dots.marks):
            y = middle + ROW * (index - (len(dots.marks) - 1) / 2)
            if math.isfinite(axis.at(marks.values[row])):
                parts.append(_mark(dots, marks, row, axis, box, y, palette, encode, numbers > 100))
    return element(
        "svg",
        "".join(parts),
        class_="forest",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        aria_label=f"{dots.title}: {dots.label} for {len(dots.names)} rows".lstrip(": "),
    )


def _frame(dots: Dots, axis: Axis, box: Box, height: float) -> str:
    bottom, right = box.top + box.height, box.left + box.width
    grid = "".join(f"M{box.x(axis, tick):.1f} {box.top:.1f}V{bottom:.1f}" for tick, _ in axis.ticks)
    parts = [element("path", d=grid, class_="grid")]
    if dots.centre is not None:
        parts.append(element("path", d=f"M{box.x(axis, dots.centre):.1f} {box.top:.1f}V{bottom:.1f}", class_="centre"))
    for tick, label in axis.ticks:
        shown = f"+{label}" if dots.signed and tick > 0 else label
        parts.append(text(box.x(axis, tick), bottom + 16, shown, text_anchor="middle"))
    parts.append(text(right, height - 5, clip(dots.label, int(right / 6.2)), class_="label", text_anchor="end"))
    return "".join(parts)


def _mark(
    dots: Dots, marks: Marks, row: int, axis: Axis, box: Box, y: float, palette: Palette, encode: Encoder, words: bool
) -> str:
    style = palette.style(marks.like or marks.name) + (" hollow" if marks.hollow else "")
    x, shown = box.x(axis, marks.values[row]), interval_text(dots, marks, row)
    parts = [element("title", escaped(f"{dots.names[row]}, {marks.name}: {shown}"))]
    parts.append(element("rect", x=box.left, y=y - ROW / 2, width=box.width, height=ROW, class_="hit"))
    if marks.low and marks.high and math.isfinite(axis.at(marks.low[row]) + axis.at(marks.high[row])):
        start, end = box.x(axis, marks.low[row]), box.x(axis, marks.high[row])
        parts.append(element("path", d=f"M{start:.1f} {y:.1f}H{end:.1f}", class_="whisker"))
    parts.append(element("circle", cx=x, cy=y, r=4.0))
    if words:
        where = {"dominant_baseline": "middle", "class_": "value"}
        parts.append(text(box.left + box.width + 10, y, shown, **where))
    trace = marks.traces[row] if marks.traces else None
    return element("g", "".join(parts), class_=f"mark {style}", data_runs=encode(trace) if trace else None)
