import pytest
import torch

import foretune as ft
from foreign_layers import MinimalLayer


def test_it_equals_the_plain_form_forward_and_backward():
    layer, plain = ft.nn.S4D(4, 32), MinimalLayer(4, 32)
    plain.kernel.load_state_dict(layer.kernel.state_dict())
    with torch.no_grad():
        layer.D.zero_()
    u = torch.randn(3, 4, 200)
    one, two = layer.convolve(u), plain(u)
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    one.square().sum().backward()
    two.square().sum().backward()
    for (name, a), (_, b) in zip(layer.kernel.named_parameters(), plain.kernel.named_parameters(), strict=True):
        assert ((a.grad - b.grad).norm() / b.grad.norm()).item() < 1e-4, name


@pytest.mark.parametrize("length", [1, 2, 3, 16, 17, 101])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shapes_and_types(length, dtype):
    layer = ft.nn.S4D(6, 8, dropout=0.1, n_ssm=2).to(dtype)
    u = torch.randn(2, 6, length, dtype=dtype)
    assert layer(u).shape == u.shape
    assert layer(u).dtype == dtype
    assert layer.convolve(u[0]).shape == (6, length)


def test_it_is_causal():
    layer = ft.nn.S4D(3, 8).eval()
    u = torch.randn(1, 3, 50)
    v = u.clone()
    v[..., 30:] += 1
    torch.testing.assert_close(layer.convolve(u)[..., :30], layer.convolve(v)[..., :30], atol=1e-5, rtol=1e-5)


def test_the_seed_decides():
    torch.manual_seed(3)
    one = ft.nn.S4D(3, 8)
    torch.manual_seed(3)
    two = ft.nn.S4D(3, 8)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_refusals():
    with pytest.raises(ft.InputError, match="n_ssm is 2"):
        ft.nn.S4D(3, 8, n_ssm=2)
    with pytest.raises(ft.InputError, match=r"\(1, 4, 9\)"):
        ft.nn.S4D(3, 8)(torch.zeros(1, 4, 9))
    with pytest.raises(ft.InputError, match="even"):
        ft.nn.S4D(3, 7)


def test_parameter_groups():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), ft.nn.S4D(3, 8))
    groups = ft.parameter_groups(model, lr=0.01, weight_decay=0.1, ssm_lr=2e-3)
    by_name = {g["name"]: g for g in groups}
    assert {id(p) for p in by_name["ssm"]["params"]} == {id(p) for p in model[1].kernel.parameters()}
    assert (by_name["ssm"]["lr"], by_name["ssm"]["weight_decay"]) == (2e-3, 0.0)
    assert (by_name["model"]["lr"], by_name["model"]["weight_decay"]) == (0.01, 0.1)
    assert sum(len(g["params"]) for g in groups) == len(list(model.parameters()))
    torch.optim.AdamW(groups)
    assert {g["name"]: g["lr"] for g in ft.parameter_groups(model, lr=0.01)} == {"model": 0.01, "ssm": 1e-3}


def test_parameter_groups_respect_hints_and_frozen_parameters():
    layer = ft.nn.S4D(3, 8)
    layer.kernel.log_dt._optim = {"lr": 5e-4, "weight_decay": 0.0}
    layer.kernel.C.requires_grad_(False)
    groups = ft.parameter_groups(layer, lr=0.01)
    listed = [p for g in groups for p in g["params"]]
    assert layer.kernel.C not in [p for p in listed if p is layer.kernel.C]
    assert [g["lr"] for g in groups if any(p is layer.kernel.log_dt for p in g["params"])] == [5e-4]


@pytest.mark.parametrize("length", [4, 64, 700])
def test_autocast_changes_nothing_of_the_convolution(length):
    layer, u = ft.nn.S4D(8, 32), torch.randn(2, 8, length)
    expected = layer.convolve(u)
    expected.square().sum().backward()
    gradients = [p.grad.clone() for p in layer.kernel.parameters()]
    layer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        found = layer.convolve(u)
        found.square().sum().backward()
        assert torch.isfinite(layer(u)).all()
    torch.testing.assert_close(found, expected)
    for p, gradient in zip(layer.kernel.parameters(), gradients, strict=True):
        # A tiny length goes through torch's own backward pass, which autocast does reach.
        torch.testing.assert_close(p.grad, gradient, rtol=0.05 if length == 4 else 1e-4, atol=0.05)


def test_second_derivatives_are_refused_rather_than_wrong():
    layer = ft.nn.S4D(2, 32)
    (first,) = torch.autograd.grad(layer.convolve(torch.randn(1, 2, 300)).square().sum(), layer.D, create_graph=True)
    (slope,) = torch.autograd.grad(
        layer.convolve(torch.randn(1, 2, 300)).square().sum(), layer.kernel.A_imag, create_graph=True
    )
    assert first.requires_grad
    with pytest.raises(RuntimeError):
        slope.sum().backward()


def test_it_is_built_on_the_default_device():
    with torch.device("meta"):
        layer = ft.nn.S4D(3, 8)
    assert all(p.is_meta for p in layer.parameters())
    with pytest.raises(ft.InputError, match="meta"):
        ft.model_spectrum(layer, 16)
    with pytest.raises(ft.InitializationLost, match="meta"):
        ft.verify(layer)


@pytest.mark.parametrize("u", [torch.zeros(1, 3, 9, dtype=torch.int64), torch.zeros(1, 3, 0)])
def test_it_refuses_whole_numbers_and_nothing(u):
    with pytest.raises(ft.InputError, match="at least one step"):
        ft.nn.S4D(3, 8).convolve(u)


def test_a_rate_for_the_ssm_leaves_the_hints_of_others_alone():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), ft.nn.S4D(3, 8))
    model[0].bias._optim = {"lr": 5e-5}
    groups = ft.parameter_groups(model, lr=0.01, ssm_lr=2e-3)
    assert [g["lr"] for g in groups if any(p is model[0].bias for p in g["params"])] == [5e-5]
