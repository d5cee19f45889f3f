"""D2: vectors by company alone, and the GPT's own (article: Word2Vec 与端到端的 Embedding)."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from mingyue.errors import UserError
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.company import WINDOW, Company, company, skip_gram
from mingyue.explain.measures.jobs import is_sign
from mingyue.explain.measures.other_run import command, other_run
from mingyue.explain.numbers import percent
from mingyue.explain.panels import Curves, Table
from mingyue.explain.subject import Subject, bare, label
from mingyue.language import tr

ASKED, LISTED, SHOWN = 300, 12, 5
"""Tokens whose neighbours are counted; of so many the nearest few are listed."""
COUNTS = (1, 2, 5, 10, 20, 50, 100)


class Word2VecKnobs(Knobs):
    character: str = Field(default="", description="the token whose neighbours are drawn")
    k: int = Field(default=10, ge=1, le=100, description="how many neighbours")
    vectors: str = Field(
        default="", description="a run trained by --model word2vec, whose vectors are taken"
    )
    steps: int = Field(
        default=100, ge=1, le=5000, description="of learning vectors here, without such a run"
    )
    seed: int = Field(default=0, ge=0, description="of learning vectors here")


@torch.no_grad()
def show(subject: Subject, knobs: Word2VecKnobs) -> Exhibit:
    """The neighbours of the same tokens in two tables learned from the same text."""
    if subject.dataset is None:
        raise UserError(tr("this exhibit reads much text; name one by --on"))
    end, never = subject.tokenizer.end_id, subject.tokenizer.never_sampled
    found = company(subject.dataset.train, frozenset([end, *never]))
    skip, how = _vectors(subject, found, knobs)
    known = torch.from_numpy(found.known)
    tables = {"skip-gram": skip, "GPT": subject.model.embedding.weight[known].float().cpu()}
    names = [label(subject.tokenizer, i) for i in found.known.tolist()]
    N, k = len(names), min(knobs.k, len(names) - 1)
    words = [i for i in range(N) if not is_sign(names[i])]
    chosen = _chosen(subject, knobs.character, found, names, words)
    asked = words[:ASKED]
    widest = min(max(*COUNTS, k), N - 1)
    near = {name: nearest(table, asked, widest) for name, table in tables.items()}
    shared = {n: _shared(near, n) for n in sorted({*COUNTS, k}) if n <= widest}  # [asked] each
    overlap, error = float(shared[k].mean()), float(shared[k].std() / math.sqrt(len(asked)))
    chance = k / (N - 1)
    lifts = {name: _lift(found, asked, ids[:, :k]) for name, ids in near.items()}  # [asked] each
    gap = lifts["skip-gram"] - lifts["GPT"]
    listed = {name: nearest(table, [chosen], k)[0] for name, table in tables.items()}
    return Exhibit(
        name="word2vec",
        title=EXHIBIT.title(),
        see=tr(
            "Word2Vec gives tokens that keep the same company the same direction: it only looks "
            "at who stands near whom. A GPT starts its table at random and learns it together "
            "with all the rest, for one aim: to guess the next token. Both learned from the same "
            "text. Compare whom each puts next to a token."
        ),
        verdicts=[
            Verdict(
                tr("both tables find some of the same neighbours, far more than chance"),
                _measured(k, overlap, error, chance),
                overlap > 2 * chance and overlap - chance > 3 * error if chance < 0.2 else None,
            ),
            Verdict(
                tr("but each makes its own: most neighbours are not shared"),
                tr(
                    "of {k} neighbours {n} on average are in one table only",
                    n=f"{k * (1 - overlap):.1f}",
                    k=k,
                ),
                overlap < 0.5 if chance < 0.2 else None,
            ),
            Verdict(
                tr("skip-gram's neighbours stand near the token more often than the GPT's do"),
                tr(
                    "{skip} and {gpt} times as often as by chance",
                    skip=f"{math.exp(lifts['skip-gram'].mean()):.1f}",
                    gpt=f"{math.exp(lifts['GPT'].mean()):.1f}",
                ),
                bool(gap.mean() > 2 * gap.std() / math.sqrt(len(gap))),
            ),
        ],
        panels=[
            _side_by_side(names, names[chosen], tables, chosen, listed),
            Table(
                title=tr(
                    "the {n} nearest to some frequent tokens; ✓ marks those in both tables",
                    n=min(SHOWN, k),
                ),
                columns=[tr("token"), "skip-gram", "GPT", tr("in both, of the {k} nearest", k=k)],
                rows=[
                    [
                        names[asked[row]],
                        *_marked(names, [near[name][row, : min(SHOWN, k)] for name in tables]),
                        round(float(shared[k][row]) * k),
                    ]
                    for row in np.linspace(0, len(asked) - 1, min(LISTED, len(asked))).astype(int)
                ],
            ),
            Curves(
                title=tr("share of neighbours that both tables name, mean of {n}", n=len(asked)),
                x=np.array(list(shared), dtype=float),
                lines={
                    tr("both tables"): np.array([part.mean() for part in shared.values()]),
                    tr("by chance"): np.array([n / (N - 1) for n in shared]),
                },
                x_label=tr("how many neighbours"),
                y_label=tr("share"),
                log_x=True,
            ),
        ],
        notes=[
            *subject.notes,
            how,
            tr(
                "neighbours are sought by cosine among the {n} most frequent tokens, each of which "
                "comes {times} times or more",
                n=N,
                times=int(found.times.min()),
            ),
        ],
    )


def _vectors(subject: Subject, found: Company, knobs: Word2VecKnobs) -> tuple[Tensor, str]:
    """Skip-gram's vectors of the tokens known, [N, C], and how they came about."""
    if knobs.vectors:
        model = other_run(subject, knobs.vectors, ["word2vec"])
        table = model.embedding.weight[torch.from_numpy(found.known)].float().cpu()
        return table, tr("skip-gram's vectors are those of {run}", run=knobs.vectors)
    learned = skip_gram(found, knobs.steps, knobs.seed)
    return learned.e, tr(
        "skip-gram learned here in {steps} steps, each over all pairs at most {window} apart in "
        "{read} tokens: loss of a pair {before}, then {after}. Longer: more --steps, or "
        "{command}, then --vectors runs/vectors",
        command=command(subject, "word2vec", "runs/vectors"),
        steps=knobs.steps,
        window=WINDOW,
        read=f"{found.read:,}",
        before=f"{learned.before:.2f}",
        after=f"{learned.after:.2f}",
    )


