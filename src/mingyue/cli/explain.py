"""``mingyue explain``: look inside a model, at one concept of the article at a time."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mingyue.cli.flags import SWITCH, Flag, Panel, Place, text, whole
from mingyue.cli.help import HELP, Command
from mingyue.errors import UserError
from mingyue.language import current, tr

if TYPE_CHECKING:
    from mingyue.cli.exhibits import Turn
    from mingyue.explain.exhibit import Definition

EXAMPLES = """
mingyue explain
mingyue explain pairs --help
mingyue explain pairs runs/tang
mingyue explain pairs runs/tang 白日依山盡 --figure pairs.svg
mingyue explain all runs/tang --out report.html
"""

ALL = "all"


class Knobbed(Command):
    """A command whose further options, ``--query 3``, are short for ``--set query=3``.

    They are handed on as ``--set=--query=3``, so that a mistake is told as it was typed. Which
    there are depends on the exhibit, and ``mingyue explain NAME --help`` names them.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        about = args[0] if args and not args[0].startswith("-") and args[0] != ALL else ""
        if about and any(word in HELP for word in words):
            from mingyue.cli.exhibits import print_about
            from mingyue.explain.catalogue import find

            print_about(find(about))
            ctx.exit()
        own = {word for param in self.params for word in (*param.opts, *param.secondary_opts)}
        return super().parse_args(ctx, list(_settings(args, own | {"--", *HELP})))


COMMAND = Knobbed


def _settings(args: Sequence[str], own: set[str]) -> Iterator[str]:
    """``args`` with each option that is none of ``own`` turned into one of ``--set``."""
    left = iter(range(len(args)))
    for i in left:
        name, equals, value = args[i].partition("=")
        if args[i] == "--":
            yield from args[i:]
            return
        if not name.startswith("--") or name in own:
            yield args[i]
            continue
        if not equals and i + 1 < len(args) and not args[i + 1].startswith("--"):
            value = args[next(left)]
        elif not equals:
            value = "true"
        yield f"--set={name}={value}"


def brief() -> str:
    return tr("look inside a model, one concept at a time")


def what() -> str:
    return tr(
        "Look inside a model: each exhibit shows one concept of the article on your own model, "
        "and measures whether it is so there. Without arguments it lists the exhibits."
    )


def places() -> list[Place]:
    return [
        Place("name", "NAME", tr("an exhibit, or all of them: all"), required=False),
        Place(
            "folder", "RUN", tr("a run folder, or a model folder of transformers"), required=False
        ),
        Place("text", "TEXT", tr("what the model reads"), required=False),
    ]


def panels() -> list[Panel]:
    return [_knobs(), _form()]


def _knobs() -> Panel:
    return Panel(
        tr("Knobs"),
        [
            Flag("layer", text("N"), tr("open the drawings of this layer, from 0")),
            Flag("head", text("N"), tr("and of this head")),
            Flag(
                "set",
                text("KNOB=VALUE"),
                tr(
                    "turn a knob of the exhibit; --KNOB VALUE for short; "
                    "mingyue explain NAME --help names them; may be repeated"
                ),
                repeat=True,
            ),
            Flag(
                "on",
                text("SOURCE"),
                tr("look for examples in this text instead, where an exhibit needs some"),
                tr("the text it learned from"),
            ),
            Flag(
                "step",
                whole(0),
                tr("look at the model as it was after so many steps, of which a snapshot is kept"),
                tr("as exported"),
            ),
        ],
    )


def _form() -> Panel:
    return Panel(
        tr("Form"),
        [
            Flag("figure", text("FILE"), tr("draw into this .svg, .png or .html instead")),
            Flag("dark", SWITCH, tr("light on dark, in .svg and .png"), option="--dark"),
            Flag("out", text("FILE"), tr("where all exhibits go, an .html")),
            Flag(
                "scrub",
                SWITCH,
                tr("at every step kept: an .html with a slider through training"),
                option="--scrub",
            ),
            Flag("json", SWITCH, tr("as a JSON object"), option="--json"),
        ],
    )


def run(given: dict[str, Any]) -> int:
    """List, tell about one, show one, or write all; Ctrl-C ends it with a word."""
    try:
        return _run(given)
    except KeyboardInterrupt:
        from mingyue.cli.main import INTERRUPTED
        from mingyue.cli.screen import console

        console(errors=True).print(tr("stopped before it was ready"))
        return INTERRUPTED


