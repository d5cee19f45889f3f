"""Activation patching: one vector of a run on a text, put into a run on another.

Where the prediction comes back, that vector carried what makes the difference; where it does not,
the difference was elsewhere, or was not yet there.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.errors import UserError
from mingyue.explain.choosing import WINDOW
from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.jobs import is_sign
from mingyue.explain.measures.sample import AT_ONCE, affordable
from mingyue.explain.measures.unembed import lens, onward
from mingyue.explain.numbers import deviation, percent
from mingyue.explain.panels import Matrix
from mingyue.explain.subject import Subject, bare, label
from mingyue.generation.decode import evaluating
from mingyue.language import tr

TRIED = 32
"""Places at which a change is tried."""


def streams(n_layer: int) -> list[str]:
    """The residual stream before the first layer and after each."""
    return ["blocks.0.hook_resid_pre", *(f"blocks.{i}.hook_resid_post" for i in range(n_layer))]


def log_p(subject: Subject, ids: Tensor, t: int, token: int) -> Tensor:
    """Log-probability of ``token`` after position ``t`` in each row: ids [B, T] → [B]."""
    with evaluating(subject.model):
        last = subject.model.hidden(ids)[:, t]  # [B, C]
    return F.linear(last, subject.model.unembedding).float().log_softmax(dim=-1)[:, token]


@torch.no_grad()
def patched(subject: Subject, other: Tensor, t: int, token: int, places: Sequence[int]) -> Tensor:
    """Log-probability of ``token`` after ``other`` [1, T] with one vector from the text in it.

    One number for each stream and each place: [L + 1, places].
    """
    T, names = other.shape[1], streams(subject.model.config.n_layer)
    clean, worse = subject.see(names), subject.see(names, other)
    found = torch.zeros(len(names), len(places))
    rows = max(1, AT_ONCE // T)
    with evaluating(subject.model):
        for layer, name in enumerate(names):
            for start in range(0, len(places), rows):
                part = list(places[start : start + rows])
                stream = worse[name].repeat(len(part), 1, 1)  # [rows, T, C]
                stream[range(len(part)), part] = clean[name][0, part]
                last = onward(subject.model, stream, layer)[:, t]  # [rows, C]
                found[layer, start : start + rows] = lens(subject.model, last)[:, token].cpu()
    return found


@torch.no_grad()
def patch(
    subject: Subject, other: Tensor, t: int, token: int, rows: Sequence[str]
) -> tuple[Matrix, list[Verdict]]:
    """Nats of the token's log-probability that come back, by stream (``rows``) and place."""
    L, T, causal = len(rows) - 1, other.shape[1], subject.model.config.causal
    differ = (other != subject.ids)[0].nonzero().flatten().tolist()
    differ = [place for place in differ if place <= t or not causal]
    last = t if causal else T - 1
    most = affordable(subject.model, (L + 1) / 2, 8 * T, WINDOW * T) // T
    places = sorted({*differ[-most:], *range(max(0, last + 1 - most), last + 1)})
    clean = float(log_p(subject, subject.ids, t, token))
    worse = float(log_p(subject, other, t, token))
    back = torch.zeros(L + 1, len(places))  # where the runs do not differ yet, nothing can change
    first = next(i for i, p in enumerate(places) if p >= min(differ) or not causal)
    back[:, first:] = patched(subject, other, t, token, places[first:]) - worse
    certain = [back[-1, places.index(t)]] if t in places else []
    if len(differ) == 1 and differ[0] in places:
        certain.append(back[0, places.index(differ[0])])
    off = max((abs(float(each) - (clean - worse)) for each in certain), default=0.0)
    pairs = [(str(subject.labels[p]), label(subject.tokenizer, int(other[0, p]))) for p in differ]
    changes = " ".join(f"{bare(before)}→{bare(after)}" for before, after in pairs)
    words = {"word": bare(label(subject.tokenizer, token)), "changes": changes}
    matrix = Matrix(
        title=tr("what brings {word} back after {changes}: one vector of the text put in", **words),
        values=back.numpy(),  # [L + 1, places]
        rows=rows,
        columns=[subject.labels[p] for p in places],
        row_label=tr("put in after"),
        column_label=tr("place"),
        scale="signed",
        unit=tr("nats"),
    )
    return matrix, [
        Verdict(
            tr(
                "all of it comes back with the last stream at the place that predicts, or with the "
                "changed token itself if only one was changed"
            ),
            tr("largest difference {n} nats", n=deviation(off)),
            off <= 1e-3 if certain else None,
        ),
        Verdict(
            tr("the change matters: {word} loses 0.1 nats or more by {changes}", **words),
            tr(
                "its probability goes from {a} to {b}",
                a=percent(math.exp(clean)),
                b=percent(math.exp(worse)),
            ),
            clean - worse >= 0.1,
        ),
    ]


@torch.no_grad()
def corrupted(subject: Subject, t: int, token: int) -> Tensor:
    """The text with one token changed to what the model itself would rather have said there.

    Of the places before ``t`` (the last ``TRIED``) the one where the change costs ``token`` most.
    Signs are neither changed nor put in, as long as there is anything else.
    """
    ids, texts = subject.ids, subject.tokenizer.token_text
    words = [place for place in range(1, t) if not is_sign(texts(int(ids[0, place])))]
    places = words[-TRIED:] or [max(1, t - 1)]
    banned = {subject.tokenizer.end_id, *subject.tokenizer.never_sampled}
    tries = ids.repeat(len(places), 1)  # [places, T]
    for row, place in enumerate(places):
        likely = subject.logits[place - 1].argsort(descending=True).tolist()
        fit = [i for i in likely[:100] if i not in banned and i != int(ids[0, place])]
        fit = [i for i in fit if not is_sign(texts(i))] or fit or [subject.tokenizer.end_id]
        tries[row, place] = fit[0]
    rows = max(1, AT_ONCE // ids.shape[1])
    cost = torch.cat([log_p(subject, part, t, token) for part in tries.split(rows)])
    return tries[int(cost.argmin())][None]


def read_other(subject: Subject, text: str, t: int) -> Tensor:
    """Ids [1, T] of another text of the same length.

    Raises:
        UserError: it is not of that length, or no different.
    """
    other, T = subject.read(text).to(subject.ids.device), subject.ids.shape[1]
    if other.shape[1] != T:
        raise UserError(
            tr(
                "other: {text} has {n} tokens and the text {m}; they must have equally many",
                text=repr(text),
                n=other.shape[1] - 1,
                m=T - 1,
            )
        )
    seen = t + 1 if subject.model.config.causal else T
    if bool((other == subject.ids)[0, :seen].all()):
        raise UserError(
            tr("other: {text} differs nowhere from the text, as far as is seen", text=repr(text))
        )
    return other
