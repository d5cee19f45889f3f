"""Laws of the engine: a text is the same whoever is written beside it, whenever each of them comes
and goes; what is told of its likelihood is the model's own; nothing is kept of what has ended."""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mingyue.generation import decode
from mingyue.generation.choosing import Likelihood
from mingyue.generation.decode import Decoding
from mingyue.generation.sampling import NEVER, Sampling
from mingyue.generation.stream import Guide
from mingyue.model.cache import KVCache
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.step import Step
from tests.generation.by_hand import ngram, recurrent, scores, text_by_hand
from tests.model.configs import configs, lively

WAYS = [
    Sampling(temperature=0),
    Sampling(temperature=0, repetition_penalty=1.3),
    Sampling(),
    Sampling(temperature=0.8, top_k=4),
    Sampling(repetition_penalty=1.5, typical_p=0.9),
    Sampling(temperature=1.3, top_p=0.8, min_p=0.02, logit_bias={1: 1.5, 2: -30.0}),
]


@dataclass
class Guest:
    """A text that is to be written: what, how, and from which step on."""

    prompt: list[int]
    way: Sampling
    seed: int
    n: int
    comes: int
    guide: Guide | None = None
    ids: list[int] = field(default_factory=list)
    likelihoods: list[Likelihood] = field(default_factory=list)


def guests(vocab_size: int, longest: int, most: int) -> st.SearchStrategy[list[Guest]]:
    guest = st.builds(
        Guest,
        st.lists(st.integers(0, vocab_size - 1), min_size=1, max_size=longest),
        st.sampled_from(WAYS),
        st.integers(0, 2**63 - 1),
        st.integers(1, most),
        st.integers(0, 20),
    )
    return st.lists(guest, min_size=1, max_size=6)


def write(model: LanguageModel, company: Sequence[Guest], fast: Step | None = None) -> Decoding:
    """Everybody in one batch, each from its own step on and as long as it likes."""
    decoding = Decoding(model, fast=fast, watch=3)
    waiting, present = list(company), dict[int, Guest]()
    now = 0
    while waiting or present:
        for guest in [guest for guest in waiting if guest.comes <= now]:
            guides = [guest.guide] if guest.guide else None
            [number] = decoding.begin(guest.prompt, guest.way, [guest.seed], guides)
            present[number] = guest
            waiting.remove(guest)
        for number, id in decoding.step().items():
            guest = present[number]
            guest.ids.append(id)
            guest.likelihoods.append(decoding.likelihoods[number])
            if len(guest.ids) == guest.n or number in decoding.full:
                decoding.end(number)
                del present[number]
        assert decoding.alive == list(present)
        now += 1
    assert decoding.step() == {}
    return decoding


@settings(max_examples=60)
@given(configs(), st.booleans(), st.data())
def test_streams_that_come_and_go_write_what_each_writes_alone(
    config: ModelConfig, fast: bool, data: st.DataObject
) -> None:
    """Every position scheme and grouping of heads, unequal prompts, windows that move."""
    model = lively(config)
    longest = config.block_size + (0 if config.position == "learned" else 5)
    company = data.draw(guests(config.vocab_size, longest, 30))
    with ExitStack() as stack:
        for name in ("_ROOM", "_AT_ONCE"):
            few = data.draw(st.sampled_from([1, 3, 256]))
            stack.enter_context(patch.object(decode, name, few))
        write(model, company, Step(model) if fast else None)
    for guest in company:
        assert guest.ids == text_by_hand(model, guest.prompt, guest.way, guest.seed, guest.n)


@pytest.mark.parametrize("block_size", [1, 2, 3])
def test_the_smallest_contexts(block_size: int) -> None:
    """Half a window may be a single token, of which nothing is read again."""
    model = lively(ModelConfig.checked(vocab_size=9, block_size=block_size, d_model=8, n_head=2))
    for fast in (None, Step(model)):
        company = [Guest([1, 2, 3, 4][:k], WAYS[2], k, 9, k) for k in range(1, 5)]
        write(model, company, fast)
        for guest in company:
            assert guest.ids == text_by_hand(model, guest.prompt, guest.way, guest.seed, 9)


