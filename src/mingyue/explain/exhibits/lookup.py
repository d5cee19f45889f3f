"""D1: a token becomes its row of a table (article: Embedding 就是一个“查表”的超级大矩阵)."""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from mingyue.explain.choosing import Place, place, window, window_note
from mingyue.explain.exhibit import Definition, Exhibit, Verdict
from mingyue.explain.measures.neighbours import nearest
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Bars, Matrix, Table
from mingyue.explain.subject import Subject, bare, label
from mingyue.language import tr

DRAWN = 64
"""Numbers of a row that are drawn."""
PATCHWORKS = 99


class LookupKnobs(Place):
    k: int = Field(default=10, ge=1, le=100, description="how many neighbours")
    start: int = Field(default=0, ge=0, description="the first token drawn")


@torch.no_grad()
def show(subject: Subject, knobs: LookupKnobs) -> Exhibit:
    """Ids, their rows, the same rows as a product, and the rows that lie near a chosen one."""
    model, ids = subject.model, subject.ids[0]  # [T]
    table = model.embedding.weight.float()  # [V, C]
    V, C = table.shape
    rows = model.embedding(ids[None])[0].float()  # [T, C]
    difference = max(  # a few tokens at a time: a one-hot row has V numbers
        float((model.embedding.by_one_hot(part[None])[0].float() - table[part]).abs().max())
        for part in ids.split(16)
    )
    part = window(knobs.start, len(ids))
    shown, labels = ids[part], list(subject.labels[part])
    distinct = shown.unique()  # ascending ids
    t = place(subject, knobs, prefer=("月", "猫"))
    chosen, name = int(ids[t]), bare(subject.labels[t])
    near, cosine = neighbours(subject, chosen, knobs.k)
    names = [label(subject.tokenizer, i) for i in near.tolist()]
    mean, least = float(cosine.mean()), patchworks(table, knobs.k)
    return Exhibit(
        name="lookup",
        title=EXHIBIT.title(),
        see=tr(
            "A token is a number, its id. The model keeps a table with one row for each id and "
            "takes out the row: nothing is computed. A vector of zeros with a single 1 at the id, "
            "multiplied with the table, gives the same row. The rows are learned; tokens that the "
            "model treats alike come to lie near each other, that is, at a cosine near 1."
        ),
        verdicts=[
            Verdict(
                tr("the one-hot product equals the lookup"),
                tr(
                    "largest difference {n} in {count} numbers",
                    n=deviation(difference),
                    count=rows.numel(),
                ),
                difference <= 1e-6 * float(rows.abs().max()),
            ),
            Verdict(
                tr(
                    "the row of {name} was learned: its {k} nearest rows are nearer than those of "
                    "any of {n} made-up rows, put together of numbers from many tokens' rows",
                    name=name,
                    k=len(near),
                    n=PATCHWORKS,
                ),
                tr(
                    "mean cosine {mean}; of the made-up row that has the nearest, {least}",
                    mean=f"{mean:.3f}",
                    least=f"{least:.3f}",
                ),
                mean > least if 10 * knobs.k < V else None,
            ),
        ],
        panels=[
            Table(
                title=tr("tokens and their ids"),
                columns=[tr("position"), tr("token"), "id"],
                rows=[[part.start + i, labels[i], int(shown[i])] for i in range(len(labels))],
            ),
            Matrix(
                title=tr("one-hot: a single 1 in each row; the columns of all other ids are 0"),
                values=(shown[:, None] == distinct).float().numpy(),  # [T, distinct ids]
                rows=labels,
                columns=[str(i) for i in distinct.tolist()],
                row_label=tr("token"),
                column_label="id",
                scale="share",
            ),
            Matrix(
                title=tr("the rows looked up (the first {n} of {C} numbers)", n=min(C, DRAWN), C=C),
                values=rows[part, :DRAWN].numpy(),  # [T, C]
                rows=labels,
                columns=[str(c) for c in range(min(C, DRAWN))],
                row_label=tr("token"),
                column_label=tr("dimension"),
                scale="signed",
            ),
            Bars(
                title=tr("the rows nearest to {name}, of {V}", name=name, V=V),
                names=names,
                values=cosine.numpy(),  # [k]
                unit=tr("cosine"),
            ),
        ],
        notes=[*subject.notes, *window_note(part, len(ids))],
    )


def neighbours(subject: Subject, id: int, k: int) -> tuple[Tensor, Tensor]:
    """The k ids whose rows have the largest cosine to that of ``id``, and the cosines.

    Unknown and padding stand for no text and are left out.
    """
    table = subject.model.embedding.weight  # [V, C]
    others = torch.ones(len(table), dtype=torch.bool, device=table.device)
    others[[id, *subject.tokenizer.never_sampled]] = False
    return nearest(table, id, others.nonzero()[:, 0], k)


def patchworks(table: Tensor, k: int) -> float:
    """How near the k nearest rows of a patchwork row lie, the nearest of ``PATCHWORKS``.

    A patchwork has numbers as usual in each dimension but nothing to do with any one row. A row
    that was never trained is such a one.
    """
    V, C = table.shape
    generator = torch.Generator().manual_seed(0)
    sources = torch.randint(V, (PATCHWORKS, C), generator=generator)
    patchwork = table.gather(0, sources)  # [99, C]
    cosine = F.normalize(patchwork, dim=1) @ F.normalize(table, dim=1).T  # [99, V]
    return float(cosine.topk(min(k, V - 1), dim=1).values.mean(dim=1).max())


EXHIBIT = Definition(
    name="lookup",
    spec="D1",
    title=lambda: tr("Lookup: a token becomes a row of a table"),
    brief=lambda: tr("ids, rows, the one-hot product, and the nearest neighbours of a character"),
    texts=("床前明月光", "猫喜欢吃鱼，它很聪明。", "To be, or not to be"),
    show=show,
    knobs=LookupKnobs,
)
