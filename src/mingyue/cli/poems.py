"""``--verse`` of ``eval`` and ``compare``: what a model writes, measured beside real poems."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from mingyue.cli.flags import SWITCH, Flag, Panel, choice, real, text, whole
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset
    from mingyue.data.tokens import Tokens
    from mingyue.evaluation.figure import Figure
    from mingyue.evaluation.novelty import Copied
    from mingyue.evaluation.verse import Verse
    from mingyue.generation.writer import Writer
    from mingyue.text.tokenizer import Tokenizer
    from mingyue.text.verse import Form

REAL = 3_000
"""Real poems that are measured: of more a sample by chance."""

_LONGEST = 200
"""Characters after which a text that has not ended is cut."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Poems:
    """Which poems are to be written."""

    n: int = 200
    form: "Form | None" = None
    tone: str | None = None
    """Given: they are held to the form, with tones so."""
    seed: int = 0
    temperature: float = 0.8


def panel() -> Panel:
    """The options of both commands."""
    return Panel(
        tr("Verse"),
        [
            Flag("verse", SWITCH, tr("measure what it writes as verse"), option="--verse"),
            Flag("n", whole(most=100_000), tr("so many poems"), "200"),
            Flag(
                "form", text("FORM"), tr("of this form: 五绝 七绝 五律 七律, or 7,7,7,7"), tr("any")
            ),
            Flag(
                "tone",
                choice("hard", "soft", "free"),
                tr("hold them to the form as write does, with its tones kept so"),
                tr("not held to it"),
            ),
            Flag("seed", whole(0, 2**63 - 1), tr("the same seed, the same poems"), "0"),
            Flag("temperature", real(least=0), tr("boldness in writing"), "0.8"),
        ],
    )


def asked(said: dict[str, Any]) -> Poems | None:
    """What was asked for by the values of ``panel``; None: no verse.

    Raises:
        UserError: options without --verse, no such form, or tones without a form.
    """
    if not said.pop("verse", False):
        if said:
            name = next(iter(said))
            raise UserError(tr("--{name} is about poems; give --verse too", name=name))
        return None
    from mingyue.text.verse import Form

    if "form" in said:
        said["form"] = Form.parse(said["form"])
    elif "tone" in said:
        raise UserError(tr("--tone holds poems to a form; name one by --form"))
    return Poems(**said)


def write(writer: "Writer", poems: Poems, held_out: "Tokens", progress: Progress) -> list[str]:
    """The poems, after a heading with the form if the model knows such; on Ctrl-C those that are
    there so far, if any are."""
    from mingyue.generation.verse import Demand
    from mingyue.generation.verse.poet import heading_for
    from mingyue.generation.verse.poet import poems as held

    n, form = poems.n, poems.form
    how: dict[str, Any] = {"n": n, "seed": poems.seed, "temperature": poems.temperature}
    how["told"] = lambda written: progress(tr("writing {n} poems", n=n), written / n)
    if form is not None and poems.tone is not None:
        made = held(writer, Demand.checked(form=form.name, tone=poems.tone), **how)
    else:
        heading = heading_for(writer, form=form.name) if form and form.regulated else ""
        tokens = held_out.n_tokens / max(1, held_out.n_characters)  # of a character
        made = writer.samples(heading, max_tokens=round(_LONGEST * max(1, tokens)), **how)
    found: list[str] = []
    try:
        for poem in made:
            found.append(poem.text)
    except KeyboardInterrupt:
        if not found:
            raise
    return found


def real_poems(held_out: "Tokens", tokenizer: "Tokenizer", form: "Form | None") -> list[str]:
    """The held-out texts (of that form, if one is asked for) in an order of chance."""
    from mingyue.evaluation.documents import texts
    from mingyue.text.verse import judge

    found = list(texts(held_out, tokenizer))
    random.Random(0).shuffle(found)
    if form is not None:
        found = [text for text in found if judge(text, form).fits]
    return found[:REAL]


def learned(writer: "Writer", folder: str, progress: Progress) -> "Dataset | None":
    """The text that a model was trained on, where that can be found again."""
    from mingyue.cli.reading import own_text

    try:
        return own_text(writer.about, folder, progress)
    except UserError:
        return None


def copies_of(
    sets: "Sequence[list[str]]", learned: "Tokens", tokenizer: "Tokenizer", progress: Progress
) -> "list[list[Copied]]":
    """What each text of each set has from those that a model learned from, which are read once."""
    from mingyue.evaluation.documents import texts
    from mingyue.evaluation.novelty import copied

    def heard() -> Iterator[str]:
        for i, document in enumerate(texts(learned, tokenizer)):
            if i % 1000 == 0:
                progress(tr("looking for copied lines"), i / learned.n_documents)
            yield document

    found = iter(copied([poem for each in sets for poem in each], heard()))
    return [list(islice(found, len(each))) for each in sets]


def notes(model: "Verse", form: "Form | None", real: "Verse") -> Iterator[str]:
    """What there is to say about the figures."""
    from mingyue.evaluation.novelty import SHORTEST_LINE

    if not real.n:
        yield (
            tr("There is no real {form} among the held-out texts.", form=form.name)
            if form
            else tr("There are no held-out texts.")
        )
    yield tr(
        "±: standard error. Real poems are held-out ones. Distinct characters and pairs are those "
        "in the first {n} characters of each set.",
        n=f"{model.characters:,}",
    )
    if model.copied.value is not None:
        yield tr(
            "Lines copied: of those of {n} characters or more, the share that training has as "
            "whole lines. Longest copied run: characters in a row that training has, mean over "
            "poems.",
            n=SHORTEST_LINE,
        )


def rows(verses: "Sequence[Verse]", form: "Form | None") -> list[tuple[str, list[str]]]:
    """A line for each figure, with what it is of each set of poems."""
    fits = tr("is a {form}", form=form.name) if form else tr("is a 五绝 七绝 五律 七律")
    lines: list[tuple[str, str, Callable[[float], str]]] = [
        ("even", tr("lines all of 5 or of 7"), _percent),
        ("form", fits, _percent),
        ("rhyme", tr("  of these, rhyme"), _percent),
        ("loose", tr("  of these, loose metre"), _percent),
        ("strict", tr("  of these, strict metre"), _percent),
        ("repeated", tr("has a line twice"), _percent),
        ("distinct_1", tr("distinct characters"), _percent),
        ("distinct_2", tr("distinct pairs"), _percent),
        ("copied", tr("lines copied"), _percent),
        ("longest", tr("longest copied run"), "{:.2f}".format),
    ]
    if form is not None:
        lines = [line for line in lines if line[0] != "even"]
    found = [
        (name, [_cell(getattr(verse, field), shown) for verse in verses])
        for field, name, shown in lines
    ]
    return [(tr("poems"), [f"{verse.n:,}" for verse in verses]), *found]


def _cell(figure: "Figure", shown: Callable[[float], str]) -> str:
    if figure.value is None:
        return "–"
    error = "" if figure.error is None else f" ±{shown(figure.error).removesuffix('%')}"
    return shown(figure.value) + error


def _percent(value: float) -> str:
    return f"{value:.1%}"
