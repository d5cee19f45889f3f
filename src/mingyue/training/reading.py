"""From the name of a text to tokens on disk: read, cut, divided, as a ``DataConfig`` says."""

from collections.abc import Callable

from mingyue.data.dataset import Dataset
from mingyue.data.preparation import prepare
from mingyue.text.corpus import Corpus, open_corpus
from mingyue.training.config import DataConfig


def read(source: str, how: DataConfig) -> Corpus:
    """The text, documents one by one.

    Raises:
        UserError: there is none, or it cannot be read so.
    """
    return open_corpus(
        source,
        script=how.script,
        encoding=how.encoding,
        documents=how.documents,
        text_field=how.text_field,
    )


def tokenise(corpus: Corpus, how: DataConfig, progress: Callable[[str, float], None]) -> Dataset:
    """The text in tokens, part of it or another one held out (or found in the cache)."""
    return prepare(
        corpus,
        None,
        kind=how.tokenizer,
        vocab_size=how.vocab_size,
        min_count=how.min_count,
        val_fraction=how.val_fraction,
        seed=how.split_seed,
        headings=bool(how.headings),
        held_out=None if how.held_out is None else read(how.held_out, how),
        progress=progress,
    )
