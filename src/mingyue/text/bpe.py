"""Byte-pair encoding: frequent byte sequences grow into tokens of their own.

Training starts from the 256 bytes and again and again joins the most frequent neighbouring pair
into a new token, until the vocabulary has the wished size (Sennrich et al. 2016, on bytes as in
GPT-2). Text is first cut into words, numbers, runs of signs and of spaces, and no token crosses
such a cut; in Chinese, which has no spaces, a "word" is all that stands between two signs.
Anything can be written, since single bytes remain tokens.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.byte import alphabet
from mingyue.text.char import END, PADDING, without_surrogates

if TYPE_CHECKING:
    import tokenizers

SMALLEST = 256 + 2
"""All bytes, the end token and the padding token."""

LARGEST = 1_000_000


def train(texts: Iterable[str], vocab_size: int) -> "tokenizers.Tokenizer":
    """Learn a byte-level BPE vocabulary of at most ``vocab_size`` tokens.

    The end and padding tokens have ids 0 and 1. Equal texts give an equal vocabulary: pairs of
    equal count are joined in the order of their ids. A small text may run out of pairs before
    the wished size is reached.

    Raises:
        UserError: ``vocab_size`` outside 258 to 1,000,000.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    if not SMALLEST <= vocab_size <= LARGEST:
        raise UserError(
            tr(
                "a BPE vocabulary of {n} is impossible: give {smallest} to {largest}",
                n=vocab_size,
                smallest=SMALLEST,
                largest=f"{LARGEST:,}",
            )
        )
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[AddedToken(s, special=True, normalized=False) for s in (END, PADDING)],
        initial_alphabet=sorted(alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator((without_surrogates(text) for text in texts), trainer)
    return backend
