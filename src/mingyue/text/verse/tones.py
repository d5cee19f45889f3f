"""The two tones that metre knows: 平 (level) and 仄 (oblique: rising, departing, entering).

They are those of Middle Chinese. Modern Mandarin lost the entering tone and scattered its
syllables over the others (國, 白 and 十 sound level today and are oblique), so a tone is taken
from the rhyme class of a character.
"""

from functools import cache

from mingyue.text.verse import rhyme

LEVEL, OBLIQUE = "平", "仄"

Tones = frozenset[str]
"""A subset of ``{"平", "仄"}``; both for a character that is read either way."""


@cache
def tones(char: str, *, simplified: bool = False) -> Tones:
    """The tones that ``char`` can have; empty if it is unknown. For ``simplified`` see rhyme.py."""
    return Tones(map(of_class, rhyme.classes(char, simplified=simplified)))


def of_class(name: str) -> str:
    """The tone of all characters of a rhyme class."""
    return LEVEL if rhyme.names()[name] == "平" else OBLIQUE


def opposite(tone: str) -> str:
    """平 for 仄, 仄 for 平."""
    return OBLIQUE if tone == LEVEL else LEVEL