OTHERS = {
    "lstm": recurrent("lstm"),
    "gru": recurrent("gru"),
    **{f"{order}-gram": ngram(order) for order in (1, 2, 4)},
}


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=20)
@given(data=st.data())
def test_so_do_those_of_other_kinds(name: str, data: st.DataObject) -> None:
    model = OTHERS[name]
    company = data.draw(guests(model.config.vocab_size, 20, 30))
    with patch.object(decode, "_AT_ONCE", data.draw(st.sampled_from([1, 3, 256]))):
        write(model, company)
    for guest in company:
        assert guest.ids == text_by_hand(model, guest.prompt, guest.way, guest.seed, guest.n)


class Forbidding:
    """A guide that forbids some ids each time, and favours others."""

    done = False

    def __init__(self, vocab_size: int, seed: int):
        self.vocab_size, self.generator = vocab_size, torch.Generator().manual_seed(seed)
        self.allowed: list[set[int]] = []
        self.taken: list[int] = []

    def shift(self) -> Tensor:
        shift = torch.randn(self.vocab_size, generator=self.generator) * 3
        n = int(torch.randint(1, self.vocab_size, (1,), generator=self.generator))
        out = torch.randperm(self.vocab_size, generator=self.generator)[n:]
        self.allowed.append(set(range(self.vocab_size)) - set(out.tolist()))
        return shift.index_fill(0, out, NEVER)

    def took(self, id: int) -> None:
        self.taken.append(id)


@settings(max_examples=30)
@given(configs(), st.booleans(), st.integers(0, 10**6), st.data())
def test_likelihoods_are_the_models_own(
    config: ModelConfig, fast: bool, seed: int, data: st.DataObject
) -> None:
    """Whatever temperature, filters and guides make of them. What a guide forbids never comes."""
    model = lively(config)
    company = data.draw(guests(config.vocab_size, config.block_size, 12))
    for i, guest in enumerate(company):
        guest.guide = Forbidding(config.vocab_size, seed + i) if i % 2 else None
    write(model, company, Step(model) if fast else None)
    for guest in company:
        if isinstance(guide := guest.guide, Forbidding):
            assert guide.taken == guest.ids
            assert all(id in ok for id, ok in zip(guest.ids, guide.allowed, strict=True))
        for t, (id, told) in enumerate(zip(guest.ids, guest.likelihoods, strict=True)):
            before = guest.prompt + guest.ids[:t]
            logs = scores(model, before, len(guest.prompt)).log_softmax(-1)[0]
            near = pytest.approx(0, abs=1e-4 * max(1.0, float(logs.abs().max())))
            assert told.logprob - float(logs[id]) == near
            best = logs.topk(3).values.tolist()
            for (other, logprob), value in zip(told.others, best, strict=True):
                assert logprob - value == near and logprob - float(logs[other]) == near


def test_a_guide_must_leave_something() -> None:
    class Nothing(Forbidding):
        def shift(self) -> Tensor:
            return torch.full((self.vocab_size,), NEVER)

    class OnlyTheForbidden(Forbidding):
        def shift(self) -> Tensor:
            return super().shift().fill_(NEVER).index_fill(0, torch.tensor([4]), 0.0)

    model = lively(ModelConfig.checked(vocab_size=9, block_size=8, d_model=8, n_head=2))
    for kind in (Nothing, OnlyTheForbidden):
        for way in WAYS:
            decoding = Decoding(model, never=[4])
            decoding.begin([0], way, [1], [kind(9, 0)])
            with pytest.raises(ValueError, match="forbids every token"):
                decoding.step()


