"""The compiled step equals ``GPT.forward``, for every shape of model and number of threads."""

import threading
from functools import partial
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.packed import Precision
from mingyue.model.step import Step
from tests.model.configs import configs, lively, random_ids
from tests.model.test_step import (
    SIZES,
    equals_forward,
    error,
    follows_the_cache,
    forward,
    goes_past_the_block,
    written,
)

pytest.importorskip("numba", reason="the compiled step needs numba: pip install 'mingyue[native]'")
native_step = pytest.importorskip("mingyue.model.native_step")
NativeStep = native_step.NativeStep


def native(model: GPT, threads: int, precision: Precision = "fp32") -> Step:
    """With so many threads however few processors there are, and however small the model."""
    with (
        patch.object(native_step, "_SMALL", 0),
        patch.object(native_step, "_processors", lambda: threads),
        patch.object(torch, "get_num_threads", lambda: threads),
    ):
        return NativeStep(model, precision)


THREADS = st.sampled_from([1, 2, 3])


@settings(max_examples=150, deadline=None)
@given(configs(), st.sampled_from([1, 2, 5]), st.integers(0, 7), THREADS)
def test_native_step_is_forward(config: ModelConfig, batch: int, read: int, threads: int) -> None:
    """Every position, norm, activation, GQA, bias, tied or not; after a prompt or none."""
    equals_forward(partial(native, threads=threads), config, batch, read)


@settings(max_examples=40, deadline=None)
@given(configs(), st.data(), THREADS)
def test_after_the_cache_was_changed(
    config: ModelConfig, data: st.DataObject, threads: int
) -> None:
    """Cut back, grown, rows taken out and doubled: what it then holds is what counts."""
    follows_the_cache(partial(native, threads=threads), config, data)


@settings(max_examples=20, deadline=None)
@given(configs(positions=["rope", "sinusoidal", "alibi", "none"]))
def test_past_the_block_size(config: ModelConfig) -> None:
    goes_past_the_block(partial(native, threads=2), config)


@settings(max_examples=40, deadline=None)
@given(configs(), st.lists(st.integers(0, 4), min_size=1, max_size=9), st.booleans(), THREADS)
def test_a_row_is_the_same_to_the_last_bit(
    config: ModelConfig, rows: list[int], whole: bool, threads: int
) -> None:
    """Whoever else is in the batch, and however many threads share it."""
    model = lively(config)
    precision: Precision = "int8" if whole else "fp32"
    ids = random_ids(config, 5, config.block_size)
    alone, beside = native(model, 1, precision), native(model, threads, precision)
    together = written(beside, ids[rows], model.new_cache(len(rows)))
    for scores, row in zip(together, rows, strict=True):
        assert torch.equal(scores, written(alone, ids[row, None], model.new_cache(1))[0])


@settings(max_examples=60, deadline=None)
@given(configs(d_model=32, d_ff=64, d_head=16, n_head=2, n_kv_head=2, norm="rmsnorm"))
def test_int8_has_the_whole_numbers_of_step(config: ModelConfig) -> None:
    """``Step`` rounds vectors to bf16 on its way, so it alone differs from fp32 by more."""
    model = GPT(config).eval()
    ids = random_ids(config, 2, config.block_size)
    steps = native(model, 2, "int8"), Step(model, "int8"), Step(model)
    ours, theirs, exact = (written(step, ids, model.new_cache(2).to(step.dtype)) for step in steps)
    assert (ours - theirs).norm() <= 3e-2 * exact.norm()
    assert (ours - exact).norm() <= 3e-2 * exact.norm()


def test_no_layers() -> None:
    model = lively(ModelConfig.checked(**{**SIZES, "n_layer": 0}))
    ids = random_ids(model.config, 2, 5)
    for precision in ("fp32", "int8"):
        scores = written(native(model, 2, precision), ids, model.new_cache(2))
        assert error(scores, forward(model, ids)) <= (1e-4 if precision == "fp32" else 5e-2)


def test_scores_that_are_no_numbers_stay_so() -> None:
    model = lively(ModelConfig.checked(**SIZES))
    with torch.no_grad():
        model.embedding.weight[3] = torch.nan
    scores = native(model, 2)(torch.tensor([3, 4]), model.new_cache(2))
    assert scores[0].isnan().all() and scores[1].isfinite().all()


def test_two_at_the_same_time() -> None:
    """Python threads may share a step; each has its own cache."""
    model = lively(ModelConfig.checked(**SIZES))
    step, ids = native(model, 2), random_ids(model.config, 4, 30)
    results: dict[int, torch.Tensor] = {}

    def write(row: int) -> None:
        results[row] = written(step, ids[row, None], model.new_cache(1))

    threads = [threading.Thread(target=write, args=(row,)) for row in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert error(torch.cat([results[row] for row in range(4)]), forward(model, ids)) <= 1e-4


def test_an_interrupted_step_leaves_nobody_waiting() -> None:
    model = lively(ModelConfig.checked(**SIZES))
    step, ids = native(model, 3), random_ids(model.config, 1, 6)
    share = native_step.share

    def interrupted(t: int, *task: object) -> None:
        if t == 0:
            raise KeyboardInterrupt
        share(t, *task)

    cache = model.new_cache(1)
    written(step, ids[:, :3], cache)
    with patch.object(native_step, "share", interrupted), pytest.raises(KeyboardInterrupt):
        step(ids[:, 3], cache)
    cache.truncate(3)
    assert error(written(step, ids[:, 3:], cache), forward(model, ids)[:, 3:]) <= 1e-4


def test_it_knows_whether_the_model_has_changed() -> None:
    model = GPT(ModelConfig.checked(**SIZES))
    step = native(model, 1)
    assert step.fits(model)
    with torch.no_grad():
        model.embedding.weight.mul_(2)
    assert not step.fits(model)


def test_torch_has_its_threads_back() -> None:
    threads = torch.get_num_threads()
    step = native(GPT(ModelConfig.checked(**SIZES)), 1)
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError), step.undisturbed():
            assert torch.get_num_threads() == 1
            raise ZeroDivisionError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
