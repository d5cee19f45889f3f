"""How Chinese verse is laid out: where its lines end, and which form they make.

Regulated verse is a matter of counting: a line has five or seven characters, four lines make a
quatrain (绝句, 五绝 or 七绝), eight a regulated octave (律诗, 五律 or 七律). Characters are
counted, never signs, for editors punctuate as they like.
"""

import re

from mingyue.text.verse.forms import find

# Unified ideographs with their extensions (A in the first plane, B and later in the second and
# third), the compatibility block, and the zero that is written as a character.
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿〇\U00020000-\U0003FFFF]")

# What always ends a line: commas, full stops and their like in every width, and a line break.
_ENDS = "，。！？；,.!?;．｡﹐﹒﹔﹖﹗‼⁇⁈⁉\n\r\v\f\x85\u2028\u2029"
# A colon ends a line or introduces what follows in it; by default it ends one.
_COLONS = "：:﹕︰"
# A pause inside a line as a rule: in 词 the enumeration comma parts the opening beat
# (對瀟瀟、暮雨灑江天 is one line of eight). Some write it, a dash, dots or a space for the comma.
_PAUSES = "、､﹑…⋯—–―─～~ \t\u3000"

# The readings of the signs, the usual one first.
_READINGS = tuple(
    re.compile(f"[{re.escape(signs)}]+")
    for signs in (_ENDS + _COLONS, _ENDS + _COLONS + _PAUSES, _ENDS)
)

# The end of a sentence, any further signs of that kind, and the quotation marks that close
# there; a break that already follows is taken along so that it is not doubled.
_SENTENCE_END = re.compile(r"([。！？；!?;]+[」』”’》）)]*)[ \t]*(?:\r\n|\r|\n)?")


def lay_out(text: str) -> str:
    """``text`` with a line break after each sentence, as verse is printed: a couplet a line."""
    return _SENTENCE_END.sub(r"\1\n", text).removesuffix("\n")


def lines_of(text: str, lengths: tuple[int, ...] | None = None) -> list[str]:
    """The 汉字 of each line; what has none (empty lines, signs, Latin) is no line.

    A sign that may end a line or stand inside it (、：— … and spaces) is read in the usual way,
    unless only the other way gives the line ``lengths`` asked for; if none are asked for, lines
    all of five or all of seven characters.
    """
    usual: list[str] | None = None
    for reading in _READINGS:
        parts = ("".join(_HAN.findall(part)) for part in reading.split(text))
        lines = [part for part in parts if part]
        usual = lines if usual is None else usual
        found = tuple(map(len, lines))
        if found == lengths if lengths else _even(found):
            return lines
    return usual or []


def line_lengths(text: str) -> list[int]:
    """How many 汉字 each line has."""
    return [len(line) for line in lines_of(text)]


def is_even(text: str) -> bool:
    """Whether ``text`` has at least two lines, all of five or all of seven 汉字."""
    return _even(tuple(line_lengths(text)))


def form_of(text: str) -> str | None:
    """The form by line count and line length, or None for uneven lines.

    Four or eight lines are 五绝, 七绝, 五律 or 七律; any other number is 五言 or 七言.
    """
    lengths = tuple(line_lengths(text))
    if not _even(lengths):
        return None
    form = find(lengths)
    return form.name if form else "五言" if lengths[0] == 5 else "七言"


def _even(lengths: tuple[int, ...]) -> bool:
    return len(lengths) >= 2 and set(lengths) in ({5}, {7})
