"""The deep model."""

import pytest
import torch
from torch import nn

import foretune as ft
from conftest import peaked
from foretune.init.adapters import find_layers
from foretune.nn import DeepS4D


def model(**changes):
    torch.manual_seed(0)
    return DeepS4D(3, **{"d_model": 4, "depth": 2, "d_state": 8, **changes})


@pytest.mark.parametrize("prenorm", [True, False])
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_the_blocks_do_what_is_written(norm, prenorm):
    deep, u = model(norm=norm, prenorm=prenorm).eval(), torch.randn(5, 30)

    def normal(part, x):
        if norm == "batch":
            return nn.functional.batch_norm(x, part.running_mean, part.running_var, part.weight, part.bias)
        y = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
        return y * part.weight[:, None] + part.bias[:, None]

    x = u[:, None, :] * deep.encoder.weight[None] + deep.encoder.bias[None, :, None]
    for block in deep.blocks:
        x = x + block.layer(normal(block.norm, x)) if prenorm else normal(block.norm, x + block.layer(x))
    if prenorm:
        x = normal(deep.norm, x)
    expected = x.mean(-1) @ deep.decoder.weight.T + deep.decoder.bias
    torch.testing.assert_close(deep(u), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(deep(u.unsqueeze(-1)), expected, rtol=1e-4, atol=1e-5)


def test_only_the_first_layer_has_modes_of_its_own():
    rows = [layer.module.A_imag.shape[0] for layer in find_layers(model(depth=3))]
    assert rows == [4, 1, 1]


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_padding_does_not_change_the_answer(pool):
    deep = model(vocabulary=7, pool=pool).eval()
    tokens, lengths = torch.randint(7, (4, 20)), torch.tensor([20, 11, 1, 5])
    answers = deep(tokens, lengths)
    for row, count in enumerate(lengths.tolist()):
        alone = deep(tokens[row : row + 1, :count])
        torch.testing.assert_close(answers[row : row + 1], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("prenorm", [True, False])
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_what_a_layer_hears_in_training(norm, prenorm, position):
    deep, u = model(norm=norm, prenorm=prenorm, depth=3), torch.randn(6, 30)
    found = []
    deep.layers[position].register_forward_pre_hook(lambda _, inputs: found.append(inputs[0].detach()))
    state = {name: value.clone() for name, value in deep.state_dict().items()}
    heard = deep.heard(u, position=position)
    assert all(torch.equal(value, state[name]) for name, value in deep.state_dict().items())
    assert all(module.training for module in deep.modules())
    deep(u)
    torch.testing.assert_close(heard, found[-1], rtol=0, atol=0)


def test_what_is_padding_is_not_heard():
    deep, lengths = model(vocabulary=7), torch.tensor([20, 11, 1, 5])
    heard = deep.heard(torch.randint(7, (4, 20)), lengths)
    assert [int((row != 0).any(0).sum()) for row in heard] == lengths.tolist()


@pytest.mark.parametrize("freeze", [True, False])
def test_initialized_and_trained(freeze):
    deep = model(d_state=16, norm="batch", prenorm=True)
    ft.initialize_(deep, peaked(48, [5, 11]), freeze=freeze)
    ft.verify(deep)
    first = find_layers(deep)[0]
    before = {name: tensor.clone() for name, tensor in first.tensors().items()}
    optimizer = torch.optim.AdamW(ft.parameter_groups(deep, lr=1e-2, weight_decay=0.1))
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(deep(torch.randn(8, 48)), torch.arange(8) % 3).backward()
        optimizer.step()
    same = [torch.equal(before[name], tensor) for name, tensor in first.tensors().items()]
    assert all(same) if freeze else not any(same)
    assert all(p.grad is not None for p in deep.decoder.parameters())


@pytest.mark.parametrize(
    "call",
    [
        lambda: model(depth=0),
        lambda: model(norm="group"),
        lambda: model(pool="max"),
        lambda: model()(torch.randn(2, 3, 4, 5)),
        lambda: model()(torch.randn(2, 0)),
        lambda: model()(torch.randn(2, 9), torch.tensor([3, 10])),
        lambda: model()(torch.randn(2, 9), torch.tensor([3])),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ft.InputError):
        call()
