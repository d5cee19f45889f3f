"""Two little worlds: ``modern`` (Chinese) and ``english``, whose texts a grammar makes up.

The article looks at modern sentences (猫喜欢吃鱼，它很聪明 · 打篮球, 打车 · the bank of a river),
and a model of Tang poems has hardly seen a word of them. Here are tens of thousands of small texts
about just such things, so that a small model learns in a minute or two who is meant by 它, who
bites whom, and what 打 means. They are for looking inside: whoever learned them knows a few
patterns of a few hundred words, and does not write well.

The grammars are ours and lie in ``worlds/``; the texts are made anew each time they are read, by
a fixed seed, and are always the same.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from mingyue.text.grammar import Grammar

FOLDER = Path(__file__).parent / "worlds"
WORLDS = tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))
TEXTS = 60_000
SEED = 0

# Goes up when the same grammar would make other texts than before.
_VERSION = 1


def texts(name: str, n: int = TEXTS, seed: int = SEED) -> Iterator[str]:
    """``n`` different texts of the world of that name.

    Raises:
        ValueError: its grammar has not so many to say.
    """
    grammar, random, said = Grammar(_source(name)), Random(seed), set[str]()
    for _ in range(4 * n):
        text = grammar.say(random)
        if text not in said:
            said.add(text)
            yield text
        if len(said) == n:
            return
    raise ValueError(f"{name}: {4 * n} attempts gave only {len(said)} different texts")


def fingerprint(name: str) -> str:
    """A hash of all that decides the texts."""
    return hashlib.sha256(f"{_VERSION} {SEED} {TEXTS} {_source(name)}".encode()).hexdigest()


def _source(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
