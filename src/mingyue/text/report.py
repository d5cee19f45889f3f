"""What happened to a text on its way in, in counts.

A corpus that was quietly repaired cannot be trusted: the reader must see how many poems were
dropped and why, and in which encoding each file was. So every step of reading and cleaning
counts what it touched here, and ``Report.lines()`` says it in words.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mingyue.language import Message, tr

# Each cleaning step by its name, in the words of the report. A name missing here is shown as is.
_IN_WORDS: dict[str, Callable[[int], str]] = {
    "raw poems": lambda n: tr("poems in the source: {n}", n=f"{n:,}"),
    "nfc": lambda n: tr("{n} had composed forms of characters unified (NFC)", n=f"{n:,}"),
    "notes": lambda n: tr("{n} had notes in brackets, taken out", n=f"{n:,}"),
    "restored": lambda n: tr(
        "{n} had characters restored by an editor, kept without brackets", n=f"{n:,}"
    ),
    "spaces": lambda n: tr("{n} had spaces, taken out", n=f"{n:,}"),
    "punctuation": lambda n: tr("{n} had stray or half-width punctuation, mended", n=f"{n:,}"),
    "gaps": lambda n: tr("{n} dropped: characters missing in the source (□ ○ ●)", n=f"{n:,}"),
    "compositions": lambda n: tr(
        "{n} dropped: characters described by their parts, as with ⿰", n=f"{n:,}"
    ),
    "private use": lambda n: tr("{n} dropped: characters that Unicode lacks", n=f"{n:,}"),
    "foreign": lambda n: tr("{n} dropped: digits, letters or stray signs", n=f"{n:,}"),
    "prose": lambda n: tr("{n} dropped: prose, a line is too long for verse", n=f"{n:,}"),
    "short": lambda n: tr("{n} dropped: too short", n=f"{n:,}"),
    "duplicates": lambda n: tr("{n} dropped: the same poem again", n=f"{n:,}"),
    "near duplicates": lambda n: tr(
        "{n} dropped: half of the couplets stood in earlier poems", n=f"{n:,}"
    ),
    "empty rows": lambda n: tr("empty rows passed over: {n}", n=f"{n:,}"),
}


@dataclass
class Report:
    """Counts of what was read and what was done to it.

    ``encodings`` counts files by encoding; ``cleaning`` maps the name of a step to the number
    of documents it touched, in the order of the steps. A report is kept on disk, so it holds
    no words of one language: ``warnings`` are translated when they are read.
    """

    documents: int = 0
    characters: int = 0
    encodings: Counter[str] = field(default_factory=Counter)
    cleaning: dict[str, int] = field(default_factory=dict)
    warnings: list[Message] = field(default_factory=list)

    def count(self, step: str, touched: int | bool = 1) -> None:
        """Add to a step's count; with 0 it enters the list, but ``lines`` passes over it."""
        self.cleaning[step] = self.cleaning.get(step, 0) + int(touched)

    def warn(self, warning: Message) -> None:
        """Add a sentence once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def lines(self) -> list[str]:
        """The report for a person: what was read, step by step what was done, what to mind."""
        characters = f"{self.characters:,}"
        lines = [
            tr("1 document, {characters} characters", characters=characters)
            if self.documents == 1
            else tr(
                "{documents} documents, {characters} characters",
                documents=f"{self.documents:,}",
                characters=characters,
            )
        ]
        if self.encodings:
            # The most frequent first; equal counts by name, so that the line is always the same.
            ranked = sorted(self.encodings.items(), key=lambda pair: (-pair[1], pair[0]))
            listed = ", ".join(f"{name} × {files:,}" for name, files in ranked)
            lines.append(tr("encodings of the files: {listed}", listed=listed))
        for step, touched in self.cleaning.items():
            if not touched:
                continue  # what did not happen is no news
            words = _IN_WORDS.get(step)
            lines.append(words(touched) if words else f"{step}: {touched:,}")
        return lines + [tr("note: {warning}", warning=warning) for warning in self.warnings]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "documents": self.documents,
            "characters": self.characters,
            "encodings": dict(self.encodings),
            "cleaning": dict(self.cleaning),
            "warnings": [warning.to_json() for warning in self.warnings],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Undo ``as_dict``; TypeError, KeyError or ValueError for what it did not make."""
        return cls(
            documents=int(values["documents"]),
            characters=int(values["characters"]),
            encodings=Counter(values["encodings"]),
            cleaning=dict(values["cleaning"]),
            warnings=[Message.from_json(saved) for saved in values["warnings"]],
        )
