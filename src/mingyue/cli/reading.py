"""The text that a model is measured on: its own, found again, or another one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset
    from mingyue.text.tokenizer import Tokenizer

Progress = Callable[[str, float], None]


def table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a file that anybody may have written: a table, or an empty one."""
    found = values.get(name)
    return found if isinstance(found, Mapping) else {}


def refuse_unread(reading: Mapping[str, Any], on: str | None) -> None:
    """Options that say how to read another text need one.

    Raises:
        UserError: there is none.
    """
    if reading and on is None:
        name = next(iter(reading)).replace("_", "-")
        raise UserError(tr("--{name} says how to read another text; name it by --on", name=name))


def other_text(
    on: str, tokenizer: "Tokenizer", progress: Progress, reading: Mapping[str, Any] | None = None
) -> "Dataset":
    """All of another text, nothing of it held out; ``reading`` says how it is read.

    Raises:
        UserError: it cannot be read.
    """
    from mingyue.data.preparation import prepare
    from mingyue.text.corpus import open_corpus

    corpus = open_corpus(on, **(reading or {}))
    return prepare(corpus, tokenizer, val_fraction=0.0, progress=progress)


def own_text(about: Mapping[str, Any], folder: str, progress: Progress) -> "Dataset":
    """The text that a run was trained on, divided as it was then.

    Raises:
        UserError: the run does not say, the text is not there any more, or it has changed.
    """
    from mingyue.training.config import DataConfig
    from mingyue.training.reading import read, tokenise

    try:
        source = str(about["recipe"]["source"])
        how = DataConfig.checked(**about["recipe"]["data"])
        fingerprint = about["data"]["fingerprint"]
    except (KeyError, TypeError):
        raise UserError(
            tr("{folder}: does not say what it was trained on; name a text by --on", folder=folder)
        ) from None
    try:
        dataset = tokenise(read(source, how), how, progress)
    except UserError as error:
        raise UserError(tr("{why} (name another text by --on)", why=error)) from error
    if dataset.fingerprint != fingerprint:
        raise UserError(
            tr(
                "{source}: has changed since {folder} was trained on it, so what was held out is "
                "not known any more; name a text by --on",
                source=source if how.held_out is None else f"{source}, {how.held_out}",
                folder=folder,
            )
        )
    return dataset
