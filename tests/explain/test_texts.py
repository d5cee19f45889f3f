"""Which of an exhibit's texts a model is shown: one of a kind that it has learned."""

import math
import re
from collections import Counter

import pytest
import torch

from mingyue.explain.subject import Subject
from mingyue.explain.texts import choose, in_bytes, surprise, unknown
from mingyue.generation.writer import Writer
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer

CHINESE, ENGLISH = "床前明月光，疑是地上霜。", "To be, or not to be"
TEXTS = (CHINESE, ENGLISH)


def learned(tokenizer: Tokenizer, text: str, steps: int = 60, causal: bool = True) -> Writer:
    """A tiny model that has read one text again and again."""
    torch.manual_seed(0)
    shape = {"block_size": 64, "n_layer": 1, "n_head": 2, "d_model": 32}
    config = ModelConfig.checked(vocab_size=tokenizer.vocab_size, causal=causal, **shape)
    model = GPT(config)
    ids = torch.tensor([[tokenizer.end_id, *tokenizer.encode(text)]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    for _ in range(steps):
        logits = model(ids).logits
        loss = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Writer(model.eval(), tokenizer)


def spelling(kind: str, text: str) -> Tokenizer:
    if kind == "bpe":
        return Tokenizer.train_bpe([text] * 9, 300)
    return Tokenizer.bytes() if kind == "byte" else Tokenizer.characters(Counter(text))


@pytest.mark.parametrize("kind", ["char", "byte", "bpe"])
@pytest.mark.parametrize("own", TEXTS)
@pytest.mark.parametrize("order", [1, -1])
def test_a_model_is_shown_the_language_it_has_learned(kind: str, own: str, order: int) -> None:
    writer = learned(spelling(kind, own), own)
    chosen = choose(TEXTS[::order], writer)
    text, notes = chosen.text, chosen.notes
    assert text == own
    assert own in notes[0]
    assert len(notes) == 1 + TEXTS[::order].index(own), "it says what was passed over"


def test_an_unlearned_model_gets_the_first() -> None:
    for kind in ("char", "bpe", "byte"):
        writer = learned(spelling(kind, CHINESE + ENGLISH), CHINESE, steps=0)
        assert abs(surprise(ENGLISH, writer)) < 0.5
        first = (CHINESE, CHINESE + "月")
        assert choose(first, writer).text == first[0]


def test_of_languages_that_it_knows_it_gets_the_one_in_whole_characters() -> None:
    """As GPT-2, which can guess the bytes of Chinese, but shows as pieces of characters."""
    writer = learned(Tokenizer.bytes(), CHINESE + ENGLISH)
    assert in_bytes(CHINESE, writer) and not in_bytes(ENGLISH, writer)
    assert choose(TEXTS, writer).text == ENGLISH


def test_characters_that_it_lacks_count_first() -> None:
    writer = learned(spelling("char", CHINESE), CHINESE)
    assert unknown("床前A", writer) == ["A"]
    assert choose(("床前A", "床前"), writer).text == "床前"
    assert choose(("XYA", "床前A"), writer).text == "床前A"
    assert surprise("XYZ", writer) == 0
    assert not in_bytes("舉頭望明月".replace("舉頭望", ""), writer)


def test_surprise_is_the_loss_beyond_a_blind_guess() -> None:
    writer = learned(spelling("char", CHINESE), CHINESE)
    ids = [writer.tokenizer.end_id, *writer.tokenizer.encode(CHINESE)]
    logits = writer.model(torch.tensor([ids])).logits
    assert logits is not None
    logs = logits[0].detach().log_softmax(dim=-1)
    loss = -sum(float(logs[t, ids[t + 1]]) for t in range(len(ids) - 1)) / (len(ids) - 1)
    blind = math.log(writer.tokenizer.vocab_size)
    assert surprise(CHINESE, writer) == pytest.approx(loss - blind, abs=1e-5)
    assert loss < blind


def test_a_model_that_sees_both_ways_is_not_asked() -> None:
    writer = learned(spelling("byte", CHINESE), CHINESE, steps=0, causal=False)
    assert surprise(CHINESE, writer) == 0


def test_many_characters_that_it_lacks_are_folded_into_one_short_line() -> None:
    writer = learned(spelling("char", CHINESE), CHINESE)
    english = "The animal didn't cross the street because it was too tired."
    one, passed = choose((english, "乒乓", CHINESE), writer).notes
    assert CHINESE in one
    assert "(never seen: T h e a n i m l … and 10 more)" in passed
    assert "乒乓 (never seen: 乒 乓)" in passed
    assert english[:19] + "…" in passed and english not in passed
    notes = Subject.of(writer, english + CHINESE).notes
    assert any(re.search(r"unknown: (\S+ ){8}… and 11 more", note) for note in notes), notes
