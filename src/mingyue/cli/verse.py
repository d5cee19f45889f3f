"""``mingyue write --form …``: poems that hold a form, and why each is good or not."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mingyue.cli.flags import Flag, Panel, choice, text
from mingyue.cli.pace import Pace
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.generation.verse import Demand, Poem
    from mingyue.generation.writer import Writer

_BINDING = ("form", "lines", "head", "couplet")
"""Each of these says how long the poem is, so that it can be held to it."""

_STEERING = ("title", "author")
"""These only ask, in the heading."""


def panel() -> Panel:
    """The options of verse."""
    return Panel(
        tr("Verse"),
        [
            Flag("form", text("FORM"), tr("五绝 七绝 五律 七律 (wujue qijue wulu qilu)")),
            Flag("lines", text("7,7,7,7"), tr("or lines of these lengths")),
            Flag("head", text("CHARS"), tr("an acrostic: the lines begin with these")),
            Flag("couplet", text("LINE"), tr("answer this line with its counterpart")),
            Flag(
                "rhyme",
                text("CLASS"),
                tr("hard, soft or free; or a class of 平水韵 that it has to be, as 东"),
                "hard",
            ),
            Flag("tone", choice("hard", "soft", "free"), tr("keep the tone patterns"), "soft"),
            Flag("title", text("TITLE"), tr("ask for this title, if trained with headings")),
            Flag("author", text("NAME"), tr("ask for this author's manner, likewise")),
            Flag(
                "script",
                choice("simplified", "traditional"),
                tr("show the text in this script"),
                tr("the model's"),
            ),
        ],
    )


def demand_of(said: Mapping[str, Any]) -> "Demand | None":
    """What is asked for; None if it binds no text.

    Raises:
        UserError: demands that exclude each other, or that need a form.
    """
    if "form" in said and "lines" in said:
        raise UserError(tr("--lines: instead of --form, not beside it"))
    if not said.keys() & set(_BINDING):
        if said.keys() & {"rhyme", "tone"}:
            raise UserError(
                tr("--rhyme and --tone are for a form; ask for one with --form, --lines or --head")
            )
        return None
    from mingyue.generation.verse import Demand

    values = {("form" if name == "lines" else name): value for name, value in said.items()}
    values.pop("script", None)
    return Demand.checked(**values)


def heading_of(said: Mapping[str, Any], writer: "Writer") -> str:
    """The heading for a title and an author alone."""
    from mingyue.generation.verse.poet import heading_for

    asked = {name: value for name, value in said.items() if name in _STEERING}
    return heading_for(writer, **asked) if asked else ""


def script_of(said: Mapping[str, Any]) -> Callable[[str], str]:
    """Puts a text into the script that is asked for."""
    from mingyue.text.script import to_simplified, to_traditional

    scripts = {"simplified": to_simplified, "traditional": to_traditional}
    return scripts.get(said.get("script", ""), str)


def print_poems(
    writer: "Writer",
    demand: "Demand",
    prompts: Sequence[str],
    asked: dict[str, Any],
    shown: Callable[[str], str],
    *,
    best: bool,
    as_json: bool,
    plain: bool,
) -> None:
    """The poems of each prompt as they come; the best first if so asked."""
    from mingyue.generation.verse import poems

    n = asked.get("n", 1)
    with Pace(n * len(prompts)) as pace:
        number = 0
        for prompt in prompts:
            made = poems(writer, demand, prompt, **asked, told=pace.told)
            if best:
                made = iter(sorted(made, key=lambda poem: -poem.score))
            for poem in made:
                pace.hide()
                if as_json:
                    print(json.dumps(_as_json(poem, shown), ensure_ascii=False), flush=True)
                    continue
                if number:
                    print()
                number += 1
                _print(poem, shown, demand.title, plain=plain)


def _print(poem: "Poem", shown: Callable[[str], str], title: str, *, plain: bool) -> None:
    """The poem, and below it what is good in it and what is not."""
    from mingyue.cli.screen import console, visible
    from mingyue.cli.written import print_end, print_tokens
    from mingyue.text.verse import lay_out

    out, err = console(), console(errors=True)
    heading = f"《{title}》\n" if title else ""
    whole = shown(heading + (poem.text if plain else lay_out(poem.text)))
    out.print(visible(whole), soft_wrap=True)
    if poem.completion.tokens:
        print_tokens(poem.completion.tokens)
    if poem.merits:
        err.print(visible("+ " + " · ".join(map(str, poem.merits))), style="green", soft_wrap=True)
    for _, fault in poem.faults:
        err.print(visible(f"− {fault}"), style="yellow", soft_wrap=True)
    print_end(poem.completion, score=poem.score)


def _as_json(poem: "Poem", shown: Callable[[str], str]) -> dict[str, Any]:
    """All that is known of a poem, as plain values."""
    found = poem.judgement
    return {
        "text": shown(poem.text),
        "form": found.form.name if found.form else None,
        "rhyme": found.rhyme.name if found.rhyme else None,
        "pattern": found.strict.pattern.name if found.strict else None,
        "score": poem.score,
        "merits": [str(merit) for merit in poem.merits],
        "faults": [{"n": n, "fault": str(fault)} for n, fault in poem.faults],
        "completion": asdict(poem.completion),
    }
