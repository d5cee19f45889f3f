"""What somebody typed, as the model gets it.

A character-level vocabulary has only what was in its corpus: full-width signs, one of the two
scripts. A prompt is first put into those forms; what then is still unknown is named, and refused
or left out as the caller chose; only blanks, which a vocabulary of verse lacks and which nobody
means as content, are left out in any case. Nothing is changed in silence: notes say what was done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.text.script import adapt
from mingyue.text.tokenizer import Tokenizer

Unknown = Literal["refuse", "drop"]

# Zero-width spaces and joiners and the byte order mark: nobody sees them, copying brings them in.
_ZERO_WIDTH = frozenset("\u200b\u200c\u200d\u2060\ufeff")


MANY = 8
"""Characters that are named; of more only the first."""


@dataclass(frozen=True)
class Prompt:
    """A prompt that fits the model."""

    text: str
    ids: list[int]  # end token first, since a text begins after the end of another
    notes: list[str]  # what was done to it, translated


def prepare(text: str, tokenizer: Tokenizer, config: ModelConfig, unknown: Unknown) -> Prompt:
    """Put a prompt into known characters and into ids.

    Blanks that the vocabulary lacks are left out whatever ``unknown`` says, with a note.

    Raises:
        UserError: unknown characters that are not to be dropped, or more tokens than learned
            positions.
    """
    known = tokenizer.knows
    notes: list[str] = []
    dropped: list[str] = []
    if strange := tokenizer.unknown(text):
        # Blanks go first, so that the rest is seen as a sentence; not those with a known form.
        dropped = [c for c in strange if _blank(c) and adapt(c, known)[0] == c]
        text = _without(text, dropped)
        text, changes = adapt(text, known)
        if changes:
            pairs = " ".join(f"{_shown(old)}→{_shown(new)}" for old, new in changes)
            notes.append(tr("prompt put into known characters: {pairs}", pairs=pairs))
    if strange := tokenizer.unknown(text):
        if unknown == "refuse":
            raise UserError(
                tr(
                    "the model has never seen {characters}; change the prompt, "
                    'or have them left out (--unknown drop; unknown="drop" in Python)',
                    characters=listed(strange),
                )
            )
        text = _without(text, strange)
        dropped += strange
    if dropped:
        shown = listed(dropped)
        notes.append(tr("left out of the prompt, as unknown: {characters}", characters=shown))
    ids = [tokenizer.end_id, *tokenizer.encode(text)]
    if config.kind == "gpt" and len(ids) > config.block_size:
        sizes = {"tokens": len(ids) - 1, "limit": config.block_size}
        if config.position == "learned":
            raise UserError(
                tr(
                    "the prompt has {tokens} tokens, but this model has positions for only "
                    "{limit} (block_size), the end token before it included; shorten the prompt",
                    **sizes,
                )
            )
        notes.append(tr("the prompt has {tokens} tokens; the model sees the last {limit}", **sizes))
    return Prompt(text, ids, notes)


def listed(characters: Sequence[str]) -> str:
    """Characters for a message; of many the first few, and how many more there are."""
    shown = " ".join(map(_shown, characters[:MANY]))
    if len(characters) <= MANY:
        return shown
    return tr("{characters} … and {n} more", characters=shown, n=len(characters) - MANY)


def _blank(character: str) -> bool:
    return character.isspace() or character in _ZERO_WIDTH


def _without(text: str, characters: list[str]) -> str:
    return "".join(c for c in text if c not in characters)


def _shown(character: str) -> str:
    """A character for a message; by number if it cannot be seen."""
    visible = character.isprintable() and not character.isspace()
    return character if visible else f"U+{ord(character):04X}"
