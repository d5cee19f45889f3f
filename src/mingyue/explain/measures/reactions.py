"""What neurons react to in a text, and what they write to the vocabulary."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.neurons import Neuron
from mingyue.explain.measures.sample import Sample
from mingyue.explain.measures.unembed import readers
from mingyue.explain.measures.untrained import untrained
from mingyue.explain.subject import Subject, label
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.block import Block
from mingyue.model.hooks import run_with_cache

BEFORE, AFTER = 8, 4
"""Tokens shown around one that a neuron reacted to."""

FRESH = 64
"""Neurons of an untrained model that one is compared with."""

SMALL = 100
"""Different tokens below which a text says too little about the vocabulary."""


@torch.no_grad()
def reactions(subject: Subject, text: Sample, neurons: Sequence[Neuron]) -> Tensor:
    """The value of each neuron at each token of ``text``, [n, B · T]; nan where there is none."""
    names, found = list(dict.fromkeys(neuron.hook for neuron in neurons)), []
    with evaluating(subject.model):
        for part in text.parts():
            seen = run_with_cache(subject.model, part.ids, names)[1]
            values = [seen[neuron.hook][..., neuron.number].float() for neuron in neurons]
            none = ~part.real | (part.ids == subject.tokenizer.end_id)
            found.append(torch.stack(values).masked_fill(none, torch.nan).flatten(1).cpu())
    return torch.cat(found, dim=1)


def around(subject: Subject, text: Sample, place: int) -> str:
    """A token of the sample with its neighbours: 疑是地上【霜】。舉頭望."""
    row, t = divmod(place, text.ids.shape[1])
    words = [label(subject.tokenizer, id) for id in text.ids[row][text.real[row]].tolist()]
    before, after = "".join(words[max(0, t - BEFORE) : t]), "".join(words[t + 1 : t + 1 + AFTER])
    cut, tail = "…" * (t > BEFORE), "…" * (t + AFTER + 1 < len(words))
    return f"{cut}{before}【{words[t]}】{after}{tail}"


def spoken(subject: Subject, text: Sample) -> Tensor:
    """Ids of the tokens that occur in the sample: in all of a vocabulary, rare ones drown the rest.

    Where the sample is small, all but those that stand for no text.
    """
    found = text.targets[text.real].unique()
    if len(found) < SMALL:
        found = torch.arange(subject.model.config.vocab_size, device=found.device)
    return found[~torch.isin(found, found.new_tensor(subject.tokenizer.never_sampled))]


@torch.no_grad()
def writes(subject: Subject, neurons: Sequence[Neuron], tokens: Tensor) -> Tensor:
    """What their columns add to the score of each of ``tokens`` [v], more than to the average
    one: [n, v]. The division of the final norm is left out."""
    columns = []
    for neuron in neurons:
        block = subject.model.blocks[neuron.layer]
        assert isinstance(block, Block)
        columns.append(block.ffn.down.weight[:, neuron.number].float())  # [C]
    scores = torch.stack(columns) @ readers(subject.model, tokens).T
    return scores - scores.mean(dim=1, keepdim=True)


def choosy(values: Tensor, fresh: Tensor) -> Verdict:
    """Whether strong ones are rare among the reactions of a neuron [B · T], rarer than among
    those of untrained ones [n, B · T]: a gate makes large products rare by itself."""
    sizes = values[~values.isnan()].abs()
    share, alike = strong(values), sum(strong(other) <= strong(values) for other in fresh)
    return Verdict(
        tr(
            "it is choosy, more than nine in ten untrained neurons: few tokens bring it to half "
            "of its strongest reaction"
        ),
        tr(
            "{share} of {n} tokens do; of {all} untrained neurons {k} are as choosy",
            share=f"{share:.2%}",
            n=f"{len(sizes):,}",
            all=len(fresh),
            k=alike,
        ),
        10 * alike <= len(fresh) if len(sizes) >= 200 and float(sizes.max()) > 0 else None,
    )


def strong(values: Tensor) -> float:
    """At which share of the tokens a neuron reaches half of its strongest reaction."""
    sizes = values[~values.isnan()].abs()
    return float((sizes >= sizes.max() / 2).float().mean()) if len(sizes) else 1.0


def reactions_untrained(subject: Subject, text: Sample, layer: int) -> Tensor:
    """Those of some neurons of a layer in a fresh model of the same shape, [n, B · T]."""
    width = min(FRESH, subject.model.config.ffn_width)
    return reactions(untrained(subject), text, [Neuron(layer, i) for i in range(width)])


def along(factor: float, change: Tensor, written: Tensor) -> Verdict:
    """Whether the log-probabilities changed [v] along what the neuron wrote [v]."""
    change, direct = change - change.mean(), (factor - 1) * written
    cosine = float(torch.cosine_similarity(change, direct, dim=0))
    told = factor != 1 and float(direct.abs().max()) > 0
    return Verdict(
        tr("what moves is what it writes: the scores change along its column"),
        tr("cosine {n} over the tokens it may write", n=f"{cosine:.2f}"),
        cosine >= 0.5 if told else None,
    )
