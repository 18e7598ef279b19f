"""The settings of task-dependent initialization, and the record of what was done."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..errors import InputError

__all__ = ["Gains", "Initialization", "Settings", "Variant"]

Variant = Literal["construct", "refine"]
Gains = Literal["phase", "scaled", "literal", "balanced"]
SHOWN = 8  # frequencies in a notebook


@dataclass(frozen=True)
class Settings:
    """What the paper leaves open, with our defaults; `docs/reproduction.md` says how each was chosen.

    Args:
        modes: how many modes get a task frequency; by default as many as the state has.
        min_separation: least distance in bins between two task frequencies.
        damping: (γ_min, γ_max) of the complex modes: the strongest frequency gets the first, strength 0 the second.
        max_width: upper limit of a complex mode's half width γΔ, in bins of the spectrum, so that no peak is wider than
            the grid on which the task was measured; None for none, as in the paper.
        gain: (g_min, g_max) of input and output weights.
        gains: `"phase"` gives C the gain as magnitude and keeps the phase it had, so that heads stay different;
            `"scaled"` multiplies the C it had; `"literal"` makes C real and every head the same filter; `"balanced"`
            multiplies the C of each mode by one factor for all heads, such that its rms over heads is the gain, which
            is what layers with several inputs and outputs can express (`initialize_` chooses it for them).
        real_damping: damping of the real blocks: the first value for the six strongest frequencies, the second after.
        real_gain: (g_min, g_max) of the real blocks' input weights, by strength; they multiply the weights of the default,
            which the paper keeps as they are.
        steps: Adam steps of the refinement.
        lr: its learning rate.
    """

    modes: int | None = None
    min_separation: int = 1
    damping: tuple[float, float] = (0.05, 0.1)
    max_width: float | None = 0.5
    gain: tuple[float, float] = (0.5, 1.0)
    gains: Gains = "phase"
    real_damping: tuple[float, float] = (0.1, 0.5)
    real_gain: tuple[float, float] = (1.0, 1.0)
    steps: int = 200
    lr: float = 0.05

    def __post_init__(self) -> None:
        for name in ("damping", "gain", "real_damping", "real_gain"):
            pair = getattr(self, name)
            if np.shape(pair) != (2,) or not 0 <= pair[0] <= pair[1]:
                shown = f"({pair[0]}, {pair[1]})" if np.shape(pair) == (2,) else repr(pair)
                raise InputError(f"{name} is {shown}; pass two values with 0 <= first <= second")
        if self.gains not in get_args(Gains):
            raise InputError(f"gains is {self.gains!r}; use one of {', '.join(get_args(Gains))}")
        for name, least in (("modes", 1), ("min_separation", 1), ("steps", 1)):
            value = getattr(self, name)
            if value is None and name == "modes":
                continue
            if not isinstance(value, int | np.integer) or value < least:
                raise InputError(f"{name} is {value!r}; it must be a whole number and at least {least}")
        if not self.lr > 0 or (self.max_width is not None and self.max_width <= 0):
            raise InputError(f"lr is {self.lr} and max_width {self.max_width}; both must be above 0")

    @classmethod
    def of(cls, **options: Any) -> Settings:
        """Settings from keyword arguments, with a clear word about one that does not exist."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                raise InputError(f"there is no setting {name!r}; there are {', '.join(known)}")
        return cls(**options)


@dataclass(frozen=True, eq=False)
class Initialization:
    """What `tune` or `initialize_` did.

    `frequencies` (cycles per step) and `strengths` are the task peaks that were placed, strongest first. The losses are
    L_spec of the head-averaged spectrum before and after.
    """

    variant: Variant
    frequencies: np.ndarray
    strengths: np.ndarray
    length: int
    loss_before: float
    loss_after: float
    seconds: float
    settings: Settings
    layer: str = ""

    def _repr_html_(self) -> str:
        from ..report import Section, Sheet, notebook

        shown = list(zip(self.frequencies, self.strengths, strict=True))[:SHOWN]
        rows = tuple(
            (f"{frequency:.4g}", f"{1 / frequency:.4g}" if frequency else "–", f"{strength:.3f}")
            for frequency, strength in shown
        )
        rest = len(self.frequencies) - len(shown)
        title = "Task frequencies, strongest first" + (f", and {rest} more" if rest else "")
        header = ("frequency (cycles per step)", "period (steps)", "strength")
        return notebook(Section("", (str(self),), (Sheet(title, header, rows),)))

    def __str__(self) -> str:
        where = f" of {self.layer}" if self.layer else ""
        return (
            f"{self.variant}{where}: {len(self.frequencies)} task frequencies, "
            f"L_spec {self.loss_before:.4f} -> {self.loss_after:.4f} in {self.seconds:.2f} s"
        )

    def __repr__(self) -> str:
        return f"<Initialization: {self}>"
