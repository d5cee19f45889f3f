"""In which form a model is while it writes on a CPU: how exact, and whether compiled.

There are three: the model itself, which does everywhere; ``Step``, a copy for the CPU; and
``NativeStep``, the same as machine code. To compile takes some seconds on a machine's first time
and half a second later. So that equal seeds give equal texts, the form follows from what was
asked for, never from what was there or how long something took.
"""

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel
from mingyue.model.packed import Precision
from mingyue.model.step import Step
from mingyue.settings import Settings

LONG = 2000
"""Tokens of a text from which on the compiled step makes up for the compiling."""

FEW = 8
"""Samples side by side up to which the compiled step is the faster one in fp32. In int8, where
the two round differently, it takes all, so that a sample does not depend on their number."""


class Form(Settings):
    """What was asked for. ``compile`` None compiles where it pays, which needs numba."""

    precision: Precision = "fp32"
    compile: bool | None = None

    def step(self, model: LanguageModel, n: int, length: int) -> type[Step] | None:
        """What writes ``n`` samples of ``length`` tokens; None for the model itself.

        Raises:
            UserError: what was asked for cannot be had.
        """
        if not Step.suits(model):
            if not model.config.causal or (self.precision == "fp32" and not self.compile):
                return None
            raise UserError(
                tr(
                    "precision {precision} is for a GPT on the CPU in fp32, which this model "
                    "is not",
                    precision=self.precision,
                )
                if self.precision != "fp32"
                else tr(
                    "compiling to write is for a GPT on the CPU in fp32, which this model is not"
                )
            )
        if self.compile and self.precision not in ("fp32", "int8"):
            raise UserError(
                tr(
                    "precision {precision} cannot be compiled to write; fp32 and int8 can",
                    precision=self.precision,
                )
            )
        pays = n == 1 and length >= LONG and self.precision == "fp32"
        if not (pays if self.compile is None else self.compile):
            return Step
        if self.precision == "fp32" and n > FEW:
            return Step
        try:
            from mingyue.model.native_step import NativeStep
        except ImportError:
            if self.compile is None:
                return Step
            raise UserError(
                tr("compiling to write needs numba; install it with: pip install 'mingyue[native]'")
            ) from None
        return NativeStep
