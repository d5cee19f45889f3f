"""D3: where a word's sense can be in its vector, and where it cannot."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.explain.exhibits.context import EXHIBIT, ContextKnobs, show
from mingyue.explain.measures.contexts import (
    Context,
    by_chance,
    in_text,
    reading,
    take_apart,
    within_and_between,
)
from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.text.tokenizer import Tokenizer
from tests.explain.corpora import with_text
from tests.explain.helpers import subject
from tests.explain.recomputed import stream
from tests.model.configs import configs, lively

TEXT = "行人，行路，獨行。兩行，數行。"
BYTES = Tokenizer.bytes()
ALONE = ContextKnobs(lines=0)


def claims(exhibit) -> dict[str, bool | None]:
    return {verdict.claim.split(":")[0]: verdict.holds for verdict in exhibit.verdicts}


def test_a_text_is_taken_apart() -> None:
    contexts = take_apart(TEXT)
    assert (contexts.word, contexts.lines) == ("行", ["行人", "行路", "獨行", "兩行", "數行"])
    assert [item.sense for item in contexts.items] == [0, 0, 0, 1, 1]
    assert [item.end for item in contexts.items] == [1, 1, 2, 2, 2]
    assert take_apart("by the river bank, a bank. the bank loan").word == "bank"
    assert [len(take_apart(text).lines) > 5 for text in EXHIBIT.texts] == [True] * 5
    assert [take_apart(text).word for text in EXHIBIT.texts] == ["打", "bank", "行", "長", "重"]
    for text in ("床前明月光", "。，", "打车。天地"):
        with pytest.raises(UserError, match="no two clauses"):
            take_apart(text)
    with pytest.raises(UserError, match="no two clauses"):
        take_apart(TEXT, "路")  # in one of them only


@pytest.mark.parametrize("tokenizer", ["characters", "bytes"])
def test_what_is_read_and_looked_at(tokenizer: str) -> None:
    looked = subject(TEXT)
    if tokenizer == "bytes":
        config = looked.model.config.changed(vocab_size=BYTES.vocab_size)
        looked = Subject.of(Writer(lively(config), BYTES), "行人，獨行")
    contexts = take_apart("行人，獨行")
    read = {}
    for way in ("itself", "later", "left"):
        for item in contexts.items:
            ids, t = reading(looked, contexts, item, way)
            decode = lambda part: looked.tokenizer.decode(part.tolist())
            read[way, item.line] = (decode(ids[0, 1:]), decode(ids[0, 1 : t + 1]))
    assert read == {
        ("itself", "行人"): ("行人", "行"),
        ("itself", "獨行"): ("獨行", "獨行"),
        ("later", "行人"): ("行人，", "行人，"),
        ("later", "獨行"): ("獨行，", "獨行，"),
        ("left", "行人"): ("行人，行", "行人，行"),
        ("left", "獨行"): ("獨行，行", "獨行，行"),
    }


@settings(max_examples=30)
@given(configs(), st.booleans())
@torch.no_grad()
def test_cosines_are_the_model_s_and_the_laws_hold(config, causal) -> None:
    """Every position scheme, norm and head; with a mask a word is blind to what follows."""
    config = config.changed(block_size=16, causal=causal)
    base = subject("甲行人，甲行路。乙行，丙行", block_size=16)
    config = config.changed(vocab_size=base.tokenizer.vocab_size)
    looked = Subject.of(Writer(lively(config), base.tokenizer), base.text)
    exhibit = show(looked, ALONE)
    contexts = take_apart(looked.text)
    drawn = exhibit.panels[1].values  # [ways, layers, n, n]
    texts = {0: "{}", 1: "{}，", 2: "{}，行"}
    for way, form in texts.items():
        for layer in range(config.n_layer + 1):
            vectors = []
            for item in contexts.items:
                ids = looked.read(form.format(item.line))
                t = item.end if way == 0 else ids.shape[1] - 1
                x = looked.model.embedding(ids) if layer == 0 else stream(looked, layer, ids)
                vectors.append(torch.nn.functional.normalize(x[0, t].double(), dim=0))
            expected = torch.stack(vectors) @ torch.stack(vectors).T
            np.testing.assert_allclose(drawn[way, layer], expected, atol=1e-4)
    static, following, *_ = exhibit.verdicts
    assert static.holds is True
    if causal:
        assert following.holds is True and "does not see" in following.claim
    else:  # an attention that gives all to one token might see nothing of another
        assert following.holds in (True, False) and "does not" not in following.claim
    assert len(exhibit.verdicts) == (5 if causal else 6)


def test_a_model_that_sees_both_ways_is_looked_at_itself() -> None:
    both = show(subject(TEXT, causal=False), ALONE)
    assert claims(both)["行 sees what follows"] is True
    assert "itself" in claims(both) and not any("causal" in note for note in both.notes)
    assert both.panels[1].page[0] == 0
    one = show(subject(TEXT), ALONE)
    assert "itself" not in claims(one) and any("bidirectional" in note for note in one.notes)


def test_a_leak_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = subject(TEXT)
    see = Subject.see
    leak = lambda self, names, ids: {n: v + v.mean(1) for n, v in see(self, names, ids).items()}
    monkeypatch.setattr(Subject, "see", leak)
    found = show(looked, ALONE).verdicts
    assert (found[0].holds, found[1].holds) == (False, False)


def test_a_model_without_attention_tells_nothing_apart() -> None:
    looked = subject(TEXT)
    with torch.no_grad():
        for block in looked.model.blocks:
            block.attention.out.weight.zero_()
    found = claims(show(looked, ALONE))
    assert found["with its cue in view, 行 has another vector in each context"] is False
    assert found["later"] is False and found["cue to the left"] is False


def items(senses, phrases=None) -> list[Context]:
    phrases = range(len(senses)) if phrases is None else phrases
    return [Context("", 0, p, s) for p, s in zip(phrases, senses, strict=True)]


def test_within_and_between_leave_pairs_of_one_phrase_out() -> None:
    cosine = np.random.default_rng(0).normal(size=(3, 6, 6))
    six = items([0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 3, 3])
    within, between = within_and_between(cosine, six)
    pairs = [p for p in combinations(range(6), 2) if p not in ((0, 1), (4, 5))]
    for layer in range(3):
        for mean, same in ((within, True), (between, False)):
            chosen = [cosine[layer, i, j] for i, j in pairs if ((i < 3) == (j < 3)) == same]
            assert mean[layer] == pytest.approx(np.mean(chosen))
    assert np.isnan(within_and_between(cosine, items([0, 1, 2, 3, 4, 5]))[0]).all()
    assert np.isnan(within_and_between(cosine, items([0] * 6))[1]).all()


def test_chance_is_told_from_parting() -> None:
    parted = np.kron(np.eye(2), np.ones((4, 4)))[None]  # senses wholly apart
    senses = [0] * 4 + [1] * 4
    assert by_chance(parted, items(senses)) == pytest.approx(2 / 70, abs=0.015)
    assert by_chance(np.ones((1, 8, 8)), items(senses)) == 1
    noise = np.random.default_rng(1)
    chances = []
    for _ in range(40):  # of no parting, chances are spread evenly
        cosine = noise.normal(size=(2, 8, 8))
        chances.append(by_chance(cosine + cosine.transpose(0, 2, 1), items(senses)))
    assert 0.3 < np.mean(chances) < 0.7 and np.mean(np.array(chances) <= 0.05) < 0.15


def test_one_sense_or_single_contexts_cannot_tell() -> None:
    for text in ("行人，行路，獨行", "行人。行路。獨行"):
        found = claims(show(subject(text), ALONE))
        assert found["later"] is None and found["cue to the left"] is None


def test_lines_of_its_own_text() -> None:
    train = ["中有行人遠，地行行路難。", "何行人", "獨坐。數行淚，三數行。", "人行路，行人"]
    looked = with_text(subject("".join(train) + TEXT), train=train)
    looked = Subject.of(looked.writer, TEXT, looked.dataset)
    contexts = in_text(take_apart(TEXT), looked.dataset.train, looked.tokenizer, 8)
    lines = {phrase: [] for phrase in contexts.phrases}
    for item in contexts.items:
        lines[contexts.phrases[item.phrase]].append((item.line, item.end))
    assert {phrase: sorted(found) for phrase, found in lines.items()} == {
        "行人": [("中有行人遠", 3), ("何行人", 2), ("行人", 1)],
        "行路": [("人行路", 2), ("地行行路難", 3)],
        "獨行": [("獨行", 2)],  # 獨 and 行 of two clauses are no line
        "兩行": [("兩行", 2)],
        "數行": [("三數行", 3), ("數行淚", 2)],
    }
    assert [item.sense for item in contexts.items] == sorted(item.sense for item in contexts.items)
    exhibit = show(looked, ContextKnobs(lines=2))
    assert any(note == "not in its text as more than itself: 獨行 兩行" for note in exhibit.notes)
    assert "地行【行】路難" in [row[1] for row in exhibit.panels[0].rows]
    assert any("not at hand" in note for note in show(subject(TEXT), ContextKnobs()).notes)


def test_another_word_and_script() -> None:
    exhibit = show(subject("年長，生長。路長，天長"), ContextKnobs(character="长", lines=0))
    assert exhibit.verdicts[0].claim.startswith("the static vector of 長")
    with pytest.raises(UserError, match="never seen"):
        show(subject(TEXT), ContextKnobs(character="打"))


def test_contexts_are_few_enough_to_read() -> None:
    text = "，".join(f"{chr(0x4E00 + i)}行" for i in range(40))
    exhibit = show(subject(text, block_size=256), ALONE)
    assert exhibit.panels[1].values.shape == (3, 3, 24, 24)


def test_words_with_their_blank_are_found_and_stay_the_same_token() -> None:
    """A BPE token has the blank before it: " bank" in a line is not "bank" alone."""
    lines = ["She sat on the river bank and slept.", "He has a city bank account."]
    tokenizer = Tokenizer.train_bpe([" ".join(lines)] * 9, 400)
    config = subject().model.config.changed(vocab_size=tokenizer.vocab_size)
    looked = Subject.of(Writer(lively(config), tokenizer), "river bank. city bank")
    looked = with_text(looked, train=lines)
    contexts = in_text(take_apart(looked.text), looked.dataset.train, tokenizer, 8)
    assert contexts.lines == [line.removesuffix(".") for line in lines]
    for way in ("itself", "left"):
        for item in contexts.items:
            ids, t = reading(looked, contexts, item, way)
            assert tokenizer.token_text(int(ids[0, t])) == " bank"
    assert claims(show(looked, ContextKnobs()))[
        "the static vector of bank is the same in all contexts"
    ]


def test_how_alike_the_most_alike_contexts_are_is_not_rounded_away() -> None:
    """1.0000 beside "they differ" would be no measurement: what is missing to 1 is said."""
    for seed in range(4):
        exhibit = show(subject(TEXT), ContextKnobs(lines=0))
        verdict = next(v for v in exhibit.verdicts if "another vector" in v.claim)
        matrix = next(p for p in exhibit.panels if p.title.startswith("cosine between"))
        cosine = matrix.values[matrix.page[0], 1:]
        n = cosine.shape[-1]
        apart = 1 - cosine[:, ~np.eye(n, dtype=bool)].max()
        said = verdict.measured.rpartition(" ")[2]
        assert verdict.holds == (apart > 1e-6) and verdict.holds is True
        assert float(said) == pytest.approx(apart, rel=0.06), seed
