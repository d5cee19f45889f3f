"""Counting a corpus in one pass: what its documents, lines and characters are like."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus
    from mingyue.text.document import Document

SHOWN = 40
"""Characters of the longest line, and frequent characters, that are shown."""
SAMPLE = 2_000
"""Characters of a sample document that are kept."""


@dataclass
class Tally:
    """What was counted. Lengths are in characters."""

    characters: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    longest_line: int = 0
    longest_line_begins: str = ""
    samples: "list[Document]" = field(default_factory=list)

    @property
    def different(self) -> int:
        return len(self.characters)

    @property
    def frequent(self) -> list[str]:
        return [c for c, _ in sorted(self.characters.items(), key=lambda p: (-p[1], p[0]))[:20]]

    @property
    def shortest(self) -> int:
        return min(self.lengths)

    @property
    def longest(self) -> int:
        return max(self.lengths)

    @property
    def median(self) -> int:
        """The length that half of the documents do not exceed."""
        half, seen = (self.lengths.total() + 1) // 2, 0
        for length in sorted(self.lengths):
            seen += self.lengths[length]
            if seen >= half:
                return length
        return 0


def tally(corpus: "Corpus", samples: int) -> Tally:
    """Count all of ``corpus`` and draw some documents, the same ones each time.

    A document that arrives in pieces counts as one; lines are those of the pieces, so a line cut
    by a piece's end counts as two.
    """
    counted, draw = Tally(), random.Random(0)
    length, number, begins = 0, 0, ""
    for piece in corpus:
        counted.characters.update(piece.text)
        for line in piece.text.splitlines():
            if len(line) > counted.longest_line:
                counted.longest_line = len(line)
                counted.longest_line_begins = line[:SHOWN] + "…" * (len(line) > SHOWN)
        begins += piece.text[: SAMPLE - len(begins)]
        length += len(piece.text)
        if not piece.ends:
            continue
        counted.lengths[length] += 1
        _keep(counted.samples, replace(piece, text=begins), number, samples, draw)
        number, length, begins = number + 1, 0, ""
    return counted


def _keep(
    kept: "list[Document]", document: "Document", number: int, wanted: int, draw: random.Random
) -> None:
    """Reservoir sampling (Vitter 1985): after each document every one so far is equally likely."""
    if len(kept) < wanted:
        kept.append(document)
    elif wanted and (place := draw.randrange(number + 1)) < wanted:
        kept[place] = document
