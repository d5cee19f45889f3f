"""Fingerprints of documents and of their sentences, to recognise text that is there twice.

Two documents are the same if their words are, whatever the punctuation and spacing; two are
nearly the same if half of their sentences are. Both questions are asked of hashes: each text
c₀ c₁ c₂ … of words' characters has the polynomial hash Σ mix(cᵢ) · Bⁱ mod 2⁶⁴. Its sums over any
stretch are differences of one running sum, so a whole block is hashed without a Python loop,
and the hash of a document is put together from the hashes of its pieces.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from mingyue.data.blocks import BREAK, END_MARK, WORD, Block, classes, marked
from mingyue.text.char import CODE_POINTS

SHORTEST_SENTENCE = 5
"""Shorter sentences say nothing about where they come from."""

_WORD = 2**64
_BASE = 0x9E3779B97F4A7C15  # odd, so it has an inverse modulo 2^64
_INVERSE = pow(_BASE, -1, _WORD)


@dataclass(frozen=True, slots=True)
class Prints:
    """The hashes of one block.

    Its parts are the stretches between ends of documents; the first may continue a document of
    the block before, the last may go on in the next. ``hashes`` and ``words`` are by part;
    ``sentences`` are the hashes of all sentences of at least five characters, and ``part_of``
    says in which part each stands.
    """

    hashes: np.ndarray  # uint64 [n_parts], not yet mixed: see join and finish
    words: np.ndarray  # int64 [n_parts], how many word characters
    sentences: np.ndarray  # uint64 [n_sentences]
    part_of: np.ndarray  # int64 [n_sentences]


def prints(block: Block) -> Prints:
    """Hash a block. A sentence that its end cuts in two counts as two."""
    codes = marked(block)
    kinds = classes().take(codes)
    is_word = kinds == WORD
    words_before = np.cumsum(is_word, dtype=np.int32)  # int32 [n]
    words = codes.compress(is_word)
    powers, inverses = _powers(1 << len(words).bit_length())
    running = np.zeros(len(words) + 1, np.uint64)  # one array for all three steps
    terms = _mixed().take(words, out=running[1:], mode="clip")
    terms *= powers[: len(words)]
    np.cumsum(terms, out=terms)

    def stretches(breaks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hash and length of the stretches of words between the given places."""
        bounds = np.empty(len(breaks) + 2, np.int64)
        bounds[0], bounds[-1] = 0, len(words)
        bounds[1:-1] = words_before.take(breaks)
        sums = np.diff(running.take(bounds))
        return sums * inverses.take(bounds[:-1]), np.diff(bounds)

    breaks = np.flatnonzero(kinds == BREAK)
    sentences, lengths = stretches(breaks)
    is_end = codes.take(breaks) == END_MARK
    part_of = np.zeros(len(breaks) + 1, np.int64)
    np.cumsum(is_end, out=part_of[1:])
    long_enough = np.flatnonzero(lengths >= SHORTEST_SENTENCE)
    sentences = _mix(sentences.take(long_enough) + lengths.take(long_enough).astype(np.uint64))
    return Prints(*stretches(breaks.compress(is_end)), sentences, part_of.take(long_enough))


def join(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """Hash and length of two stretches put together, from those of each."""
    return (first[0] + second[0] * pow(_BASE, first[1], _WORD)) % _WORD, first[1] + second[1]


def finish(hashes: np.ndarray, words: np.ndarray, seed: int) -> np.ndarray:
    """Documents' hashes (uint64) and lengths as evenly spread numbers, another spread for each
    seed; uint64 [n_documents]."""
    words = words.astype(np.uint64)
    salt = _mix(np.array([seed % _WORD], np.uint64))
    return _mix(_mix(hashes + words) ^ salt)


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014): every bit depends on every bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@cache
def _mixed() -> np.ndarray:
    """``_mix`` of every code point; few of them are in use at a time, so the table is quick."""
    return _mix(np.arange(CODE_POINTS, dtype=np.uint64))


@cache
def _powers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """B⁰ … Bⁿ and B⁰ … B⁻ⁿ modulo 2⁶⁴."""
    factors = np.full((2, n + 1), [[_BASE], [_INVERSE]], np.uint64)
    factors[:, 0] = 1
    powers = np.cumprod(factors, axis=1, dtype=np.uint64)
    return powers[0], powers[1]
