"""D3: one word in many contexts (article: 同一个词在不同语境下).

The article puts 打 before its cue: 打篮球, 打车. A causal model has not seen the cue there, and
the vector of 打 is the same. So the sense is looked for where it can be.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.contexts import (
    Context,
    Contexts,
    Way,
    by_chance,
    cosines,
    in_text,
    reading,
    seen_alike,
    take_apart,
    vectors,
    within_and_between,
)
from mingyue.explain.measures.sample import layers
from mingyue.explain.numbers import deviation, percent
from mingyue.explain.panels import Curves, Matrix, Panel, Scatter, Table
from mingyue.explain.subject import Subject
from mingyue.language import tr

WAYS: Sequence[Way] = ("itself", "later", "left")
SAME = 1e-4
"""Differences below this share of the largest number are rounding."""
CHANCE = 0.05
"""A parting of senses that chance gives more often than this is no parting."""


class ContextKnobs(Knobs):
    character: str = Field(default="", description="the character or word looked at")
    lines: int = Field(
        default=3, ge=0, le=8, description="of the model's own text, for each phrase; 0: none"
    )


def show(subject: Subject, knobs: ContextKnobs) -> Exhibit:
    """A sentence for each sense, a clause for each phrase; the same word in all of them."""
    L, causal = layers(subject), subject.model.config.causal
    contexts = take_apart(subject.text, as_known(subject, knobs.character))
    if subject.dataset is not None and knobs.lines:
        contexts = in_text(contexts, subject.dataset.train, subject.tokenizer, knobs.lines)
    word, items = contexts.word, contexts.items
    found: dict[Way, Tensor] = {
        way: vectors(subject, contexts, way) for way in WAYS
    }  # [n, 1 + L, C] each
    cosine: dict[Way, np.ndarray] = {way: cosines(found[way]) for way in WAYS}  # [1 + L, n, n] each
    best: Way = "left" if causal else "itself"
    return Exhibit(
        name="context",
        title=EXHIBIT.title(),
        see=tr(
            "The row of {word} in the table is the same in every context; what attention adds to "
            "it is not. A causal model reads from left to right: {word} sees only what stands "
            "before it, so its own vector cannot know a cue that follows, as in 打篮球 and 打车. "
            "The sense is then found in three ways: at a later token, which has seen the cue; at "
            "{word} itself where the cue stands to its left; or at {word} itself in a model that "
            "sees both ways. If a model tells senses apart, contexts of one sense are nearer to "
            "each other than contexts of two.",
            word=word,
        ),
        verdicts=[
            _static(found, word),
            _following(subject, contexts, found["itself"]),
            _others(contexts, cosine[best]),
            *(_telling(way, cosine[way], contexts) for way in WAYS[causal:]),
        ],
        panels=[
            _table(subject, contexts),
            Matrix(
                title=tr("cosine between contexts; layer 0 is the row of the table"),
                values=np.stack([cosine[way] for way in WAYS]),  # [ways, 1 + L, n, n]
                rows=[f"{item.sense + 1} {item.line}" for item in items],
                columns=[f"{item.sense + 1} {item.line}" for item in items],
                pages={
                    "read": list(names().values()),
                    "layer": [str(layer) for layer in range(L + 1)],
                },
                page=[WAYS.index(best), L],
            ),
            *_curves(cosine, contexts),
            _plane(found[best][:, -1], contexts, best),
        ],
        notes=[*subject.notes, *_notes(subject, contexts, knobs.lines)],
    )


def names() -> dict[Way, str]:
    return {
        "itself": tr("itself"),
        "later": tr("later"),
        "left": tr("cue to the left"),
    }


def as_known(subject: Subject, word: str) -> str:
    """In the characters that the model knows: 长 → 長."""
    return subject.tokenizer.decode(subject.read(word)[0, 1:].tolist()) if word else ""


def _static(found: dict[Way, Tensor], word: str) -> Verdict:
    rows = torch.cat([found["itself"][:, 0], found["left"][:, 0]])  # [2 n, C]
    off = float((rows - rows[0]).abs().max())
    return Verdict(
        tr("the static vector of {word} is the same in all contexts", word=word),
        tr("largest difference {n}", n=deviation(off)),
        off == 0,
    )


def _following(subject: Subject, contexts: Contexts, found: Tensor) -> Verdict:
    """Contexts that begin alike: can the word tell them apart by what follows?"""
    causal, pairs = subject.model.config.causal, seen_alike(subject, contexts)
    if causal:
        claim = tr("{word} does not see what follows: same start, same vector", word=contexts.word)
    else:
        claim = tr("{word} sees what follows: same start, another vector", word=contexts.word)
    if not pairs:
        return Verdict(claim, tr("no two contexts begin alike up to the word"), None)
    off = [float((found[i] - found[j]).abs().max()) for i, j in pairs]
    worst = int(np.argmax(off) if causal else np.argmin(off))
    a, b = (contexts.lines[i] for i in pairs[worst])
    words = {"n": len(pairs), "off": deviation(off[worst]), "a": a, "b": b}
    alike = off[worst] <= SAME * float(found.abs().max())
    if causal:
        measured = tr("largest difference in {n} pairs: {off} ({a}, {b})", **words)
    else:
        measured = tr("smallest difference in {n} pairs: {off} ({a}, {b})", **words)
    return Verdict(claim, measured, alike == causal)


def _others(contexts: Contexts, cosine: np.ndarray) -> Verdict:
    """Whether contexts that the model reads differently give different vectors."""
    n = len(contexts.items)
    apart = 1 - float(cosine[1:, ~np.eye(n, dtype=bool)].max())
    return Verdict(
        tr("with its cue in view, {word} has another vector in each context", word=contexts.word),
        tr("the two most alike, in any layer: 1 − cosine is {n}", n=deviation(max(apart, 0.0))),
        apart > 1e-6,
    )


def _telling(way: Way, cosine: np.ndarray, contexts: Contexts) -> Verdict:
    """Whether senses part, by more than senses dealt out anew would."""
    within, between = within_and_between(cosine[1:], contexts.items)
    claim = tr(
        "{way}: contexts of one sense are nearer than those of two, beyond chance", way=names()[way]
    )
    if np.isnan(within).any() or np.isnan(between).any():
        why = tr("the text has no two senses with two contexts in one of them")
        return Verdict(claim, why, None)
    a, b, chance = within.mean(), between.mean(), by_chance(cosine[1:], contexts.items)
    return Verdict(
        claim,
        tr(
            "cosine within {a}, between {b}, mean of the layers; senses dealt out at random part "
            "as well in {p} of cases",
            a=f"{a:.3f}",
            b=f"{b:.3f}",
            p=percent(chance),
        ),
        bool(chance <= CHANCE),
    )


def _table(subject: Subject, contexts: Contexts) -> Table:
    def read(item: Context, way: Way) -> str:
        ids, t = reading(subject, contexts, item, way)
        before, at, after = ids[0, 1:t], ids[0, t : t + 1], ids[0, t + 1 :]
        parts = [subject.tokenizer.decode(part.tolist()) for part in (before, at, after)]
        return f"{parts[0]}【{parts[1]}】{parts[2]}"

    return Table(
        title=tr("what is read, and the token whose vector is taken, in 【】"),
        columns=[tr("sense"), *names().values()],
        rows=[[item.sense + 1, *(read(item, way) for way in WAYS)] for item in contexts.items],
    )


def _curves(cosine: dict[Way, np.ndarray], contexts: Contexts) -> Iterator[Panel]:
    for way, name in names().items():
        within, between = within_and_between(cosine[way], contexts.items)
        lines = {tr("of one sense"): within, tr("of two senses"): between}
        yield Curves(
            title=tr("mean cosine of two contexts ({way})", way=name),
            x=np.arange(len(within)),
            lines={name: line for name, line in lines.items() if not np.isnan(line).all()},
            x_label=tr("layer"),
            y_label=tr("cosine"),
        )


def _plane(found: Tensor, contexts: Contexts, way: Way) -> Scatter:
    """The last layer's vectors [n, C] in the two directions in which they differ most (PCA)."""
    centred = found - found.mean(dim=0)
    u, s, _ = torch.linalg.svd(centred, full_matrices=False)
    points = torch.zeros(len(found), 2)
    points[:, : min(2, len(s))] = (u * s)[:, :2]
    return Scatter(
        title=tr(
            "{word} in the last layer, {way}, in the two directions that differ most",
            word=contexts.word,
            way=names()[way],
        ),
        points=points.numpy(),
        names=[contexts.phrases[item.phrase] for item in contexts.items],
        groups=[tr("sense {n}", n=item.sense + 1) for item in contexts.items],
    )