def _run(given: dict[str, Any]) -> int:
    knobs, form = _knobs().said(given), _form().said(given)
    on, step = knobs.pop("on", None), knobs.pop("step", None)
    wanted, name, folder = _wanted(knobs), given["name"], given["folder"]
    said = wanted or on or step is not None
    if folder is None and (said or set(form) - {"json"} or name == ALL):
        raise UserError(
            tr(
                "{mistake}; see {help}",
                mistake=tr("{name} is missing", name="RUN" if name else "NAME"),
                help="mingyue explain --help",
            )
        )
    from mingyue.cli.exhibits import print_about, print_list
    from mingyue.explain.catalogue import find

    as_json = form.get("json", False)
    if name is None:
        print_list(as_json=as_json)
        return 0
    chosen = None if name == ALL else find(name)
    if folder is None:
        assert chosen is not None  # all of them without a model were refused above
        print_about(chosen, as_json=as_json)
        return 0
    from mingyue.cli.figures import target

    path = target(form, whole=chosen is None)
    if chosen is None:
        if wanted:
            first = next(iter(wanted.values())).typed
            raise UserError(
                tr("{option}: the exhibits have no knob in common; turn those of one", option=first)
            )
        if form.get("scrub"):
            raise UserError(tr("--scrub is for one exhibit; name it"))
        from mingyue.cli.report import show_all

        return show_all(folder, given["text"], on, step, path, as_json=as_json)
    if on is not None and not chosen.needs_dataset:
        raise UserError(
            tr(
                "--on: {name} reads no other text; leave it out, or give the text after RUN",
                name=name,
            )
        )
    if chosen.needs_snapshots and (step is not None or form.get("scrub")):
        raise UserError(
            tr(
                "{option}: {name} shows all steps of training by itself; leave it out",
                option="--scrub" if form.get("scrub") else "--step",
                name=name,
            )
        )
    if form.get("scrub"):
        from mingyue.cli.scrubbing import check, scrub

        check(step, path, as_json=as_json)
        return scrub(chosen, folder, given["text"], on, wanted, path, as_json=as_json)
    return _show(chosen, folder, given["text"], on, step, wanted, path, form)


def _wanted(knobs: dict[str, Any]) -> "dict[str, Turn]":
    """What was said about knobs and pages, by plain name."""
    from mingyue.cli.exhibits import Turn
    from mingyue.explain.pages import plain

    wanted = {}
    for said in knobs.pop("set", []):
        name, equals, value = said.partition("=")
        if not equals or not plain(name):
            raise UserError(tr("--set: {said} does not fit; give KNOB=VALUE", said=repr(said)))
        wanted[plain(name)] = Turn(name if name.startswith("--") else f"--set {name}", value)
    return wanted | {name: Turn(f"--{name}", value) for name, value in knobs.items()}


def _show(
    definition: "Definition",
    folder: str,
    text: str | None,
    on: str | None,
    step: int | None,
    wanted: "dict[str, Turn]",
    path: str | None,
    form: dict[str, Any],
) -> int:
    from mingyue.cli.exhibits import knobs_of
    from mingyue.cli.figures import say_written, write
    from mingyue.cli.looking import corpus_of, made_of, opened, row, subject_of
    from mingyue.cli.waiting import Waiting
    from mingyue.explain.progress import heard_by

    knobs, pages = knobs_of(definition, wanted)
    writer = opened(folder, step)
    with Waiting() as waiting, heard_by(waiting.phase):
        corpus = corpus_of(writer, folder, on, waiting.phase)
        subject, choice = subject_of(definition, writer, text, corpus, folder)
        waiting.phase(tr("looking inside"), 0.0)
        exhibit = made_of(definition, subject, knobs, pages, choice, step=step)
    if form.get("json"):
        print(json.dumps(row(folder, step, subject.text, exhibit), ensure_ascii=False))
    elif path is None:
        from mingyue.cli.screen import console
        from mingyue.explain.terminal import render

        render(exhibit, console())
    if path is not None:
        write(path, {current(): [exhibit]}, dark=form.get("dark", False))
        say_written(path, errors=form.get("json", False))
    return 0
