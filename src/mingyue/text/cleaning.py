"""From raw transcriptions to poems: each step one small function, each step counted.

Digitised collections carry more than poems: editors' notes in brackets, marks for lost
characters, descriptions of characters that no font had, prefaces in prose, and the same poem
under two authors. A model would learn all of it, and a poem that stands both in training and in
validation makes the validation loss a lie. What a step may do is either *mend* a text or *drop*
it; nothing is ever invented.

Only the standard library is used here, because the package build runs this file too.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mingyue.text.document import Document
from mingyue.text.report import Report

# Goes up when a step changes, so that corpora cleaned by older rules are made anew.
CLEANING_VERSION = 1

SENTENCE_ENDS = "。！？；"
PAUSES = "，、："
_MARKS = frozenset(SENTENCE_ENDS + PAUSES)

_NUMBER = "[0-9〇○一二三四五六七八九十百]*"
_NOTE = re.compile(
    rf"（[^（）]*）|\([^()]*\)|〖[^〖〗]*〗|\[{_NUMBER}\]|［{_NUMBER}］|〔{_NUMBER}〕"
)
_RESTORED = re.compile(r"[\[［〔]([^\[\]［］〔〕]*)[\]］〕]")
# An editor's "（下缺）" (the rest is lost), but not "（闕名）" (the author is not known).
_LOST = re.compile(r"[（(][上中下前後后原]?[缺闕阙](?!名)[^（）()]{0,6}[）)]")
_GAPS = frozenset("□○●…\N{REPLACEMENT CHARACTER}")
_COMPOSITION = re.compile(r"[{}\u2ff0-\u2fff]")
_QUOTES = str.maketrans("", "", "「」『』《》〈〉“”‘’/／")
_RUN_OF_MARKS = re.compile(f"[{SENTENCE_ENDS}{PAUSES}]{{2,}}")


@dataclass(frozen=True, slots=True)
class RawPoem:
    """A poem as the source has it: its text in the source's own paragraphs."""

    paragraphs: tuple[str, ...]
    title: str = ""
    author: str = ""


# ---- what a character is -----------------------------------------------------------------


def is_han(character: str) -> bool:
    """Whether this is a Han character (unified, compatibility, any extension, or 〇)."""
    return (
        "\u4e00" <= character <= "\u9fff"
        or "\u3400" <= character <= "\u4dbf"
        or "\U00020000" <= character <= "\U0003ffff"
        or "\uf900" <= character <= "\ufaff"
        or character == "〇"
    )


def count_han(text: str) -> int:
    """The number of Han characters."""
    return sum(map(is_han, text))


# ---- steps that mend ---------------------------------------------------------------------


def join(paragraphs: Iterable[str]) -> str:
    """One string; comes first, since a note may begin in one paragraph and end in another."""
    return "".join(paragraphs)


def unify(text: str) -> str:
    """NFC: one spelling for each character.

    Not NFKC: that would turn the full-width comma into a half-width one.
    """
    return unicodedata.normalize("NFC", text)


def strip_notes(text: str) -> str:
    """Take out bracketed notes, from the innermost outwards, so that nested ones go too.

    Round brackets （） and 〖〗 hold notes; square brackets [ ] hold the number of a note, or else
    what ``keep_restored`` is about.
    """
    while (stripped := _NOTE.sub("", text)) != text:
        text = stripped
    return text


def keep_restored(text: str) -> str:
    """Take the square brackets off characters that an editor restored or corrected.

    With these characters 612 of the 813 Tang poems that have them run in even lines of five or
    seven; without them, none.
    """
    return _RESTORED.sub(r"\1", text)


def strip_spaces(text: str) -> str:
    """Verse has no spaces."""
    return "".join(text.split())


def mend_punctuation(text: str) -> str:
    """Leave only the marks that divide verse, one at a time.

    Quotation and title marks go: a few late editors set them, most did not. Where a note was
    taken out between two full stops, one stays: of a run of marks, the first that ends a
    sentence, else the first. A mark at the very beginning has nothing to end.
    """
    text = text.translate(_QUOTES)
    text = _RUN_OF_MARKS.sub(_strongest, text)
    return text.lstrip(SENTENCE_ENDS + PAUSES)


