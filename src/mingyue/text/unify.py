"""The last step of reading: one spelling (NFC), one script, everything counted."""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Literal

from mingyue.text.document import Handful
from mingyue.text.report import Report

Script = Literal["as-is", "traditional", "simplified"]


class Unify:
    """Makes the texts of one pass over a corpus uniform, and counts them in its report."""

    def __init__(self, report: Report, convert: Callable[[str], str] | None) -> None:
        self._report, self._convert = report, convert
        self._unified = False  # whether NFC changed anything in this document

    def __call__(self, text: str, ends: bool) -> str:
        """The text of a document or of a piece of one."""
        spelt = unicodedata.normalize("NFC", text)
        self._unified = self._unified or spelt != text
        if self._convert:
            spelt = self._convert(spelt)
        self._report.characters += len(spelt)
        if ends:
            self._report.documents += 1
            if self._unified:
                self._report.count("nfc")
                self._unified = False
        return spelt

    def many(self, handful: Handful) -> Handful:
        """Many texts. A part of a text in NFC is in NFC, so all are asked together first."""
        texts, ends = handful
        if self._convert is None and not self._unified:
            together = "".join(texts)
            if unicodedata.is_normalized("NFC", together):
                self._report.characters += len(together)
                self._report.documents += len(texts) if ends is None else sum(ends)
                return handful
        ends_ = ends if ends is not None else [True] * len(texts)
        return Handful([self(text, end) for text, end in zip(texts, ends_, strict=True)], ends)


def converter(script: Script) -> Callable[[str], str] | None:
    """What converts to ``script``; None: nothing needs to."""
    if script == "as-is":
        return None
    from mingyue.text.script import to_simplified, to_traditional

    return to_traditional if script == "traditional" else to_simplified


@cache
def converter_version(script: Script) -> str:
    """The conversion tables come with the package opencc and change with it."""
    if script == "as-is":
        return ""
    from importlib.metadata import version

    return version("opencc")
