"""Who can be looked at, and what is said of the others."""

from collections import Counter

import pytest

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
