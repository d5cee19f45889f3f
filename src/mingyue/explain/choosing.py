"""Which token, layer and head an exhibit is about, and which part of a long text it draws."""

from collections.abc import Sequence

from pydantic import Field

from mingyue.errors import UserError
from mingyue.explain.exhibit import Knobs
from mingyue.explain.subject import Subject
from mingyue.generation.prompt import prepare
from mingyue.language import tr

WINDOW = 64
"""Tokens drawn at once; more would be unreadable."""


class Place(Knobs):
    """Knobs of exhibits about one position."""

    character: str = Field(default="", description="the token looked at, by its text")
    at: int | None = Field(default=None, description="or by its position; 0 is ▷, -1 the last")


def place(subject: Subject, knobs: Place, prefer: Sequence[str] = ()) -> int:
    """The position that the knobs name, else the first of ``prefer`` in the text, else the last.

    Raises:
        UserError: the text has no such token or position.
    """
    T = len(subject.labels)
    if knobs.at is not None:
        if not -T <= knobs.at < T:
            raise UserError(
                tr("position {at}: the text has only 0 to {last}", at=knobs.at, last=T - 1)
            )
        return knobs.at % T
    for wanted in [knobs.character] if knobs.character else prefer:
        for form in dict.fromkeys((wanted, _as_known(subject, wanted))):
            found = [t for t, label in enumerate(subject.labels) if label.strip("␣ ") == form]
            found += [t for t, label in enumerate(subject.labels) if form and form in label]
            if found:
                return found[0]
    if knobs.character:
        raise UserError(
            tr(
                "{character} is not in the text; there are {tokens}",
                character=knobs.character,
                tokens=" ".join(dict.fromkeys(subject.labels[:WINDOW])),
            )
        )
    return T - 1


def _as_known(subject: Subject, text: str) -> str:
    """In the script that the model knows: 猫 → 貓."""
    return prepare(text, subject.tokenizer, subject.model.config, "drop").text


def within(kind: str, number: int, count: int) -> int:
    """A layer's or head's number, from the end if negative.

    Raises:
        UserError: the model has none of that number.
    """
    if not -count <= number < count:
        raise UserError(
            tr(
                "{kind} {number}: this model has {count} of them, counted from 0",
                kind=kind,
                number=number,
                count=count,
            )
        )
    return number % count


def window(start: int, length: int) -> slice:
    """At most ``WINDOW`` tokens from ``start``, moved back where fewer would follow."""
    first = max(0, min(start, length - WINDOW))
    return slice(first, min(length, first + WINDOW))


def window_note(part: slice, length: int) -> list[str]:
    """What to say where not all is drawn."""
    if part.stop - part.start == length:
        return []
    return [
        tr(
            "tokens {first} to {last} of {length} are drawn; the knob start moves the window",
            first=part.start,
            last=part.stop - 1,
            length=length,
        )
    ]
