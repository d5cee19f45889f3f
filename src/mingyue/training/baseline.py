"""What a model must beat to have learned anything: guessing by how often each token comes.

The first thing that training finds is which tokens are frequent; only what falls below that is
knowledge of what goes with what. A run whose loss has not come so far was too short, and its
reader should hear it rather than wonder at what it writes.
"""

import math

import numpy as np

from mingyue.data.tokens import Tokens
from mingyue.language import tr
from mingyue.training.observe import Reason
from mingyue.training.session import Session

MOVED = 0.98
"""A Word2Vec whose loss is a larger share than this of what zeros lose has hardly begun."""


def frequencies(tokens: Tokens, vocab_size: int, most: int | None = None) -> np.ndarray:
    """How often each token comes in the text, or in its first so many tokens; int64 [V]."""
    counts, piece = np.zeros(vocab_size, np.int64), 2**22
    end = tokens.n_tokens if most is None else min(most, tokens.n_tokens)
    for start in range(0, end, piece):
        ids = tokens.slice(start, min(start + piece, end))
        counts += np.bincount(ids, minlength=vocab_size)
    return counts


def unigram_loss(train: Tokens, text: Tokens, vocab_size: int, most: int | None = None) -> float:
    """Nats per token of ``text`` (of its first so many) for who knows the frequencies in ``train``.

    One is added to each count, so that nothing is thought impossible (Laplace).
    """
    counts = frequencies(train, vocab_size) + 1
    wanted = frequencies(text, vocab_size, most)
    return float(wanted @ -np.log(counts / counts.sum()) / wanted.sum())


def hardly_learned(session: Session, reason: Reason) -> list[str]:
    """A note if a run that came to its end is no better than that."""
    config, watch = session.model.config, session.state.watch
    held_out = watch.best_loss is not None
    loss = watch.best_loss if held_out else watch.train_at_best
    if reason != "done" or loss is None:
        return []
    if config.kind == "word2vec":
        zeros = (1 + config.negatives) * math.log(2)
        far, said = MOVED * zeros, tr("{nats} for vectors that say nothing", nats=f"{zeros:.3f}")
    else:
        data = session.data
        text, most = (data.val, session.config.eval_tokens) if held_out else (data.train, None)
        far = unigram_loss(data.train, text, config.vocab_size, most)
        said = tr("{nats} for guessing by frequency alone", nats=f"{far:.3f}")
    if loss < far:
        return []
    return [
        tr(
            "hardly learned: loss {loss} against {baseline}; give it more --minutes or --steps",
            loss=f"{loss:.3f}",
            baseline=said,
        )
    ]
