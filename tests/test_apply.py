import copy
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

import foretune as ft
from conftest import local_maxima, peaked
from foreign_layers import LRU, S5, FullKernel, MinimalKernel, MinimalLayer, responses

PLACES = [9, 31, 60, 100]
LENGTH = 256

LAYERS = {
    "foretune": lambda: ft.nn.S4D(4, 32),
    "foretune tied": lambda: ft.nn.S4D(4, 32, n_ssm=1),
    "minimal": lambda: MinimalLayer(),
    "minimal kernel": lambda: MinimalKernel(),
    "full": lambda: FullKernel(),
    "full untied": lambda: FullKernel(n_ssm=4, channels=1, dt_transform="exp"),
    "full one row, bilinear": lambda: FullKernel(n_ssm=1, disc="bilinear"),
    "LRU": lambda: LRU(),
    "LRU complex": lambda: LRU(split=False),
    "S5": lambda: S5(),
    "S5 split": lambda: S5(split=True),
}


@pytest.fixture
def spectrum() -> ft.Spectrum:
    return peaked(LENGTH, PLACES, [1.0, 0.8, 0.9, 0.6], floor=0.0)


def answer(layer, length):
    """The mean power of what the layer's own forward pass answers."""
    if isinstance(layer, ft.nn.S4D):
        u = torch.zeros(1, len(layer.D), length)
        u[..., 0] = 1
        k = layer.convolve(u)[0].detach() - u[0] * layer.D.detach()[:, None]
    else:
        k = responses(layer, length)
    return (np.abs(np.fft.rfft(k.double().numpy())) ** 2).mean(0)


@pytest.mark.parametrize("kind", LAYERS)
def test_what_foretune_reads_is_what_the_layer_does(kind):
    layer = LAYERS[kind]()
    own = answer(layer, 100)
    np.testing.assert_allclose(ft.model_spectrum(layer, 100).power, own, rtol=2e-3, atol=1e-5 * own.max())


@pytest.mark.parametrize("variant", ["construct", "refine"])
@pytest.mark.parametrize("kind", LAYERS)
def test_the_layers_own_forward_pass_has_the_spectrum_that_was_asked_for(kind, variant, spectrum):
    layer = LAYERS[kind]()
    shapes = {name: (p.shape, p.dtype, id(p)) for name, p in layer.named_parameters()}
    record = ft.initialize_(layer, spectrum, variant=variant, steps=60)
    assert {name: (p.shape, p.dtype, id(p)) for name, p in layer.named_parameters()} == shapes
    power = answer(layer, LENGTH)
    assert set(PLACES) <= local_maxima(power)
    assert set(np.argsort(-power)[:4].tolist()) == set(PLACES)
    assert ft.spectral_loss(power, spectrum.power) == pytest.approx(record.loss_after, abs=2e-3)
    assert record.loss_after < record.loss_before
    ft.verify(layer)


