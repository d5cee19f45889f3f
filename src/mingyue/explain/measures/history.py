"""What a model was like at each step of its training that a snapshot was kept of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.explain.measures.head_looks import looks
from mingyue.explain.measures.neighbours import nearest
from mingyue.explain.measures.sample import Sample, affordable, sample
from mingyue.explain.subject import Subject
from mingyue.generation.writer import load
from mingyue.interop.snapshots import kept
from mingyue.language import tr
from mingyue.training.log import read_log

MOST = 24
"""Steps looked at; of more that were kept, so many of them evenly."""


@dataclass(frozen=True, eq=False)
class History:
    """N steps of training; all numbers are of the same text."""

    steps: Sequence[int]  # N of them
    chance: Tensor  # [N, T - 1], what each step gave to the token that came next
    near: Sequence[Sequence[int]]  # at each step, the tokens nearest to the one asked about
    score: Tensor  # [N, jobs, L, H], attention as in ``head_looks``
    even: Tensor  # [jobs]
    text: Sample  # where attention was measured

    @property
    def loss(self) -> np.ndarray:
        """Nats a token of the text given, [N]."""
        return -self.chance.log().mean(dim=1).numpy()


@torch.no_grad()
def history(subject: Subject, token: int, k: int) -> History:
    """Look at every step; ``token`` is the one whose ``k`` neighbours are looked for.

    Raises:
        UserError: the run kept no snapshots, or this is no run.
    """
    if subject.folder is None:
        raise UserError(tr("this exhibit looks at a run folder with snapshots of its training"))
    steps = spread(list(kept(subject.folder)))
    text = sample(subject, "val", affordable(subject.model, 2 * len(steps), 128, 1024))
    among, chance, near, score, even = candidates(subject, token), [], [], [], torch.empty(0)
    for step in steps:
        at = replace(subject, writer=load(subject.folder, step=step, device=_device(subject)))
        logs = at.logits[:-1].double().log_softmax(dim=-1).cpu()  # [T - 1, V]
        chance.append(logs.gather(1, subject.ids[0, 1:, None])[:, 0].exp())
        near.append(nearest(at.model.embedding.weight.cpu(), token, among, k)[0].tolist())
        found = looks(at, text)
        score.append(found.score)
        even = found.even
    return History(steps, torch.stack(chance), near, torch.stack(score), even, text)


def spread(steps: Sequence[int]) -> Sequence[int]:
    """At most ``MOST`` of them, the first and the last among them."""
    if len(steps) <= MOST:
        return steps
    return [steps[i] for i in np.linspace(0, len(steps) - 1, MOST).round().astype(int)]


def candidates(subject: Subject, token: int) -> Tensor:
    """Tokens that may be neighbours, [n]: those that are text, and come ten times or more in the
    run's own where that is at hand; a rare one stays where chance has put it."""
    tokenizer, dataset = subject.tokenizer, subject.dataset
    often = np.full(tokenizer.vocab_size, True)
    if dataset is not None and dataset.train.n_tokens:
        ids = dataset.train.slice(0, min(dataset.train.n_tokens, 4_000_000))
        often = np.bincount(ids, minlength=len(often)) >= 10
    often[[token, tokenizer.end_id, *tokenizer.never_sampled]] = False
    return torch.from_numpy(np.flatnonzero(often))


def _device(subject: Subject) -> str:
    return subject.model.device.type


@dataclass(frozen=True)
class Logged:
    """What ``log.jsonl`` says: the loss of steps, and the looks at held-out text."""

    steps: np.ndarray  # [n]
    loss: np.ndarray  # [n], of training
    looks: Sequence[dict[str, Any]]  # of each evaluation, as it was written

    def of_looks(self, name: str) -> np.ndarray:
        """A number at each look; nan where there is none."""
        return np.array([np.nan if (v := look.get(name)) is None else v for look in self.looks])


def logged(subject: Subject) -> Logged:
    """The log of the run; empty where it has none."""
    path = subject.folder / "log.jsonl" if subject.folder else None
    lines = read_log(path) if path and path.is_file() else []
    steps = [line for line in lines if isinstance(line.get("loss"), float)]
    return Logged(
        np.array([line["step"] for line in steps], dtype=float),
        np.array([line["loss"] for line in steps]),
        [line for line in lines if "train_loss" in line],
    )
