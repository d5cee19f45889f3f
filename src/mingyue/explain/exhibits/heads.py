"""D6: many heads, each with a look of its own, for the price of one (article: 多头注意力机制)."""

import torch
from pydantic import Field

from mingyue.explain.choosing import window, window_note
from mingyue.explain.exhibit import Definition, Exhibit, Knobs
from mingyue.explain.measures import head_harm, head_looks, jobs
from mingyue.explain.measures.head_costs import costs
from mingyue.explain.measures.sample import affordable, layers, sample
from mingyue.explain.panels import Matrix
from mingyue.explain.subject import Subject
from mingyue.language import tr


class HeadsKnobs(Knobs):
    start: int = Field(default=0, ge=0, description="the first token drawn")
    tokens: int = Field(default=2048, ge=2, description="how many tokens to measure on, at most")


@torch.no_grad()
def show(subject: Subject, knobs: HeadsKnobs) -> Exhibit:
    """All patterns, what each head looks at, what it is good for, and what heads cost."""
    model = subject.model
    L, H, T = layers(subject), model.config.n_head, len(subject.labels)
    seen = subject.see([f"blocks.{layer}.attn.hook_pattern" for layer in range(L)])
    patterns = torch.stack([pattern[0] for pattern in seen.values()]).float()  # [L, H, T, T]
    part = window(knobs.start, T)
    labels = list(subject.labels[part])
    text = subject.once(sample, "val", affordable(model, 2, min(256, knobs.tokens), knobs.tokens))
    # A head switched off changes only the layers above it: half of them on average.
    few = affordable(model, L * H / 2 + 2, min(64, knobs.tokens), knobs.tokens)
    other = subject.once(sample, "val", few)
    looks, harm = subject.once(head_looks.looks, text), subject.once(head_harm.harm, other)
    pages = {"layer": [str(i) for i in range(L)], "head": [str(i) for i in range(H)]}
    by_head = {
        "rows": pages["layer"],
        "columns": pages["head"],
        "row_label": tr("layer"),
        "column_label": tr("head"),
    }
    price, free = costs(model.config)
    return Exhibit(
        name="heads",
        title=EXHIBIT.title(),
        see=tr(
            "Each head has its own pattern: from every token, how much it looks at each one before "
            "it. Turn through layers and heads: a stripe below the diagonal is a head that reads "
            "the previous token, an upright stripe one that keeps looking at one place. What a "
            "head is good for shows when its output is replaced by zeros: the loss it adds. The "
            "width is divided among the heads, after each has read all of it: more heads are "
            "narrower heads and cost nothing. A channel of a convolution is different: each new "
            "one is a new kernel over the full width."
        ),
        verdicts=[*head_looks.verdicts(looks), head_harm.verdict(harm), free],
        panels=[
            Matrix(
                title=tr("who looks at whom: each row shares out 1 over the tokens it sees"),
                values=patterns[:, :, part, part].numpy(),  # [L, H, window, window]
                rows=labels,
                columns=labels,
                row_label=tr("looks from"),
                column_label=tr("looks at"),
                scale="share",
                pages=pages,
                page=divmod(int(looks.excess.max(dim=0).values.argmax()), H),
            ),
            Matrix(
                title=tr("what each head looks at: its attention ({source})", source=text.source),
                values=looks.score.numpy(),  # [jobs, L, H]
                **by_head,
                scale="share",
                pages={"job": jobs.names()},
                page=[int(looks.excess.flatten(1).max(dim=1).values.argmax())],
            ),
            Matrix(
                title=tr(
                    "loss added when the head is switched off ({source})", source=other.source
                ),
                values=harm.mean.numpy(),  # [L, H]
                **by_head,
                scale="signed",
                unit=tr("nats a token"),
            ),
            head_looks.by_job(looks),
            head_harm.by_harm(harm, looks),
            Matrix(
                title=tr(
                    "how differently two heads of a layer look: 0 alike, 1 at nothing in common"
                ),
                values=looks.difference.numpy(),  # [L, H, H]
                rows=pages["head"],
                columns=pages["head"],
                row_label=tr("head"),
                column_label=tr("head"),
                scale="share",
                pages={"layer": pages["layer"]},
            ),
            price,
        ],
        notes=[*subject.notes, *window_note(part, T)],
    )


EXHIBIT = Definition(
    name="heads",
    spec="D6",
    title=lambda: tr("Heads: many looks at once"),
    brief=lambda: tr("every head's pattern, what it looks at, and what is lost without it"),
    texts=(
        "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
        "猫喜欢吃鱼，它很聪明。",
        "The animal didn't cross the street because it was too tired.",
    ),
    show=show,
    knobs=HeadsKnobs,
    pages=("layer", "head", "job"),
    needs_dataset=True,
)
