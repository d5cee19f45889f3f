"""Recognising copies, and keeping them on one side."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mingyue.data.blocks
from mingyue.data.blocks import Block, Piece, blocks, classes
from mingyue.data.prints import finish, join, prints
from mingyue.data.split import Candidate, Candidates, NearCopies
from mingyue.text.document import Document, Handful

texts = st.text(st.sampled_from("明月光疑是地上霜ab。\n， 𠀀"), max_size=30)


def hash_of(text: str) -> tuple[int, int]:
    found = prints(Block.of([Piece(0, text, True)]))
    return int(found.hashes[0]), int(found.words[0])


@given(st.lists(st.tuples(texts, st.booleans()), max_size=8), st.integers(1, 12))
def test_blocks_keep_everything(given_: list[tuple[str, bool]], size: int) -> None:
    expected, open_text = [], ""
    for text, ends in given_:
        open_text += text
        if ends:
            expected.append(open_text)
            open_text = ""
    expected = [text for text in [*expected, open_text] if text]

    found: dict[int, str] = {}
    ended: list[int] = []
    for block in blocks((Document(text, ends=ends) for text, ends in given_), size):
        assert block.texts
        for number, text, ends in block:
            assert number not in ended, "nothing after the end"
            assert len(text) <= size
            found[number] = found.get(number, "") + text
            if ends:
                ended.append(number)
    assert list(found.values()) == expected
    assert ended == list(found) == list(range(len(expected)))


@given(
    st.lists(st.lists(texts, min_size=1, max_size=4), max_size=12), st.integers(1, 12), st.data()
)
def test_blocks_do_not_depend_on_the_handfuls(
    given_: list[list[str]], size: int, data: st.DataObject
) -> None:
    class Corpus:
        def handfuls(self) -> Iterator[Handful]:
            for some in given_:
                whole = data.draw(st.booleans())
                yield Handful(some, None if whole else [True] * len(some))

    one_by_one = [Document(text) for some in given_ for text in some]
    many = [list(block) for block in blocks(Corpus(), size)]  # type: ignore[arg-type]
    assert many == [list(block) for block in blocks(one_by_one, size)]


def test_small_handfuls_are_put_together_once_for_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each piece is moved a few times, not once for every handful that comes after it."""
    moved = 0
    joined = mingyue.data.blocks._joined

    def counted(some):  # type: ignore[no-untyped-def]
        nonlocal moved
        found = joined(some)
        moved += len(found.texts)
        return found

    class Corpus:
        def handfuls(self) -> Iterator[Handful]:
            return (Handful([f"{n:03}"], [True]) for n in range(1000))

    monkeypatch.setattr(mingyue.data.blocks, "_joined", counted)
    found = list(blocks(Corpus(), 400))  # type: ignore[arg-type]
    assert [len(block.texts) for block in found] == [100] * 10
    assert moved <= 2 * 1000


def test_classes() -> None:
    kinds = classes()
    assert [int(kinds[ord(c)]) for c in "明a7é𠀀，「 。\n!"] == [1, 1, 1, 1, 1, 0, 0, 0, 2, 2, 2]


@given(st.lists(texts, min_size=1, max_size=6))
def test_hashes_do_not_depend_on_the_block(documents: list[str]) -> None:
    found = prints(Block.of(Piece(i, text, True) for i, text in enumerate(documents)))
    assert len(found.hashes) == len(documents) + 1, "and an empty part after the last end"
    for i, text in enumerate(documents):
        assert (int(found.hashes[i]), int(found.words[i])) == hash_of(text)
        alone = prints(Block.of([Piece(0, text, True)]))
        assert found.sentences[found.part_of == i].tolist() == alone.sentences.tolist()


@given(texts, texts)
def test_hashes_join(first: str, second: str) -> None:
    assert join(hash_of(first), hash_of(second)) == hash_of(first + second)


def test_what_counts_as_the_same() -> None:
    assert hash_of("床前，明月光。") == hash_of("床前明月光\n") == hash_of("「床前 明月」光")
    assert hash_of("床前明月光") != hash_of("床前月明光") != hash_of("床前明月")
    hashes, words = np.array([hash_of("明月")], np.uint64).T
    seeds = [finish(hashes, words, seed).tolist() for seed in (0, 1, 2**64 - 1)]
    assert len({s[0] for s in seeds}) == 3


