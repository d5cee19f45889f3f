"""Write poems that hold a form.

    poet = load("runs/tang")
    for poem in poems(poet, Demand(form="七绝", head="春夏秋冬"), n=3):
        print(poem.text)

The model goes on from a heading that names the form (if it was trained with headings), and a
guide holds each stream to the form, so that a poem always comes out whole.
"""

from collections.abc import Iterator
from functools import lru_cache

from mingyue.errors import UserError
from mingyue.generation.batches import Told
from mingyue.generation.prompt import Prompt, prepare
from mingyue.generation.sampling import Sampling
from mingyue.generation.verse.alphabet import Alphabet
from mingyue.generation.verse.counterpart import Counterpart
from mingyue.generation.verse.demand import Demand, first_rhymes, open_classes
from mingyue.generation.verse.guide import Rules, VerseGuide
from mingyue.generation.verse.metre import Metre, contrast, of_form
from mingyue.generation.verse.plan import Plan
from mingyue.generation.verse.poem import Poem
from mingyue.generation.verse.rhyme import Rhyme
from mingyue.generation.writer import Writer
from mingyue.generation.writing import Completion, Request
from mingyue.interop.run_folder import never_written
from mingyue.language import tr
from mingyue.text.cleaning import is_han
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse import Form
from mingyue.text.verse.heading import OPEN, heading, spelt


def poems(
    writer: Writer,
    demand: Demand,
    prompt: str = "",
    *,
    n: int = 1,
    seed: int | None = None,
    probabilities: int = 0,
    told: Told | None = None,
    **chance: object,
) -> Iterator[Poem]:
    """``n`` poems that begin with ``prompt``, each batch as soon as it is written.

    ``chance`` are values of ``Sampling``, by default those of ``Writer.generate``. For equal
    ``seed`` the poems are equal, and poem *i* does not depend on ``n``. ``probabilities`` and
    ``told`` are as in ``Writer.samples``.

    Raises:
        UserError: the demand cannot be met; unknown characters; a value out of range; a model
            that cannot write verse. At the call and not at the first poem.
    """
    sampling = Sampling.checked(**{"temperature": 0.8, **chance})
    task = _Bound(writer, demand, prompt)
    request = Request.of(n=n, seed=seed, max_tokens=task.max_tokens, probabilities=probabilities)
    samples = ((task.prompt, task.guide()) for _ in range(n))
    return map(task.poem, writer.written(samples, sampling, request, told))


def heading_for(writer: Writer, *, form: str = "", author: str = "", title: str = "") -> str:
    """The heading with which this model is asked; empty if it was trained without headings.

    Raises:
        UserError: it was, and a title or an author is asked for.
    """
    if OPEN in writer.tokenizer.marks:
        return heading(spelt(form, writer.tokenizer.knows), author, title)
    if title or author:
        raise UserError(
            tr(
                "this model was trained without headings, so a title or an author does not "
                "steer it; train with --headings"
            )
        )
    return ""


def _name(form: Form) -> str:
    """How a heading calls a form; empty if it has no name for it."""
    if form.regulated:
        return form.name
    width = form.lengths[0]
    even = len(form.lengths) > 1 and set(form.lengths) == {width}
    return {5: "五言", 7: "七言"}.get(width, "") if even else ""


@lru_cache(maxsize=1)  # it looks up every character: with many prompts once is enough
def _alphabet(tokenizer: Tokenizer, size: int, never: tuple[int, ...]) -> Alphabet:
    return Alphabet(tokenizer, size, never)


class _Bound:
    """One demand made ready: the prompt, the plan, and a guide for each poem."""

    def __init__(self, writer: Writer, demand: Demand, prompt: str):
        self._demand, self._form = demand, demand.shape()
        tokenizer, config = writer.tokenizer, writer.model.config
        never = tuple(never_written(config, tokenizer))
        self._alphabet = _alphabet(tokenizer, config.vocab_size, never)
        given = "\n".join(text for text in (demand.couplet, prompt) if text.strip())
        heads, beginning = (
            prepare("".join(filter(is_han, text)), tokenizer, config, "refuse")
            for text in (demand.heads, given)
        )
        known = iter(beginning.text)  # character for character; of signs the plan takes care
        given = "".join(next(known) if is_han(char) else char for char in given)
        plan = Plan.of(self._form.lengths, self._alphabet, heads.text)
        self._plan = plan = plan.beginning(given) if given else plan
        self._names = open_classes(demand, self._form, plan, self._alphabet)
        name = "" if demand.couplet else _name(self._form)
        asked = heading_for(writer, form=name, author=demand.author, title=demand.title)
        whole = prepare(asked + plan.begun, tokenizer, config, "refuse")
        left = len(plan.slots) - len(plan.begun)
        if config.position == "learned" and len(whole.ids) + left > config.block_size + 1:
            raise UserError(
                tr(
                    "{form} needs {tokens} tokens, but this model has positions for only {limit} "
                    "(block_size)",
                    form=self._form.name,
                    tokens=len(whole.ids) + left - 1,
                    limit=config.block_size,
                )
            )
        notes = dict.fromkeys(heads.notes + beginning.notes + whole.notes)
        self.prompt = Prompt(whole.text, whole.ids, list(notes))
        self.max_tokens = left + len(plan.lengths)  # a line break may come after each line

    def guide(self) -> VerseGuide:
        """The guide of one more poem."""
        demand, form, plan, alphabet = self._demand, self._form, self._plan, self._alphabet
        rules = Rules()
        if self._names:
            regulated = first_rhymes(form, self._names)
            weight = None if demand.hard_rhyme else demand.rhyme_weight
            rules.rhyme = Rhyme(alphabet, form.rhyming, self._names, first=regulated, weight=weight)
        patterns = of_form(form)
        if demand.couplet:
            upper = plan.lines[: len(form.lengths) // 2]
            rules.counterpart = Counterpart(alphabet, "".join(upper))
            patterns = contrast(upper, alphabet)
        if patterns and demand.tone != "free":
            weight = None if demand.tone == "hard" else demand.tone_weight
            rules.metre = Metre(patterns, plan, alphabet, weight)
        return VerseGuide(plan, alphabet, rules)

    def poem(self, done: Completion) -> Poem:
        """What was written, as a poem."""
        text = self._plan.begun + done.text
        if any(slot.signs and slot.signs != ("\n",) for slot in self._plan.slots):
            text = text.replace("\n", "")  # the signs end the lines
        return Poem(text.rstrip("\n"), self._form, bool(self._demand.couplet), done)
