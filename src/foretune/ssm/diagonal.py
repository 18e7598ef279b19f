"""The complex diagonal SSM (S4D and its kin) as an immutable set of parameters."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from ..checks import as_length
from ..errors import InputError
from . import defaults, discretize
from .geometric import geometric_sum
from .values import as_complex, as_omega, as_real

__all__ = ["DiagonalSSM"]

BLOCK = 1 << 22  # complex values in flight at once in the frequency response


@dataclass(frozen=True, eq=False)
class DiagonalSSM:
    """`H` single-input single-output systems with `N/2` complex modes and their conjugates: `y = 2 Re(C x)`.

    Args:
        dt: time steps, real `(H,)`, or `(H, N/2)` where each mode has its own.
        A: modes, complex `(S, N/2)`. S divides H; S < H means that heads share them: head h uses row `h % S`.
        B: input weights, complex `(S, N/2)`.
        C: output weights, complex `(H, N/2)`.
        rule: `"zoh"` or `"bilinear"`.
    """

    dt: Tensor
    A: Tensor
    B: Tensor
    C: Tensor
    rule: discretize.Rule = "zoh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dt", as_real(self.dt, "dt"))
        for name in ("A", "B", "C"):
            object.__setattr__(self, name, as_complex(getattr(self, name), name))
        heads, modes = self.C.shape if self.C.ndim == 2 else (0, 0)
        good = heads > 0 and modes > 0 and self.A.ndim == 2 and self.A.shape == self.B.shape
        good = good and self.A.shape[1] == modes and heads % self.A.shape[0] == 0
        if not good or self.dt.shape not in ((heads,), (heads, 1), (heads, modes)):
            shapes = {name: tuple(getattr(self, name).shape) for name in ("dt", "A", "B", "C")}
            raise InputError(f"shapes are {shapes}; pass dt (H,), A and B (S, modes) with S dividing H, C (H, modes)")
        if self.rule not in discretize.RULES:
            raise InputError(f"rule is {self.rule!r}; use one of {discretize.RULES}")
        for name in ("dt", "A", "B", "C"):
            value = getattr(self, name)
            if not torch.isfinite(torch.view_as_real(value.resolve_conj()) if value.is_complex() else value).all():
                raise InputError(f"{name} holds a value that is not finite; check where it was computed")
        if not (self.dt > 0).all():
            raise InputError(f"dt holds {self.dt.min().item()}; time steps must be above 0")

    def __repr__(self) -> str:
        heads = f"{self.heads} head{'s' * (self.heads > 1)}"
        return f"<DiagonalSSM: {heads} of {self.state} states, {self.rule}, {self.dt.dtype} on {self.dt.device}>"

    @property
    def heads(self) -> int:
        """H."""
        return self.C.shape[0]

    @property
    def state(self) -> int:
        """N, counting the conjugates."""
        return 2 * self.C.shape[1]

    def per_head(self, shared: Tensor) -> Tensor:
        """Rows of `A` or `B`, `(S, N/2)`, repeated for each head, `(H, N/2)`."""
        return shared.repeat(self.heads // shared.shape[0], 1)

    @property
    def step(self) -> Tensor:
        """`dt` in a shape that broadcasts against modes."""
        return self.dt if self.dt.ndim == 2 else self.dt.unsqueeze(-1)

    def discretized(self) -> tuple[Tensor, Tensor, Tensor]:
        """`(Ā, B̄, C̄)`, each `(H, N/2)`, of `x_t = Ā x_{t-1} + B̄ u_t`, `y_t = 2 Re Σ C̄ x_t`."""
        log_ratio, factor = discretize.diagonal(self.step, self.per_head(self.A), self.rule)
        return torch.exp(log_ratio), factor * self.per_head(self.B), self.C

    def modes(self) -> tuple[Tensor, Tensor]:
        """`(c, z)` of the impulse response `k_t = 2 Re Σ_n c_n exp(t z_n)`, each `(H, N/2)`."""
        log_ratio, factor = discretize.diagonal(self.step, self.per_head(self.A), self.rule)
        return factor * self.per_head(self.B) * self.C, log_ratio

    def impulse_response(self, length: int) -> Tensor:
        """`k_0 .. k_{L-1}` of each head, `(H, L)`."""
        return geometric_sum(*self.modes(), as_length(length))

    def frequency_response(self, omega: Tensor) -> Tensor:
        """`H(ω) = Σ_t k_t e^{-iωt}` of the infinite response in closed form, complex `(H, K)`; ω in radians per step."""
        coefficients, log_ratio = self.modes()
        if (log_ratio.real >= 0).any():
            raise InputError(
                f"a mode grows (largest |Ā| is {log_ratio.real.exp().max().item():.6g}), so its infinite response has no "
                "spectrum; use the truncated one (exact=False)"
            )
        turn = torch.exp(-1j * as_omega(omega, self.C.real))
        ratio = torch.exp(log_ratio)
        pieces = turn.split(max(1, BLOCK // coefficients.numel()))
        return torch.cat([_two_sided(w[:, None, None], coefficients, ratio) for w in pieces]).T

    def peak_frequencies(self) -> Tensor:
        """Where each mode makes |H| peak, in cycles per step: `|arg Ā| / 2π`, which is `Δ Im A / 2π` for ZOH, `(H, N/2)`."""
        turns = discretize.diagonal(self.step, self.per_head(self.A), self.rule)[0].imag / (2 * torch.pi)
        return (turns - turns.round()).abs()

    def replace(self, **changes: Tensor) -> DiagonalSSM:
        """The same set with some tensors exchanged."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> DiagonalSSM:
        """The same set elsewhere; `dtype` is the real one, at least `torch.float32`."""
        dtype = None if dtype is None else torch.promote_types(dtype, torch.float32)
        complex_dtype = None if dtype is None else dtype.to_complex()
        moved = {name: getattr(self, name).to(device=device, dtype=complex_dtype) for name in ("A", "B", "C")}
        return self.replace(dt=self.dt.to(device=device, dtype=dtype), **moved)

    @classmethod
    def s4d_lin(cls, heads: int = 1, state: int = 64, seed: int = 0, dt: defaults.Steps = (1e-3, 1e-1)) -> DiagonalSSM:
        """S4D-Lin: A_n = -1/2 + iπn, the default of the minimal S4D layer."""
        return cls._random(defaults.lin(state), heads, seed, dt)

    @classmethod
    def s4d_inv(cls, heads: int = 1, state: int = 64, seed: int = 0, dt: defaults.Steps = (1e-3, 1e-1)) -> DiagonalSSM:
        """S4D-Inv: A_n = -1/2 + i (N/π)(N/(2n+1) - 1)."""
        return cls._random(defaults.inv(state), heads, seed, dt)

    @classmethod
    def s4d_legs(cls, heads: int = 1, state: int = 64, seed: int = 0, dt: defaults.Steps = (1e-3, 1e-1)) -> DiagonalSSM:
        """S4D-LegS: the eigenvalues of the normal part of HiPPO-LegS."""
        return cls._random(defaults.legs(state), heads, seed, dt)

    @classmethod
    def low_frequency(cls, heads: int = 1, state: int = 64, seed: int = 0) -> DiagonalSSM:
        """The paper's low-frequency SSM: Δ = 0.5/N, Im A = π{0 .. N/2-1}, C real normal."""
        return cls._biased(0, 0.25 / defaults.count(state), heads, state, seed)

    @classmethod
    def high_frequency(cls, heads: int = 1, state: int = 64, seed: int = 0) -> DiagonalSSM:
        """The paper's high-frequency SSM: Δ = 1/N, Im A = π{N/2 .. N-1}, C real normal."""
        return cls._biased(state // 2, 0.5 / defaults.count(state), heads, state, seed)

    @classmethod
    def _random(cls, A: Tensor, heads: int, seed: int, dt: defaults.Steps) -> DiagonalSSM:
        home = torch.empty(0).device
        with torch.device("cpu"):  # where the generator draws, whatever the default device
            steps, C = defaults.random_heads(heads, len(A), seed, dt)
            rows = A.repeat(heads, 1)
            return cls(steps, rows, torch.ones_like(rows), C).to(home)

    @classmethod
    def _biased(cls, first: int, dt: float, heads: int, state: int, seed: int) -> DiagonalSSM:
        home, count = torch.empty(0).device, defaults.count(state)
        with torch.device("cpu"):
            imag, C = defaults.biased_heads(heads, first, count, seed)
            A = torch.complex(torch.full_like(C, -0.5), imag)
            steps = torch.full((heads,), dt, dtype=torch.float64)
            return cls(steps, A, torch.ones_like(A), torch.complex(C, 0 * C)).to(home)


def _two_sided(turn: Tensor, c: Tensor, ratio: Tensor) -> Tensor:
    """Both halves of each conjugate pair at the turns `e^{-iω}` `(K, 1, 1)`, `(K, H)`."""
    return (c / (1 - turn * ratio) + c.conj() / (1 - turn * ratio.conj())).sum(-1)
