"""One dial, time: everything else follows from the minutes, the text and the machine.

What is chosen, unless it is asked for in so many words: the model's width and depth, the length
and number of rows in a step, the step sizes, how many threads calculate, and when to stop reading
a small text again. The dial climbs a ladder of models, times a few real steps of each, reckons
what loss it would come to in the time that is left (``law.py``), and takes the best. Each choice
is told with its reason and lies in the run's recipe, so a resumed run has no need to choose.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mingyue.model.config import ModelConfig
from mingyue.training import law
from mingyue.training.trial import Speed, Way

FEW, MANY = 512, 2048
"""Tokens in a step, at which steps are timed; the time of others lies on the line through both."""
CLEARLY = 1.5
"""A way to calculate that is slower by this is not tried again."""
HOPE = 1.3
"""A larger model may reach so many times the operations a second of the smaller ones …"""
MEASURING = 0.04
"""… and no more than this share of the time is spent on finding out."""

LARGEST = 100
"""Weights for each token of the text: the sweep of tiny texts knows nothing beyond."""

Measure = Callable[[ModelConfig, int, Sequence[Way]], list[Speed]]
"""model, rows in a step, ways to calculate → how fast in each of them."""


@dataclass(frozen=True)
class Rung:
    """A model that was tried, with the batch that is best for it here."""

    model: ModelConfig
    rows: int  # of block_size tokens in a step
    way: Way
    speed: float  # tokens a second
    tokens: float  # in the time that is left, or as many as are good for the model
    capped: bool  # whether they are fewer than there is time for
    unique: int  # tokens of the text
    loss: float  # expected, above the least possible

    @property
    def batch(self) -> int:
        """Tokens in a step."""
        return self.rows * self.model.block_size


@dataclass
class Dial:
    """Chooses for a text of ``unique`` tokens and ``seconds`` of learning."""

    unique: int
    seconds: Callable[[], float]
    """What is left of the time now, without evaluations and the end."""
    measure: Measure
    ways: Sequence[Way]
    """Those worth trying."""
    rows: int | None = None
    """Rows in a step, if asked for."""
    epochs: float | None = None
    """How often the text may be read, if asked for."""

    def climb(self, ladder: Iterable[ModelConfig]) -> list[Rung]:
        """Try models from small to large until they get worse; all that were tried, in order.

        Empty only if the ladder is.
        """
        seen: list[Rung] = []
        whole, fastest = self.seconds(), 0.0
        for model in ladder:
            if seen and model.products > LARGEST * self.unique:
                break
            work = model.flops_per_token(model.block_size)
            if seen:
                best = min(seen, key=lambda rung: rung.loss)
                spent = whole - self.seconds()
                hoped = self._expect(model, best.batch, HOPE * fastest / work)
                if seen[-1] is not best or hoped >= best.loss or spent > MEASURING * whole:
                    break
            seen.append(self.consider(model))
            fastest = max(fastest, seen[-1].speed * work)
        return seen

    def consider(self, model: ModelConfig) -> Rung:
        """The best batch for a model, and what comes of it."""
        T = model.block_size
        timed = [self.rows] if self.rows else sorted({max(1, FEW // T), max(1, MANY // T)})
        speeds = [self._fastest(model, rows) for rows in timed]
        choices = [self.rows] if self.rows else [2**k for k in range(20) if 64 <= 2**k * T <= 2**18]
        best: Rung | None = None
        for rows in choices or timed:
            seconds = _on_the_line(timed, [speed.seconds for speed in speeds], rows)
            speed = rows * T / seconds
            tokens, capped = self._tokens(model, speed)
            rung = Rung(
                model,
                rows,
                speeds[-1].way if rows * T > FEW else speeds[0].way,
                speed,
                tokens,
                capped,
                self.unique,
                self._loss(model, tokens, rows * T),
            )
            if best is None or rung.loss < best.loss:
                best = rung
        assert best is not None
        return best

    def _fastest(self, model: ModelConfig, rows: int) -> Speed:
        found = self.measure(model, rows, self.ways)
        best = min(found)
        self.ways = [s.way for s in found if s.seconds <= CLEARLY * best.seconds]
        return best

    def _expect(self, model: ModelConfig, batch: int, speed: float) -> float:
        return self._loss(model, self._tokens(model, speed)[0], batch)

    def _loss(self, model: ModelConfig, tokens: float, batch: int) -> float:
        return law.expected(model.products, tokens, batch, self.unique, model.vocab_size)

    def _tokens(self, model: ModelConfig, speed: float) -> tuple[float, bool]:
        """How many there is time for, or that are good for the model; and whether the latter."""
        possible = max(1.0, speed * max(0.0, self.seconds()))
        useful = self.unique * (self.epochs or law.most_epochs(model.products, self.unique))
        return min(possible, useful), useful < possible


def _on_the_line(counts: Sequence[int], seconds: Sequence[float], wanted: int) -> float:
    """Seconds for ``wanted`` rows, from those for one or two other numbers of rows."""
    if len(counts) == 1:
        return seconds[0] * max(1.0, wanted / counts[0])
    slope = max(0.0, seconds[1] - seconds[0]) / (counts[1] - counts[0])
    fixed = max(seconds[0] - slope * counts[0], 0.2 * seconds[0])
    return fixed + slope * wanted
