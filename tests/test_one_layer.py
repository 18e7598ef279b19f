"""The one-layer models, the recurrence behind them, and their controls."""

import gc
import math

import numpy as np
import pytest
import torch
from torch import nn

import foretune as ft
from conftest import peaked
from foretune.init.adapters import find_layers
from foretune.nn import ContractiveSSM, LinearSSM, StandardRNN, unit_state_
from foretune.nn.recurrence import tanh_final_state
from foretune.ssm.dissipative import contraction, generator_of, nearest_dissipative


def stepped(u: torch.Tensor, W: torch.Tensor, W_in: torch.Tensor) -> torch.Tensor:
    h = torch.zeros(len(u), len(W_in), dtype=u.dtype)
    for t in range(u.shape[1]):
        h = h @ W.T + u[:, t : t + 1] * W_in
    return h


@pytest.mark.parametrize("kind", [LinearSSM, ContractiveSSM])
@pytest.mark.parametrize("length", [1, 2, 37, 128])
def test_the_final_state_is_that_of_the_recurrence(kind: type[LinearSSM], length: int) -> None:
    model, u = kind(3, hidden=8).double(), torch.randn(5, length, dtype=torch.float64)
    h = stepped(u, model.transition(), model.W_in)
    torch.testing.assert_close(model.final_state(u), h)
    torch.testing.assert_close(model.final_state(u.unsqueeze(-1)), h)
    assert model(u).shape == (5, 3)


