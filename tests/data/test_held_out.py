"""A held-out text of one's own: neither cut nor moved, and blind to the vocabulary."""

import random
from pathlib import Path

import pytest

from mingyue.data import prepare
from mingyue.errors import UserError
from mingyue.language import Message
from mingyue.text.document import Document

from .corpora import HAN, Memory, poems, sides


def test_a_held_out_text_of_ones_own() -> None:
    texts, others = poems(100), poems(30, seed=7)
    dataset = prepare(Memory(texts), held_out=Memory(others, "others"), val_fraction=0.3)
    assert sides(dataset) == (texts, others), "each wholly on its side, in order"
    assert (dataset.split.how, dataset.split.held_out) == ("given", "others")
    assert dataset.lines()[-1] == "held out: all of others (720 characters)"


def test_it_is_neither_moved_nor_cut_however_like_the_training_text() -> None:
    texts = poems(40)
    assert sides(prepare(Memory(texts), held_out=Memory(texts[:5]))) == (texts, texts[:5])
    long = "".join(random.choices(HAN, k=9000))
    assert sides(prepare(Memory([long]), held_out=Memory([long[-99:]]))) == ([long], [long[-99:]])


@pytest.mark.parametrize("kind", ["char", "byte", "bpe"])
def test_the_training_text_alone_decides_the_vocabulary(kind: str) -> None:
    texts = poems(60)
    options = {"kind": kind, "vocab_size": 300}
    alone = prepare(Memory(texts), val_fraction=0, **options)
    dataset = prepare(Memory(texts), held_out=Memory(["明月鵬飛，驥", "明月"]), **options)
    assert dataset.tokenizer.fingerprint() == alone.tokenizer.fingerprint()
    unknown = 3 if kind == "char" else 0
    assert (dataset.split.train_unknown, dataset.split.val_unknown) == (0, unknown)
    assert any(f"{unknown} of them held out" in line for line in dataset.lines()) == bool(unknown)


def test_a_held_out_text_is_part_of_the_key() -> None:
    texts, others = poems(40), poems(30, seed=7)
    corpus, held_out = Memory(texts), Memory(others)
    first = prepare(corpus, held_out=held_out)
    assert prepare(corpus, held_out=held_out).folder == first.folder
    assert (corpus.passes, held_out.passes) == (2, 1)
    # The share and the seed say nothing any more.
    assert prepare(corpus, held_out=held_out, val_fraction=0.5, seed=9).folder == first.folder
    folders = {
        prepare(corpus).folder,
        prepare(corpus, val_fraction=0).folder,
        prepare(corpus, held_out=Memory(others[1:])).folder,
        prepare(held_out, held_out=corpus).folder,
        first.folder,
    }
    assert len(folders) == 5


def test_what_is_wrong_with_a_held_out_text_is_said(own_cache: Path) -> None:
    class Warning(Memory):
        def __iter__(self):
            yield from super().__iter__()
            self.report.warn(Message("mind the gap"))

    class Shifting(Memory):
        def __iter__(self):
            yield from super().__iter__()
            self.documents.append(Document("月"))

    with pytest.raises(UserError, match="nobody: there is no text"):
        prepare(Memory(poems(30)), held_out=Memory([""], "nobody"))
    with pytest.raises(UserError, match="shifting: changed while"):
        prepare(Memory(poems(30)), held_out=Shifting(poems(3), "shifting"))
    assert not list((own_cache / "data").glob("*"))
    dataset = prepare(Memory(poems(30)), held_out=Warning(poems(3)))
    assert "note: mind the gap" in dataset.lines()
