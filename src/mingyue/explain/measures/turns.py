"""An RNN beside the GPT: its pass over T tokens is T steps, each waiting for the one before."""

import numpy as np
import torch
from torch import Tensor

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.racing import reading, runners, seconds, spread
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Curves, Panel, Table
from mingyue.explain.progress import told
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel

LONGEST, LONG = 1024, 64
"""Tokens of the longest pass; from so many on a pass is long."""
ROUNDING = 1e-5
"""What a step computes is at most 1; the order of adding up may change it by so much."""


LENGTHS = [2**n for n in range(LONGEST.bit_length())]

Times = dict[str, list[np.ndarray]]
"""Milliseconds of a pass over each of ``LENGTHS``, [repeats] each."""


def pass_times(subject: Subject, repeats: int) -> Times:
    """Of a fresh GPT and a fresh LSTM like the subject's model."""
    pair = runners(subject.model.config, LONGEST)
    times: Times = {name: [] for name in pair}
    for T in told(LENGTHS, tr("taking the time of a GPT and an LSTM")):
        ways = {name: reading(model, 1, T) for name, model in pair.items()}
        for name, taken in seconds(ways, repeats).items():
            times[name].append(taken * 1e3)
    return times


def beside(subject: Subject, repeats: int) -> tuple[Verdict, list[Panel], str]:
    """What holds of a fresh LSTM, the time both take for a pass, and what to say about it."""
    pair, lengths = runners(subject.model.config, LONGEST), LENGTHS
    times = subject.once(pass_times, repeats)
    medians = {name: np.median(taken, axis=1) for name, taken in times.items()}
    long = lengths.index(LONG)
    powers = {
        name: float(np.polyfit(np.log(lengths[long:]), np.log(median[long:]), 1)[0])
        for name, median in medians.items()
    }
    layers = pair["GPT"].config.n_layer
    gap = stepwise_gap(pair["LSTM"], lengths[-1])
    verdict = Verdict(
        tr(
            "an LSTM's pass over {T} tokens is {T} steps, each from where the last ended", T=LONGEST
        ),
        tr("largest difference {gap}", gap=deviation(gap)),
        gap <= ROUNDING,
    )
    panels: list[Panel] = [
        Curves(
            title=tr("time of one pass over so many tokens, GPT and LSTM"),
            x=np.array(lengths, dtype=float),
            lines=medians,
            x_label=tr("tokens"),
            y_label=tr("milliseconds"),
            log_x=True,
            log_y=True,
        ),
        Table(
            title=tr("one pass: milliseconds (fastest – slowest), and steps that wait in a row"),
            columns=[
                tr("tokens"),
                *(f"{name}, {what}" for what in (tr("milliseconds"), tr("steps")) for name in pair),
            ],
            rows=[
                [T, *(spread(taken[i], ".2f") for taken in times.values()), *chains(layers, T)]
                for i, T in enumerate(lengths)
            ],
        ),
    ]
    return (
        verdict,
        panels,
        tr(
            "the LSTM and the GPT beside it are fresh, {layers} layers, {width} wide, without "
            "tables: time does not depend on what was learned. From {long} tokens on it "
            "grows here as T to the power {gpt} in the GPT, {rnn} in the LSTM. Few cores must do a "
            "GPT's work one part after another too; but its parts need not wait for each other",
            long=LONG,
            layers=layers,
            width=pair["GPT"].config.d_model,
            gpt=f"{powers['GPT']:.2f}",
            rnn=f"{powers['LSTM']:.2f}",
        ),
    )


def chains(layers: int, T: int) -> tuple[int, int]:
    """The longest row of steps that wait for each other, of a GPT and of an LSTM.

    A block needs only the block below, at all positions. An LSTM's layer needs the layer below
    at the same token and itself at the token before.
    """
    return layers, layers + T - 1


@torch.no_grad()
def stepwise_gap(model: LanguageModel, T: int) -> float:
    """Between one pass over random tokens and one step a token, at the most."""
    ids = torch.randint(256, (1, T), generator=torch.Generator().manual_seed(0))
    state, steps = model.new_cache(1), []
    for t in range(T):
        steps.append(model.hidden(ids[:, t : t + 1], state))  # [1, 1, C]
    gap: Tensor = (model.hidden(ids) - torch.cat(steps, dim=1)).abs().max()
    return float(gap)
