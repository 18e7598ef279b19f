"""Axes: from numbers to places and back to words, for any finite floats."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Axis", "fixed", "number"]

MINUS, TIMES, NARROW_SPACE = "−", "×", "\u202f"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TINY, HUGE = 1e-290, sys.float_info.max  # what is smaller is drawn as 0


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with labelled ticks."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """Where a value lies: 0 at `low`, 1 at `high`; NaN where it has no place."""
        if not math.isfinite(value) or (self.log and value < TINY):
            return math.nan
        if self.log:
            low, high, place = math.log10(self.low), math.log10(self.high), math.log10(value)
        else:  # divided first, so that no difference overflows
            unit = max(abs(self.low), abs(self.high)) or 1.0
            low, high, place = self.low / unit, self.high / unit, value / unit
        return (place - low) / (high - low) if high > low else 0.5

    @classmethod
    def over(cls, values: Iterable[float], *, log: bool = False, count: int = 5, pad: float = 0.0) -> Axis:
        """An axis that shows all of these values, with about `count` ticks and some room at either end."""
        given = (float(value) if abs(value) >= TINY else 0.0 for value in values if math.isfinite(value))
        shown = [value for value in given if value > 0 or not log]
        low, high = (min(shown), max(shown)) if shown else (1.0, 10.0) if log else (0.0, 1.0)
        low, high = _widened_log(low, high, pad) if log else _widened(low, high, pad)
        return cls(low, high, log, _decades(low, high, count) if log else _steps(low, high, count))

    def with_ticks_at(self, values: Sequence[float], least: float) -> Axis:
        """The same with ticks at these very values, if they lie at least that fraction of the axis apart."""
        places = [self.at(value) for value in values]
        if any(not b - a >= least for a, b in itertools.pairwise(places)):
            return self
        return Axis(self.low, self.high, self.log, tuple((value, number(value)) for value in values))


def _widened(low: float, high: float, pad: float) -> tuple[float, float]:
    size = max(abs(low), abs(high))
    if high / 2 - low / 2 <= 1e-9 * size:
        room = 0.05 * size or 1.0
        return max(low - room, -HUGE), min(high + room, HUGE)
    room = 2 * pad * (high / 2 - low / 2)
    start = low - room
    if 0 <= low <= 0.25 * high and pad:  # near enough to 0 to show it
        start = 0.0
    return max(start, -HUGE), min(high + room, HUGE)


def _widened_log(low: float, high: float, pad: float) -> tuple[float, float]:
    start, end = math.log10(low), math.log10(high)
    room = pad * (end - start) if end - start > 1e-9 else 0.3
    factor = 10**room
    return max(low / factor, TINY), min(high * factor, HUGE) if high < HUGE / factor else HUGE


def _steps(low: float, high: float, count: int) -> tuple[tuple[float, str], ...]:
    """Multiples of 1, 2 or 5 times a power of ten, counted as whole numbers so that their labels are exact."""
    size = max(abs(low), abs(high))
    unit = math.floor(math.log10(size)) if size else 0
    scale = float(f"1e{unit}")
    start, end = low / scale, high / scale
    exponent = math.floor(math.log10(max((end - start) / count, 1e-15)))
    wanted = (end - start) / count / 10.0**exponent
    step = min((1, 2, 5, 10), key=lambda m: abs(math.log(m / max(wanted, 1e-9))))
    step, exponent = (1, exponent + 1) if step == 10 else (step, exponent)
    width = step * 10.0**exponent
    first, last = math.ceil(start / width - 1e-9), math.floor(end / width + 1e-9)
    found = [(Decimal(k * step).scaleb(exponent + unit)) for k in range(first, min(last, first + 50) + 1)]
    top = max((abs(tick) for tick in found), default=Decimal(0))
    plain = not top or -4 <= top.adjusted() < 6
    return tuple(
        (float(tick), _fixed(tick) if plain else _scientific(tick)) for tick in found if math.isfinite(float(tick))
    )


def _decades(low: float, high: float, count: int) -> tuple[tuple[float, str], ...]:
    start, end = math.log10(low), math.log10(high)
    powers = range(math.ceil(start - 1e-9), math.floor(end + 1e-9) + 1)
    if len(powers) >= 3:
        every = math.ceil(len(powers) / max(count, 2))
        return tuple((float(f"1e{power}"), _power(power)) for power in powers if power % every == 0)
    exponents = range(math.floor(start), math.ceil(end) + 1)
    between = [Decimal(m).scaleb(power) for power in exponents for m in (1, 2, 5)]
    ticks = [tick for tick in between if low * (1 - 1e-9) <= float(tick) <= high * (1 + 1e-9)]
    if len(ticks) < 2:
        return tuple(tick for tick in _steps(low, high, max(count - 2, 2)) if tick[0] > 0)
    return tuple((float(tick), number(float(tick))) for tick in ticks if math.isfinite(float(tick)))


def _power(power: int) -> str:
    return _fixed(Decimal(1).scaleb(power)) if -4 < power < 5 else f"10{str(power).translate(SUPERSCRIPT)}"


def _fixed(value: Decimal) -> str:
    text = f"{value:f}"
    whole, dot, rest = text.lstrip("-").partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", NARROW_SPACE)
    return (MINUS if value < 0 else "") + whole + dot + rest


def _scientific(value: Decimal) -> str:
    if not value:
        return "0"
    power = value.adjusted()
    mantissa = value.scaleb(-power).normalize()
    return f"{_fixed(mantissa)}{TIMES}10{str(power).translate(SUPERSCRIPT)}"


def number(value: float, digits: int = 4) -> str:
    """A number as people write it."""
    if not math.isfinite(value):
        return "–"
    rounded = Decimal(f"{value:.{digits}g}")
    if not rounded:
        return "0"
    return _fixed(rounded.normalize()) if -4 <= rounded.adjusted() < 6 else _scientific(rounded)


def fixed(value: float, places: int, sign: bool = False) -> str:
    """A number with so many digits after the point, as in a column; with its sign if wanted."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1e6:
        return ("+" if sign and value > 0 else "") + number(value)
    rounded = Decimal(f"{value:.{places}f}")
    return ("+" if sign and rounded > 0 else "") + _fixed(rounded or abs(rounded))
