"""Issue 5: what others got wrong in writing, for every kind of model that writes."""

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mingyue.errors import UserError
from mingyue.generation.prompt import prepare
from mingyue.generation.sampling import NEVER, Sampling
from mingyue.generation.writer import Completion, Writer
from mingyue.generation.writing import Request
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse import lay_out
from tests.generation.by_hand import ngram, recurrent
from tests.model.configs import POSITIONS, lively

TEXT = "床前明月光疑是地上霜舉頭望低思故鄉，。？！；"
CHARACTERS = Tokenizer.characters(Counter(TEXT))  # neither a newline nor a space
V = CHARACTERS.vocab_size
KINDS = [*POSITIONS, "lstm", "gru", "1-gram", "3-gram"]


def model(kind: str, **values: Any) -> LanguageModel:
    if kind in ("lstm", "gru"):
        return recurrent(kind, V)
    if kind.endswith("-gram"):
        return ngram(int(kind[0]), V)
    sizes = {"vocab_size": V, "block_size": 16, "n_layer": 2, "n_head": 2, "d_model": 16}
    return lively(ModelConfig.checked(**{**sizes, "position": kind, **values}))


WRITERS = {kind: Writer(model(kind), CHARACTERS) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
ENDLESS = {CHARACTERS.end_id: -1e9}


@each_kind
def test_a_model_that_never_ends_its_text_is_stopped(kind: str) -> None:
    made = WRITERS[kind]
    size = made.model.config.block_size
    for most, n in ((None, size), (7, 7)):
        done = made.generate("", logit_bias=ENDLESS, seed=1, max_tokens=most)[0]
        assert (done.reason, done.n_tokens, len(done.text)) == ("length", n, n)
    if kind != "learned":
        *pieces, last = made.stream("", logit_bias=ENDLESS, seed=1, max_tokens=200)
        assert isinstance(last, Completion)
        assert (last.reason, last.n_tokens, len(pieces)) == ("length", 200, 200)
    else:
        done = made.generate("", logit_bias=ENDLESS, seed=1, max_tokens=200)[0]
        assert (done.reason, done.n_tokens) == ("context", 16)


@each_kind
def test_a_very_long_prompt(kind: str) -> None:
    made, prompt = WRITERS[kind], TEXT * 400 + "床前"
    asked: dict[str, Any] = {"seed": 3, "max_tokens": 12, "logit_bias": ENDLESS}
    if kind == "learned":
        with pytest.raises(UserError, match=r"8802 tokens.*16 \(block_size\)"):
            made.generate(prompt, **asked)
        return
    done = made.generate(prompt, **asked)[0]
    assert (done.prompt, done.n_tokens, done.reason) == (prompt, 12, "length")
    if kind in POSITIONS:  # the front is cut off, and this is said
        assert "8802" in done.notes[0] and "16" in done.notes[0]
        other = made.generate("光" + prompt[1:], **asked)[0]
        assert other.text == done.text
    else:  # all of it counts
        assert done.notes == ()
        assert made.generate([TEXT, prompt], **asked)[1] == done


@each_kind
@pytest.mark.parametrize("prompt", ["", "\n", " ", "\u3000\ufeff"], ids=ascii)
def test_an_empty_prompt_where_the_text_has_no_blanks(kind: str, prompt: str) -> None:
    done = WRITERS[kind].generate(prompt, n=5, seed=0, logit_bias=ENDLESS)
    assert {d.prompt for d in done} == {""}
    assert all(d.text and set(d.text) <= set(TEXT) for d in done)
    assert len({d.text for d in done}) == 5


@each_kind
def test_other_seeds_other_texts(kind: str) -> None:
    made = WRITERS[kind]
    asked: dict[str, Any] = {"logit_bias": ENDLESS, "max_tokens": 15, "temperature": 1.0}
    by_seed = [made.generate("床", seed=seed, **asked)[0].text for seed in range(30)]
    together = [done.text for done in made.generate("床", n=30, seed=0, **asked)]
    chance = [made.generate("床", **asked)[0].text for _ in range(10)]
    for texts in (by_seed, together, chance):
        assert len(set(texts)) >= len(texts) - 1


@each_kind
@settings(max_examples=8)
@given(data=st.data())
def test_a_text_depends_on_its_seed_and_prompt_only(kind: str, data: st.DataObject) -> None:
    """Not on ``n``, on the other prompts, on how many are written side by side."""
    made = WRITERS[kind]
    longest = 15 if kind == "learned" else 40
    prompts = data.draw(st.lists(st.text(TEXT, max_size=longest), min_size=1, max_size=5))
    n, rows = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([1, 3, 64]))
    asked: dict[str, Any] = {
        "seed": data.draw(st.integers(0, 2**63 - 1)),
        "max_tokens": data.draw(st.integers(1, 40)),
        "temperature": data.draw(st.sampled_from([0, 0.8])),
        "stop": data.draw(st.sampled_from([(), ("。", "月光")])),
        "repetition_penalty": data.draw(st.sampled_from([1.0, 1.2])),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mingyue.generation.batches._ROWS", rows)
        together = made.generate(prompts, n=n, **asked)
    assert len(together) == n * len(prompts)
    for i, done in enumerate(together):
        alone = {**asked, "seed": done.seed}
        assert made.generate(prompts[i // n], **alone) == [done]


@pytest.mark.parametrize("precision", ["fp16", "bf16", "int8"])
def test_nor_in_other_precisions_or_compiled(precision: Any) -> None:
    gpt = WRITERS["rope"].model
    writers = [Writer(gpt, CHARACTERS, precision=precision)]
    if precision == "int8":
        pytest.importorskip("numba")
        writers += [Writer(gpt, CHARACTERS, compile=True)]
    prompts = ["", "床前", "明月光，疑是", "床", "明月", "明月光，疑是地上霜。舉頭望明月，低頭"]
    for made in writers:
        for done in made.generate(prompts, n=3, seed=4, max_tokens=40):
            alone = made.generate(done.prompt, seed=done.seed, max_tokens=40)[0]
            assert (alone.text, alone.reason) == (done.text, done.reason)


def test_question_marks_and_rare_signs() -> None:
    """They are text like any other: half-width ones are understood, lines end after them, and one
    the model has never seen is named."""
    made = WRITERS["rope"]
    done = made.generate("床前明月光?", seed=1, max_tokens=5)[0]
    assert done.prompt == "床前明月光？" and "?→？" in done.notes[0]
    assert done.text == made.generate("床前明月光？", seed=1, max_tokens=5)[0].text
    with pytest.raises(UserError, match="‽"):
        made.generate("床前明月光‽")
    for sign in "？！；。":
        certain = {sign: 1e3}
        assert set(made.generate("床", logit_bias=certain, max_tokens=3)[0].text) == {sign}
        assert lay_out(f"床前明月光{sign}疑是地上霜。").splitlines()[0] == f"床前明月光{sign}"


class Five:
    """A guide: five characters, none of which is 月; then the text is complete."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    @property
    def done(self) -> bool:
        return len(self.taken) == 5

    def shift(self) -> Tensor:
        assert not self.done
        out = [CHARACTERS.end_id, *CHARACTERS.encode("月")]
        return torch.zeros(V).index_fill(0, torch.tensor(out), NEVER)

    def took(self, id: int) -> None:
        self.taken.append(id)


@each_kind
@pytest.mark.parametrize("way", [{"temperature": 0}, {"temperature": 5}, {"top_k": 1}])
def test_a_form_is_kept_and_is_the_reason_to_end(kind: str, way: dict[str, Any]) -> None:
    """Even where what it forbids is all but certain, and beside texts without a form."""
    made = WRITERS[kind]
    bias = dict.fromkeys([CHARACTERS.end_id, *CHARACTERS.encode("月")], 50.0)
    request = Request(n=3, max_tokens=9, seed=1, probabilities=2)
    one, other = (prepare(text, CHARACTERS, made.model.config, "refuse") for text in ("床前", ""))
    samples = [(one, Five()) for _ in range(3)] + [(other, None)] * 3
    done = list(made.written(samples, Sampling(logit_bias=bias, **way), request))
    for held in done[:3]:
        assert (held.reason, held.n_tokens, len(held.text)) == ("form", 5, 5)
        assert "月" not in held.text and len(held.tokens) == 5
    assert all(free.reason in ("end", "length") for free in done[3:])
    unheld = made.generate("", n=3, max_tokens=9, seed=1, logit_bias=bias, **way)
    assert [free.text for free in done[3:]] == [free.text for free in unheld]


@each_kind
def test_the_likeliest_come_first(kind: str) -> None:
    made = WRITERS[kind]
    asked: dict[str, Any] = {"n": 6, "seed": 2, "max_tokens": 10}
    best = made.generate(["床", "明月"], best=True, **asked)
    plain = made.generate(["床", "明月"], probabilities=0, **asked)
    assert best[:6] == sorted(plain[:6], key=lambda done: -(done.logprob or 0))
    assert best[6:] == sorted(plain[6:], key=lambda done: -(done.logprob or 0))
    assert [done.text for done in plain] == [d.text for d in made.generate(["床", "明月"], **asked)]


def test_progress_is_told() -> None:
    said: list[float] = []
    done = list(
        WRITERS["rope"].samples(["床", "明月"], n=50, seed=2, max_tokens=10, told=said.append)
    )
    assert len(done) == 100
    assert said == sorted(said) and 0 <= said[0] < said[-1] <= 100
    assert said[-1] > 90 and len(set(said)) > 10


def test_no_prompts_no_texts() -> None:
    assert WRITERS["rope"].generate([]) == []
