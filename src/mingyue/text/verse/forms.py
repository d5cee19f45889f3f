"""The forms of verse: how many lines, how long, which of them rhyme, which tone patterns.

The four regulated forms (近体诗) are 五绝 七绝 五律 七律. Any other arrangement of lines is a free
form, written as its line lengths: ``7,7,7,7`` or ``5``.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.verse.patterns import Pattern, patterns


@dataclass(frozen=True)
class Form:
    """What a poem has to look like."""

    name: str
    """五绝, 七绝, 五律, 七律, or the line lengths of a free form."""
    lengths: tuple[int, ...]
    """How many characters each line has."""
    regulated: bool = False
    """Whether tone patterns exist for it."""

    @property
    def rhyming(self) -> tuple[int, ...]:
        """The lines that rhyme, counted from 0: the second of each couplet.

        The first line of a regulated poem may rhyme too; its ``Pattern`` says so.
        """
        return tuple(range(1, len(self.lengths), 2))

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The four tone patterns; none for a free form."""
        return patterns(self.lengths[0], len(self.lengths)) if self.regulated else ()

    @staticmethod
    def parse(text: str) -> "Form":
        """The form that somebody asked for: a name, or line lengths as in ``5,7,5``.

        Raises:
            UserError: it is neither.
        """
        asked = text.strip().lower().replace("絕", "绝").replace("ü", "u").replace("v", "u")
        if asked in _NAMES:
            return REGULATED[_NAMES[asked]]
        lengths = [part.strip() for part in re.split("[,，]", asked)]
        if not all(re.fullmatch(r"[1-9][0-9]?", part) for part in lengths):
            raise UserError(
                tr(
                    "{form}: no form; give one of {names}, or line lengths from 1 to 99 "
                    "as in 7,7,7,7",
                    form=text.strip() or "''",
                    names=" ".join(REGULATED),
                )
            )
        return Form(",".join(lengths), tuple(map(int, lengths)))


def find(lengths: tuple[int, ...]) -> Form | None:
    """The regulated form with these line lengths."""
    return next((form for form in REGULATED.values() if form.lengths == lengths), None)


REGULATED = {
    name: Form(name, (width,) * count, regulated=True)
    for name, width, count in (("五绝", 5, 4), ("七绝", 7, 4), ("五律", 5, 8), ("七律", 7, 8))
}
_NAMES = {name: name for name in REGULATED}
_NAMES |= dict(zip(("wujue", "qijue", "wulu", "qilu"), REGULATED, strict=True))
