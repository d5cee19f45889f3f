"""What each head is good for: the loss that is added when it is switched off."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures import jobs
from mingyue.explain.measures.head_looks import Looks
from mingyue.explain.measures.sample import Sample
from mingyue.explain.measures.unembed import onward, token_losses
from mingyue.explain.panels import Table
from mingyue.explain.progress import told
from mingyue.explain.subject import Subject
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.block import Block
from mingyue.model.gpt import GPT
from mingyue.model.hooks import run_with_cache

FEW = 8
"""Texts below which chance cannot be judged."""
LISTED = 16
"""Heads in the table, those that matter most first."""


@dataclass(frozen=True)
class Harm:
    """Nats a token; nan where it is not known."""

    mean: Tensor  # [L, H], loss added when the head is switched off
    error: Tensor  # [L, H], its standard error


@torch.no_grad()
def harm(subject: Subject, text: Sample) -> Harm:
    """Switch off every head in turn; a model that sees both directions has no such loss."""
    model, shape = subject.model, (subject.model.config.n_layer, subject.model.config.n_head)
    if not model.config.causal:
        return Harm(torch.full(shape, torch.nan), torch.full(shape, torch.nan))
    parts = told(text.parts(), tr("switching off each head in turn"))
    with evaluating(model):
        losses = torch.cat([_losses(model, part) for part in parts], dim=1)
    counts = text.real.sum(dim=1).cpu()  # [rows]
    mean, error = mean_and_error(losses[1:] - losses[0], counts)
    return Harm(mean.view(shape), error.view(shape))


def mean_and_error(sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Mean per token and its standard error, from sums [n, rows] over ``counts`` [rows] tokens.

    The tokens of a text resemble each other, so a text counts as one draw; from fewer than
    ``FEW`` texts no error can be told.
    """
    n, rows = counts.sum(), len(counts)
    mean = sums.sum(dim=1) / n
    if rows < FEW:
        return mean, torch.full_like(mean, torch.nan)
    rest = sums - mean[:, None] * counts  # [n, rows]
    return mean, (rest.square().sum(dim=1) * rows / (rows - 1)).sqrt() / n


def by_harm(found: Harm, seen: Looks) -> Table:
    """The heads that matter most, and what each looks at."""
    H = found.mean.shape[1]
    order = found.mean.flatten().nan_to_num().argsort(descending=True, stable=True)
    rows = []
    for layer, head in (divmod(number, H) for number in order[:LISTED].tolist()):
        job = int(seen.excess[:, layer, head].argmax())
        lost, error = float(found.mean[layer, head]), float(found.error[layer, head])
        look = [jobs.names()[job], float(seen.score[job, layer, head]), float(seen.even[job])]
        rows.append([f"{layer}.{head}", lost, error, *look])
    return Table(
        title=tr("the heads that matter most, and what each looks at more than an even look would"),
        columns=[
            tr("head"),
            tr("loss added"),
            tr("± standard error"),
            tr("looks at"),
            tr("attention"),
            tr("even look"),
        ],
        rows=rows,
    )


def verdict(found: Harm) -> Verdict:
    """Whether any head matters. The worst of many is worse than nothing by chance alone: three
    standard errors are asked for, not two."""
    claim = tr("switching off the head that matters most costs 0.02 nats or more, beyond chance")
    worst = int(found.mean.flatten().nan_to_num(-1.0).argmax())
    name = "{}.{}".format(*divmod(worst, found.mean.shape[1]))
    mean, error = float(found.mean.flatten()[worst]), float(found.error.flatten()[worst])
    lost, chance = f"{mean:+.4f}", f"{error:.4f}"
    if math.isnan(mean):
        measured = tr("this model sees both directions, so it has no next-token loss")
    elif math.isnan(error):
        words = {"head": name, "harm": lost}
        measured = tr("head {head}: {harm} nats a token, too few texts to judge chance", **words)
    else:
        words = {"head": name, "harm": lost, "error": chance}
        measured = tr("head {head}: {harm} ± {error} nats a token", **words)
    return Verdict(claim, measured, None if math.isnan(error) else mean > max(3 * error, 0.02))


def _losses(model: GPT, text: Sample) -> Tensor:
    """Summed loss of each row: of the whole model, then without each head; [1 + L·H, B].

    What a head adds is taken from the stream, and only what comes after it is computed again.
    """

    def losses(stream: Tensor, layer: int) -> Tensor:
        last = model.norm(onward(model, stream, layer))  # [B, T, C]
        each = token_losses(last, model.unembedding, text.targets)  # [B, T]
        return each.double().sum(dim=1).cpu()

    names = ("hook_resid_pre", "hook_resid_mid", "attn.hook_z")
    seen = run_with_cache(model, text.ids, lambda name: name.endswith(names))[1]
    found = [losses(seen["blocks.0.hook_resid_pre"], 0)]
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        middle, z = seen[f"blocks.{layer}.hook_resid_mid"], seen[f"blocks.{layer}.attn.hook_z"]
        columns = block.attention.out.weight.split(block.attention.head_width, dim=1)
        for head, by_head in enumerate(columns):  # [C, D]
            stream = middle - z[:, :, head] @ by_head.T  # [B, T, C]
            found.append(losses(stream + block.ffn(block.norm_2(stream)), layer + 1))
    return torch.stack(found)
