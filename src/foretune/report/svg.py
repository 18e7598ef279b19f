"""A small writer of SVG, and what its pictures have in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from .scales import Axis

__all__ = ["Box", "Palette", "clip", "element", "escaped", "path", "place", "spread", "text", "text_width"]

COLOURS = 8
LETTER = 6.5  # pixels of width of a letter at the size of labels


@dataclass(frozen=True)
class Box:
    """Where the data lie in a picture."""

    left: float
    top: float
    width: float
    height: float

    def x(self, axis: Axis, value: float) -> float:
        """The pixel of a value on the horizontal axis."""
        return self.left + self.width * axis.at(value)

    def y(self, axis: Axis, value: float) -> float:
        """The pixel of a value on the vertical axis."""
        return self.top + self.height * (1 - axis.at(value))


@dataclass(frozen=True)
class Palette:
    """Colours by name: a name has the same one in a whole report, and its own within each picture.

    In a picture of more names than colours these start again, with dotted strokes.
    """

    places: Mapping[str, int]

    @classmethod
    def of(cls, pictures: Iterable[Iterable[str]]) -> Palette:
        """For pictures that show these names."""
        places: dict[str, int] = {}
        for names in pictures:
            members = list(dict.fromkeys(names))
            taken = {places[name] for name in members if name in places}
            for name in members:
                if name not in places:
                    uses = Counter(places.values())
                    places[name] = min(
                        (place for place in range(len(members) + len(places) + 1) if place not in taken),
                        key=lambda place: (place >= COLOURS, uses[place], place),
                    )
                    taken.add(places[name])
        return cls(places)

    def style(self, name: str) -> str:
        """The class of a name's colour."""
        place = self.places.get(name, 0)
        return f"c{place % COLOURS + 1}" + (" again" if place >= COLOURS else "")


def element(tag: str, content: str | None = None, **attributes: object) -> str:
    """One element; `content` is markup, attributes are escaped, and `class_` and `text_anchor` are named as in SVG."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(_attribute(value))}"'
        for name, value in attributes.items()
        if value is not None and value != ""
    )
    return f"<{tag}{written}/>" if content is None else f"<{tag}{written}>{content}</{tag}>"


def _attribute(value: object) -> str:
    return place(value) if isinstance(value, float) else str(value)


def place(value: float) -> str:
    """A pixel, to a tenth."""
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"


def text(x: float, y: float, words: str, **attributes: object) -> str:
    """Words at a place."""
    return element("text", escaped(words), x=float(x), y=float(y), **attributes)


def escaped(words: str) -> str:
    """As the content of an element or an attribute, without the characters that XML cannot hold."""
    return escape(
        "".join(
            c for c in words if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
        )
    )


def clip(words: str, letters: int) -> str:
    """At most so many letters."""
    return words if len(words) <= letters else words[: max(letters - 1, 1)].rstrip() + "…"


def text_width(words: str) -> float:
    """About how wide a label is."""
    return LETTER * len(words)


def path(points: Sequence[tuple[float, float]]) -> str:
    """The `d` of a polyline; points without a place leave a gap, a lone point becomes a dot."""
    parts: list[str] = []
    run: list[str] = []
    for x, y in [*points, (math.nan, math.nan)]:
        if math.isfinite(x) and math.isfinite(y):
            run.append(f"{place(x)} {place(y)}")
        elif run:
            parts.append("M" + "L".join(run if len(run) > 1 else run * 2))
            run = []
    return "".join(parts)


def spread(wanted: Sequence[float], least: float, low: float, high: float) -> list[float] | None:
    """Places near the wanted ones, at least so far apart and within limits; None where they do not fit."""
    if least * (len(wanted) - 1) > high - low:
        return None
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [min(max(wanted[i], low), high) for i in order]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + least)
    limit = high
    for i in reversed(range(len(places))):
        places[i] = min(places[i], limit)
        limit = places[i] - least
    found = [0.0] * len(wanted)
    for i, where in zip(order, places, strict=True):
        found[i] = where
    return found
