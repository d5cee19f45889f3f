"""What all heads of a model look at in a text, and how much the heads of a layer differ."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures import jobs
from mingyue.explain.measures.sample import Sample
from mingyue.explain.measures.untrained import twin
from mingyue.explain.panels import Table
from mingyue.explain.subject import Subject
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.hooks import HookPoint, run_with_cache, run_with_hooks


@dataclass(frozen=True)
class Looks:
    """Attention on average over the tokens of a text; nan where the text has no occasion."""

    score: Tensor  # [jobs, L, H]
    even: Tensor  # [jobs], the score of a head that looks at all it sees alike
    difference: Tensor  # [L, H, H], share of the attention that would have to be moved
    by_chance: float  # the mean difference in a model of this shape that was never trained

    @property
    def excess(self) -> Tensor:
        """What is above an even look, [jobs, L, H]; nothing where there is no occasion."""
        return (self.score - self.even[:, None, None]).nan_to_num(-1.0)


@torch.no_grad()
def looks(subject: Subject, text: Sample) -> Looks:
    """Measure every head on ``text``."""
    model = subject.model
    L, H, n = model.config.n_layer, model.config.n_head, len(jobs.names())
    score, difference = torch.zeros(n, L, H), torch.zeros(L, H, H)
    even, occasions = torch.zeros(n), torch.zeros(n)
    with evaluating(model):
        for part in text.parts():
            looked_at = jobs.targets(subject, part.ids)  # [jobs, B, T, T]

            def look(pattern: Tensor, hook: HookPoint, seen=looked_at, real=part.real) -> None:
                layer = hook.layer()
                score[:, layer] += jobs.scores(pattern, seen, real).cpu()
                difference[layer] += _differences(pattern, real).cpu()

            run_with_hooks(model, part.ids, [(lambda name: name.endswith("hook_pattern"), look)])
            alike = _even(part.real, model.config.causal)
            even += jobs.scores(alike, looked_at, part.real)[:, 0].cpu()
            occasions += jobs.occasions(looked_at, part.real).cpu()
    return Looks(
        score / occasions[:, None, None],
        even / occasions,
        difference / text.real.sum().cpu(),
        _by_chance(model, text.parts()[0]),
    )


def by_job(found: Looks) -> Table:
    """For each job the head that does it most."""
    rows = []
    for job, name in enumerate(jobs.names()):
        if found.even[job].isnan():
            rows.append([name, "—", math.nan, math.nan])
            continue
        layer, head = divmod(int(found.score[job].argmax()), found.score.shape[2])
        best = float(found.score[job, layer, head])
        rows.append([name, f"{layer}.{head}", best, float(found.even[job])])
    return Table(
        title=tr("for each kind of look the head that does it most (layer.head)"),
        columns=[tr("looks at"), tr("head"), tr("attention"), tr("even look")],
        rows=rows,
    )


def verdicts(found: Looks) -> list[Verdict]:
    """Whether a head has a job, and whether heads differ."""
    _, L, H = found.excess.shape
    job, number = divmod(int(found.excess.flatten().argmax()), L * H)
    excess, difference = float(found.excess.max()), _mean_of_pairs(found.difference)
    return [
        Verdict(
            tr("a head has a job that can be named: 0.3 more attention than an even look"),
            tr(
                "head {head}, {job}: {excess} more",
                head=f"{number // H}.{number % H}",
                job=jobs.names()[job],
                excess=f"{excess:.2f}",
            ),
            excess >= 0.3,
        ),
        Verdict(
            tr("heads of one layer look differently, more than those of an untrained model"),
            tr(
                "they differ by {here} on average, in an untrained model of this shape by {there}",
                here=f"{difference:.2f}",
                there=f"{found.by_chance:.2f}",
            )
            if H > 1
            else tr("a layer of this model has one head"),
            difference > found.by_chance + 0.05 if H > 1 else None,
        ),
    ]


def _even(real: Tensor, causal: bool) -> Tensor:
    """The pattern of a head that looks at all it sees alike, [B, 1, T, T]."""
    B, T = real.shape
    seen = torch.ones(B, 1, T, T, device=real.device)
    seen = seen.tril() if causal else seen * real[:, None, None]
    return seen / seen.sum(dim=-1, keepdim=True)


def _differences(pattern: Tensor, real: Tensor) -> Tensor:
    """Half the sum of |p − q| between every two heads, summed over the tokens: [H, H]."""
    p = pattern.float().transpose(0, 1)[:, real]  # [H, tokens, T]
    return torch.stack([(p - one).abs().sum(dim=(1, 2)) / 2 for one in p])


def _mean_of_pairs(difference: Tensor) -> float:
    """Of two heads in a layer; nan where there are no two."""
    L, H, _ = difference.shape
    return float(difference.sum()) / (L * H * (H - 1)) if H > 1 else math.nan


def _by_chance(model: GPT, text: Sample) -> float:
    """The mean difference of heads in an untrained twin of the model."""
    seen = run_with_cache(twin(model), text.ids, lambda name: name.endswith("hook_pattern"))[1]
    each = torch.stack([_differences(pattern, text.real).cpu() for pattern in seen.values()])
    return _mean_of_pairs(each / text.real.sum().cpu())
