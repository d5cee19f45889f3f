"""The flat step of one token equals ``GPT.forward``, for every shape of model."""

from collections.abc import Callable
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mingyue.model.cache import KVCache
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.packed import Precision
from mingyue.model.position import ContextFull
from mingyue.model.step import Step
from tests.model.configs import configs, lively, random_ids


def forward(model: GPT, ids: Tensor, cache: KVCache | None = None) -> Tensor:
    with torch.no_grad():
        logits = model(ids, cache=cache).logits
    assert logits is not None
    return logits


def written(step: Step, ids: Tensor, cache: KVCache) -> Tensor:
    """Scores after each of ids [B, T], read one by one."""
    scores = [step(ids[:, t], cache) for t in range(ids.shape[1])]
    return torch.stack(scores, dim=1)


def error(a: Tensor, b: Tensor) -> float:
    """The largest difference, as a share of the largest score where that is above 1."""
    return float((a - b).abs().max() / b.abs().max().clamp(min=1))


# What holds of any step, however it is made.

Made = Callable[[GPT], Step]


def equals_forward(made: Made, config: ModelConfig, batch: int, read: int) -> None:
    model = lively(config)
    ids = random_ids(config, batch, config.block_size)
    cache = model.new_cache(batch)
    if read:
        forward(model, ids[:, :read], cache)
    scores = written(made(model), ids[:, read:], cache)
    assert cache.length == config.block_size
    assert error(scores, forward(model, ids)[:, read:]) <= 1e-4


def follows_the_cache(made: Made, config: ModelConfig, data: st.DataObject) -> None:
    model = lively(config)
    step, ids = made(model), random_ids(config, 3, 8)
    cache = model.new_cache(3, 8)
    written(step, ids[:, :6], cache)
    kept = data.draw(st.integers(1, 6))
    cache.truncate(kept)
    rows = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=5))
    cache = cache.gather([(cache, rows)])
    scores = written(step, ids[rows, kept:], cache)
    assert error(scores, forward(model, ids[rows])[:, kept:]) <= 1e-4
    with pytest.raises((IndexError, ContextFull)):  # no room for a ninth
        step(ids[rows, 0], cache)


def goes_past_the_block(made: Made, config: ModelConfig) -> None:
    model, n = lively(config), config.block_size + 9
    ids = random_ids(config, 2, n)
    assert error(written(made(model), ids, model.new_cache(2, n)), forward(model, ids)) <= 1e-4


@settings(max_examples=150, deadline=None)
@given(configs(), st.sampled_from([1, 2, 5]), st.integers(0, 7))
def test_step_is_forward(config: ModelConfig, batch: int, read: int) -> None:
    """Every position, norm, activation, GQA, bias, tied or not; after a prompt or none."""
    equals_forward(Step, config, batch, read)


@settings(max_examples=30, deadline=None)
@given(configs(), st.data())
def test_after_the_cache_was_changed(config: ModelConfig, data: st.DataObject) -> None:
    """Cut back, grown, rows taken out and doubled: what it then holds is what counts."""
    follows_the_cache(Step, config, data)


@settings(max_examples=20, deadline=None)
@given(configs(positions=["rope", "sinusoidal", "alibi", "none"]))
def test_past_the_block_size(config: ModelConfig) -> None:
    goes_past_the_block(Step, config)


def test_learned_positions_end() -> None:
    model = lively(ModelConfig(vocab_size=5, block_size=4, d_model=8, n_head=2, position="learned"))
    step, cache = Step(model), model.new_cache(1, 9)
    written(step, torch.zeros(1, 4, dtype=torch.long), cache)
    with pytest.raises(ContextFull):
        step(torch.zeros(1, dtype=torch.long), cache)


SIZES = {"vocab_size": 100, "block_size": 32, "n_layer": 3, "n_head": 2, "d_model": 64}


@pytest.mark.parametrize("precision", get_args(Precision))
@pytest.mark.parametrize("position", ["rope", "alibi", "learned"])
@pytest.mark.parametrize("bias", [True, False])
def test_narrow_weights_change_little(precision: Precision, position: str, bias: bool) -> None:
    bound = {"fp32": 1e-4, "fp16": 5e-3, "bf16": 4e-2, "int8": 6e-2}[precision]
    model = GPT(ModelConfig.checked(**SIZES, position=position, bias=bias)).eval()
    ids = random_ids(model.config, 2, 32)
    step = Step(model, precision)
    scores = written(step, ids, model.new_cache(2).to(step.dtype))
    wanted = forward(model, ids)
    assert scores.dtype == torch.float32
    assert (scores - wanted).norm() / wanted.norm() <= bound


def test_a_step_knows_whether_the_model_has_changed() -> None:
    model, other = (GPT(ModelConfig.checked(**SIZES)) for _ in range(2))
    step = Step(model)
    assert step.fits(model) and not step.fits(other)
    forward(model, random_ids(model.config, 1, 4))
    assert step.fits(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ids = random_ids(model.config, 1, 4)
    loss = model(ids, ids).loss
    assert loss is not None
    loss.backward()
    assert step.fits(model)
    optimizer.step()
    assert not step.fits(model)
    step = Step(model)
    model.load_state_dict(other.state_dict())
    assert not step.fits(model)


def test_a_model_with_dropout_in_training_writes_without() -> None:
    model = lively(ModelConfig.checked(**SIZES, dropout=0.5))
    ids = random_ids(model.config, 1, 6)
    wanted = forward(model, ids)
    model.train()
    assert error(written(Step(model), ids, model.new_cache(1)), wanted) <= 1e-4


def test_which_models_it_suits() -> None:
    assert Step.suits(GPT(ModelConfig.checked(**SIZES)))
    assert not Step.suits(GPT(ModelConfig.checked(**SIZES, causal=False)))
    assert not Step.suits(GPT(ModelConfig.checked(**SIZES)).bfloat16())
    assert not Step.suits(GPT(ModelConfig.checked(**SIZES)).to("meta"))
