"""The real-valued SSM with a full state matrix, as an immutable set of parameters."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from ..checks import as_length
from ..errors import InputError
from . import defaults, discretize
from .final_state import krylov
from .values import as_omega, as_real

__all__ = ["RealSSM"]

BLOCK = 1 << 22  # complex values in flight at once in the frequency response


@dataclass(frozen=True, eq=False)
class RealSSM:
    """One system `x' = A x + B u`, `y = C x` with real matrices.

    Args:
        dt: time step, a real scalar tensor.
        A: `(N, N)`.
        B: `(N,)`.
        C: `(N,)`.
        rule: `"zoh"` or `"bilinear"`.
    """

    dt: Tensor
    A: Tensor
    B: Tensor
    C: Tensor
    rule: discretize.Rule = "zoh"

    def __post_init__(self) -> None:
        for name in ("dt", "A", "B", "C"):
            object.__setattr__(self, name, as_real(getattr(self, name), name))
        n = self.B.numel()
        if self.dt.ndim or self.A.shape != (n, n) or self.B.shape != (n,) or self.C.shape != (n,):
            shapes = {name: tuple(getattr(self, name).shape) for name in ("dt", "A", "B", "C")}
            raise InputError(f"shapes are {shapes}; pass a scalar dt, A (N, N), B (N,) and C (N,)")
        if self.rule not in discretize.RULES:
            raise InputError(f"rule is {self.rule!r}; use one of {discretize.RULES}")
        for name in ("dt", "A", "B", "C"):
            if not torch.isfinite(getattr(self, name)).all():
                raise InputError(f"{name} holds a value that is not finite; check where it was computed")
        if not self.dt > 0:
            raise InputError(f"dt is {self.dt.item()}; a time step must be above 0")

    def __repr__(self) -> str:
        return f"<RealSSM: {self.state} states, {self.rule}, {self.dt.dtype} on {self.dt.device}>"

    @property
    def heads(self) -> int:
        """H, which is 1."""
        return 1

    @property
    def state(self) -> int:
        """N."""
        return len(self.B)

    def discretized(self) -> tuple[Tensor, Tensor, Tensor]:
        """`(Ā, B̄, C̄)` of `x_t = Ā x_{t-1} + B̄ u_t`, `y_t = C̄ x_t`."""
        return *discretize.dense(self.dt, self.A, self.B, self.rule), self.C

    def impulse_response(self, length: int) -> Tensor:
        """`k_0 .. k_{L-1}`, `(1, L)`: one head."""
        A, B, C = self.discretized()
        return (C @ krylov(A, B, as_length(length))).unsqueeze(0)

    def frequency_response(self, omega: Tensor) -> Tensor:
        """`H(ω) = C (I - Ā e^{-iω})⁻¹ B̄`, complex `(1, K)`; ω in radians per step."""
        A, B, C = (part.to(part.dtype.to_complex()) for part in self.discretized())
        radius = torch.linalg.eigvals(A).abs().max().item()
        if radius >= 1:
            raise InputError(
                f"the recurrence grows (spectral radius {radius:.6g}), so its infinite response has no spectrum; "
                "use the truncated one (exact=False)"
            )
        turn = torch.exp(-1j * as_omega(omega, self.A))
        eye = torch.eye(self.state, dtype=A.dtype, device=A.device)
        pieces = turn.split(max(1, BLOCK // A.numel()))
        states = [torch.linalg.solve(eye - w[:, None, None] * A, B.expand(len(w), -1)) for w in pieces]
        return (torch.cat(states) @ C).unsqueeze(0)

    def replace(self, **changes: Tensor) -> RealSSM:
        """The same set with some tensors exchanged."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> RealSSM:
        """The same set on another device or in another precision."""
        return self.replace(**{n: getattr(self, n).to(device=device, dtype=dtype) for n in ("dt", "A", "B", "C")})

    @classmethod
    def fourier(cls, state: int = 128, dt: float = 1e-2) -> RealSSM:
        """HiPPO-FouD, the default of the paper's one-layer model, with C = 1."""
        A, B = defaults.fourier(state)
        return cls(torch.tensor(dt, dtype=torch.float64), A, B, torch.ones_like(B))
