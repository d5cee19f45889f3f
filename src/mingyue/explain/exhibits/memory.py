"""D16: what is far back, in an RNN and in a Transformer (article: 顺序传话与圆桌会议)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.errors import UserError
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.other_run import command, other_run
from mingyue.explain.measures.price import growth, kept_panel, pace_panels, paces
from mingyue.explain.measures.racing import LAYERS, WIDTH
from mingyue.explain.measures.reach import distances, gradient, influence, kept
from mingyue.explain.measures.rehearsal import BLOCK, Excerpt, at_once, rehearse, small
from mingyue.explain.measures.sample import WORK
from mingyue.explain.numbers import with_error
from mingyue.explain.panels import Curves, Table
from mingyue.explain.progress import told
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.making import make_model

LONGEST = 64
"""Tokens of a row, where trained runs are compared."""
ROUNDING = 1e-6
"""Less probability than this changes hands by rounding alone."""


class MemoryKnobs(Knobs):
    rnn: str = Field(
        default="", description="a run trained by --model lstm or gru, to be compared with"
    )
    steps: int = Field(
        default=100, ge=1, le=5000, description="of two small trainings, without such a run"
    )
    repeats: int = Field(default=5, ge=1, le=50, description="how often the time is taken")
    seed: int = Field(
        default=0, ge=0, description="of the two small trainings and of the tokens put in"
    )


@dataclass(frozen=True, eq=False)
class Reader:
    """A model, and rows of text in its own ids, each with the token that follows."""

    name: str
    model: LanguageModel
    rows: Tensor  # [B, T + 1]


def show(subject: Subject, knobs: MemoryKnobs) -> Exhibit:
    """Influence and gradient over distance, then the price: time and memory over length."""
    if not subject.model.predicts:
        raise UserError(tr("this model sees both directions, so it has no next-token loss"))
    readers, note = _readers(subject, knobs)
    names = [reader.name for reader in readers]
    gpt, rnn = readers[:2]
    T = gpt.rows.shape[1] - 1
    back, moved, slopes, nats = subject.once(_reach, knobs)
    B, far, everywhere = len(moved[0]), T // 2, np.arange(T - 1)
    left = [kept(part, back, far) for part in moved]
    returned = [kept(part, everywhere, far) for part in slopes]
    both = gpt.name, rnn.name
    return Exhibit(
        name="memory",
        title=EXHIBIT.title(),
        see=tr(
            "An RNN reads one token after another and carries all it remembers in a state of "
            "fixed size. What stands far back has passed through every step since, like a word "
            "whispered down a row. In a Transformer each token looks at all earlier ones directly, "
            "as at a round table; but all of them must be kept. Two measures of reach: another "
            "token is put somewhere, and the prediction after the last one moves; and the "
            "gradient of that prediction's loss by the vector of each token."
        ),
        verdicts=[
            Verdict(
                tr(
                    "of what moves the prediction, more comes from far back in {gpt} than in {rnn}",
                    gpt=gpt.name,
                    rnn=rnn.name,
                ),
                _both(left, far),
                _more(left),
            ),
            Verdict(
                tr(
                    "the gradient comes farther back in {gpt} than in {rnn}",
                    gpt=gpt.name,
                    rnn=rnn.name,
                ),
                _both(returned, far),
                _more(returned),
            ),
            growth(gpt.model, rnn.model, both, T),
        ],
        panels=[
            Curves(
                title=tr("how much the prediction moves if another token stands there"),
                x=back.astype(float),
                lines={
                    name: _drawn(part.mean(dim=0), ROUNDING)
                    for name, part in zip(names, moved, strict=True)
                },
                x_label=tr("tokens back; 0 is the last"),
                y_label=tr("share of probability that changes hands"),
                log_y=True,
            ),
            Curves(
                title=tr("gradient by the vector of a token, that of the last being 1"),
                x=everywhere.astype(float),
                lines={
                    name: _drawn(part.mean(dim=0) / part[:, 0].mean().clamp(min=1e-12))
                    for name, part in zip(names, slopes, strict=True)
                },
                x_label=tr("tokens back; 0 is the last"),
                y_label=tr("relative length"),
                log_y=True,
            ),
            Table(
                title=tr("what comes from {n} tokens back and more; from the last it is 1", n=far),
                columns=[
                    tr("model"),
                    tr("parameters"),
                    tr("nats a token"),
                    tr("influence"),
                    tr("gradient"),
                ],
                rows=[
                    [
                        reader.name,
                        reader.model.count_parameters(),
                        f"{nats[i]:.2f}",
                        *(with_error(share, error) for share, error in (left[i], returned[i])),
                    ]
                    for i, reader in enumerate(readers)
                ],
            ),
            kept_panel(gpt.model, rnn.model, both),
            *pace_panels(subject.once(paces, knobs.repeats), knobs.repeats),
        ],
        notes=[
            *subject.notes,
            note,
            tr(
                "reach is measured on {rows} rows of {T} tokens. The tokens put in are drawn as "
                "they come in the text; the first token of a row stays",
                rows=B,
                T=T,
            ),
            tr(
                "times are those of a fresh GPT and a fresh LSTM as wide and as deep as this "
                "model, up to {layers} layers and {width} numbers, without their tables; they "
                "depend on the machine and on what else it does",
                layers=LAYERS,
                width=WIDTH,
            ),
        ],
    )


def _reach(
    subject: Subject, knobs: MemoryKnobs
) -> tuple[np.ndarray, list[Tensor], list[Tensor], list[float]]:
    """Distances [n]; of each reader influence [B, n], gradient [B, T - 1], nats a token.

    Large models get fewer rows B and fewer distances.
    """
    readers, _ = _readers(subject, knobs)
    B, T = len(readers[0].rows), readers[0].rows.shape[1] - 1
    work = 2 * max(reader.model.config.products for reader in readers) * T  # of a row
    B = min(B, max(4, int(WORK / (work * T))))
    back = distances(T, max(8, int(WORK / (work * B))))
    moved, slopes, nats = [], [], []
    for reader in told(readers, tr("measuring how far back each reaches")):
        model, rows = reader.model, reader.rows[:B]
        moved.append(influence(model, rows[:, :-1], back, knobs.seed))
        slopes.append(gradient(model, rows[:, :-1], rows[:, -1])[:, :-1])
        nats.append(float(at_once(model, reader.rows).mean()))
    return back, moved, slopes, nats


def _readers(subject: Subject, knobs: MemoryKnobs) -> tuple[list[Reader], str]:
    """A GPT, an RNN, and this model if it is not that GPT; and where they are from."""
    excerpt = Excerpt.of(subject)
    known, this = torch.tensor(excerpt.known), tr("this model")
    if knobs.rnn:
        rnn = other_run(subject, knobs.rnn, ["lstm", "gru"])
        rows = known[excerpt.check(max(2, min(LONGEST, subject.model.config.block_size)))]
        readers = [
            Reader(this, subject.model, rows),
            Reader(rnn.config.kind.upper(), rnn, rows),
        ]
        return readers, tr("the RNN is that of {run}", run=knobs.rnn)
    gpt, rnn = _rehearsed(excerpt, knobs.steps, knobs.seed)
    rows = excerpt.check()
    readers = [Reader(tr("small GPT"), gpt, rows), Reader(tr("small LSTM"), rnn, rows)]
    if subject.model.config.block_size >= BLOCK:
        readers.append(Reader(this, subject.model, known[rows]))
    return readers, tr(
        "{about}, in {steps} steps. For one trained longer: {command}, then --rnn runs/lstm",
        command=command(subject, "lstm", "runs/lstm"),
        about=excerpt.about(),
        steps=knobs.steps,
    )


@lru_cache(maxsize=2)
def _rehearsed(excerpt: Excerpt, steps: int, seed: int) -> tuple[LanguageModel, LanguageModel]:
    """A GPT and an LSTM, both two layers of 64 numbers, of as many parameters, trained alike."""
    gpt = small(excerpt, seed, d_ff=88)  # with which a block has as many as an LSTM's layer
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        same = gpt.config.model_dump(
            include={"vocab_size", "block_size", "n_layer", "d_model", "tie_embeddings"}
        )
        rnn = make_model(ModelConfig.checked(kind="lstm", **same))
    rehearse([gpt, rnn], excerpt, steps, seed)
    return gpt, rnn


def _more(shares: Sequence[tuple[float, float]]) -> bool | None:
    """Whether the first is more than the second; None: within what chance may do."""
    (one, error), (other, its_error) = shares[:2]
    gap, doubt = one - other, 2 * (error**2 + its_error**2) ** 0.5
    return gap > 0 if abs(gap) > doubt else None


def _both(shares: Sequence[tuple[float, float]], far: int) -> str:
    return tr(
        "{n} tokens back and more {one} of what the last token has, against {other}",
        n=far,
        one=with_error(*shares[0]),
        other=with_error(*shares[1]),
    )


def _drawn(line: Tensor, least: float = 0.0) -> np.ndarray:
    """Without what is not more than ``least``: a logarithmic scale has no zero."""
    return line.double().masked_fill(line <= least, torch.nan).numpy()


EXHIBIT = Definition(
    name="memory",
    spec="D16",
    title=lambda: tr("Memory: passing it on, or looking back"),
    brief=lambda: tr("how far back an RNN and a Transformer reach, and what it costs"),
    texts=("床前明月光", "To be, or not to be"),
    show=show,
    knobs=MemoryKnobs,
    needs_dataset="if at hand",
)
