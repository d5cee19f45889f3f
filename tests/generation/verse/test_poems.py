"""Poems of random models: whatever a model likes to write, what was asked for holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.generation.verse import Demand, Poem, poems
from mingyue.generation.writer import Writer
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse import REGULATED, judge, lines_of
from tests.generation.by_hand import ngram, recurrent
from tests.generation.verse.helpers import CHARS, SIGNS, SIMPLE, tokenizer, writer

FORMS = [*REGULATED, "7,7,7,7", "5", "3,5,7,5,3", "1,1"]


def write(demand: Demand, prompt: str = "", model: Writer | None = None, **values) -> list[Poem]:
    return list(poems(model or writer(), demand, prompt, **{"seed": 1, **values}))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("temperature", [0.0, 1.0, 100.0])
def test_a_form_cannot_be_missed(form: str, temperature: float) -> None:
    for poem in write(Demand(form=form), n=3, temperature=temperature):
        assert poem.completion.reason == "form"
        assert poem.judgement.fits, poem.text
        assert poem.text[-1] in "。？！"
        assert not set(poem.text) - set(CHARS + SIGNS)


@pytest.mark.parametrize(
    "chance",
    [
        {"top_k": 1},
        {"top_p": 0.01},
        {"min_p": 1.0},
        {"typical_p": 0.01},
        {"repetition_penalty": 100.0},
        {"logit_bias": {writer().tokenizer.end_id: 100.0}},
        {"logit_bias": {writer().tokenizer.encode("，")[0]: 100.0}},
    ],
)
def test_however_one_chooses(chance: dict) -> None:
    for poem in write(Demand(form="七绝", tone="hard"), n=2, **chance):
        assert poem.judgement.fits
        assert poem.judgement.rhyme is not None
        assert poem.judgement.rhyme.holds


@pytest.mark.parametrize("kind", ["lstm", "gru", "ngram"])
def test_models_of_every_kind_that_writes(kind: str) -> None:
    made = tokenizer()
    model = ngram(2, made.vocab_size) if kind == "ngram" else recurrent(kind, made.vocab_size)
    for poem in write(Demand(head="春夏秋冬", tone="hard"), model=Writer(model, made), n=3):
        assert poem.judgement.fits
        assert [line[0] for line in poem.judgement.lines] == list("春夏秋冬")


@pytest.mark.parametrize("chars", [CHARS, SIMPLE])
@given(form=st.sampled_from([*REGULATED]), seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_hard_rhyme_and_hard_tones_hold(chars: str, form: str, seed: int) -> None:
    for poem in write(Demand(form=form, tone="hard"), model=writer(chars), n=2, seed=seed):
        found = poem.judgement
        assert found.rhyme is not None
        assert found.rhyme.holds
        assert found.rhyme.level
        assert not found.rhyme.repeated
        assert found.loose is not None
        assert found.strict is not None
        assert found.loose.holds
        assert found.strict.holds
        assert not [fault for _, fault in poem.faults if "again" not in fault.message]


@given(seed=st.integers(0, 10**6), name=st.sampled_from("東支先陽庚"))
@settings(max_examples=10, deadline=None)
def test_a_class_that_is_asked_for_is_kept(seed: int, name: str) -> None:
    (poem,) = write(Demand(form="五律", rhyme=name), seed=seed)
    assert poem.judgement.rhyme is not None
    assert poem.judgement.rhyme.name == name
    assert poem.judgement.rhyme.holds


@given(head=st.text(st.sampled_from(CHARS), min_size=1, max_size=9), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_an_acrostic_begins_with_its_heads(head: str, seed: int) -> None:
    (poem,) = write(Demand(head=head), seed=seed)
    assert [line[0] for line in poem.judgement.lines] == list(head)
    assert {len(line) for line in poem.judgement.lines} == {7}


def test_fewer_heads_than_lines_leave_the_others_free() -> None:
    (poem,) = write(Demand(form="五律", head="春夏"))
    assert [line[0] for line in poem.judgement.lines[:2]] == ["春", "夏"]
    assert poem.judgement.fits


@given(data=st.data(), form=st.sampled_from(["五绝", "七绝", "5,7,5"]))
@settings(max_examples=20, deadline=None)
def test_a_beginning_is_kept_and_completed(data: st.DataObject, form: str) -> None:
    (whole,) = write(Demand(form=form))
    cut = data.draw(st.integers(0, len(whole.text) - 1))
    (poem,) = write(Demand(form=form), whole.text[:cut])
    assert poem.text.startswith(whole.text[:cut])
    assert poem.judgement.fits


@given(upper=st.text(st.sampled_from(CHARS[:40]), min_size=1, max_size=9), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_a_couplet_is_answered(upper: str, seed: int) -> None:
    (poem,) = write(Demand(couplet=upper, tone="hard"), seed=seed)
    above, below = lines_of(poem.text)
    assert above == upper
    assert len(below) == len(upper)
    assert not set(above) & set(below)
    assert poem.faults == ()


def test_a_couplet_of_two_clauses_and_its_beginning() -> None:
    (poem,) = write(Demand(couplet="春夏秋，明月春。"), "東")
    assert lines_of(poem.text)[:2] == ["春夏秋", "明月春"]
    assert list(map(len, lines_of(poem.text))) == [3, 3, 3, 3]
    assert lines_of(poem.text)[2][0] == "東"


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_no_line_twice_however_low_the_temperature(seed: int) -> None:
    model = writer(seed=seed % 7)
    for temperature in (0.0, 0.3):
        (poem,) = write(
            Demand(form="7,7,7,7", rhyme="free", tone="free"), model=model, temperature=temperature
        )
        assert len(set(poem.judgement.lines)) == 4


def test_a_poem_does_not_depend_on_how_many_there_are() -> None:
    demand = Demand(form="五绝")
    many, few = write(demand, n=5), write(demand, n=2)
    assert [poem.text for poem in many[:2]] == [poem.text for poem in few]
    assert len({poem.text for poem in many}) == 5
    again = write(demand, seed=many[3].completion.seed)
    assert again[0].text == many[3].text


def test_a_prompt_is_a_beginning_and_no_acrostic() -> None:
    (poem,) = write(Demand(form="七绝"), "春夏秋冬")
    assert poem.judgement.lines[0].startswith("春夏秋冬")
    assert [line[0] for line in poem.judgement.lines] != list("春夏秋冬")


@pytest.mark.parametrize("signs", ["\n", "，。\n", " ", "", ",."])
def test_texts_with_other_signs_between_lines(signs: str) -> None:
    (poem,) = write(Demand(form="五绝"), model=writer(signs=signs))
    text = poem.text if signs else "，".join(poem.text[i : i + 5] for i in range(0, 20, 5))
    if signs == " ":
        text = poem.text.replace(" ", "，")
    assert judge(text).fits, repr(poem.text)
    assert "\n\n" not in poem.text
    assert not poem.text.endswith("\n")


def test_models_trained_with_headings_are_asked_by_one() -> None:
    model = writer(headings=True)
    (poem,) = write(Demand(form="七绝", author="李白", title="春月"), model=model)
    assert poem.completion.prompt == "〔七绝李白《春月》〕"
    assert poem.judgement.fits
    assert not set(poem.text) & set("〔〕《》")
    (poem,) = write(Demand(form="5,5"), model=model)
    assert poem.completion.prompt == "〔五言〕"
    (poem,) = write(Demand(form="5,7"), "春", model=model)
    assert poem.completion.prompt == "春"


def test_simplified_words_for_a_traditional_model() -> None:
    model = writer("東風夜放花千樹" + CHARS)
    (poem,) = write(Demand(head="东风"), "东风", model=model)
    assert poem.text.startswith("東風")
    assert poem.judgement.lines[1][0] == "風"
    assert any("东→東" in note for note in poem.completion.notes)


@pytest.mark.parametrize(
    ("demand", "prompt", "why"),
    [
        ({"form": "六绝"}, "", "no form"),
        ({"head": "abc"}, "", "heads are 汉字"),
        ({"head": "春龘"}, "", "never seen 龘"),
        ({"form": "五绝", "head": "春夏秋冬明"}, "", "5 heads, but 五绝 has only 4 lines"),
        ({"form": "五绝"}, "春夏秋冬明月", "more than 5"),
        ({"form": "五绝"}, "龘", "never seen 龘"),
        ({"form": "五绝", "rhyme": "咸"}, "", "the model knows 0 characters"),
        ({"form": "五绝", "rhyme": "月"}, "", "not of the level tone"),
        ({"form": "五绝", "rhyme": "哈"}, "", "no rhyme class"),
        ({"couplet": "abc"}, "", "no 汉字"),
        ({"couplet": "春夏", "form": "五绝"}, "", "leave out form"),
        ({"form": "五绝", "author": "李白"}, "", "trained without headings"),
        ({"form": "1,1,1,1", "head": "春夏"}, "秋", "has to begin with 春"),
        ({"form": "1,1,1,1"}, "春，東，夏，支", "ends in 支, which does not rhyme"),
    ],
)
def test_what_cannot_be_had_is_named(demand: dict, prompt: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        poems(writer(), Demand(**demand), prompt)


def test_an_oblique_class_with_free_tones() -> None:
    (poem,) = write(Demand(form="五绝", rhyme="月", tone="free"))
    assert poem.judgement.rhyme is not None
    assert poem.judgement.rhyme.name == "月"


def test_soft_rhyme_takes_a_beginning_that_does_not() -> None:
    (poem,) = write(Demand(form="1,1,1,1", rhyme="soft"), "春，東，夏，支")
    assert poem.judgement.rhyme is not None
    assert not poem.judgement.rhyme.holds
    assert [n for n, _ in poem.faults][:1] == [1]


def test_positions_that_end_too_early_are_named() -> None:
    with pytest.raises(UserError, match=r"五律 needs 48 tokens, .* only 24"):
        write(Demand(form="五律"), model=writer(position="learned"))
    (poem,) = write(Demand(form="五绝"), model=writer(position="learned"))
    assert poem.judgement.fits


def test_other_tokenizers_are_refused() -> None:
    made = writer()
    other = Writer(made.model, Tokenizer.bytes())
    with pytest.raises(UserError, match="counted in characters"):
        write(Demand(form="五绝"), model=other)
    with pytest.raises(UserError, match="knows no 汉字"):
        write(Demand(form="五绝"), model=writer("abcdef"))


def test_ranking_counts_each_fault_as_a_nat() -> None:
    for poem in write(Demand(form="五绝", rhyme="free", tone="free"), n=4, temperature=3.0):
        assert poem.completion.logprob is not None
        expected = poem.completion.logprob - poem.n_faults / poem.completion.n_tokens
        assert poem.score == pytest.approx(expected)
        assert poem.n_faults == sum(n for n, _ in poem.faults)
