"""Headings stand before training documents only, and change nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.data import Batches, Tokens, prepare
from mingyue.data.batches import IGNORED
from mingyue.data.headings import FREQUENT
from mingyue.errors import UserError
from mingyue.model import loss
from mingyue.text.document import Document
from mingyue.text.verse.heading import CLOSE, MARKS, OPEN, split_heading

from .corpora import Memory, poems, sides

SEEN = "翃"  # only in names, and often
SELDOM = "頲"  # only in names, and seldom


def documents(n: int = 300) -> list[Document]:
    texts = poems(n)
    return [
        Document(text, f"春夜{'一二三'[i % 3]}首", "韓" + (SELDOM if i < FREQUENT - 1 else SEEN))
        for i, text in enumerate(texts)
    ]


def test_the_same_documents_on_the_same_sides_and_the_held_out_ones_plain() -> None:
    some = documents()
    copies = [Document(d.text, "別題", "別人") for d in some[::7]]  # move with their originals
    plain = prepare(Memory(some + copies), val_fraction=0.3)
    dataset = prepare(Memory(some + copies), val_fraction=0.3, headings=True)
    (train, val), (headed, held_out) = sides(plain), sides(dataset)
    assert held_out == val
    assert [split_heading(text)[1] for text in headed] == train
    n = sum(text != body for text, body in zip(headed, train, strict=True))
    assert dataset.split.headed == n
    assert 0.15 < n / len(train) < 0.35
    assert plain.split.headed == 0
    assert any(f"{n} training documents begin with a heading" in line for line in dataset.lines())
    assert plain.fingerprint != dataset.fingerprint
    assert plain.folder != dataset.folder


def test_what_is_near_to_training_moves_there_as_it_would_without() -> None:
    some = documents(100)
    near = [Document(d.text[:12] + other, d.title, d.author) for d, other in
            zip(some, poems(100, seed=3), strict=True)]  # fmt: skip
    plain = prepare(Memory(some + near), val_fraction=0.3)
    dataset = prepare(Memory(some + near), val_fraction=0.3, headings=True)
    assert dataset.split.moved == plain.split.moved
    assert sides(dataset)[1] == sides(plain)[1]


def test_names_bring_in_their_frequent_characters_and_the_marks() -> None:
    plain, dataset = (prepare(Memory(documents()), headings=on) for on in (False, True))
    new = {c for c in (*MARKS, SEEN, SELDOM, *"韓春首二") if not dataset.tokenizer.unknown(c)}
    assert not dataset.tokenizer.unknown(SEEN)
    assert dataset.tokenizer.unknown(SELDOM)
    assert plain.tokenizer.vocab_size < dataset.tokenizer.vocab_size
    assert set(MARKS) <= new
    assert dataset.split.train_unknown == dataset.split.val_unknown == 0
    never = {dataset.tokenizer.token_text(id) for id in dataset.tokenizer.never_sampled}
    assert set(MARKS) <= never
    assert not set(MARKS) & {plain.tokenizer.token_text(i) for i in plain.tokenizer.never_sampled}


def test_where_headings_cannot_be() -> None:
    with pytest.raises(UserError, match="characters"):
        prepare(Memory(documents(30)), kind="byte", headings=True)
    with pytest.raises(UserError, match="--no-headings"):
        prepare(Memory([*documents(30), Document("明〔月〕光")]), headings=True)
    # Title marks may stand in a text; then they may be written, too.
    quoting = prepare(Memory([*documents(30), Document("讀《春》有感")]), headings=True)
    assert quoting.split.headed
    never = {quoting.tokenizer.token_text(id) for id in quoting.tokenizer.never_sampled}
    assert never & set(MARKS) == {OPEN, CLOSE}
    few = [Document(text * 60, "春夜") for text in poems(5)]  # last parts of them are held out
    assert prepare(Memory(few), headings=True).split.headed == 0


def test_a_document_in_pieces_has_one_heading() -> None:
    pieces = [
        Document(text, "春夜", "李白", ends=end)
        for whole in poems(60)
        for text, end in (("", False), (whole[:6], False), (whole[6:], True))
    ]
    train, _ = sides(prepare(Memory(pieces), headings=True, val_fraction=0))
    assert [split_heading(text)[1] for text in train] == poems(60)
    assert all(text.count(MARKS[0]) <= 1 for text in train)


def test_a_heading_is_read_and_not_predicted() -> None:
    assert IGNORED == loss.IGNORED
    dataset = prepare(Memory(documents()), headings=True)
    end = dataset.tokenizer.end_id
    for block_size in (7, 64):
        batches = Batches(dataset.train, batch_size=4, block_size=block_size, seed=0, end_id=end)
        for step in range(10):
            for x, y in zip(*batches.batch(step), strict=True):
                seen = y != IGNORED
                assert (x[1:][seen[:-1]] == y[:-1][seen[:-1]]).all()
                text = "".join(map(dataset.tokenizer.token_text, y[seen].tolist()))
                assert not set(MARKS) & set(text)
    assert len(set(dataset.train.brackets or ())) == 2
    assert dataset.val.brackets is None


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=3))
def test_whatever_a_window_cuts(block_size: int, shapes: list[tuple[int, int]]) -> None:
    """Ids: 0 end, 1 and 2 the brackets, 3 inside a heading, 4 text."""
    texts = [[*([1] + [3] * inside + [2] if inside else []), *[4] * n, 0] for inside, n in shapes]
    tokens = Tokens.from_documents(texts, brackets=(1, 2))
    block_size = min(block_size, tokens.n_tokens)
    batches = Batches(tokens, batch_size=3, block_size=block_size, seed=0, end_id=0)
    bare = Batches(
        Tokens.from_documents(texts), batch_size=3, block_size=block_size, seed=0, end_id=0
    )
    for step in range(4):
        (x, y), (x_bare, y_bare) = batches.batch(step), bare.batch(step)
        np.testing.assert_array_equal(x, x_bare)
        # A window that both begins and ends inside a heading sees neither bracket.
        blind = np.isin(y_bare, [3]).all(axis=1) & (x_bare[:, 0] == 3)
        np.testing.assert_array_equal((y == IGNORED)[~blind], np.isin(y_bare, [1, 2, 3])[~blind])
        kept = y != IGNORED
        np.testing.assert_array_equal(y[kept], y_bare[kept])
