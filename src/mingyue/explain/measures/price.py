"""What reading on costs an RNN and a GPT: how much is kept, and how fast a text is learned from."""

from dataclasses import dataclass

import numpy as np
import torch

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.racing import learning, runners, seconds, spread, weights
from mingyue.explain.panels import Curves, Panel, Table
from mingyue.explain.progress import told
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.cache import KVCache
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.model.recurrent import State

TOGETHER = 512
"""Tokens computed at once when time is taken, in short rows or in long ones."""
LONGEST = 4096


def numbers_kept(model: LanguageModel, n: int) -> int:
    """How many numbers a model keeps of ``n`` tokens to go on writing after them."""
    if isinstance(model, GPT):  # without taking the memory
        return KVCache(model.config, 1, n, torch.device("meta"), torch.float32).both.numel()
    state = model.new_cache(1)
    assert isinstance(state, State)
    return sum(part.numel() for part in state.parts)


def growth(gpt: LanguageModel, rnn: LanguageModel, names: tuple[str, str], n: int) -> Verdict:
    """Whether one memory grows with the text and the other does not."""
    (a, b), (c, d) = ([numbers_kept(model, length) for length in (1, n)] for model in (gpt, rnn))
    return Verdict(
        tr(
            "what {gpt} keeps grows with each token read, what {rnn} keeps does not",
            gpt=names[0],
            rnn=names[1],
        ),
        tr(
            "after 1 token {a} and {c} numbers, after {n} tokens {b} and {d}",
            a=f"{a:,}",
            c=f"{c:,}",
            n=n,
            b=f"{b:,}",
            d=f"{d:,}",
        ),
        b > a and c == d,
    )


def kept_panel(gpt: LanguageModel, rnn: LanguageModel, names: tuple[str, str]) -> Curves:
    """Numbers kept over length."""
    lengths = 2 ** np.arange(0, LONGEST.bit_length())
    return Curves(
        title=tr("numbers kept of what was read"),
        x=lengths.astype(float),
        lines={
            name: np.array([numbers_kept(model, int(n)) for n in lengths], dtype=float)
            for name, model in zip(names, (gpt, rnn), strict=True)
        },
        x_label=tr("tokens read"),
        y_label=tr("numbers"),
        log_x=True,
        log_y=True,
    )


LENGTHS = [2**power for power in range(4, TOGETHER.bit_length())]
"""Of the rows."""


@dataclass(frozen=True)
class Paces:
    """Tokens a second in training, of a fresh GPT and a fresh LSTM by name."""

    speeds: dict[str, list[np.ndarray]]  # for each length [repeats]
    sizes: dict[str, int]  # weights


def paces(subject: Subject, repeats: int) -> Paces:
    """Take the time of both over the length of the rows."""
    pair = runners(subject.model.config, TOGETHER)
    speeds: dict[str, list[np.ndarray]] = {name: [] for name in pair}
    for length in told(LENGTHS, tr("taking the time of a GPT and an LSTM")):
        ways = {n: learning(model, TOGETHER // length, length) for n, model in pair.items()}
        for name, taken in seconds(ways, repeats).items():
            speeds[name].append(TOGETHER / taken)
    return Paces(speeds, {n: sum(w.numel() for w in weights(m)) for n, m in pair.items()})


def pace_panels(found: Paces, repeats: int) -> list[Panel]:
    """Tokens a second over the length of the rows, and how far the runs lay apart."""
    return [
        Curves(
            title=tr("tokens a second in training, {n} at once in rows of this length", n=TOGETHER),
            x=np.array(LENGTHS, dtype=float),
            lines={name: np.median(runs, axis=1) for name, runs in found.speeds.items()},
            x_label=tr("tokens in a row"),
            y_label=tr("tokens a second"),
            log_x=True,
        ),
        Table(
            title=tr("the same in numbers: the median of {n} runs (slowest – fastest)", n=repeats),
            columns=[
                tr("tokens in a row"),
                *(
                    tr("{name}, {n} weights", name=n, n=f"{size:,}")
                    for n, size in found.sizes.items()
                ),
            ],
            rows=[
                [length, *(spread(runs[i], ",.0f") for runs in found.speeds.values())]
                for i, length in enumerate(LENGTHS)
            ],
        ),
    ]
