"""Counts and smoothing against the formula written out with dicts; the laws of a distribution."""

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.data.tokens import Tokens
from mingyue.model.config import ModelConfig
from mingyue.model.loss import IGNORED
from mingyue.model.ngram import Ngram
from mingyue.training.counting import count_ngrams

V, END = 6, 0
TEXTS = st.lists(st.lists(st.integers(1, V - 1), max_size=9), min_size=1, max_size=8)


def counted(texts: list[list[int]], order: int, piece: int = 1000) -> Ngram:
    tokens = Tokens.from_documents([[*text, END] for text in texts])
    config = ModelConfig(kind="ngram", vocab_size=V, order=order)
    return count_ngrams(tokens, config, end_id=END, piece=piece)


class ByHand:
    """Interpolated Kneser–Ney as the formula says it, with no thought of speed."""

    def __init__(self, texts: list[list[int]], order: int):
        self.order = order
        plain: dict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
        for text in texts:
            for n in range(1, order + 1):
                line = [END, *text, END] if n > 1 else [*text, END]
                for i in range(len(line) - n + 1):
                    plain[n][tuple(line[i : i + n])] += 1
        # The end token of a document and the beginning of the next belong to no n-gram together,
        # but an end token came before every first token.
        self.counts: dict[int, dict[tuple[int, ...], int]] = {}
        for n in range(1, order + 1):
            if n == order:
                self.counts[n] = dict(plain[n])
                continue
            before = Counter(gram[1:] for gram in plain[n + 1])
            self.counts[n] = {
                gram: times if n > 1 and gram[0] == END else before[gram]
                for gram, times in plain[n].items()
            }

    def p(self, token: int, context: list[int]) -> float:
        result = 1 / V
        for n in range(1, self.order + 1):
            if n - 1 > len(context):
                break
            tail = tuple(context[len(context) - (n - 1) :])
            counts = self.counts[n]
            follow = {gram[-1]: c for gram, c in counts.items() if gram[:-1] == tail}
            if not follow:
                continue
            once = sum(c == 1 for c in counts.values())
            twice = sum(c == 2 for c in counts.values())
            discount = once / max(1, once + 2 * twice)
            total = sum(follow.values())
            own = max(follow.get(token, 0) - discount, 0) / total
            result = own + discount * len(follow) / total * result
        return result


@settings(max_examples=40)
@given(TEXTS, st.integers(1, 4), st.lists(st.integers(1, V - 1), min_size=1, max_size=6))
def test_probabilities_are_those_of_the_formula(texts, order, read):
    model, by_hand = counted(texts, order), ByHand(texts, order)
    ids = [END, *read]
    logits = model(torch.tensor([ids])).logits
    assert logits is not None
    for t in range(len(ids)):
        wanted = [by_hand.p(token, ids[: t + 1]) for token in range(V)]
        np.testing.assert_allclose(logits[0, t].exp(), wanted, atol=2e-6)


@settings(max_examples=40)
@given(TEXTS, st.integers(1, 4), st.integers(1, 7))
def test_the_pieces_it_is_counted_in_do_not_matter(texts, order, piece):
    whole, cut = counted(texts, order), counted(texts, order, piece)
    assert whole.config == cut.config
    assert all(torch.equal(a, b) for a, b in zip(whole.buffers(), cut.buffers(), strict=True))
    assert whole.sound()


@settings(max_examples=40)
@given(TEXTS, st.integers(1, 4), st.lists(st.integers(0, V - 1), min_size=2, max_size=8))
def test_rows_sum_to_one_and_the_loss_is_theirs(texts, order, read):
    model = counted(texts, order)
    ids, targets = torch.tensor([read[:-1]] * 2), torch.tensor([read[1:]] * 2)
    targets[1, 0] = IGNORED
    logits = model(ids).logits
    assert logits is not None
    assert torch.allclose(logits.exp().sum(-1), torch.ones(logits.shape[:2]), atol=1e-5)
    wanted = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="none"
    )
    loss = model(ids, targets).loss
    assert loss is not None
    counted_targets = targets != IGNORED
    assert torch.isclose(loss, wanted.sum() / counted_targets.sum(), atol=1e-5)
    assert torch.isclose(model.nats(ids, targets), wanted.sum(), atol=1e-4)


@settings(max_examples=40)
@given(TEXTS, st.integers(1, 4), st.lists(st.integers(0, V - 1), min_size=2, max_size=8), st.data())
def test_read_in_parts_equals_read_at_once(texts, order, read, data):
    model = counted(texts, order)
    ids = torch.tensor([read])
    cut = data.draw(st.integers(1, len(read) - 1))
    whole, cache = model(ids).logits, model.new_cache(1)
    model(ids[:, :cut], cache=cache)
    rest = model(ids[:, cut:], cache=cache.gather([(cache, [0])])).logits
    last = model(ids, last_only=True).logits
    assert whole is not None
    assert rest is not None
    assert last is not None
    assert torch.allclose(rest, whole[:, cut:], atol=1e-6)
    assert torch.allclose(last, whole[:, -1:], atol=1e-6)


def test_a_longer_context_tells_more_where_it_was_seen():
    texts = [[1, 2, 3], [4, 2, 5]] * 5
    ids = torch.tensor([[END, 1, 2]])
    short, long = (counted(texts, order)(ids).logits for order in (2, 3))
    assert short is not None
    assert long is not None
    assert long[0, 2, 3] > short[0, 2, 3]
    assert long[0, 2, 5] < short[0, 2, 5]


@pytest.mark.parametrize("where", ["keys_2", "counts_1"])
@pytest.mark.parametrize("number", [-1, 10**15])
def test_counts_that_cannot_be_are_found(where: str, number: int):
    model = counted([[1, 2, 3, 1, 2]], 3)
    model.get_buffer(where)[0] = number
    assert model.sound() is (where == "counts_1" and number > 0)