def _notes(subject: Subject, contexts: Contexts, lines: int) -> list[str]:
    notes = []
    if subject.model.config.causal:
        notes.append(
            tr(
                "this model is causal: the third way, {word} itself with both sides in view, "
                "needs one trained with --bidirectional",
                word=contexts.word,
            )
        )
    if not lines:
        return notes
    if subject.dataset is None:
        words = tr("its own text is not at hand: the phrases are read as they stand")
        return [*notes, words]
    lacking = [phrase for phrase in contexts.phrases if phrase in contexts.lines]
    if lacking:
        notes.append(tr("not in its text as more than itself: {words}", words=" ".join(lacking)))
    return notes


EXHIBIT = Definition(
    name="context",
    spec="D3",
    title=lambda: tr("Context: one character, many meanings"),
    brief=lambda: tr("the static vector is one, the contextual vectors differ; senses by cosine"),
    texts=(
        "打篮球，打排球，打乒乓球。打酱油，打啤酒，打饭。打车，打出租车，打的士。",
        "river bank, muddy bank, steep bank, left bank. "
        "savings bank, city bank, a bank loan, a bank account.",
        "行人，行路，行舟，獨行。兩行，數行，千行，雁行。",
        "夜長，路長，天長，長江。生長，草長，長老，長兄。",
        "花重，露重，恩重，輕重。九重，萬重，千重，幾重。",
    ),
    show=show,
    knobs=ContextKnobs,
    pages=("read", "layer"),
    needs_dataset=True,
)
