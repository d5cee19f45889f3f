"""A document: the unit that a model learns to begin and to end.

For Tang poetry one poem is one document; for a novel the whole file is. Everything later (the
end token, the split into training and validation, the loss) counts in documents.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

HANDFUL = 1 << 19
"""About how many characters are worth one handful."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text and what is known about it.

    A long file arrives as several pieces so that it never has to fit in memory: all but the
    last have ``ends=False``, and joining their texts gives the document.
    """

    text: str
    title: str = ""
    author: str = ""
    ends: bool = True


class Handful(NamedTuple):
    """Many documents at once, without titles.

    A poem is too short to be worth a dozen calls of Python. Where only the texts count, they go
    in lists of thousands, and what can be asked of all at once is asked once.
    """

    texts: list[str]
    ends: list[bool] | None
    """As ``Document.ends``; None: each text is a whole document."""


def gather(documents: Iterable[Document], characters: int = HANDFUL) -> Iterator[Handful]:
    """The documents in handfuls of about so many characters."""
    texts: list[str] = []
    ends: list[bool] = []
    filled = 0
    for document in documents:
        texts.append(document.text)
        ends.append(document.ends)
        filled += len(document.text) + 1
        if filled >= characters:
            yield Handful(texts, ends)
            texts, ends, filled = [], [], 0
    if texts:
        yield Handful(texts, ends)
