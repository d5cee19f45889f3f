"""Which text an exhibit is shown on when the reader names none."""

from collections.abc import Sequence

from mingyue.generation.writer import Writer
from mingyue.language import tr
from mingyue.text.script import adapt


def choose(texts: Sequence[str], writer: Writer) -> tuple[str, list[str]]:
    """The first of ``texts`` that the model has all characters of, and what to say about it.

    Where it has seen all characters of none, the one that lacks the smallest share of its own.
    """
    lacking = [unknown(text, writer) for text in texts]
    lack = [len(missing) / len(text) for text, missing in zip(texts, lacking, strict=True)]
    best = lack.index(min(lack))
    notes = [tr("text: {text} (give another after RUN)", text=texts[best])]
    notes += [
        tr(
            "the model has never seen {characters} of {text}",
            characters=" ".join(dict.fromkeys(missing)),
            text=text,
        )
        for text, missing in zip(texts[:best], lacking, strict=False)
    ]
    return texts[best], notes


def unknown(text: str, writer: Writer) -> list[str]:
    """Its characters that the vocabulary lacks in every form; blanks are not counted."""

    def known(character: str) -> bool:
        return not writer.tokenizer.unknown(character)

    return [c for c in adapt(text, known)[0] if not known(c) and not c.isspace()]
