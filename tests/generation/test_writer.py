"""SPEC C1 and issue 2: writing from a prompt, and every way in which others got it wrong."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.generation.decode import Decoding
from mingyue.generation.sampling import Sampling
from mingyue.generation.writer import Completion, Writer, load
from mingyue.interop.run_folder import never_written, save_model
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer
from tests.model.configs import lively

TEXT = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
CHARACTERS = Tokenizer.characters(Counter(TEXT))
BYTES = Tokenizer.bytes()


def writer(tokenizer: Tokenizer = CHARACTERS, *, seed: int = 0, **values: Any) -> Writer:
    sizes = {"block_size": 16, "n_layer": 2, "n_head": 2, "d_model": 16}
    config = ModelConfig.checked(**{"vocab_size": tokenizer.vocab_size, **sizes, **values})
    return Writer(lively(config, seed), tokenizer)


def always(id: int, tokenizer: Tokenizer = CHARACTERS, **values: Any) -> Writer:
    """A writer whose every next token is ``id``."""
    made = writer(tokenizer, **values)
    with torch.no_grad():
        made.model.norm.weight.zero_()  # type: ignore[union-attr]
        if made.model.config.norm == "layernorm":
            made.model.norm.bias.fill_(1.0)  # type: ignore[union-attr]
    head = made.model.unembedding
    with torch.no_grad():
        head.fill_(-1.0)
        head[id] = 1.0
    return made


def biased(id: int, **values: Any) -> Writer:
    return always(id, norm="layernorm", bias=True, qk_norm=False, **values)


ROPE = writer()
LEARNED = writer(position="learned")


def test_equal_seed_equal_text() -> None:
    a, b = (ROPE.generate("床前", n=3, seed=4) for _ in range(2))
    assert a == b
    assert ROPE.generate("床前", seed=5)[0].text != a[0].text


def test_a_sample_does_not_depend_on_how_many_there_are() -> None:
    many = ROPE.generate("床前", n=5, seed=4, max_tokens=40)
    few = ROPE.generate("床前", n=2, seed=4, max_tokens=40)
    assert many[:2] == few
    assert len({c.text for c in many}) == 5
    for completion in many:  # the seed in the completion writes it again, alone
        assert ROPE.generate("床前", seed=completion.seed, max_tokens=40) == [completion]


def test_more_samples_than_one_batch() -> None:
    many = ROPE.generate("", n=70, seed=1, max_tokens=3)
    assert len(many) == 70
    assert ROPE.generate("", seed=many[69].seed, max_tokens=3) == [many[69]]


def test_without_seed_it_differs() -> None:
    texts = {ROPE.generate("", max_tokens=16)[0].seed for _ in range(5)}
    assert len(texts) == 5


def test_greedy() -> None:
    a, b = ROPE.generate("床前", temperature=0, n=2)
    assert a.text == b.text == ROPE.generate("床前", temperature=0, seed=99)[0].text


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([ROPE, LEARNED, writer(BYTES), writer(position="alibi")]),
    st.sampled_from(["", "床前", "明月光，"]),
    st.integers(0, 10**6),
    st.sampled_from([1, 5, 40]),
    st.sampled_from([(), ("月",), ("頭", "，"), ("a",)]),
)
def test_stream_is_generate_in_pieces(
    made: Writer, prompt: str, seed: int, n: int, stop: tuple[str, ...]
) -> None:
    *pieces, last = made.stream(prompt, seed=seed, max_tokens=n, stop=stop)
    assert [last] == made.generate(prompt, seed=seed, max_tokens=n, stop=stop)
    assert isinstance(last, Completion)
    assert "".join(map(str, pieces)) == last.text
    assert all(pieces)
    assert not any(s in last.text for s in stop)
    assert last.n_tokens <= n
    if last.reason == "length":
        assert last.n_tokens == n


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.8, 20.0]))
def test_nothing_special_is_ever_shown(seed: int, temperature: float) -> None:
    for completion in ROPE.generate("床前", n=4, seed=seed, temperature=temperature):
        assert set(completion.text) <= set(TEXT)
        assert completion.n_tokens == len(completion.text)


def test_unknown_and_padding_are_never_written_even_if_they_score_best() -> None:
    for id in CHARACTERS.never_sampled:
        for temperature in (0, 1.0):
            completion = biased(id).generate("床", temperature=temperature, seed=0)[0]
            assert completion.text or completion.reason == "end"
            assert set(completion.text) <= set(TEXT)


def test_the_end_token_ends() -> None:
    completion = biased(CHARACTERS.end_id).generate("床前", temperature=0)[0]
    assert (completion.text, completion.reason, completion.n_tokens) == ("", "end", 0)


def test_a_repetition_penalty_does_not_put_off_the_end() -> None:
    """The end token stands before every prompt and would be shunned as a repetition."""
    made = biased(CHARACTERS.end_id)  # scores: end 16, all others -16
    bias = {"月": 31.0}  # a close second
    completion = made.generate("", temperature=0, repetition_penalty=1.2, logit_bias=bias)[0]
    assert (completion.text, completion.reason) == ("", "end")
    other = {"月": 31.0, CHARACTERS.end_id: -2.0}
    text = made.generate("", temperature=0, repetition_penalty=1.2, logit_bias=other)[0].text
    assert text == "月"  # once, then the end is the better one


@pytest.mark.parametrize("position", ["rope", "alibi", "none", "sinusoidal"])
def test_sliding_past_the_context(position: str) -> None:
    moon = CHARACTERS.encode("月")[0]
    completion = biased(moon, position=position).generate("床", max_tokens=50, temperature=0)[0]
    assert completion.text == "月" * 50
    assert completion.reason == "length"
    assert "16" in completion.notes[0]


def test_learned_positions_end_with_the_context() -> None:
    moon = CHARACTERS.encode("月")[0]
    made = biased(moon, position="learned")
    completion = made.generate("床前", max_tokens=50, temperature=0)[0]
    # 16 positions hold the end token, the prompt and 13 new ones; one more can be predicted.
    assert completion.text == "月" * 14
    assert completion.reason == "context"
    assert "16" in completion.notes[0]
    longest = "月" * 15  # with the end token exactly the context
    assert made.generate(longest, temperature=0)[0].text == "月"
    with pytest.raises(UserError, match=r"\b16\b.*\bblock_size\b"):
        made.generate(longest + "月")


def test_the_end_of_the_context_is_no_news_if_the_text_ends_there() -> None:
    moon = CHARACTERS.encode("月")[0]
    for position in ("learned", "rope"):
        completion = biased(moon, position=position).generate("床前", max_tokens=14)[0]
        assert (completion.reason, completion.notes) == ("length", ())


def test_a_long_prompt_is_cut_at_its_front_and_this_is_said() -> None:
    completion = ROPE.generate("床前明月" * 10, max_tokens=3, seed=0)[0]
    assert any("40" in note and "16" in note for note in completion.notes)
    assert completion.prompt == "床前明月" * 10


def test_default_length_ends() -> None:
    assert biased(CHARACTERS.encode("月")[0]).generate("", temperature=0)[0].n_tokens == 16


def test_prompts_are_adapted_and_this_is_said() -> None:
    completion = ROPE.generate("床前明月光,举头", seed=0)[0]
    assert completion.prompt == "床前明月光，舉頭"
    assert ",→，" in completion.notes[0]
    assert "举→舉" in completion.notes[0]
    assert completion.text == ROPE.generate("床前明月光，舉頭", seed=0)[0].text
    assert ROPE.generate("床前", seed=0)[0].notes[:1] != completion.notes[:1]


@pytest.mark.parametrize(
    ("prompt", "named"),
    [("床X前Y", "X Y"), ("🚀", "🚀"), ("床\a前", "U+0007"), ("\ud83d", "U+D83D"), ("<|end|>", "|")],
)
def test_unknown_characters_are_named_or_dropped(prompt: str, named: str) -> None:
    with pytest.raises(UserError) as error:
        ROPE.generate(prompt)
    assert named in str(error.value)
    completion = ROPE.generate(prompt, unknown="drop", seed=0)[0]
    assert named in completion.notes[-1] or named in completion.notes[0]
    assert set(completion.prompt) <= set(TEXT)
    str(completion).encode("utf-8")  # can be printed


@pytest.mark.parametrize("unknown", ["refuse", "drop"])
@pytest.mark.parametrize("blank", list(" \t\n\r\u3000\u00a0\u200b\u200d\u2060\ufeff"), ids=ascii)
def test_unknown_blanks_are_left_out(blank: str, unknown: Any) -> None:
    plain = ROPE.generate("床前，頭", seed=0)[0]
    made = ROPE.generate(f"{blank}床{blank}前,头{blank}", seed=0, unknown=unknown)[0]
    assert (made.prompt, made.text) == (plain.prompt, plain.text)
    assert f"U+{ord(blank):04X}" in made.notes[1] and ",→，" in made.notes[0]
    assert ROPE.generate(blank, seed=0, unknown=unknown)[0].prompt == ""


def test_known_blanks_stay() -> None:
    made = writer(Tokenizer.characters(Counter("a b")))
    assert made.generate("a\u3000b", seed=0)[0].prompt == "a b"
    assert made.generate("a b\n", seed=0)[0].prompt == "a b"
    assert writer(BYTES).generate(" a\n\ufeff", seed=0, max_tokens=2)[0].prompt == " a\n\ufeff"


def test_the_refusal_serves_the_command_line_and_python() -> None:
    with pytest.raises(UserError) as error:
        ROPE.generate("床 X")
    assert "X;" in str(error.value) and "U+0020" not in str(error.value)
    assert '--unknown drop; unknown="drop" in Python' in str(error.value)


def test_text_that_spells_the_end_token_is_text() -> None:
    made = writer(BYTES)
    assert made.generate("<|end|>", seed=0, max_tokens=3)[0].prompt == "<|end|>"


def test_stop_strings() -> None:
    free = ROPE.generate("床前", temperature=1.0, seed=8, max_tokens=30)[0]
    stop = free.text[4:6]
    assert len(stop) == 2
    stopped = ROPE.generate("床前", temperature=1.0, seed=8, max_tokens=30, stop=stop)[0]
    assert stopped.reason == "stop"
    assert stopped.text == free.text[: free.text.find(stop)]


def test_logit_bias_by_id_or_character() -> None:
    moon = CHARACTERS.encode("月")[0]
    for key in (moon, "月"):
        completion = ROPE.generate("床", logit_bias={key: 1000.0}, max_tokens=4)[0]
        assert completion.text == "月月月月"
    for wrong in ("月光", "X", "", -1, CHARACTERS.vocab_size):
        with pytest.raises(UserError, match="logit_bias"):
            ROPE.generate("床", logit_bias={wrong: 1.0})


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"n": -1},
        {"max_tokens": 0},
        {"max_tokens": 10**12},
        {"seed": -1},
        {"seed": 2**64},
        {"seed": 1.5},
        {"stop": ""},
        {"stop": ["a", ""]},
        {"temperature": -1},
        {"top_p": 0},
        {"unknown": "guess"},
    ],
    ids=str,
)
def test_absurd_values_are_refused_at_the_call(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        ROPE.generate("床", **wrong)
    if "n" not in wrong:
        with pytest.raises(UserError):
            ROPE.stream("床", **wrong)


def test_stream_refuses_at_the_call() -> None:
    with pytest.raises(UserError, match="X"):
        ROPE.stream("X")


def test_load(tmp_path: Any) -> None:
    save_model(ROPE.model, CHARACTERS, tmp_path, about={"layout": "verse"})
    again = load(tmp_path, device="cpu")
    assert again.about["layout"] == "verse"
    assert again.generate("床前", n=2, seed=3) == ROPE.generate("床前", n=2, seed=3)
    with pytest.raises(UserError, match="nowhere"):
        load(tmp_path / "nowhere")


def test_fewer_tokens_than_rows() -> None:
    """Rows of the head without a token are never chosen."""
    made = writer(vocab_size=CHARACTERS.vocab_size + 9)
    for completion in made.generate("", n=8, seed=0, temperature=50.0):
        assert set(completion.text) <= set(TEXT)


def test_dropout_is_off() -> None:
    config = ModelConfig(vocab_size=CHARACTERS.vocab_size, block_size=16, d_model=16, dropout=0.5)
    made = Writer(GPT(config).train(), CHARACTERS)
    assert made.generate("", seed=1) == made.generate("", seed=1)
    assert made.model.training


def test_samples_come_batch_by_batch_and_are_those_of_generate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = ROPE.generate("床前", n=7, seed=4, max_tokens=9)
    monkeypatch.setattr("mingyue.generation.batches._ROWS", 3)
    begun: list[int] = []
    begin = Decoding.begin

    def counted(self: Decoding, ids: Any, sampling: Any, seeds: Any, guides: Any) -> list[int]:
        begun.append(len(seeds))
        return begin(self, ids, sampling, seeds, guides)

    monkeypatch.setattr(Decoding, "begin", counted)
    samples = ROPE.samples("床前", n=7, seed=4, max_tokens=9)
    first = [next(samples) for _ in range(3)]
    assert begun == [3]
    assert first + list(samples) == whole
    assert begun == [3, 3, 1]
    with pytest.raises(UserError):  # at the call, not at the first sample
        ROPE.samples("床前", n=0)


def test_the_copy_that_writes_is_made_once_and_follows_the_weights() -> None:
    made = writer()
    before = made.generate("床前", temperature=0)
    step = made.fast_step()
    assert step is not None and made.fast_step() is step
    made.generate("床前", n=2)
    assert made.fast_step() is step
    with torch.no_grad():
        made.model.unembedding.neg_()
    assert made.fast_step() is not step
    assert made.generate("床前", temperature=0) != before
    plain = Decoding(made.model, never=never_written(made.model.config, CHARACTERS))
    plain.begin([CHARACTERS.end_id, *CHARACTERS.encode("床前")], Sampling(temperature=0), [0])
    wanted: list[int] = []
    while len(wanted) < 16 and CHARACTERS.end_id not in wanted:
        wanted += plain.step().values()
    assert made.generate("床前", temperature=0)[0].text == CHARACTERS.decode(
        [id for id in wanted if id != CHARACTERS.end_id]
    )


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16", "int8"])
def test_every_precision_writes(precision: Any, tmp_path: Path) -> None:
    """Also one that is loaded; a sample does not depend on how many there are."""
    save_model(ROPE.model, CHARACTERS, tmp_path)
    made = load(tmp_path, device="cpu", precision=precision)
    many = made.generate("床前", n=4, seed=4, max_tokens=40)
    assert many[:2] == made.generate("床前", n=2, seed=4, max_tokens=40)
    if precision == "fp32":
        assert many == ROPE.generate("床前", n=4, seed=4, max_tokens=40)


def test_impossible_precisions() -> None:
    with pytest.raises(UserError, match=r"precision.*int3"):
        Writer(ROPE.model, CHARACTERS, precision="int3")  # type: ignore[arg-type]
    narrow = Writer(lively(ROPE.model.config).bfloat16(), CHARACTERS, precision="int8")
    with pytest.raises(UserError, match="precision int8"):
        narrow.generate("床前")
