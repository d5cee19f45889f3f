"""One step: however the batch is cut, the gradient is the same; and no step on nonsense."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.loss import IGNORED
from mingyue.training.average import Average
from mingyue.training.compiling import plain
from mingyue.training.config import TrainConfig
from mingyue.training.optimizer import build_optimizer
from mingyue.training.precision import LossScale
from mingyue.training.step import gradients, learn

SMALL = ModelConfig(vocab_size=13, block_size=8, n_layer=1, n_head=2, d_model=16)


def make():
    torch.manual_seed(0)
    model = GPT(SMALL)
    return model, build_optimizer(model, TrainConfig(steps=1))


def bad_root(loss):
    """0, with a gradient that is infinite: a slope can be bad while the loss is fine."""
    return torch.sqrt(loss - loss.detach())


def gradient_of(model, x, y, micro_batch, scale=1.0):
    model.zero_grad()
    loss = gradients(plain(model), x, y, micro_batch=micro_batch, autocast=nullcontext, scale=scale)
    return loss, torch.cat([p.grad.flatten() for p in model.parameters()]) / scale


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6))
def test_one_batch_or_many_small_ones_give_the_same_gradient(rows, micro, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 13, (rows, 8), generator=generator)
    y = torch.randint(0, 13, (rows, 8), generator=generator)
    y[torch.rand(y.shape, generator=generator) < 0.3] = IGNORED  # rows weigh unequally
    y[0, 0] = 3
    model, _ = make()
    loss, whole = gradient_of(model, x, y, None)
    parts_loss, parts = gradient_of(model, x, y, micro)
    torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(parts_loss, loss)
    torch.testing.assert_close(
        gradient_of(model, x, y, micro, 1024.0)[1], whole, rtol=1e-4, atol=1e-6
    )


def test_clipping_shortens_the_gradient_and_keeps_its_direction():
    model, optimizer = make()
    x = torch.randint(0, 13, (4, 8))
    _, whole = gradient_of(model, x, x, None)
    step = learn(
        plain(model),
        optimizer,
        x,
        x,
        share=1e-9,
        clip=0.01,
        scale=LossScale(),
        micro_batch=None,
        autocast=nullcontext,
    )
    clipped = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert step.gradient_norm == pytest.approx(whole.norm().item(), rel=1e-4)
    assert clipped.norm().item() == pytest.approx(0.01, rel=1e-3)
    assert torch.cosine_similarity(clipped, whole, dim=0) > 0.9999


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_nothing_moves_on_a_loss_or_gradient_that_is_no_number(bad, where):
    model, optimizer = make()
    before = [p.detach().clone() for p in model.parameters()]

    def forward(x, y):
        loss = plain(model)(x, y)
        return loss * bad if where == "loss" else loss + bad_root(loss)

    x = torch.randint(0, 13, (2, 8))
    step = learn(
        forward,
        optimizer,
        x,
        x,
        share=1.0,
        clip=1.0,
        scale=LossScale(),
        micro_batch=None,
        autocast=nullcontext,
    )
    assert not step.finite
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_loss_scale_halves_on_overflow_and_skips_that_step():
    model, optimizer = make()
    before = [p.detach().clone() for p in model.parameters()]
    scale = LossScale(2.0**16)

    def forward(x, y):
        loss = plain(model)(x, y)
        return loss + bad_root(loss)

    x = torch.randint(0, 13, (2, 8))
    step = learn(
        forward,
        optimizer,
        x,
        x,
        share=1.0,
        clip=1.0,
        scale=scale,
        micro_batch=None,
        autocast=nullcontext,
    )
    assert step.finite and scale.value == 2.0**15
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    for _ in range(2000):
        scale.update(1.0)
    assert scale.value == 2.0**16


def test_average_lies_between_and_gives_the_weights_back():
    model, _ = make()
    average = Average(model, 0.5)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    average.update(10_000)
    with average.in_place():
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.data, start[name] + 0.5)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter.data, start[name] + 1.0)
