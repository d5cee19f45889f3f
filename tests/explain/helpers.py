"""A tiny writer with lively random weights, put before a text."""

from collections import Counter
from typing import Any

from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.model.config import ModelConfig
from mingyue.text.tokenizer import Tokenizer
from tests.model.configs import lively

POEM = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"


BYTES = Tokenizer.bytes()


def in_bytes(config: ModelConfig, text: str, **changed: Any) -> Subject:
    """A model of that shape that reads bytes, put before ``text``."""
    shape = config.changed(vocab_size=BYTES.vocab_size, **changed)
    return Subject.of(Writer(lively(shape), BYTES), text)


def subject(text: str = POEM, **config: Any) -> Subject:
    """The vocabulary is that of ``text``, ``POEM`` and the comma; ``config`` changes the shape."""
    tokenizer = Tokenizer.characters(Counter(text + POEM))
    sizes: dict[str, Any] = {"block_size": 32, "n_layer": 2, "n_head": 2, "d_model": 16}
    shape = ModelConfig.checked(**{**sizes, **config, "vocab_size": tokenizer.vocab_size})
    return Subject.of(Writer(lively(shape), tokenizer), text)


def said_number(sentence: str) -> tuple[float, float]:
    """The number that a sentence begins with, and by how much it may have been rounded."""
    word = sentence.split()[0]
    return float(word), 0.51 * 10.0 ** -len(word.partition(".")[2])
