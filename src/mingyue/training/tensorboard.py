"""The same numbers as the log, for TensorBoard (``pip install 'mingyue[track]'``)."""

from pathlib import Path
from typing import Any

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.training.observe import EvalInfo, Observer, RunResult, StepInfo


class TensorBoard(Observer):
    """Writes event files into ``folder``; look with ``tensorboard --logdir folder``.

    Raises:
        UserError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path, every: int = 10):
        try:
            from torch.utils.tensorboard import SummaryWriter  # type: ignore[import-not-found]
        except ImportError:
            raise UserError(
                tr("TensorBoard is not installed; pip install 'mingyue[track]'")
            ) from None
        self._writer: Any = SummaryWriter(str(folder))
        self._every = every

    def on_step(self, step: StepInfo) -> None:
        if step.step % self._every == 0:
            self._writer.add_scalar("loss/train", step.loss, step.step)
            self._writer.add_scalar("rate", step.rate, step.step)
            self._writer.add_scalar("gradient_norm", step.gradient_norm, step.step)

    def on_eval(self, evaluation: EvalInfo) -> None:
        if evaluation.val_loss is not None:
            self._writer.add_scalar("loss/validation", evaluation.val_loss, evaluation.step)
        self._writer.add_scalar("tokens_per_second", evaluation.tokens_per_second, evaluation.step)
        if evaluation.sample:
            self._writer.add_text("sample", evaluation.sample, evaluation.step)
        self._writer.flush()

    def on_end(self, result: RunResult) -> None:
        self._writer.close()