def _chosen(
    subject: Subject, character: str, found: Company, names: Sequence[str], words: Sequence[int]
) -> int:
    """Which of the tokens known is looked at: the one asked for, else one of the text.

    Raises:
        UserError: the one asked for is none of them.
    """
    if character:
        ids = subject.read(character)[0, 1:].tolist()
        at = np.flatnonzero(found.known == ids[0]) if len(ids) == 1 else []
        if not len(at):
            raise UserError(
                tr(
                    "character: {token} is none of the {n} frequent tokens that get vectors, such "
                    "as {such}",
                    token=character,
                    n=len(names),
                    such=" ".join(names[i] for i in words[:10]),
                )
            )
        return int(at[0])
    frequent = {names[i]: i for i in words}
    return next(
        (
            frequent[name]
            for name in ("月", "猫", *subject.labels[1:])
            if name in subject.labels and name in frequent
        ),
        words[0],
    )


def nearest(table: Tensor, rows: Sequence[int], k: int) -> np.ndarray:
    """The k rows of the largest cosine to each of ``rows``, itself apart; [len(rows), k]."""
    table = F.normalize(table, dim=1)
    cosine = table[list(rows)] @ table.T  # [rows, N]
    cosine[torch.arange(len(rows)), list(rows)] = -torch.inf
    return cosine.topk(k, dim=1).indices.numpy()


def _shared(near: Mapping[str, np.ndarray], k: int) -> np.ndarray:
    """For each token, which share of its k nearest both tables name."""
    one, other = (ids[:, :k] for ids in near.values())
    return (one[:, :, None] == other[:, None, :]).any(axis=2).mean(axis=1)


def _lift(found: Company, asked: Sequence[int], near: np.ndarray) -> np.ndarray:
    """For each token, ln of how many times as often as by chance its neighbours stand near it."""
    lift = found.lift(np.array(asked)[:, None], near)  # [asked, k]
    return np.log(lift.mean(axis=1).clip(min=1e-3))


def _measured(k: int, overlap: float, error: float, chance: float) -> str:
    return tr(
        "of the {k} nearest {overlap} ± {error} are the same, by chance {chance}",
        k=k,
        overlap=percent(overlap),
        error=percent(error),
        chance=percent(chance),
    )


def _side_by_side(
    names: list[str],
    name: str,
    tables: Mapping[str, Tensor],
    chosen: int,
    listed: Mapping[str, np.ndarray],
) -> Table:
    columns: list[list[str]] = []
    sets = [set(ids.tolist()) for ids in listed.values()]
    both = sets[0] & sets[1]
    for table, ids in zip(tables.values(), listed.values(), strict=True):
        rows = F.normalize(table, dim=1)
        cosine = (rows[ids] @ rows[chosen]).tolist()
        columns.append([names[i] + " ✓" * (i in both) for i in ids.tolist()])
        columns.append([f"{c:.2f}" for c in cosine])
    return Table(
        title=tr(
            "the {k} nearest to {name} in each table; ✓ marks the {n} that are in both",
            k=len(columns[0]),
            name=bare(name),
            n=len(both),
        ),
        columns=["", "skip-gram", tr("cosine"), "GPT", tr("cosine")],
        rows=[[i + 1, *row] for i, row in enumerate(zip(*columns, strict=True))],
    )


def _marked(names: list[str], lists: Sequence[np.ndarray]) -> list[str]:
    """Each list's tokens in one cell, ✓ after those in both."""
    both = set(lists[0].tolist()) & set(lists[1].tolist())
    return [" ".join(names[i] + "✓" * (i in both) for i in ids.tolist()) for ids in lists]


EXHIBIT = Definition(
    name="word2vec",
    spec="D2",
    title=lambda: tr("Word2Vec: vectors by company alone"),
    brief=lambda: tr("neighbours by skip-gram and by the GPT's own table, from the same text"),
    texts=("床前明月光", "猫喜欢吃鱼，它很聪明。", "To be, or not to be"),
    show=show,
    knobs=Word2VecKnobs,
    needs_dataset=True,
)
