"""SPEC B1: Y is X one token later; rows begin with documents; a step decides its batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.data.batches import Batches, largest_block
from mingyue.data.tokens import Tokens

END = 0


@st.composite
def corpora(draw: st.DrawFn) -> Tokens:
    """Documents in which each token has a number of its own, so that one sees where it is from."""
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=12))
    ids = iter(range(1, sum(lengths) + 1))
    return Tokens.from_documents([[next(ids) for _ in range(n)] + [END] for n in lengths])


@st.composite
def batches(draw: st.DrawFn) -> Batches:
    tokens = draw(corpora())
    block = draw(st.integers(1, largest_block(tokens)))
    size, seed = draw(st.integers(1, 5)), draw(st.integers(0, 2**40))
    return Batches(tokens, batch_size=size, block_size=block, seed=seed, end_id=END)


def rows_of_epoch(given_: Batches, epoch: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows of one epoch, fetched one at a time."""
    one = Batches(
        given_.tokens,
        batch_size=1,
        block_size=given_.block_size,
        seed=given_._seed,
        end_id=END,
    )
    n = one.rows_per_epoch
    pairs = [one.batch(epoch * n + row) for row in range(n)]
    return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])


@given(batches(), st.integers(0, 50))
def test_y_is_x_one_later(batches: Batches, step: int) -> None:
    x, y = batches.batch(step)
    assert x.shape == y.shape == (batches.batch_size, batches.block_size)
    assert x.dtype == y.dtype == np.int64
    assert (x[:, 1:] == y[:, :-1]).all()


@given(batches(), st.integers(0, 4))
def test_rows_begin_where_documents_begin(batches: Batches, epoch: int) -> None:
    """Only a document longer than a row is entered in its middle."""
    documents = [batches.tokens.document(i).tolist() for i in range(batches.tokens.n_documents)]
    x, y = rows_of_epoch(batches, epoch)
    assert len(y) == batches.tokens.n_tokens // batches.block_size
    for before, first in zip(x[:, 0], y[:, 0], strict=True):
        begins = [d for d in documents if d[0] == first]
        longer = [d for d in documents if first in d and len(d) > batches.block_size]
        assert begins or longer
        assert before == END or not begins


def test_an_epoch_shows_most_of_the_text_and_a_few_show_all() -> None:
    lengths = np.random.default_rng(0).integers(3, 25, 300)
    ids = iter(range(1, 10_000))
    tokens = Tokens.from_documents([[*(next(ids) for _ in range(n)), END] for n in lengths])
    batches = Batches(tokens, batch_size=1, block_size=32, seed=0, end_id=END)
    everything = set(tokens.slice(0, tokens.n_tokens).tolist())
    seen = [set(rows_of_epoch(batches, epoch)[1].ravel().tolist()) for epoch in range(12)]
    assert all(len(one) > 0.75 * len(everything) for one in seen)
    assert set().union(*seen) == everything


@given(batches(), st.integers(0, 4))
def test_what_follows_what(batches: Batches, epoch: int) -> None:
    """Within a document the next token follows; its first token follows an end token."""
    tokens = batches.tokens
    allowed: set[tuple[int, int]] = set()
    for i in range(tokens.n_documents):
        document = tokens.document(i).tolist()
        allowed |= set(zip([END, *document], document, strict=False))
    x, y = rows_of_epoch(batches, epoch)
    assert set(zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)) <= allowed


@given(batches(), st.lists(st.integers(0, 60), min_size=1, max_size=8))
def test_a_batch_depends_on_its_step_alone(batches: Batches, steps: list[int]) -> None:
    def fresh(step: int) -> np.ndarray:
        other = Batches(
            batches.tokens,
            batch_size=batches.batch_size,
            block_size=batches.block_size,
            seed=batches._seed,
            end_id=END,
        )
        return other.batch(step)[1]

    for step in steps:
        assert (batches.batch(step)[1] == fresh(step)).all()


@given(batches(), st.integers(0, 9))
def test_a_batch_of_n_is_n_batches_of_one(batches: Batches, step: int) -> None:
    n = batches.batch_size
    single = Batches(
        batches.tokens, batch_size=1, block_size=batches.block_size, seed=batches._seed, end_id=END
    )
    rows = [single.batch(step * n + row)[0] for row in range(n)]
    assert (batches.batch(step)[0] == np.concatenate(rows)).all()


def test_epochs_and_seeds_shuffle() -> None:
    tokens = Tokens.from_documents([[*range(10 * k + 1, 10 * k + 10), END] for k in range(40)])

    def epoch(seed: int, number: int) -> list[int]:
        batches = Batches(tokens, batch_size=4, block_size=10, seed=seed, end_id=END)
        return rows_of_epoch(batches, number)[0].ravel().tolist()

    shown = [epoch(0, 0), epoch(0, 1), epoch(1, 0), epoch(2**64 - 1, 0)]
    for i, one in enumerate(shown):
        assert all(one != other for other in shown[i + 1 :])


def test_one_long_document_is_cut_elsewhere_each_epoch() -> None:
    tokens = Tokens.from_documents([[*range(1, 1000), END]])
    batches = Batches(tokens, batch_size=1, block_size=100, seed=0, end_id=END)
    assert batches.rows_per_epoch == 10
    first = [
        min(int(batches.batch(e * 10 + r)[1][0, 0]) % 100 for r in range(10)) for e in range(8)
    ]
    assert len(set(first)) > 4


def test_epoch_of() -> None:
    tokens = Tokens.from_documents([[*range(1, 40), END]])
    batches = Batches(tokens, batch_size=2, block_size=10, seed=0, end_id=END)
    assert [batches.epoch_of(step) for step in (0, 1, 2, 3)] == [0, 0.5, 1, 1.5]


def test_shards_make_no_difference() -> None:
    documents = [[*range(9 * k + 1, 9 * k + 9), END] for k in range(20)]
    whole = Tokens.from_documents(documents)
    ids = whole.slice(0, whole.n_tokens)
    parts = [ids[i : i + 7] for i in range(0, len(ids), 7)]
    cut = Tokens(parts, whole._documents)
    for step in range(20):
        one, other = (
            Batches(t, batch_size=3, block_size=11, seed=5, end_id=END).batch(step)
            for t in (whole, cut)
        )
        assert (one[0] == other[0]).all()


def test_too_little_text_is_refused() -> None:
    tokens = Tokens.from_documents([[1, 2, END]])
    assert largest_block(tokens) == 3
    x, y = Batches(tokens, batch_size=2, block_size=3, seed=0, end_id=END).batch(0)
    assert sorted(x[0]) == sorted(y[0]) == [0, 1, 2]
    with pytest.raises(ValueError, match="too few"):
        Batches(tokens, batch_size=1, block_size=4, seed=0, end_id=END)
    with pytest.raises(ValueError, match="too few"):
        Batches(Tokens.from_documents([]), batch_size=1, block_size=1, seed=0, end_id=END)
    with pytest.raises(ValueError, match="end token"):
        Batches(tokens, batch_size=1, block_size=2, seed=0, end_id=9)
    with pytest.raises(ValueError, match="at least 1"):
        Batches(tokens, batch_size=0, block_size=2, seed=0, end_id=END)
