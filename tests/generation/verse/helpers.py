"""A small vocabulary in which verse can be written, and random models of it."""

from collections import Counter
from functools import cache
from typing import Any

from mingyue.generation.verse.alphabet import Alphabet
from mingyue.generation.writer import Writer
from mingyue.model.config import ModelConfig
from mingyue.text.script import to_simplified
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse import rhyme
from mingyue.text.verse.heading import MARKS
from tests.model.configs import lively

LEVEL_CLASSES = "東支先陽庚"
OBLIQUE_CLASSES = "紙送月"
SIGNS = "，。？！；"
HEADS = "春夏秋冬明月"
CHARS = HEADS + "".join(
    name + rhyme.members(name).replace(name, "")[:8] for name in LEVEL_CLASSES + OBLIQUE_CLASSES
)


def tokenizer(chars: str = CHARS, *, signs: str = SIGNS, marks: str = "") -> Tokenizer:
    return Tokenizer.characters(Counter(chars + signs + marks), marks=marks)


@cache
def writer(
    chars: str = CHARS,
    *,
    signs: str = SIGNS,
    headings: bool = False,
    seed: int = 0,
    **values: Any,
) -> Writer:
    """A model with random weights: what it writes has no form of itself."""
    extra = MARKS + "五七言绝律絕李白" if headings else ""
    made = tokenizer(chars + extra, signs=signs, marks=MARKS if headings else "")
    sizes = {"block_size": 24, "n_layer": 1, "n_head": 2, "d_model": 16}
    config = ModelConfig.checked(**{"vocab_size": made.vocab_size, **sizes, **values})
    return Writer(lively(config, seed), made)


def alphabet(chars: str = CHARS, *, signs: str = SIGNS) -> Alphabet:
    made = tokenizer(chars, signs=signs)
    return Alphabet(made, made.vocab_size, made.never_sampled)


SIMPLE = to_simplified(CHARS)
