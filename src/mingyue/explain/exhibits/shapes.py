"""D7: the shape of everything on its way through attention (article: 代码里的完整数据流)."""

import math

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.choosing import Place, place, within
from mingyue.explain.exhibit import Definition, Exhibit, Verdict
from mingyue.explain.measures.walk import Made, watching
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Matrix, Step, Steps, Table
from mingyue.explain.subject import Subject, bare
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.attention import Attention, attend_readably
from mingyue.model.block import Block
from mingyue.model.config import ModelConfig
from mingyue.model.feedforward import FeedForward

DRAWN = 64
"""Numbers of a vector that are drawn."""
WATCHED = (
    Block.forward,
    Attention.forward,
    Attention.project,
    attend_readably,
    FeedForward.forward,
    FeedForward.bend,
)
# The eight steps of the article: function, what was called or made there, its shape in letters.
EIGHT = (
    ("Block.forward", "norm_1", "[B, T, C]"),
    ("Attention.project", "qkv", "[B, T, (H+2·Hkv)·D]"),
    ("Attention.project", "view", "[B, T, H+2·Hkv, D]"),
    ("Attention.project", "transpose", "[B, H+Hkv, T, D]"),
    ("attend_readably", "z", "[B, H, T, D]"),
    ("Attention.forward", "transpose", "[B, T, H, D]"),
    ("Attention.forward", "flatten", "[B, T, H·D]"),
    ("Attention.forward", "return", "[B, T, C]"),
)


class ShapesKnobs(Place):
    layer: int = Field(default=0, description="which layer is walked through; -1 is the last")
    head: int = Field(default=0, description="the head whose numbers are drawn")


@torch.no_grad()
def show(subject: Subject, knobs: ShapesKnobs) -> Exhibit:
    """One layer runs under observation: the eight steps of its attention, then all there is."""
    config = subject.model.config
    layer = within(tr("layer"), knobs.layer, config.n_layer)
    head = within(tr("head"), knobs.head, config.n_head)
    t, T = place(subject, knobs), len(subject.labels)
    seen = subject.see(lambda name: name.startswith(f"blocks.{layer}.hook_"))
    block = subject.model.blocks[layer]
    assert isinstance(block, Block)
    made = walk(subject, block, seen[f"blocks.{layer}.hook_resid_pre"])
    eight = [pick(made, function, call) for function, call, _ in EIGHT]
    tensors = [step.tensor for step in eight]
    sizes = {"B": 1, "T": T, "C": config.d_model, "H": config.n_head}
    sizes |= {"Hkv": config.kv_heads, "D": config.head_width, "F": config.ffn_width}
    wanted = [[_size(factor, sizes) for factor in _factors(letters)] for _, _, letters in EIGHT]
    fitting = sum(list(tensor.shape) == w for tensor, w in zip(tensors, wanted, strict=True))
    looped = torch.cat([tensors[0] @ w.T for w in block.attention.qkv.weight.split(sizes["D"])], -1)
    if block.attention.qkv.bias is not None:
        looped = looped + block.attention.qkv.bias
    apart = float((looped - tensors[1]).abs().max())
    added = block.norm_1_post(tensors[7])
    off = float((added - seen[f"blocks.{layer}.hook_attn_out"]).abs().max())
    return Exhibit(
        name="shapes",
        title=EXHIBIT.title(),
        see=tr(
            "The width C is shared out among H heads of width D, each head attends on its own, and "
            "the heads are laid side by side again. No loop runs over the heads: one large matrix "
            "makes the cards of all, and view and transpose only sort the same numbers anew, so "
            "that each product is one of the last two dimensions. Every shape and every line of "
            "code below was caught while layer {layer} ran on this text.",
            layer=layer,
        ),
        verdicts=[
            Verdict(
                tr("every shape is what its letters say"),
                tr("{n} of {all}", n=fitting, all=len(EIGHT)),
                fitting == len(EIGHT),
            ),
            Verdict(
                tr("one large matrix gives what a loop over the heads would"),
                tr("largest difference {n}", n=deviation(apart)),
                apart <= 1e-5 * max(1.0, float(looped.abs().max())),
            ),
            Verdict(
                tr("view, transpose and flatten change no number, only its place"),
                *_sorted_anew(tensors, config.head_width),
            ),
            Verdict(
                tr("the eighth tensor is what attention adds to the stream"),
                tr("largest difference {n}", n=deviation(off)),
                off <= 1e-4 * max(1.0, float(tensors[7].abs().max())),
            ),
        ],
        panels=[
            Steps(
                title=tr("the eight steps of attention in layer {layer}", layer=layer),
                steps=[
                    Step(
                        name, list(step.tensor.shape), letters, step.code, f"{step.place} · {note}"
                    )
                    for step, (_, _, letters), (name, note) in zip(
                        eight, EIGHT, words(config), strict=True
                    )
                ],
            ),
            Matrix(
                title=tr(
                    "the numbers of {token} at each step (the first {n}; at steps 3 to 6 those of "
                    "head {head})",
                    token=bare(subject.labels[t]),
                    n=DRAWN,
                    head=head,
                ),
                values=_numbers(tensors, t, head),
                rows=[f"{i} {name}" for i, (name, _) in enumerate(words(config), start=1)],
                columns=[str(i) for i in range(DRAWN)],
                column_label=tr("dimension"),
                scale="signed",
            ),
            Table(
                title=tr("letters"),
                columns=[tr("letter"), tr("meaning"), tr("here")],
                rows=[[a, b, sizes[a]] for a, b in letters_meant().items()],
            ),
            Table(
                title=tr("all tensors of the layer that have a name, as they are made"),
                columns=[tr("function"), tr("name"), tr("shape"), tr("code")],
                rows=[
                    [step.function, step.name, str(list(step.tensor.shape)), step.code]
                    for step in made
                    if step.name
                ],
            ),
        ],
        notes=subject.notes,
    )