def test_sentences_are_those_of_five_and_more() -> None:
    text = "床前明月光，疑是。好！你好啊。a sentence\nshor\n床前明月光疑是。"
    found = prints(Block.of([Piece(0, text, True)]))
    assert len(found.sentences) == 3
    assert found.sentences[0] == found.sentences[2]


# Choosing


def candidates_of(hashes: list[int], words: int, fraction: float) -> Candidates:
    candidates = Candidates(fraction)
    for document, hash in enumerate(hashes):
        candidates.offer(hash, words, document, np.empty(0, np.uint64))
    return candidates


def test_about_the_wanted_share_is_chosen() -> None:
    random.seed(0)
    hashes = [random.randrange(2**64) for _ in range(2000)]
    for fraction in (0.01, 0.05, 0.3, 0.5):
        chosen = candidates_of(hashes, 10, fraction).choose(20_000)
        assert len(chosen) == 2000 * fraction
        assert [c.hash for c in chosen] == sorted(hashes)[: len(chosen)]
    assert candidates_of(hashes, 10, 0).choose(20_000) == []
    assert len(candidates_of(hashes, 10, 1e-9).choose(20_000)) == 0, "one would overshoot"


def test_copies_are_chosen_together() -> None:
    random.seed(1)
    hashes = [random.randrange(2**64) for _ in range(300)]
    chosen = candidates_of([h for h in hashes for _ in range(3)], 10, 0.1).choose(9000)
    assert chosen
    for candidate in chosen:
        assert candidate.documents == [3 * hashes.index(candidate.hash) + k for k in range(3)]


def test_a_hog_is_passed_over() -> None:
    candidates = Candidates(0.05)
    candidates.offer(0, 5000, 0, np.empty(0, np.uint64))
    for document in range(1, 100):
        candidates.offer(document << 56, 50, document, np.empty(0, np.uint64))
    chosen = candidates.choose(5000 + 99 * 50)
    assert [c.documents for c in chosen] == [[k] for k in range(1, 1 + len(chosen))]
    assert sum(c.words for c in chosen) >= 0.05 * 9950


def test_memory_is_bounded(monkeypatch) -> None:
    import mingyue.data.split as split

    monkeypatch.setattr(split, "MOST_WORDS", 1000)
    random.seed(2)
    hashes = [random.randrange(2**64) for _ in range(3000)]
    candidates = candidates_of(hashes, 10, 0.5)
    assert sum(c.words for c in candidates._by_hash.values()) <= 2000
    chosen = candidates.choose(30_000)
    assert [c.hash for c in chosen] == sorted(hashes)[:100]
    candidates.offer(0, 1001, 3000, np.empty(0, np.uint64))
    assert candidates.choose(30_000) == chosen, "too long to be held out"


def candidate(*sentences: int) -> Candidate:
    return Candidate(0, 1, [0], np.array(sentences, np.uint64))


def test_half_is_nearly_the_same() -> None:
    near = NearCopies([candidate(1, 2), candidate(3, 4, 5), candidate(), candidate(2**63)])
    near.see(np.array([9, 2, 3, 2**64 - 1], np.uint64))
    near.see(np.empty(0, np.uint64))
    assert near.moved().tolist() == [True, False, False, False]


def test_what_moves_pulls_others_along() -> None:
    chain = [candidate(k, k + 1) for k in range(1, 9)]
    near = NearCopies([*chain, candidate(20, 21, 22, 8, 9), candidate(30, 31)])
    assert not near.moved().any()
    near.see(np.array([1], np.uint64))
    assert near.moved().tolist() == [True] * 8 + [False, False]
    near.see(np.array([20], np.uint64))
    assert near.moved().tolist() == [True] * 9 + [False]


def test_low_bits_that_agree_are_not_enough() -> None:
    near = NearCopies([candidate(5, 6)])
    near.see(np.array([5 + (1 << 40), 6 + (1 << 40)], np.uint64))
    assert not near.moved().any()
    assert not NearCopies([]).moved().any()