def test_a_guide_is_asked_no_more_once_its_stream_has_ended() -> None:
    model = lively(ModelConfig.checked(vocab_size=9, block_size=8, d_model=8, n_head=2))
    decoding, guide = Decoding(model), Forbidding(9, 0)
    decoding.begin([0], WAYS[2], [1, 2, 3])
    [number] = decoding.begin([0], WAYS[2], [1], [guide])
    decoding.step()
    decoding.end(number)
    for _ in range(3):
        assert number not in decoding.step()
    assert len(guide.allowed) == len(guide.taken) == 1


@pytest.mark.parametrize("kind", ["gpt", "lstm", "2-gram"])
def test_a_server_that_runs_for_weeks_does_not_grow(kind: str) -> None:
    """One endless text, and hundreds of short ones that come and go; each samples as it likes."""
    config = ModelConfig.checked(vocab_size=20, block_size=16, d_model=8, n_head=2, n_layer=1)
    model = OTHERS.get(kind) or lively(config)
    decoding = Decoding(model, watch=1)
    [endless] = decoding.begin([1, 2, 3], Sampling(), [0])
    ends: dict[int, int] = {}
    for now in range(400):
        for _ in range(now % 3):
            prompt = [now % 20] * (1 + now % 25)
            [number] = decoding.begin(prompt, Sampling(temperature=1 + now / 1e3), [now])
            ends[number] = now + now % 7
        decoding.step()
        for number in [number for number, end in ends.items() if end <= now]:
            decoding.end(number)
            del ends[number]
        present = len(decoding.alive)
        assert set(decoding.alive) == {endless, *ends}
        assert len(decoding._rows) <= 2 * present + 8
        assert set(decoding.likelihoods) <= {row.number for row in decoding._rows}
        assert max(len(row.latest) for row in decoding._rows) <= 16
        if isinstance(cache := decoding._cache, KVCache):
            assert cache.capacity <= 16 + 8 + 1
    kept = {id(row.way) for row in decoding._rows}
    decoding.end(endless)
    for number in ends:
        decoding.end(number)
    assert decoding.step() == {}
    assert len(kept) <= 20
    assert not decoding._rows and not decoding._joining and decoding._cache is None


def test_a_stream_that_ends_before_its_first_step() -> None:
    model = OTHERS["gru"]
    decoding = Decoding(model)
    [gone] = decoding.begin([1], WAYS[2], [1])
    decoding.end(gone)
    assert decoding.step() == {} and not decoding._joining
    [here, also_gone] = decoding.begin([1, 2], WAYS[2], [7, 8])
    decoding.end(also_gone)
    ids = [decoding.step()[here] for _ in range(5)]
    assert ids == text_by_hand(model, [1, 2], WAYS[2], 7, 5)


def test_what_counts_call_impossible_is_never_written_nor_told_of() -> None:
    """Smoothing without a discount leaves tokens that never came with a probability of 0."""
    model = ngram(2)
    assert (scores(model, [1], 1) == NEVER).any()
    decoding = Decoding(model, watch=20)
    decoding.begin([1], Sampling(temperature=100), range(50))
    for _ in range(5):
        decoding.step()
        for likely in decoding.likelihoods.values():
            assert math.isfinite(likely.logprob)
            assert 0 < len(likely.others) < 20
            assert all(math.isfinite(logprob) for _, logprob in likely.others)


def test_mean_surprise_is_that_of_the_text() -> None:
    """The likelihoods of a text add up to what the model gives the whole of it."""
    model = lively(ModelConfig.checked(vocab_size=20, block_size=32, d_model=8, n_head=2))
    guest = Guest([1, 2, 3], Sampling(temperature=2, top_k=9), 5, 20, 0)
    write(model, [guest])
    ids = torch.tensor([guest.prompt + guest.ids])
    with torch.no_grad():
        logits = model(ids).logits
    assert logits is not None
    logs = logits.log_softmax(-1)[0, 2:-1].gather(1, ids[0, 3:, None])
    assert math.isclose(sum(x.logprob for x in guest.likelihoods), float(logs.sum()), rel_tol=1e-5)
