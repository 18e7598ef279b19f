"""Layers as other people write them, each with its own slow and obvious forward pass."""

import math

import torch
from torch import Tensor, nn


class MinimalKernel(nn.Module):
    """The parameters of the s4 repository's minimal S4D."""

    def __init__(self, heads: int = 4, state: int = 32, scale: float = 1.0) -> None:
        super().__init__()
        modes = state // 2
        self.log_dt = nn.Parameter(torch.rand(heads) * math.log(100) + math.log(1e-3))
        self.log_A_real = nn.Parameter(torch.full((heads, modes), math.log(0.5)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(modes).repeat(heads, 1))
        self.C = nn.Parameter(torch.view_as_real(torch.randn(heads, modes, dtype=torch.cfloat)))

    def forward(self, length: int) -> Tensor:
        dt = self.log_dt.exp().unsqueeze(-1)
        A = -self.log_A_real.exp() + 1j * self.A_imag
        C = torch.view_as_complex(self.C) * (torch.exp(dt * A) - 1) / A
        return 2 * (C.unsqueeze(-1) * torch.exp((dt * A).unsqueeze(-1) * torch.arange(length))).sum(1).real


class MinimalLayer(nn.Module):
    """A kernel and a convolution with it by FFT."""

    def __init__(self, heads: int = 4, state: int = 32) -> None:
        super().__init__()
        self.kernel = MinimalKernel(heads, state)
        self.D = nn.Parameter(torch.zeros(heads))

    def forward(self, u: Tensor) -> Tensor:
        length = u.shape[-1]
        k = torch.fft.rfft(self.kernel(length), n=2 * length)
        return torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * k, n=2 * length)[..., :length]


