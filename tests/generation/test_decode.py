"""SPEC C1: the decoding loop equals scoring everything anew for each token."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.generation import decode
from mingyue.generation.decode import Decoding
from mingyue.generation.sampling import Sampling
from mingyue.generation.stream import stream_seed
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.model.step import Step
from tests.generation.by_hand import text_by_hand
from tests.model.configs import configs, lively

GREEDY = Sampling(temperature=0)


def begun(
    model: LanguageModel,
    prompt: list[int],
    ways: Sampling,
    seeds: Sequence[int],
    **options: Any,
) -> Decoding:
    """Streams after one prompt."""
    decoding = Decoding(model, **options)
    decoding.begin(prompt, ways, seeds)
    return decoding


def run(decoding: Decoding, n: int) -> dict[int, list[int]]:
    written: dict[int, list[int]] = {}
    for _ in range(n):
        for stream, id in decoding.step().items():
            written.setdefault(stream, []).append(id)
    return written


@settings(max_examples=25, deadline=None)
@given(configs(), st.data())
def test_cached_equals_uncached(config: ModelConfig, data: st.DataObject) -> None:
    model = lively(config)
    longest = config.block_size + (0 if config.position == "learned" else 5)
    length = data.draw(st.integers(1, longest))
    ids = st.integers(0, config.vocab_size - 1)
    prompt = data.draw(st.lists(ids, min_size=length, max_size=length))
    room = config.block_size - length + 1 if config.position == "learned" else 30
    n = data.draw(st.integers(1, min(20, room)))
    fast = Step(model) if data.draw(st.booleans()) else None
    with patch.object(decode, "_ROOM", data.draw(st.sampled_from([1, 3, 256]))):
        decoding = begun(model, prompt, GREEDY, [0, 1], fast=fast)
    written = run(decoding, n)
    assert written[0] == written[1] == text_by_hand(model, prompt, GREEDY, 0, n)
    assert decoding.full == ([0, 1] if config.position == "learned" and n == room else [])


@settings(max_examples=20, deadline=None)
@given(configs(positions=["learned", "rope", "alibi"]), st.integers(1, 7))
def test_cached_scores_within_1e_5(config: ModelConfig, start: int) -> None:
    model = lively(config)
    ids = torch.randint(config.vocab_size, (2, config.block_size))
    cache = model.new_cache(2)
    with torch.no_grad():
        whole = model(ids).logits
        parts = [model(ids[:, :start], cache=cache).logits]
        parts += [model(ids[:, t : t + 1], cache=cache).logits for t in range(start, ids.shape[1])]
    # Relative to the size of the scores: these models are drawn with large weights.
    error = (torch.cat(parts, dim=1) - whole).abs().max() / whole.abs().max().clamp(min=1)
    assert error <= 1e-5


SIZES = {"vocab_size": 30, "block_size": 16, "n_layer": 2, "n_head": 2, "d_model": 16}
MODEL = lively(ModelConfig.checked(**SIZES))


STEPS = [None, Step(MODEL), Step(MODEL, "fp16"), Step(MODEL, "int8")]

WAYS = [
    GREEDY,
    Sampling(),
    Sampling(repetition_penalty=1.5),
    Sampling(top_p=0.7),
    Sampling(temperature=0.8, top_k=7, min_p=0.01),
]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=6, unique=True),
    st.sampled_from(WAYS),
    st.sampled_from(STEPS),
    st.data(),
)
def test_a_stream_depends_on_its_seed_only(
    seeds: list[int], ways: Sampling, fast: Step | None, data: st.DataObject
) -> None:
    """Whoever else is in the batch, and whenever they end; across window moves."""
    decoding = begun(MODEL, [0, 5], ways, seeds, fast=fast)
    ends = [data.draw(st.integers(1, 25)) for _ in seeds]
    written: list[list[int]] = [[] for _ in seeds]
    for _ in range(max(ends)):
        for stream, id in decoding.step().items():
            written[stream].append(id)
            if len(written[stream]) == ends[stream]:
                decoding.end(stream)
    for seed, end, ids in zip(seeds, ends, written, strict=True):
        assert ids == run(begun(MODEL, [0, 5], ways, [seed], fast=fast), end)[0]


@pytest.mark.parametrize("position", ["rope", "alibi", "learned", "sinusoidal", "none"])
@pytest.mark.parametrize("ways", WAYS)
def test_the_fast_step_writes_the_same(position: str, ways: Sampling) -> None:
    model = lively(MODEL.config.changed(position=position))
    n = 15 if position == "learned" else 60
    plain, fast = (
        run(begun(model, [0, 5], ways, range(4), fast=step), n) for step in (None, Step(model))
    )
    assert plain == fast


def test_chances_go_on_past_the_first_lot() -> None:
    """Streams of more tokens than are drawn at once are neither cut nor repeated."""
    flat = GPT(ModelConfig.checked(**SIZES))  # fresh weights: nearly uniform
    ids = run(begun(flat, [0], Sampling(), [7]), 600)[0]
    assert len(ids) == 600
    assert ids[:256] != ids[256:512]
    assert len(set(ids)) == 30


def test_never_is_never() -> None:
    ids = run(begun(MODEL, [0], Sampling(temperature=50), range(8), never=[1, 2, 3]), 60)
    assert not {1, 2, 3} & {id for stream in ids.values() for id in stream}


def test_repetition_penalty_forgets_nothing_but_what_it_may() -> None:
    strong = Sampling(temperature=0, repetition_penalty=100)
    flat = GPT(ModelConfig.checked(**SIZES)).eval()
    ids = run(begun(flat, [0], strong, [0]), 14)[0]
    assert len({0, *ids}) == 15  # no token twice while there are others
    free = run(begun(flat, [0], strong, [0], unpenalised=range(30)), 14)[0]
    assert free == run(begun(flat, [0], GREEDY, [0]), 14)[0]


def test_streams_have_seeds_of_their_own() -> None:
    assert stream_seed(5, 0) == 5
    seeds = {stream_seed(seed, i) for seed in range(20) for i in range(20)}
    assert len(seeds) == 400


def test_a_bidirectional_model_cannot_write() -> None:
    with pytest.raises(UserError, match="both directions"):
        begun(GPT(MODEL.config.changed(causal=False)), [0], GREEDY, [0])


def test_scores_that_are_no_numbers() -> None:
    broken = GPT(MODEL.config)
    with torch.no_grad():
        broken.norm.weight[0] = float("nan")  # type: ignore[index]
    with pytest.raises(UserError, match="not numbers"):
        begun(broken, [0], GREEDY, [0])


@pytest.mark.parametrize("position", ["rope", "sinusoidal", "learned"])
def test_training_goes_on_after_writing(position: str) -> None:
    """Dropout is off while writing and on again after; gradients still flow."""
    model = GPT(ModelConfig.checked(**SIZES, position=position, dropout=0.5)).train()
    first = run(begun(model, [0], GREEDY, [0]), 15)
    assert first == run(begun(model, [0], GREEDY, [0]), 15)
    assert all(module.training for module in model.modules())
    ids = torch.zeros(1, 16, dtype=torch.long)
    loss = model(ids, ids).loss
    assert loss is not None
    loss.backward()
    assert model.embedding.weight.grad is not None