def _strongest(run: re.Match[str]) -> str:
    return next((mark for mark in run[0] if mark in SENTENCE_ENDS), run[0][0])


# ---- reasons to drop ---------------------------------------------------------------------


def has_gaps(text: str) -> bool:
    """Whether characters are missing (□ ○ ● … �), a note says so （下缺）, or the end is lost."""
    if not _GAPS.isdisjoint(text) or _LOST.search(text):
        return True
    return text != "" and text[-1] not in SENTENCE_ENDS


def has_composition(text: str) -> bool:
    """Whether a character is described by its parts, as in {氵寉} or ⿰."""
    return _COMPOSITION.search(text) is not None


def has_private_use(text: str) -> bool:
    """Whether a code point stands for a character that Unicode lacked at the time."""
    return any(unicodedata.category(character) == "Co" for character in text)


def has_foreign(text: str) -> bool:
    """Whether anything but Han characters and verse punctuation is left: digits, half brackets."""
    return not all(is_han(character) or character in _MARKS for character in text)


def lines_of(text: str) -> list[str]:
    """The stretches between marks, without the marks."""
    return re.findall(f"[^{SENTENCE_ENDS}{PAUSES}]+", text)


def couplets_of(text: str) -> list[str]:
    """The stretches between marks that end a sentence: in regulated verse, the couplets."""
    return re.findall(f"[^{SENTENCE_ENDS}]+", text)


def is_prose(text: str, longest_line: int) -> bool:
    """Whether some line is longer than lines of verse are."""
    return any(len(line) > longest_line for line in lines_of(text))


def mostly_seen(text: str, seen: set[str]) -> bool:
    """Whether at least half of the couplets are in ``seen``."""
    couplets = couplets_of(text)
    return 2 * sum(couplet in seen for couplet in couplets) >= len(couplets)


# ---- the whole ---------------------------------------------------------------------------


def clean(
    poems: Iterable[RawPoem], report: Report, *, shortest: int = 10, longest_line: int = 11
) -> Iterator[Document]:
    """Run every step over every poem, in order; yield what stands, count the rest in ``report``.

    A poem with fewer than ``shortest`` Han characters is a fragment; one with a line of more
    than ``longest_line`` characters is prose. Of poems that repeat each other, the first stays.
    """
    mending: dict[str, Callable[[str], str]] = {
        "nfc": unify,
        "notes": strip_notes,
        "restored": keep_restored,
        "spaces": strip_spaces,
        "punctuation": mend_punctuation,
    }
    dropping: dict[str, Callable[[str], bool]] = {
        "compositions": has_composition,
        "private use": has_private_use,
        "foreign": has_foreign,
        "prose": lambda text: is_prose(text, longest_line),
        "short": lambda text: count_han(text) < shortest,
    }
    steps = ["raw poems", *mending, "gaps", *dropping, "duplicates", "near duplicates"]
    for step in steps:
        report.count(step, 0)

    whole: set[str] = set()
    couplets: set[str] = set()
    for poem in poems:
        report.count("raw poems")
        text = join(poem.paragraphs)
        lost = _LOST.search(text) is not None  # must be read before the notes go, with them
        for step, mend in mending.items():
            mended = mend(text)
            report.count(step, mended != text)
            text = mended
        if lost or has_gaps(text):
            report.count("gaps")
            continue
        reason = next((step for step, applies in dropping.items() if applies(text)), None)
        if reason is None and text in whole:
            reason = "duplicates"
        if reason is None and mostly_seen(text, couplets):
            reason = "near duplicates"
        if reason is not None:
            report.count(reason)
            continue
        whole.add(text)
        couplets.update(couplets_of(text))
        report.documents += 1
        report.characters += len(text)
        yield Document(text, title=clean_title(poem.title), author=unify(poem.author).strip())


def clean_title(title: str) -> str:
    """A title without notes, with single spaces."""
    return " ".join(keep_restored(strip_notes(unify(title))).split())
