"""``mingyue explain all``: every exhibit on one page, in both languages, or as a JSON list."""

import json
from collections.abc import Iterator, Sequence

from mingyue.cli.figures import say_written, write
from mingyue.cli.looking import corpus_of, languages, made_of, opened, row, subject_of
from mingyue.cli.screen import console, visible
from mingyue.cli.waiting import Waiting
from mingyue.errors import UserError
from mingyue.explain import catalogue
from mingyue.explain.exhibit import Definition, Exhibit
from mingyue.explain.progress import Listener, heard_by
from mingyue.language import Language, current, speaking, tr

SLOW = {"length": 14, "memory": 7, "heads": 5, "word2vec": 5, "mask": 4, "ffn": 3, "scaling": 2}
"""Seconds on a small model, to estimate how long the rest will take; any other takes about one."""


def show_all(
    folder: str,
    text: str | None,
    on: str | None,
    step: int | None,
    path: str | None,
    *,
    as_json: bool,
) -> int:
    """Every exhibit that this model and text can give; the others are named with the reason."""
    writer, spoken = opened(folder, step), languages(path)
    made: list[tuple[str, dict[Language, Exhibit]]] = []  # with the text that each is of
    failed: dict[str, str] = {}
    with Waiting() as waiting:
        corpus = corpus_of(writer, folder, on, waiting.phase)
        if on is not None:
            corpus(True)  # what was asked for must be there
        for definition, listener in _in_turn(catalogue.all_exhibits(), waiting):
            at = None if definition.needs_snapshots else step
            try:
                subject, choice = subject_of(definition, writer, text, corpus, folder)
                one: dict[Language, Exhibit] = {}
                for each in spoken:
                    with speaking(each), heard_by(listener):
                        knobs = definition.knobs()
                        one[each] = made_of(definition, subject, knobs, {}, choice, step=at)
                made.append((subject.text, one))
            except UserError as error:
                failed[definition.name] = str(error)
    if not made:
        raise UserError(next(iter(failed.values())))
    for name, why in failed.items():
        line = visible(tr("{name} is left out: {why}", name=name, why=why))
        console(errors=True).print(line, style="yellow", soft_wrap=True)
    if as_json:
        rows = [row(folder, step, read, one[current()]) for read, one in made]
        print(json.dumps(rows, ensure_ascii=False))
    if path is not None:
        write(path, {each: [one[each] for _, one in made] for each in spoken})
        say_written(path, errors=as_json)
    return 0


def _in_turn(
    definitions: Sequence[Definition], waiting: Waiting
) -> Iterator[tuple[Definition, Listener]]:
    """Each with a listener that says which it is and, all told, how far one has come."""
    costs = [SLOW.get(definition.name, 1) for definition in definitions]
    for i, definition in enumerate(definitions):
        at = f"{i + 1}/{len(definitions)} {definition.title()}"
        listener = _listener(waiting, at, sum(costs[:i]), costs[i], sum(costs))
        listener("", 0.0)
        yield definition, listener


def _listener(waiting: Waiting, at: str, before: float, cost: float, total: float) -> Listener:
    """Its exhibit may do several things one after another; it never goes back to a smaller part."""
    spoken, furthest = current(), 0.0

    def listener(doing: str, part: float) -> None:
        nonlocal furthest
        furthest = max(furthest, part)
        with speaking(spoken):
            waiting.phase(tr("looking inside"), (before + cost * furthest) / total, at)

    return listener
