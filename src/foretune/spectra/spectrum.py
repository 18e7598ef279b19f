"""The power of a task or a filter over frequency, as one small immutable object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..errors import DependencyMissing, InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Spectrum", "bins"]


def bins(length: int) -> int:
    """How many rFFT frequencies a sequence of this length has."""
    return length // 2 + 1


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Power at the rFFT frequencies of sequences of one length.

    `power` is float64 and nonnegative, `(..., length // 2 + 1)`: leading axes, where there are any, are heads of a
    model. `channels` holds one spectrum for each input channel when a multichannel task was measured; `power` is then
    their mean.
    """

    power: np.ndarray
    length: int
    channels: tuple[Spectrum, ...] = ()

    def __post_init__(self) -> None:
        given = self.power.detach().double().cpu().numpy() if isinstance(self.power, Tensor) else self.power
        try:
            power = np.array(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"power is {given!r}; pass one real number for each frequency") from error
        whole = isinstance(self.length, int | float | np.number) and np.isfinite(self.length)
        if not whole or int(self.length) != self.length or self.length < 1:
            raise InputError(f"length is {self.length!r}; pass the sequence length, a whole number of at least 1")
        if power.ndim < 1 or power.shape[-1] != bins(int(self.length)):
            raise InputError(
                f"power has shape {power.shape}, but a sequence of length {self.length} has "
                f"{bins(int(self.length))} frequencies; pass one value for each"
            )
        if not np.isfinite(power).all() or (power < 0).any():
            bad = power[~(np.isfinite(power) & (power >= 0))][0]
            raise InputError(f"power holds {bad}; power must be finite and at least 0")
        power.setflags(write=False)
        object.__setattr__(self, "power", power)
        object.__setattr__(self, "length", int(self.length))

    @cached_property
    def frequencies(self) -> np.ndarray:
        """Frequencies in cycles per step: `k / length` for `k = 0 .. length // 2`."""
        return np.arange(bins(self.length)) / self.length

    def normalized(self) -> Spectrum:
        """The same shape with unit 2-norm (of each head, where there are heads)."""
        top = self.power.max(axis=-1, keepdims=True)  # first to [0, 1]: the squares then neither over- nor underflow
        if (top == 0).any():
            raise InputError("the spectrum is 0 at every frequency, so it has no shape; there is nothing to align with")
        scaled = self.power / top
        return Spectrum(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True), self.length, self.channels)

    def peaks(self, count: int, min_separation: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The strongest frequencies and their strengths in (0, 1], relative to the highest; strongest first.

        `min_separation` is the least distance in bins between two of them; 1 allows neighbours. Fewer than `count`
        come back where fewer frequencies carry power or fit at that distance.
        """
        if self.power.ndim != 1:
            raise InputError(f"power has shape {self.power.shape}; peaks are taken of one spectrum, such as power[0]")
        if count < 1 or min_separation < 1:
            raise InputError(f"count is {count} and min_separation {min_separation}; both must be at least 1")
        chosen: list[int] = []
        free = self.power > 0
        for k in np.argsort(-self.power, kind="stable"):
            if len(chosen) == count:
                break
            if free[k]:
                chosen.append(int(k))
                free[max(0, k - min_separation + 1) : k + min_separation] = False
        if not chosen:
            raise InputError("the spectrum is 0 at every frequency, so it has no peaks")
        return self.frequencies[chosen], self.power[chosen] / self.power.max()

    def __repr__(self) -> str:
        many = f"{'×'.join(map(str, self.power.shape[:-1]))} spectra" if self.power.ndim > 1 else "power"
        top = self.power.reshape(-1, bins(self.length)).max(axis=0)
        peak = f", highest at {self.frequencies[top.argmax()]:.4g} cycles per step" if top.any() else ", all 0"
        return f"<Spectrum: {many} at {len(top)} frequencies of sequences of {self.length} steps{peak}>"

    def _repr_html_(self) -> str:
        from ..report import Chart, Line, notebook

        power = self.power.reshape(-1, bins(self.length))
        x, mean, low, high = (
            tuple(map(float, part)) for part in (self.frequencies, power.mean(0), power.min(0), power.max(0))
        )
        heads = f", mean of {len(power)} heads between the lowest and the highest" if len(power) > 1 else ""
        line = Line("", x, mean, *((low, high) if heads else ()))
        title = f"Spectrum of sequences of {self.length} steps{heads}"
        return notebook(Chart(title, "frequency (cycles per step)", "power", (line,)))

    def plot(self, ax: Axes | None = None, sampling_rate: float | None = None, **line: Any) -> Axes:
        """Draw the spectrum (relative to its highest value); in Hz where the sampling rate is given."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise DependencyMissing("plotting needs matplotlib: pip install 'foretune[plot]'") from error
        if ax is None:
            ax = plt.subplots(figsize=(6, 3), layout="constrained")[1]
        top = self.power.max() or 1.0
        ax.plot(
            self.frequencies * (sampling_rate or 1.0),
            (self.power / top).reshape(-1, bins(self.length)).T,
            **line,
        )
        ax.set_xlabel("frequency (Hz)" if sampling_rate else "frequency (cycles per step)")
        ax.set_ylabel("relative power")
        return ax