class FullKernel(nn.Module):
    """The s4 repository's full diagonal kernel: `inv_dt`, tied `n_ssm`, channels, A = -real - i imag."""

    def __init__(self, heads: int = 4, state: int = 32, n_ssm: int = 2, channels: int = 2, disc: str = "zoh",
                 dt_transform: str = "softplus", real_transform: str = "exp") -> None:  # fmt: skip
        super().__init__()
        modes = state // 2
        self.disc, self.dt_transform, self.real_transform, self.imag_transform = (
            disc,
            dt_transform,
            real_transform,
            "none",
        )
        dt = torch.exp(torch.rand(heads, 1) * math.log(100) + math.log(1e-3))
        self.inv_dt = nn.Parameter(dt.log() if dt_transform == "exp" else dt + torch.log(-torch.expm1(-dt)))
        self.A_real = nn.Parameter(torch.full((n_ssm, modes), math.log(0.5)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(modes).repeat(n_ssm, 1))
        self.B = nn.Parameter(torch.view_as_real(torch.ones(1, n_ssm, modes, dtype=torch.cfloat)))
        self.C = nn.Parameter(torch.view_as_real(torch.randn(channels, heads, modes, dtype=torch.cfloat)))

    def forward(self, length: int) -> Tensor:
        stored = self.inv_dt
        dt = stored.exp() if self.dt_transform == "exp" else torch.nn.functional.softplus(stored)
        A = -self.A_real.exp() - 1j * self.A_imag
        repeat = self.C.shape[1] // len(A)
        A, B = A.repeat(repeat, 1), torch.view_as_complex(self.B).repeat(1, repeat, 1)
        C = torch.view_as_complex(self.C) * B
        dtA = dt * A
        if self.disc == "zoh":
            C, ratio = C * (dtA.exp() - 1) / A, dtA.exp()
        else:
            C, ratio = C * dt / (1 - dtA / 2), (1 + dtA / 2) / (1 - dtA / 2)
        return 2 * (C.unsqueeze(-1) * ratio.unsqueeze(-1) ** torch.arange(length)).sum(-2).real.flatten(0, 1)


class LRU(nn.Module):
    """A linear recurrent unit with real and imaginary parts as separate parameters or as complex ones."""

    def __init__(self, inputs: int = 3, outputs: int = 4, state: int = 16, split: bool = True) -> None:
        super().__init__()
        nu = torch.rand(state)
        self.nu_log = nn.Parameter(torch.log(-0.5 * torch.log(nu * (0.999**2 - 0.9**2) + 0.9**2)))
        self.theta_log = nn.Parameter(torch.log(math.pi / 10 * torch.rand(state)))
        modulus = torch.exp(-torch.exp(self.nu_log.detach()))
        self.gamma_log = nn.Parameter(torch.log(torch.sqrt(1 - modulus**2)))
        B = torch.randn(state, inputs, dtype=torch.cfloat) / math.sqrt(2 * inputs)
        C = torch.randn(outputs, state, dtype=torch.cfloat) / math.sqrt(state)
        self.split = split
        if split:
            self.B_re, self.B_im = nn.Parameter(B.real.clone()), nn.Parameter(B.imag.clone())
            self.C_re, self.C_im = nn.Parameter(C.real.clone()), nn.Parameter(C.imag.clone())
        else:
            self.B, self.C = nn.Parameter(B), nn.Parameter(C)

    def weights(self) -> tuple[Tensor, Tensor]:
        if self.split:
            return torch.complex(self.B_re, self.B_im), torch.complex(self.C_re, self.C_im)
        return self.B, self.C

    def forward(self, u: Tensor) -> Tensor:
        """`(L, inputs)` to `(L, outputs)`, step by step."""
        ratio = torch.exp(torch.complex(-self.nu_log.exp(), self.theta_log.exp()))
        B, C = self.weights()
        state, outputs = torch.zeros(len(ratio), dtype=torch.cfloat), []
        for step in u:
            state = ratio * state + self.gamma_log.exp() * (B @ step.to(B))
            outputs.append((C @ state).real)
        return torch.stack(outputs)


class S5(nn.Module):
    """An S5 layer: continuous `Lambda`, one step for each mode, conjugate symmetry."""

    def __init__(self, inputs: int = 3, outputs: int = 4, state: int = 16, split: bool = False) -> None:
        super().__init__()
        Lambda = torch.complex(torch.full((state,), -0.5), math.pi * torch.arange(state).float())
        self.split = split
        if split:
            self.Lambda_re, self.Lambda_im = nn.Parameter(Lambda.real.clone()), nn.Parameter(Lambda.imag.clone())
        else:
            self.Lambda = nn.Parameter(torch.view_as_real(Lambda).clone())
        self.B = nn.Parameter(torch.randn(state, inputs, 2))
        self.C = nn.Parameter(torch.randn(outputs, state, 2))
        self.log_step = nn.Parameter(torch.rand(state, 1) * math.log(100) + math.log(1e-3))

    def forward(self, u: Tensor) -> Tensor:
        Lambda = torch.complex(self.Lambda_re, self.Lambda_im) if self.split else torch.view_as_complex(self.Lambda)
        step = self.log_step.exp().squeeze(-1)
        ratio = torch.exp(Lambda * step)
        B = torch.view_as_complex(self.B) * ((ratio - 1) / Lambda).unsqueeze(-1)
        C = torch.view_as_complex(self.C)
        state, outputs = torch.zeros(len(ratio), dtype=torch.cfloat), []
        for now in u:
            state = ratio * state + B @ now.to(B)
            outputs.append(2 * (C @ state).real)
        return torch.stack(outputs)


def responses(layer: nn.Module, length: int) -> Tensor:
    """What the layer's own forward pass answers to impulses, `(pairs, L)`."""
    with torch.no_grad():
        if isinstance(layer, MinimalKernel | FullKernel):
            return layer(length)
        if isinstance(layer, MinimalLayer):
            u = torch.zeros(1, len(layer.D), length)
            u[..., 0] = 1
            return layer(u)[0]
        inputs = layer.weights()[0].shape[1] if isinstance(layer, LRU) else layer.B.shape[1]
        answers = []
        for i in range(inputs):
            u = torch.zeros(length, inputs)
            u[0, i] = 1
            answers.append(layer(u).T)
        return torch.cat(answers)
