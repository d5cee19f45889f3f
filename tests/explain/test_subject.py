"""Who can be looked at, and what is said of the others."""

from collections import Counter
from dataclasses import replace

import pytest

from mingyue import language
from mingyue.errors import UserError
from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.model.config import ModelConfig
from mingyue.model.making import make_model
from mingyue.text.tokenizer import Tokenizer

from .helpers import POEM, subject


@pytest.mark.parametrize("kind", ["lstm", "gru", "word2vec", "ngram"])
def test_other_kinds_are_refused_in_one_line(kind: str):
    tokenizer = Tokenizer.characters(Counter(POEM))
    config = ModelConfig.checked(kind=kind, vocab_size=tokenizer.vocab_size, d_model=8, n_layer=1)
    with pytest.raises(UserError, match=f"kind {kind}"):
        Subject.of(Writer(make_model(config), tokenizer), POEM)


def test_unknown_characters_are_left_out_and_named():
    base = subject()
    looked = Subject.of(base.writer, "床前貓月")
    assert looked.text == "床前月"
    assert any("貓" in note for note in looked.notes)
    with pytest.raises(UserError, match="no character"):
        Subject.of(base.writer, "貓犬")


def test_what_takes_long_is_computed_once_for_each_subject():
    first, asked = subject("床前明月光"), []

    def slow(of: Subject, n: int) -> int:
        asked.append(of)
        return n * len(of.labels)

    assert [first.once(slow, 2), first.once(slow, 2), first.once(slow, 3)] == [12, 12, 18]
    other = replace(first, dataset=None)
    assert other.once(slow, 2) == 12
    assert [of is first for of in asked] == [True, True, False], "and nothing is shared"


def test_notes_are_in_the_language_in_force():
    seen = subject("床前明月光", block_size=4)
    with language.speaking("en"):
        (note,) = seen.notes
        assert "first 3 tokens" in note
    with language.speaking("zh"):
        (note,) = seen.notes
        assert "3" in note and not note.isascii()
