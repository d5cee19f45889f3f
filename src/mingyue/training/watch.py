"""What the losses tell.

Two numbers are compared at each evaluation: the loss on the text that is being learned, and on
text that is held out. As long as both fall, the model learns the language. When the first goes
on falling and the second turns up, it has begun to learn this text by heart.
"""

import math
from dataclasses import dataclass

from mingyue.language import tr

RISE = 0.02
"""Nats by which the held-out loss must lie above its best to count as risen: less is noise."""
BY_HEART = 0.7
"""A training loss below this (a perplexity of 2) on text means that it is known by heart."""


@dataclass
class Watch:
    """The best evaluation so far and what has happened since. Part of the training state."""

    best_step: int | None = None
    best_loss: float | None = None
    train_at_best: float | None = None
    since_best: int = 0  # evaluations without a new best
    warned_rising: bool = False
    warned_by_heart: bool = False

    def note(self, step: int, train_loss: float, val_loss: float | None) -> bool:
        """Take in an evaluation; whether it is the best so far. Not a number never is.

        Without held-out text the newest is the best there is.
        """
        if val_loss is None:
            self.best_step, self.train_at_best = step, train_loss
            return True
        better = self.best_loss is None or val_loss < self.best_loss
        if better and math.isfinite(val_loss):
            self.best_step, self.best_loss, self.since_best = step, val_loss, 0
            self.train_at_best = train_loss
            return True
        self.since_best += 1
        return False

    def warnings(self, train_loss: float, val_loss: float | None) -> list[str]:
        """What the reader should be told now; each thing once in a run."""
        found: list[str] = []
        rising = (
            val_loss is not None
            and self.best_loss is not None
            and self.train_at_best is not None
            and self.since_best >= 2
            and val_loss > self.best_loss + RISE
            and train_loss < self.train_at_best
        )
        if rising and not self.warned_rising:
            self.warned_rising = True
            found.append(
                tr(
                    "validation loss has risen from {best:.3f} (step {step}) to {now:.3f} while "
                    "training loss fell to {train:.3f}: the model is memorising; the best weights "
                    "are kept, more text, fewer steps or dropout would help",
                    best=self.best_loss,
                    step=self.best_step,
                    now=val_loss,
                    train=train_loss,
                )
            )
        gap = val_loss is None or val_loss > 2 * train_loss
        if train_loss < BY_HEART and gap and not self.warned_by_heart:
            self.warned_by_heart = True
            found.append(
                tr(
                    "training loss {train:.3f}: the model knows this text by heart and will mostly "
                    "recite it; a low loss on so little text says nothing about new text",
                    train=train_loss,
                )
            )
        return found
