"""A score taken apart: what each part of a model added to it (direct logit attribution).

The stream before the final norm is a sum: the token's row, each head's output, each neuron's
column. With the norm's division held at what it was, the score is linear in the stream, so it is a
sum as well, one term for each part. What a part did by way of later layers is in their terms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.unembed import constant, readers
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Bars, Matrix, Panel, Table
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.block import Block

NEURONS = 12
"""Neurons in the table."""


@dataclass(frozen=True)
class Parts:
    """What was added to the scores of n tokens; all but ``heads`` and ``neurons`` is a sum."""

    embedding: Tensor  # [n]
    position: Tensor  # [n], of a table of positions
    heads: Tensor  # [L, H, n]
    attention_bias: Tensor  # [L, n]
    neurons: Tensor  # [L, F, n]
    ffn_bias: Tensor  # [L, n]
    final_bias: Tensor  # [n]
    values: Tensor  # [L, F], how strongly each neuron reacted

    def groups(self) -> dict[str, Tensor]:
        """Sums [n] by name, which together are the scores."""
        attention = self.heads.sum(dim=1) + self.attention_bias  # [L, n]
        ffn = self.neurons.sum(dim=1) + self.ffn_bias
        found = {tr("embedding"): self.embedding, tr("position table"): self.position}
        for layer in range(len(ffn)):
            found[tr("attention {n}", n=layer)] = attention[layer]
            found[tr("FFN {n}", n=layer)] = ffn[layer]
        found[tr("bias of the final norm")] = self.final_bias
        return {name: part for name, part in found.items() if bool(part.any())}

    def total(self) -> Tensor:
        """The scores [n], put together again."""
        return torch.stack(list(self.groups().values())).sum(dim=0)


@torch.no_grad()
def take_apart(subject: Subject, t: int, tokens: Tensor) -> Parts:
    """What made the scores of ``tokens`` [n] as the next token after position ``t``."""
    model, config = subject.model, subject.model.config
    layers = range(config.n_layer)
    names = ["hook_embed", "ln_final.hook_scale"]
    if config.post_norm:
        names += [f"blocks.{i}.ln{n}_post.hook_scale" for i in layers for n in (1, 2)]
    names += ["hook_pos_embed"] if config.position in ("learned", "sinusoidal") else []
    for layer in layers:
        names += [f"blocks.{layer}.attn.hook_result", f"blocks.{layer}.mlp.hook_post"]
    seen = {name: value[0, t].double() for name, value in subject.see(names).items()}
    read = (readers(model, tokens).double() / seen["ln_final.hook_scale"]).T  # [C, n]
    blocks = [block for block in model.blocks if isinstance(block, Block)]
    values = torch.stack([seen[f"blocks.{layer}.mlp.hook_post"] for layer in layers])  # [L, F]
    results = torch.stack([seen[f"blocks.{layer}.attn.hook_result"] for layer in layers])
    nothing = torch.zeros_like(seen["hook_embed"])

    def before(i: int, norm: nn.Module, n: int) -> Tensor:
        return _through(norm, seen, f"blocks.{i}.ln{n}_post", read)

    def biases(layer: nn.Linear, norm: nn.Module, own: Tensor) -> Tensor:
        inner, outer = layer.bias, getattr(norm, "bias", None)
        within, beyond = (nothing if b is None else b.double() for b in (inner, outer))
        return within @ own + beyond @ read

    attention_bias, ffn_bias, columns = [], [], []
    for i, block in enumerate(blocks):
        out, found = before(i, block.norm_1_post, 1), before(i, block.norm_2_post, 2)  # [C, n]
        attention_bias.append(biases(block.attention.out, block.norm_1_post, out))
        ffn_bias.append(biases(block.ffn.down, block.norm_2_post, found))
        columns.append(block.ffn.down.weight.double().T @ found)  # [F, n]
    return Parts(
        embedding=seen["hook_embed"] @ read,
        position=seen.get("hook_pos_embed", nothing) @ read,
        heads=results @ read,
        attention_bias=torch.stack(attention_bias),
        neurons=values[:, :, None] * torch.stack(columns),
        ffn_bias=torch.stack(ffn_bias),
        final_bias=constant(model, tokens).double(),
        values=values,
    )


def _through(norm: nn.Module, seen: dict[str, Tensor], name: str, read: Tensor) -> Tensor:
    """The directions [C, n] ``read``, as they are seen from before a norm whose division is held
    at what it was."""
    if isinstance(norm, nn.Identity):
        return read
    assert isinstance(norm.weight, Tensor)
    before = read * norm.weight.double()[:, None] / seen[f"{name}.hook_scale"]
    return before - before.mean(dim=0) if isinstance(norm, nn.LayerNorm) else before


def adds_up(subject: Subject, t: int, parts: Parts, tokens: Sequence[int]) -> Verdict:
    """Whether the parts are the scores, as far as sums of so many numbers can be."""
    score = subject.logits[t, list(tokens)].double()
    off = float((parts.total() - score).abs().max())
    return Verdict(
        tr("all heads, neurons and the rest add up to the score"),
        tr(
            "score {score}, largest difference {n}",
            score=f"{float(score[0]):.3f}",
            n=deviation(off),
        ),
        off <= 1e-4 * max(1.0, float(parts.neurons.abs().sum(dim=1).max())),
    )


def made(parts: Parts, word: str, rival: str) -> list[Panel]:
    """The parts of a token's score, those of its rival beside them."""
    groups, (L, H, _) = parts.groups(), parts.heads.shape
    order = parts.neurons[..., 0].flatten().abs().argsort(descending=True)[:NEURONS].tolist()
    where = [divmod(number, parts.neurons.shape[1]) for number in order]
    return [
        Bars(
            title=tr(
                "what made {word}, and its rival {rival}: they add up to the score",
                word=word,
                rival=rival,
            ),
            names=list(groups),
            values=torch.stack(list(groups.values()))[:, 0].numpy(),
            unit=word,
            beside={rival: torch.stack(list(groups.values()))[:, 1].numpy()},
        ),
        Matrix(
            title=tr("what each head added to the score of {word}", word=word),
            values=parts.heads[..., 0].numpy(),  # [L, H]
            rows=[str(layer) for layer in range(L)],
            columns=[str(head) for head in range(H)],
            row_label=tr("layer"),
            column_label=tr("head"),
            scale="signed",
            unit=tr("score"),
        ),
        Table(
            title=tr("the neurons that added or took away most"),
            columns=[tr("neuron"), tr("reaction"), word, rival],
            rows=[
                [
                    f"{layer}.{number}",
                    float(parts.values[layer, number]),
                    *map(float, parts.neurons[layer, number]),
                ]
                for layer, number in where
            ],
        ),
    ]