def test_both_kinds_start_as_the_same_recurrence_with_as_many_parameters() -> None:
    for dt in (1e-2, 1 / 128):
        free, held = LinearSSM(4, 16, dt), ContractiveSSM(4, 16, dt)
        torch.testing.assert_close(held.transition(), free.transition(), rtol=0, atol=1e-6)
        torch.testing.assert_close(held.W_in, free.W_in)
        assert sum(p.numel() for p in free.parameters()) == sum(p.numel() for p in held.parameters())
    expected = torch.linalg.matrix_exp(1e-2 * ft.RealSSM.fourier(16).A)
    torch.testing.assert_close(LinearSSM(4, 16).W.double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_contraction_stays_inside_the_unit_circle_whatever_its_generator(scale: float) -> None:
    for seed in range(5):
        generator = scale * torch.randn(12, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        W = contraction(generator)
        assert torch.linalg.matrix_norm(W, 2) <= 1 + 1e-12


def test_a_contraction_comes_back_from_its_matrix() -> None:
    W = contraction(torch.randn(6, 6, dtype=torch.float64))
    torch.testing.assert_close(contraction(generator_of(W)), W)


def test_the_nearest_dissipative_matrix() -> None:
    A = torch.randn(7, 7, dtype=torch.float64)
    found = nearest_dissipative(A)
    assert torch.linalg.eigvalsh(found + found.T).max() <= 1e-12
    torch.testing.assert_close(nearest_dissipative(found), found)
    for _ in range(50):  # no other dissipative matrix nearby is closer
        other = nearest_dissipative(found + 0.3 * torch.randn(7, 7, dtype=torch.float64))
        assert (A - other).norm() >= (A - found).norm() - 1e-12


def test_an_exploding_gradient_leaves_the_contractive_state_finite() -> None:
    free, held = LinearSSM(2, 16), ContractiveSSM(2, 16)
    u = torch.randn(4, 500)
    with torch.no_grad():
        for model in (free, held):
            for name, parameter in model.named_parameters():
                if name in ("W", "generator"):
                    parameter += 0.5 * torch.randn_like(parameter)
    assert not torch.isfinite(free.final_state(u)).all()
    assert torch.isfinite(held.final_state(u)).all()


@pytest.mark.parametrize(("batch", "length", "hidden"), [(3, 1, 5), (4, 2, 8), (2, 150, 16)])
def test_the_rnn_is_that_of_torch(batch: int, length: int, hidden: int) -> None:
    model = StandardRNN(3, hidden).double()
    u = torch.randn(batch, length, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(batch, hidden, dtype=torch.float64)

    def gradients(state: torch.Tensor) -> list[torch.Tensor]:
        return list(torch.autograd.grad((state * weights).sum(), [u, *model.rnn.parameters()]))

    reference = model.rnn(u.unsqueeze(-1))[1].squeeze(0)
    torch.testing.assert_close(model.final_state(u), reference)
    for ours, theirs in zip(gradients(model.final_state(u)), gradients(reference), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-11)
    with torch.no_grad():
        torch.testing.assert_close(model.final_state(u), reference)


def test_the_rnn_where_gradients_do_not_vanish() -> None:
    W = 1.02 * torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64))[0]
    parts = [torch.randn(6).double(), W, torch.zeros(6).double()]
    u = 1e-2 * torch.randn(3, 40, dtype=torch.float64)
    assert torch.autograd.gradcheck(tanh_final_state, [p.requires_grad_() for p in (u, *parts)])


def test_unit_state_makes_every_mode_equally_loud() -> None:
    X = torch.randn(300, 64).cumsum(1)
    model = ContractiveSSM(2, 16, dt=1 / 64)
    before = model.final_state(X).var(0)
    factor = unit_state_(model, X, floor=0.0)
    after = model.final_state(X).var(0)
    by_mode = after.unflatten(0, (-1, 2)).mean(1)
    torch.testing.assert_close(by_mode, torch.ones_like(by_mode), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(after, before * factor.square(), rtol=1e-3, atol=1e-4)


def test_unit_state_with_a_floor_has_a_mean_variance_of_one() -> None:
    X = torch.randn(300, 64).cumsum(1)
    model = LinearSSM(2, 16, dt=1 / 64)
    unit_state_(model, X.numpy())
    assert model.final_state(X).var(0).mean().item() == pytest.approx(1, rel=1e-3)


def test_unit_state_keeps_what_was_initialized() -> None:
    model = ContractiveSSM(2, 16, dt=1 / 64)
    ft.initialize_(model, peaked(64, [3, 9]))
    unit_state_(model, torch.randn(50, 64))
    ft.verify(model)
    with torch.no_grad():
        model.W_in += 1
    with pytest.raises(ft.InitializationLost, match="W_in"):
        ft.verify(model)


def test_unit_state_refuses_what_it_cannot_do() -> None:
    model = LinearSSM(2, 8)
    with pytest.raises(ft.InputError, match="at least two"):
        unit_state_(model, torch.randn(1, 20))
    with pytest.raises(ft.InputError, match="at least two"):
        unit_state_(model, 3.0)
    with pytest.raises(ft.InputError, match="model is a StandardRNN"):
        unit_state_(StandardRNN(2, 8), torch.randn(5, 20))  # type: ignore[arg-type]
    with pytest.raises(ft.InputError, match="variance"):
        unit_state_(model, torch.ones(5, 20))
    with torch.no_grad():
        model.W += 0.1
    with pytest.raises(ft.InputError, match="couples"):
        unit_state_(model, torch.randn(5, 20))


@pytest.mark.parametrize("kind", [LinearSSM, ContractiveSSM])
def test_a_model_is_read_as_the_system_it_was_made_from(kind: type[LinearSSM]) -> None:
    model, start = kind(2, 16, 1e-2).double(), ft.RealSSM.fourier(16, 1e-2)
    found = find_layers(model)[0].read()
    for name in ("dt", "A", "B", "C"):
        torch.testing.assert_close(getattr(found, name), getattr(start, name), rtol=1e-5, atol=1e-4)


def test_a_model_that_turns_by_half_a_circle_is_read_as_well() -> None:
    model = LinearSSM(2, 8).double()
    with torch.no_grad():
        model.W.copy_(torch.diag(torch.tensor([-0.9, 0.9, -0.5, 0.3, 0.2, 0.1, 0.6, 0.7])))
    found = find_layers(model)[0].read()
    A, B, _ = found.discretized()
    torch.testing.assert_close(A, model.W.detach())
    torch.testing.assert_close(B, model.W_in.detach())


@pytest.mark.parametrize("kind", [LinearSSM, ContractiveSSM])
@pytest.mark.parametrize("variant", ["construct", "refine"])
def test_initialize_gives_the_model_the_spectrum_that_was_asked_for(kind: type[LinearSSM], variant: str) -> None:
    torch.manual_seed(1)
    model, task = kind(2, 16, 1 / 64), peaked(64, [5, 20])
    record = ft.initialize_(model, task, variant, modes=2, steps=50)  # type: ignore[arg-type]
    impulse = torch.eye(64)[:1]  # its final states after an impulse at each step, read by the layer itself
    response = torch.stack([model.final_state(impulse[:, : t + 1]).sum() for t in range(64)])
    power = torch.fft.rfft(response).abs().square().detach().numpy()
    assert set(np.argsort(power)[-2:]) == {5, 20}
    assert record.loss_after == pytest.approx(ft.spectral_loss(power, task.power), abs=0.02)
    assert record.loss_after < record.loss_before
    ft.verify(model)


def test_a_refined_real_system_does_not_explode(rng: np.random.Generator) -> None:
    for _ in range(3):
        task = ft.Spectrum(rng.random(201) ** 4, 400)
        tuned, record = ft.tune(ft.RealSSM.fourier(32), task, "refine", steps=60)
        assert torch.linalg.matrix_norm(tuned.discretized()[0], 2) <= 1 + 1e-9
        assert record.loss_after < record.loss_before


def test_state_dict_round_trip_and_groups() -> None:
    model = ContractiveSSM(2, 8, dt=1 / 32)
    ft.initialize_(model, peaked(32, [3, 7]))
    copy, state = ContractiveSSM(2, 8), model.state_dict()
    del model
    gc.collect()  # as in another process, where only the state dict knows
    copy.load_state_dict(state)
    ft.verify(copy)
    groups = ft.parameter_groups(copy, lr=1e-2, weight_decay=0.1)
    assert {g["name"]: (g["lr"], g["weight_decay"]) for g in groups} == {"ssm": (1e-3, 0.0), "model": (1e-2, 0.1)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: LinearSSM(0),
        lambda: LinearSSM(2, hidden=7),
        lambda: LinearSSM(2, dt=-1.0),
        lambda: StandardRNN(2, hidden=0),
        lambda: LinearSSM(2, 8)(torch.randn(3, 10, 2)),
        lambda: StandardRNN(2, 8)(torch.randn(3)),
        lambda: LinearSSM(2, 8)(torch.randn(3, 0)),
    ],
)
def test_bad_input_is_refused(call: object) -> None:
    with pytest.raises(ft.InputError):
        call()  # type: ignore[operator]


def test_training_learns() -> None:
    X, y = (torch.as_tensor(part) for part in ft.datasets.binary_frequency(256, seed=3, length=64))
    torch.manual_seed(0)
    model = ContractiveSSM(2, 16, dt=1 / 64)
    unit_state_(model, X)
    optimizer = torch.optim.AdamW(ft.parameter_groups(model, 1e-2))
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(X), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * math.log(2) < losses[0]
