"""Looking inside a model from the command line: its text, who is looked at, what is seen."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from mingyue.cli.reading import other_text, own_text, table
from mingyue.data.dataset import Dataset
from mingyue.errors import UserError
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Need
from mingyue.explain.pages import turned
from mingyue.explain.subject import Subject
from mingyue.explain.texts import Choice, choose
from mingyue.generation.writer import Writer, load
from mingyue.language import Language, current, tr
from mingyue.model.gpt import GPT

BESIDE = {
    "lstm": "memory GPT_RUN --rnn",
    "gru": "memory GPT_RUN --rnn",
    "word2vec": "word2vec GPT_RUN --vectors",
}
"""Of models that cannot be looked into, the exhibit that compares one with a GPT."""


def opened(folder: str, step: int | None = None) -> Writer:
    """The model in ``folder``, on the CPU, where exhibits count.

    Raises:
        UserError: there is none, or it is of a kind that exhibits cannot look into.
    """
    writer = load(folder, device="cpu", step=step)
    if isinstance(writer.model, GPT):
        return writer
    kind = writer.model.config.kind
    source = str(table(writer.about, "recipe").get("source", "TEXT"))
    refused = tr(
        "{folder}: is a model of the kind {kind}; exhibits look inside a GPT, as mingyue train "
        "{source} makes one",
        folder=folder,
        kind=kind,
        source=shlex.quote(source),
    )
    if kind in BESIDE:
        command = f"mingyue explain {BESIDE[kind]} {shlex.quote(folder)}"
        refused = tr("{why}; to compare the two: {command}", why=refused, command=command)
    raise UserError(refused)


def corpus_of(
    writer: Writer, folder: str, on: str | None, progress: Callable[[str, float], None]
) -> Callable[[Need], Dataset | None]:
    """A function that reads the text to look for examples in: once, and only if it is needed."""

    @cache
    def read() -> Dataset | UserError:
        try:
            if on is None:
                return own_text(writer.about, folder, progress)
            return other_text(on, writer.tokenizer, progress)
        except UserError as error:
            return error

    def corpus(need: Need) -> Dataset | None:
        found = read() if need else None
        if not isinstance(found, UserError):
            return found
        if need == "if at hand" and on is None:
            return None
        raise found

    return corpus


def subject_of(
    definition: Definition,
    writer: Writer,
    text: str | None,
    corpus: Callable[[Need], Dataset | None],
    folder: str,
) -> tuple[Subject, Choice | None]:
    """The model before the text given, or before the exhibit's own, which then was chosen."""
    choice = choose(definition.texts, writer) if text is None else None
    text = text if choice is None else choice.text
    assert text is not None
    return Subject.of(writer, text, corpus(definition.needs_dataset), Path(folder)), choice


def made_of(
    definition: Definition,
    subject: Subject,
    knobs: Knobs,
    pages: dict[str, str],
    choice: Choice | None,
    *,
    step: int | None = None,
) -> Exhibit:
    """The exhibit, its pages turned as wanted; where the text is a ``choice``, a note says so.

    ``step`` is for a note too: after how many steps of training the model is looked at.
    """
    chosen = [] if choice is None else choice.notes
    if step is not None:
        chosen = [tr("the model as it was after {step} steps of training", step=step), *chosen]
    exhibit = definition.show(subject, knobs)
    return turned(replace(exhibit, notes=[*chosen, *exhibit.notes]), pages)


def languages(path: str | None) -> list[Language]:
    """Those to make an exhibit in: the reader's first, and both for a page."""
    return [current()] if path is None else list(dict.fromkeys([current(), "en", "zh"]))


def row(folder: str, step: int | None, text: str, exhibit: Exhibit) -> dict[str, Any]:
    """An exhibit in JSON, and of what it is."""
    return {"run": folder, "step": step, "text": text, **exhibit.to_json()}
