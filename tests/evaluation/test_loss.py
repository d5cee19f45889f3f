"""SPEC E1: every held-out token once, whatever the batches; comparable across tokenizers."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.evaluation.loss import evaluate, lengths_within, windows
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from tests.model.configs import configs, lively

END = 0


def documents_for(vocab_size: int, max_length: int) -> st.SearchStrategy[list[list[int]]]:
    """Documents that end with the end token, and may be nothing but it."""
    ids = st.integers(1, vocab_size - 1)
    document = st.lists(ids, max_size=max_length).map(lambda ids: [*ids, END])
    return st.lists(document, min_size=1, max_size=6)


def slow_nats(model: GPT, document: list[int], stride: int) -> float:
    """One token at a time, each from a pass of its own over exactly what it may see."""
    text, block_size = [END, *document], model.config.block_size
    nats, start, scored_to = 0.0, 0, min(len(document), block_size)
    for t in range(len(document)):  # predict text[t + 1] from text[start : t + 1]
        if t >= scored_to:
            scored_to = min(scored_to + stride, len(document))
            start = scored_to - block_size
        with torch.no_grad():
            logits = model(torch.tensor([text[start : t + 1]])).logits
        assert logits is not None
        nats += F.cross_entropy(logits[0, -1:], torch.tensor([text[t + 1]])).item()
    return nats


@settings(max_examples=30, deadline=None)
@given(st.data(), configs(), st.integers(1, 5))
def test_equals_one_token_at_a_time(
    data: st.DataObject, config: ModelConfig, batch_size: int
) -> None:
    model = lively(config)
    documents = data.draw(documents_for(config.vocab_size, 3 * config.block_size))
    stride = data.draw(st.integers(1, config.block_size))
    loss = evaluate(
        model, Tokens.from_documents(documents), end_id=END, batch_size=batch_size, stride=stride
    )
    expected = sum(slow_nats(model, document, stride) for document in documents)
    n = sum(map(len, documents))
    assert (loss.n_tokens, loss.n_documents) == (n, len(documents))
    assert loss.nats_per_token == pytest.approx(expected / n, rel=1e-4, abs=1e-5)
    assert loss.perplexity == pytest.approx(math.exp(min(700, loss.nats_per_token)))


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=20), st.integers(1, 17), st.integers(1, 17)
)
def test_every_token_once(lengths: list[int], block_size: int, stride: int) -> None:
    counts: Counter[tuple[int, int]] = Counter()
    for document, start, read, scored in windows(
        np.array(lengths), block_size, min(stride, block_size)
    ).tolist():
        assert start >= 0 and start + read <= lengths[document]
        assert 1 <= scored <= read <= block_size
        # Whoever has tokens before the window sees as many of them as fit.
        assert start == 0 or read == block_size
        counts.update((document, t) for t in range(start + read - scored, start + read))
    assert counts == {(d, t): 1 for d, length in enumerate(lengths) for t in range(length)}


MODEL = lively(ModelConfig(vocab_size=20, block_size=8, n_layer=1, n_head=2, d_model=8))


@given(documents_for(20, 20), st.randoms())
def test_order_of_documents_does_not_matter(documents: list[list[int]], random: object) -> None:
    shuffled = list(documents)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    a, b = (evaluate(MODEL, Tokens.from_documents(d), end_id=END) for d in (documents, shuffled))
    assert a.nats_per_token == pytest.approx(b.nats_per_token, rel=1e-5)


def test_a_uniform_model_is_as_surprised_as_it_should_be() -> None:
    uniform = GPT(MODEL.config)
    with torch.no_grad():
        uniform.unembedding.zero_()
    documents = [[5, 6, 7, END], [8, END]]
    loss = evaluate(uniform, Tokens.from_documents(documents), end_id=END)
    assert loss.nats_per_token == pytest.approx(math.log(20))
    assert loss.perplexity == pytest.approx(20)
    # Six tokens of log2(20) bits, over the four that are text.
    assert loss.bits_per_character == pytest.approx(6 * math.log2(20) / 4)
    assert loss.bits_per_byte == pytest.approx(6 * math.log2(20) / 4)


def test_bits_compare_across_tokenizers() -> None:
    """The same text in tokens of one and of three bytes, both guessed blindly: equal bits per
    character where 3 small guesses hold as much as 1 large one."""
    sizes = {"block_size": 8, "n_layer": 1, "n_head": 2, "d_model": 8}
    coarse, fine = (GPT(ModelConfig.checked(vocab_size=v, **sizes)) for v in (1000, 10))
    with torch.no_grad():
        coarse.unembedding.zero_()
        fine.unembedding.zero_()
    # Ten characters of three bytes; no end tokens, to compare the text alone.
    offsets = np.array([[0, 10], [0, 10], [0, 30]])
    a = evaluate(coarse, Tokens([np.arange(1, 11)], offsets), end_id=END)
    offsets = np.array([[0, 30], [0, 10], [0, 30]])
    b = evaluate(fine, Tokens([np.full(30, 3)], offsets), end_id=END)
    assert a.bits_per_character == pytest.approx(b.bits_per_character) == math.log2(1000)
    assert a.bits_per_byte == pytest.approx(b.bits_per_byte) == math.log2(1000) / 3


def test_max_tokens_takes_the_first_tokens_and_no_more() -> None:
    tokens = Tokens.from_documents([[1, 2, END], [3, END], [4, 5, 6, END], [END]])
    wanted = {
        0: [1],
        1: [1],
        3: [3],
        4: [3, 1],
        5: [3, 2],
        8: [3, 2, 3],
        9: [3, 2, 4],
        10: [3, 2, 4, 1],
        99: [3, 2, 4, 1],
        None: [3, 2, 4, 1],
    }
    for n, lengths in wanted.items():
        assert lengths_within(tokens, n).tolist() == lengths
    for n, (documents, characters) in {5: (2, 3), 4: (2, 3), 8: (3, 6), 9: (3, 6)}.items():
        loss = evaluate(MODEL, tokens, end_id=END, max_tokens=n)
        found = (loss.n_tokens, loss.n_documents, loss.n_characters, loss.n_bytes)
        assert found == (n, documents, characters, characters)


@given(documents_for(20, 40), st.integers(1, 200), st.integers(1, 3))
def test_a_cut_document_is_scored_as_far_as_it_goes(
    documents: list[list[int]], n: int, batch_size: int
) -> None:
    """The same as every token by itself, each from the tokens of its own window before it."""
    loss = evaluate(
        MODEL, Tokens.from_documents(documents), end_id=END, max_tokens=n, batch_size=batch_size
    )
    left, nats, block_size = n, 0.0, MODEL.config.block_size
    for document in documents:
        cut = document[:left]
        left -= len(cut)
        nats += slow_nats(MODEL, cut, block_size) if cut else 0.0
    scored = min(n, sum(map(len, documents)))
    assert loss.n_tokens == scored
    assert loss.nats_per_token == pytest.approx(nats / scored, rel=1e-4, abs=1e-5)


def test_a_quick_look_costs_what_it_scores() -> None:
    """Of a long document no more is read than asked for, and nothing twice."""
    seen: list[int] = []

    def count(_module: object, args: tuple[torch.Tensor]) -> None:
        seen.append(args[0].numel())

    tokens = Tokens.from_documents([[*(1 + i % 19 for i in range(5000)), END]])
    hook = MODEL.embedding.register_forward_pre_hook(count)
    try:
        looks = [evaluate(MODEL, tokens, end_id=END, max_tokens=803) for _ in range(2)]
        assert sum(seen) <= 2 * (803 + MODEL.config.block_size)
        seen.clear()
        evaluate(MODEL, tokens, end_id=END)
        assert sum(seen) > 1.9 * 5000  # the usual stride, half the block
    finally:
        hook.remove()
    assert looks[0] == looks[1]
    assert (looks[0].n_tokens, looks[0].n_documents, looks[0].n_characters) == (803, 1, 803)


def test_only_what_counts_gets_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []

    def listen(x: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        rows.append(len(x))
        return F.cross_entropy(F.linear(x, weight), targets)

    monkeypatch.setattr("mingyue.model.language_model.cross_entropy", listen)
    tokens = Tokens.from_documents([[*range(1, 20), END], [3, END], [4, 5, 6, 7, END]])
    evaluate(MODEL, tokens, end_id=END, stride=2)
    assert sum(rows) == tokens.n_tokens


def test_progress_rises_to_one() -> None:
    heard: list[float] = []
    tokens = Tokens.from_documents([[*range(1, 20), END]] * 9)
    evaluate(MODEL, tokens, end_id=END, batch_size=1, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert len(heard) > 5


def test_training_mode_and_random_state_survive() -> None:
    model = GPT(MODEL.config.changed(dropout=0.5)).train()
    tokens = Tokens.from_documents([[1, 2, 3, END]])
    torch.manual_seed(0)
    before = torch.get_rng_state()
    a, b = (evaluate(model, tokens, end_id=END) for _ in range(2))
    assert a == b
    assert model.training
    assert torch.equal(before, torch.get_rng_state())


def test_what_cannot_be_evaluated() -> None:
    tokens = Tokens.from_documents([[1, END]])
    with pytest.raises(UserError, match="no held-out"):
        evaluate(MODEL, Tokens.from_documents([]), end_id=END)
    for stride in (0, -1, 9):
        with pytest.raises(UserError, match="stride"):
            evaluate(MODEL, tokens, end_id=END, stride=stride)
    with pytest.raises(UserError, match="batch size"):
        evaluate(MODEL, tokens, end_id=END, batch_size=0)
    with pytest.raises(UserError, match="both directions"):
        evaluate(GPT(MODEL.config.changed(causal=False)), tokens, end_id=END)