def walk(subject: Subject, block: Block, x: Tensor) -> list[Made]:
    """Run one layer on the stream x [1, T, C], attention on its readable path."""
    view = subject.model.view(0, x.shape[1])
    before, block.attention.readable = block.attention.readable, True
    try:
        with evaluating(subject.model), watching(WATCHED) as made:
            block(x, view)
    finally:
        block.attention.readable = before
    return made


def pick(made: list[Made], function: str, what: str) -> Made:
    """The first tensor of ``function`` that was made by calling ``what``, or has that name."""
    return next(m for m in made if m.function == function and what in (m.call, m.name))


def _factors(letters: str) -> list[str]:
    return letters.strip("[]").split(", ")


def _size(letters: str, sizes: dict[str, int]) -> int:
    """The number that is meant by "C", "H+2·Hkv", or "(H+2·Hkv)·D"."""
    if letters.startswith("("):
        inner, outer = letters[1:].split(")·")
        return _size(inner, sizes) * _size(outer, sizes)
    return sum(
        math.prod(int(f) if f.isdigit() else sizes[f] for f in term.split("·"))
        for term in letters.split("+")
    )


def _sorted_anew(tensors: list[Tensor], D: int) -> tuple[str, bool]:
    """Whether steps 3, 6 and 7 hold the numbers of the step before, each where it belongs."""
    _, wide, cut, _, z, swapped, joined, _ = tensors
    pairs = [(cut[..., i, :], wide[..., i * D : (i + 1) * D]) for i in range(cut.shape[2])]
    for i in range(z.shape[1]):
        pairs += [(swapped[:, :, i], z[:, i]), (joined[..., i * D : (i + 1) * D], z[:, i])]
    same = sum(torch.equal(a, b) for a, b in pairs)
    measured = tr("{n} of {all} pieces are equal, bit by bit", n=same, all=len(pairs))
    return measured, same == len(pairs)


def _numbers(tensors: list[Tensor], t: int, h: int) -> np.ndarray:
    """One token's vector at each step, in a row [8, 64]; nan where it has ended."""
    x, wide, cut, turned, z, swapped, joined, out = (tensor[0] for tensor in tensors)
    vectors = x[t], wide[t], cut[t, h], turned[h, t], z[h, t], swapped[t, h], joined[t], out[t]
    rows = np.full((len(vectors), DRAWN), np.nan, np.float32)
    for row, vector in zip(rows, vectors, strict=True):
        row[: min(DRAWN, len(vector))] = vector[:DRAWN].float().numpy()
    return rows


def words(config: ModelConfig) -> list[tuple[str, str]]:
    """A name for each of the eight steps, and what there is to say about it."""
    return [
        (tr("input"), tr("the stream, read through the norm")),
        (
            tr("Q, K, V at once"),
            tr(
                "one matrix for all heads: {q} numbers for Q, {kv} each for K and V",
                q=config.n_head * config.head_width,
                kv=config.kv_heads * config.head_width,
            ),
        ),
        (tr("cut into heads"), tr("the width becomes heads times D; nothing is computed")),
        (tr("heads before tokens"), tr("queries and keys; values likewise")),
        (
            tr("attention in each head"),
            tr("q·k, /√D, mask and softmax [B, H, T, T], then the values weighed by it"),
        ),
        (tr("tokens before heads"), tr("back to the order before step 4")),
        (tr("heads side by side"), tr("the last two dimensions become one")),
        (tr("output projection"), tr("mixes what the heads have brought")),
    ]


def letters_meant() -> dict[str, str]:
    return {
        "B": tr("texts at once"),
        "T": tr("tokens"),
        "C": tr("width of the stream (d_model)"),
        "H": tr("heads"),
        "Hkv": tr("heads of keys and values"),
        "D": tr("width of a head"),
        "F": tr("width of the FFN"),
    }


EXHIBIT = Definition(
    name="shapes",
    spec="D7",
    title=lambda: tr("Shapes: eight steps through attention"),
    brief=lambda: tr("the shape of every tensor in a layer, with the line of code that made it"),
    texts=("床前明月光", "猫喜欢吃鱼，它很聪明。", "To be, or not to be"),
    show=show,
    knobs=ShapesKnobs,
)
