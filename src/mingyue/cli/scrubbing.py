"""An exhibit at every step of training that was kept, to scrub through on one page."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.cli.exhibits import Turn
    from mingyue.explain.exhibit import Definition, Exhibit
    from mingyue.language import Language


def check(step: int | None, path: str | None, *, as_json: bool) -> None:
    """Whether ``--scrub`` goes with what else was said; asked before the long work begins.

    Raises:
        UserError: it does not.
    """
    if step is not None:
        raise UserError(tr("--scrub shows every step; leave out --step"))
    if path is not None and Path(path).suffix.lower() != ".html":
        raise UserError(tr("{path}: --scrub writes a page; give --figure FILE.html", path=path))
    if path is None and not as_json:
        raise UserError(tr("--scrub makes a page; give --figure FILE.html (or --json)"))


def scrub(
    definition: "Definition",
    folder: str,
    text: str | None,
    on: str | None,
    wanted: "dict[str, Turn]",
    path: str | None,
    *,
    as_json: bool,
) -> int:
    """Show it at every step, on a page in both languages, or as a JSON list."""
    from mingyue import language
    from mingyue.cli.exhibits import knobs_of
    from mingyue.cli.figures import say_written
    from mingyue.cli.looking import corpus_of, languages, made_of, opened, row, subject_of
    from mingyue.cli.waiting import Waiting
    from mingyue.explain import page
    from mingyue.explain.measures.history import spread
    from mingyue.interop.snapshots import kept

    knobs, pages = knobs_of(definition, wanted)
    last = opened(folder)
    all_steps = list(kept(folder))
    steps = spread(all_steps)
    made: dict[Language, list[Exhibit]] = {each: [] for each in languages(path)}
    here = next(iter(made))
    read = ""
    with Waiting() as waiting:
        corpus = corpus_of(last, folder, on, waiting.phase)
        for i, step in enumerate(steps):
            waiting.phase(tr("looking inside"), i / len(steps), tr("step {step}", step=step))
            writer = opened(folder, step)
            subject, choice = subject_of(definition, writer, text, corpus, folder)
            for each, into in made.items():
                with language.speaking(each):
                    into.append(made_of(definition, subject, knobs, pages, choice))
                    if len(steps) < len(all_steps):
                        few = tr("{n} of {all} steps are shown", n=len(steps), all=len(all_steps))
                        into[-1] = replace(into[-1], notes=[*into[-1].notes, few])
            read = subject.text
    if as_json:
        each_step = zip(steps, made[here], strict=True)
        rows = [row(folder, step, read, exhibit) for step, exhibit in each_step]
        print(json.dumps(rows, ensure_ascii=False))
    if path is not None:
        page.save(made, path, steps=steps)
        say_written(path, errors=as_json)
    return 0
