"""What somebody asks of a poem, and whether it can be had of this model.

A demand that cannot be met is named at once, before anything is written: a head that the model has
never seen, a rhyme class of which it knows too few characters, a beginning that breaks the form.
"""

from typing import Annotated, Literal

from pydantic import Field

from mingyue.errors import UserError
from mingyue.generation.verse.alphabet import Alphabet
from mingyue.generation.verse.plan import Plan
from mingyue.language import tr
from mingyue.settings import Settings
from mingyue.text.cleaning import is_han
from mingyue.text.verse import Form, rhyme
from mingyue.text.verse.layout import lines_of
from mingyue.text.verse.tones import LEVEL, of_class

Weight = Annotated[float, Field(ge=0, le=100)]

HEADS = {4: "七绝", 8: "七律"}
"""The form of an acrostic of so many heads, if none is asked for; else lines of seven."""

_HARD = ("hard", "平水", "平水韵", "平水韻")


class Demand(Settings):
    """What a poem has to be; one of ``form``, ``head`` and ``couplet`` says how long it is."""

    form: str | None = None
    """五绝 七绝 五律 七律, or line lengths as in 7,7,7,7."""
    head: str = ""
    """The first 汉字 of the lines (藏头)."""
    couplet: str = ""
    """The upper line of a couplet, to be answered."""
    rhyme: str = "hard"
    """"hard" or "soft": any class of 平水韵; "free": none; or the name of a class."""
    tone: Literal["hard", "soft", "free"] = "soft"
    title: str = ""
    author: str = ""
    rhyme_weight: Weight = 4.0
    """What a line without rhyme costs if the rhyme is soft, in nats."""
    tone_weight: Weight = 2.0
    """What a place with the wrong tone costs if the tone is soft, in nats."""

    @property
    def hard_rhyme(self) -> bool:
        """Whether lines have to rhyme."""
        return self.rhyme not in ("soft", "free")

    def shape(self) -> Form:
        """The form that is asked for.

        Raises:
            UserError: there is none like that, or it has no room for what else was asked for.
        """
        if self.couplet:
            if self.form or self.head:
                raise UserError(
                    tr("a couplet takes its form from the line given; leave out form and head")
                )
            lengths = tuple(map(len, lines_of(self.couplet)))
            if not lengths:
                raise UserError(tr("the upper line of the couplet has no 汉字"))
            return Form(",".join(map(str, 2 * lengths)), 2 * lengths)
        heads = self.heads
        form = Form.parse(self.form or HEADS.get(len(heads)) or ",".join(["7"] * len(heads)))
        if len(heads) > len(form.lengths):
            raise UserError(
                tr(
                    "{heads}: {n} heads, but {form} has only {lines} lines",
                    heads=heads,
                    n=len(heads),
                    form=form.name,
                    lines=len(form.lengths),
                )
            )
        return form

    @property
    def heads(self) -> str:
        """The heads alone, one for a line.

        Raises:
            UserError: there are none in what was given.
        """
        heads = "".join(filter(is_han, self.head))
        if self.head.strip() and not heads:
            raise UserError(tr("{heads}: heads are 汉字, one for each line", heads=self.head))
        return heads


def open_classes(demand: Demand, form: Form, plan: Plan, alphabet: Alphabet) -> frozenset[str]:
    """The rhyme classes in which the poem may rhyme; none if it need not.

    Raises:
        UserError: the class asked for is none, does not suit the form or the beginning, or the
            model knows too few characters of it.
    """
    lines = form.rhyming
    if demand.rhyme == "free" or demand.couplet or not lines:
        return frozenset()
    if demand.rhyme in ("soft", *_HARD):
        names = frozenset(
            name for name in alphabet.rhymes if not form.regulated or of_class(name) == LEVEL
        )
        return _begun(names, demand, form, plan, alphabet) if len(lines) > 1 else frozenset()
    name = rhyme.find(demand.rhyme)
    if form.regulated and of_class(name) != LEVEL and demand.tone != "free":
        raise UserError(
            tr(
                "{name} is not of the level tone, in which {form} rhymes; "
                "ask for another class, or let the tones be free (--tone free)",
                name=name,
                form=form.name,
            )
        )
    known = len(alphabet.rhymes.get(name, ()))
    if known < len(lines):
        raise UserError(
            tr(
                "the model knows {known} characters of the rhyme class {name}; "
                "{form} needs {needed}",
                known=known,
                name=name,
                form=form.name,
                needed=len(lines),
            )
        )
    return _begun(frozenset([name]), demand, form, plan, alphabet)


def _begun(
    names: frozenset[str], demand: Demand, form: Form, plan: Plan, alphabet: Alphabet
) -> frozenset[str]:
    """The same, if the lines that are given rhyme in one of them."""
    for line in form.rhyming:
        end = plan.given.get((line, form.lengths[line] - 1))
        found = alphabet.classes(end) if end else frozenset()
        if not found:
            continue
        if not found & names:
            if demand.hard_rhyme:
                raise UserError(
                    tr(
                        "line {line} ends in {char}, which does not rhyme there (its classes: "
                        "{classes}); change it, or ask for less (--rhyme soft)",
                        line=line + 1,
                        char=end,
                        classes=" ".join(sorted(found)),
                    )
                )
            return names
        names = names & found
    return names


def first_rhymes(form: Form, names: frozenset[str]) -> bool:
    """Whether a first line that ends in a level tone has to rhyme."""
    return form.regulated and bool(names) and all(of_class(name) == LEVEL for name in names)
