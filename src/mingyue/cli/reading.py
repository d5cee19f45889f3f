"""From the words of the command line to a prepared text, for ``data`` and ``eval``."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset
    from mingyue.text.corpus import Corpus
    from mingyue.training.config import DataConfig

Progress = Callable[[str, float], None]


def opened(source: str, how: "DataConfig") -> "Corpus":
    """The text, read as ``how`` says.

    Raises:
        UserError: there is none, or it cannot be read so.
    """
    from mingyue.text.corpus import open_corpus

    return open_corpus(
        source,
        script=how.script,
        encoding=how.encoding,
        documents=how.documents,
        text_field=how.text_field,
    )


def prepared(corpus: "Corpus", how: "DataConfig", progress: Progress) -> "Dataset":
    """The text cut into tokens and divided as a training with these settings would have it."""
    from mingyue.data.preparation import prepare

    return prepare(
        corpus,
        None,
        kind=how.tokenizer,
        vocab_size=how.vocab_size,
        min_count=how.min_count,
        val_fraction=how.val_fraction,
        seed=how.split_seed,
        progress=progress,
    )


def own_text(about: Mapping[str, Any], folder: str, progress: Progress) -> "Dataset":
    """The text that a run was trained on, divided as it was then.

    Raises:
        UserError: the run does not say, the text is not there any more, or it has changed.
    """
    from mingyue.training.config import DataConfig

    try:
        source = str(about["recipe"]["source"])
        how = DataConfig.checked(**about["recipe"]["data"])
        fingerprint = about["data"]["fingerprint"]
    except (KeyError, TypeError):
        raise UserError(
            tr("{folder}: does not say what it was trained on; name a text by --on", folder=folder)
        ) from None
    try:
        dataset = prepared(opened(source, how), how, progress)
    except UserError as error:
        raise UserError(tr("{why} (name another text by --on)", why=error)) from error
    if dataset.fingerprint != fingerprint:
        raise UserError(
            tr(
                "{source}: has changed since {folder} was trained on it, so what was held out is "
                "not known any more; name a text by --on",
                source=source,
                folder=folder,
            )
        )
    return dataset