def test_the_s4_repositorys_own_layer(spectrum, monkeypatch):
    """Point FORETUNE_S4_REPO at a checkout of state-spaces/s4 to run this on its code."""
    root = os.environ.get("FORETUNE_S4_REPO")
    if not root:
        pytest.skip("FORETUNE_S4_REPO does not point to a checkout of state-spaces/s4")
    pytest.importorskip("einops", reason="the s4 repository's layer needs einops")
    stand_in = types.ModuleType("src.models.nn")
    stand_in.DropoutNd = torch.nn.Dropout1d
    for name in ("src", "src.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "src.models.nn", stand_in)
    space: dict = {}
    exec((Path(root) / "models/s4/s4d.py").read_text(), space)
    layer = space["S4D"](8, d_state=64)
    mine = ft.nn.S4D(8, 64)
    mine.load_state_dict(layer.state_dict())
    u = torch.randn(2, 8, 200)
    torch.testing.assert_close(mine(u), layer(u)[0], rtol=1e-4, atol=1e-5)
    record = ft.initialize_(layer, spectrum)
    with torch.no_grad():
        power = layer.kernel(LENGTH).numpy()
    power = (np.abs(np.fft.rfft(power)) ** 2).mean(0)
    assert set(PLACES) <= local_maxima(power)
    assert ft.spectral_loss(power, spectrum.power) == pytest.approx(record.loss_after, abs=2e-3)
    assert [p._optim["weight_decay"] for p in (layer.kernel.log_dt, layer.kernel.A_imag)] == [0.0, 0.0]
    ft.verify(layer)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.Linear(1, 4)
        self.blocks = torch.nn.ModuleList([ft.nn.S4D(4, 32), ft.nn.S4D(4, 32, n_ssm=1)])

    def forward(self, u):
        x = self.encoder(u).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x


def test_an_outer_model_that_initializes_afterwards_is_found_out(spectrum):
    model = Model()
    ft.initialize_(model, spectrum)
    ft.verify(model)

    def _init_weights(module):
        for name, parameter in module.named_parameters(recurse=False):
            if name == "C":
                torch.nn.init.normal_(parameter, std=0.02)

    model.apply(_init_weights)
    with pytest.raises(ft.InitializationLost, match=r"blocks\.0\.kernel\.C was overwritten"):
        ft.verify(model)


@pytest.mark.parametrize("name", ["log_dt", "log_A_real", "A_imag", "C"])
def test_verify_names_the_parameter(name, spectrum):
    model = Model()
    ft.initialize_(model, spectrum)
    with torch.no_grad():
        getattr(model.blocks[0].kernel, name).mul_(1.05)
    with pytest.raises(ft.InitializationLost, match=rf"kernel\.{name}"):
        ft.verify(model)


def test_verify_notices_a_peak_off_its_frequency(spectrum):
    model = Model()
    ft.initialize_(model, spectrum)
    with torch.no_grad():  # within the tolerance for rounding, but half a bin at the highest frequency
        model.blocks[0].kernel.A_imag.mul_(1.0065)
    with pytest.raises(ft.InitializationLost, match="off by"):
        ft.verify(model)


def test_verify_without_initialization_says_so():
    with pytest.raises(ft.InitializationLost, match="call initialize_"):
        ft.verify(Model())


@pytest.mark.parametrize("kind", LAYERS)
def test_copies_round_trips_and_casts_stay_initialized(kind, spectrum, tmp_path):
    layer = LAYERS[kind]()
    ft.initialize_(layer, spectrum)
    ft.verify(copy.deepcopy(layer))
    torch.save(layer.state_dict(), tmp_path / "weights.pt")
    state = layer.state_dict()
    assert set(state) == set(LAYERS[kind]().state_dict())
    fresh = LAYERS[kind]()
    with pytest.raises(ft.InitializationLost):
        ft.verify(fresh)
    fresh.load_state_dict(state)
    ft.verify(fresh)
    ft.verify(copy.deepcopy(layer).half())
    ft.verify(copy.deepcopy(layer).bfloat16())
    ft.verify(copy.deepcopy(layer).double())


def test_the_mark_travels_in_a_saved_state_dict(spectrum, tmp_path):
    layer = ft.nn.S4D(4, 32)
    ft.initialize_(layer, spectrum)
    torch.save(layer.state_dict(), tmp_path / "weights.pt")
    del layer
    fresh = ft.nn.S4D(4, 32)
    fresh.load_state_dict(torch.load(tmp_path / "weights.pt"))
    ft.verify(fresh)
    with torch.no_grad():
        fresh.kernel.C.zero_()
    with pytest.raises(ft.InitializationLost):
        ft.verify(fresh)


@pytest.mark.filterwarnings("ignore")  # those of torch itself while it traces
def test_compiled_modules(spectrum):
    torch._dynamo.reset()
    model = Model()
    compiled = torch.compile(model, backend="aot_eager")
    ft.initialize_(compiled, spectrum)
    ft.verify(compiled)
    ft.verify(model)
    u = torch.randn(2, 50, 1)
    torch.testing.assert_close(compiled(u), model(u), rtol=1e-4, atol=1e-5)
    ft.verify(compiled)


def test_data_parallel_replicas(spectrum):
    model = torch.nn.DataParallel(Model())
    ft.initialize_(model, spectrum)
    ft.verify(model)
    kernel = model.module.blocks[0].kernel
    replica = kernel._replicate_for_data_parallel()
    for name, parameter in kernel.named_parameters():  # what replicate() puts there
        setattr(replica, name, parameter.detach().clone())
    ft.verify(replica)
    replica.C.zero_()
    with pytest.raises(ft.InitializationLost, match="C"):
        ft.verify(replica)


def test_tied_layers_are_written_once(spectrum):
    model = Model()
    model.blocks[1] = model.blocks[0]
    model.blocks.append(ft.nn.S4D(4, 32))
    model.blocks[2].kernel.C = model.blocks[0].kernel.C
    records = ft.initialize_(model, spectrum, layers="all")
    assert len(records) == 2
    assert model.blocks[2].kernel.C is model.blocks[0].kernel.C
    ft.verify(model)


def test_layers_by_position(spectrum):
    model = Model()
    before = model.blocks[0].kernel.C.detach().clone()
    (record,) = ft.initialize_(model, spectrum, layers=[1])
    assert record.layer == "blocks.1.kernel"
    assert torch.equal(model.blocks[0].kernel.C, before)
    with pytest.raises(ft.InputError, match="has 2 state-space layers"):
        ft.initialize_(model, spectrum, layers=[2])
    with pytest.raises(ft.InputError, match="'last'"):
        ft.initialize_(model, spectrum, layers="last")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("kind", ["foretune", "minimal kernel", "full"])
def test_precisions(kind, dtype, spectrum):
    layer = LAYERS[kind]().to(dtype)
    record = ft.initialize_(layer, spectrum)
    assert all(p.dtype == dtype for p in layer.parameters())
    ft.verify(layer)
    if dtype != torch.bfloat16:  # whose 8 bits cannot place a frequency on this grid
        assert record.loss_after < 0.5


def test_freezing_stops_only_the_ssm(spectrum):
    layer = ft.nn.S4D(4, 32)
    ft.initialize_(layer, spectrum, freeze=True)
    frozen = {name for name, p in layer.named_parameters() if not p.requires_grad}
    assert frozen == {"kernel.log_dt", "kernel.log_A_real", "kernel.A_imag", "kernel.C"}


def test_a_foreign_layer_with_an_adapter(spectrum):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.poles = torch.nn.Parameter(torch.randn(2, 8, 2).abs().neg())
            self.out = torch.nn.Parameter(torch.randn(2, 8, 2))
            self.bias = torch.nn.Parameter(torch.zeros(1))

    class Plain:
        def read(self, module):
            A = torch.view_as_complex(module.poles.detach())
            return ft.DiagonalSSM(torch.ones(2), A, torch.ones_like(A), torch.view_as_complex(module.out.detach()))

        def write(self, module, ssm):
            module.poles.data.copy_(torch.view_as_real(ssm.A * ssm.step))
            module.out.data.copy_(torch.view_as_real(ssm.B * ssm.C))

    layer = Own()
    with pytest.raises(ft.UnknownLayer, match="Own"):
        ft.initialize_(layer, spectrum)
    ft.register_adapter(Own, Plain())
    assert ft.initialize_(layer, spectrum).loss_after < 0.5
    ft.verify(layer)
    with pytest.raises(ft.InputError, match=r"read\(module\)"):
        ft.register_adapter(Own, object())
    with pytest.raises(ft.InputError, match="class of the layer"):
        ft.register_adapter("Own", Plain())


def test_refusals(spectrum):
    with torch.device("meta"):
        layer = MinimalKernel()
    with pytest.raises(ft.InputError, match="meta"):
        ft.initialize_(layer, spectrum)
    with pytest.raises(ft.InputError, match="torch module"):
        ft.initialize_("model", spectrum)
    kernel = FullKernel()
    kernel.bandlimit = 0.1
    with pytest.raises(ft.InputError, match="bandlimit"):
        ft.initialize_(kernel, spectrum)
    kernel.bandlimit, kernel.disc = None, "dss"
    with pytest.raises(ft.UnknownLayer, match="dss"):
        ft.initialize_(kernel, spectrum)


class Recurrence(torch.nn.Module):
    def __init__(self, W, W_in=None):
        super().__init__()
        self.W = torch.nn.Parameter(W.clone())
        self.W_in = torch.nn.Parameter(torch.randn(len(W)) if W_in is None else W_in)
        self.register_buffer("dt", torch.tensor(0.1))


@pytest.mark.parametrize(
    "W",
    [
        torch.zeros(6, 6),
        torch.diag(torch.ones(5), 1),
        -torch.eye(6),
        torch.eye(6).roll(1, 0),
        torch.eye(5).roll(1, 0),
        torch.tensor([[-1.0, 1.0], [0.0, -1.0]]),
        0.5 * torch.randn(5, 5),
    ],
    ids=["zero", "nilpotent", "minus one", "shift", "odd shift", "jordan", "odd"],
)
def test_recurrences_without_a_real_logarithm(W, spectrum):
    layer = Recurrence(W)
    state, k = layer.W_in.detach().double(), []
    for _ in range(16):
        k.append(float(state.sum()))
        state = W.double() @ state
    power = np.abs(np.fft.rfft(k)) ** 2
    np.testing.assert_allclose(ft.model_spectrum(layer, 16).power, power, rtol=1e-5, atol=1e-5 * power.max())
    ft.initialize_(layer, spectrum, "refine", steps=3)
    ft.verify(layer)


def test_what_is_no_recurrence_with_one_input_is_not_taken_for_one(spectrum):
    with pytest.raises(ft.UnknownLayer):
        ft.initialize_(Recurrence(torch.eye(6), torch.ones(6, 3)), spectrum)
    with pytest.raises(ft.InputError, match="not finite"):
        ft.initialize_(Recurrence(torch.full((6, 6), float("nan"))), spectrum)


@pytest.mark.parametrize("kind", [LRU, S5])
def test_a_mode_that_nothing_hears_stays_finite(kind, spectrum):
    layer = kind()
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.startswith("C"):
                parameter[:, 1] = 0
    ft.initialize_(layer, spectrum)
    ft.verify(layer)
    assert all(torch.isfinite(p.abs()).all() for p in layer.parameters())


@pytest.mark.parametrize("layers", [0, None, [1.5], ["a"]])
def test_positions_of_other_kinds_are_refused(layers, spectrum):
    with pytest.raises(ft.InputError, match="layers is"):
        ft.initialize_(ft.nn.S4D(2, 8), spectrum, layers=layers)
