"""How Chinese verse is laid out, and which form a text has.

Regulated verse is a matter of counting: a line has five or seven characters, four lines make a
quatrain (绝句, 五绝 or 七绝), eight a regulated octave (律诗, 五律 or 七律). A line ends at a
comma, a full stop or a like sign, or at a line break. The enumeration comma 、 is only a pause
inside a line: in 词 it parts the opening beat (對瀟瀟、暮雨灑江天 is one line of eight).
"""

import re

# Unified ideographs with their extensions (A in the first plane, B and later in the second and
# third), the compatibility block, and the zero that is written as a character.
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿〇\U00020000-\U0003FFFF]")
_LINE_END = re.compile(r"[，。！？；：,!?;:\n\r]+")
# The end of a sentence, any further signs of that kind, and the quotation marks that close
# there; a break that already follows is taken along so that it is not doubled.
_SENTENCE_END = re.compile(r"([。！？；!?;]+[」』”’》）)]*)[ \t]*(?:\r\n|\r|\n)?")

_FORMS = {(5, 4): "五绝", (7, 4): "七绝", (5, 8): "五律", (7, 8): "七律"}


def lay_out(text: str) -> str:
    """``text`` with a line break after each sentence, as verse is printed: a couplet a line."""
    return _SENTENCE_END.sub(r"\1\n", text).removesuffix("\n")


def line_lengths(text: str) -> list[int]:
    """How many 汉字 each line has; what has none (empty lines, signs, Latin) is no line."""
    counts = (len(_HAN.findall(line)) for line in _LINE_END.split(text))
    return [count for count in counts if count]


def is_even(text: str) -> bool:
    """Whether ``text`` has at least two lines, all of five or all of seven 汉字."""
    lengths = line_lengths(text)
    return len(lengths) >= 2 and set(lengths) in ({5}, {7})


def form_of(text: str) -> str | None:
    """The form by line count and line length, or None for uneven lines.

    Four or eight lines are 五绝, 七绝, 五律 or 七律; any other number is 五言 or 七言.
    """
    if not is_even(text):
        return None
    lengths = line_lengths(text)
    return _FORMS.get((lengths[0], len(lengths)), "五言" if lengths[0] == 5 else "七言")
