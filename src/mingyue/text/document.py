"""A document: the unit that a model learns to begin and to end.

For Tang poetry one poem is one document; for a novel the whole file is. Everything later (the
end token, the split into training and validation, the loss) counts in documents.
"""

from dataclasses import dataclass


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
