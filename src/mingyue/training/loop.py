"""Step after step, with a look at unseen text now and then.

``run_loop`` is the whole of training in one page; each line of it is a file of this package.
"""

import time

import torch

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.training.budget import EVALUATIONS, evaluation_interval
from mingyue.training.config import TrainConfig
from mingyue.training.interrupt import Interruption
from mingyue.training.look import look
from mingyue.training.observe import Reason, StepInfo
from mingyue.training.precision import autocast
from mingyue.training.session import Session, keep_snapshot, save, share_at
from mingyue.training.step import Step, learn

DISK_SPEED = 200e6
"""Bytes per second that any disk of today writes; a first guess."""

OVERHEAD = 0.2
"""Seconds that a sample and the files of a checkpoint take, however small the model."""


def run_loop(session: Session) -> Reason:
    """Train until the end, and say why it ended. All that was learned is in the checkpoints.

    Raises:
        UserError: memory or disk are full; the last checkpoint stays good.
    """
    state, config = session.state, session.config
    session.model.train()
    _keep_snapshot(session)
    with Interruption() as interruption:
        while state.total_steps is None or state.step < state.total_steps:
            if _patience_is_over(session):
                _keep_snapshot(session, end=True)
                return "patience"
            step, share = _one_step(session)
            if not step.finite:
                return "diverged"
            _plan(session)
            _keep_snapshot(session)
            due = _evaluation_is_due(session)
            if state.step % config.log_every == 0 or state.step == 1 or due:
                _log_step(session, step, share)
            if due and not look(session):
                return "diverged"
            if interruption.asked:
                if session.saved_step != state.step:
                    save(session)
                return "done" if state.step == state.total_steps else "interrupted"
    return "done"


def _one_step(session: Session) -> tuple[Step, float]:
    """The next batch, learned; and the share of the full rate it was learned with."""
    state, config = session.state, session.config
    start = time.perf_counter()
    x, y = (torch.from_numpy(a).to(session.device) for a in session.batches.batch(state.step))
    # Dropout is a function of seed and step, so a resumed run drops what the other would have.
    torch.manual_seed((config.seed * 1_000_003 + state.step) % 2**63)
    share = share_at(config, state.step, state.total_steps)
    try:
        step = learn(
            session.forward,
            session.optimizer,
            x,  # [B, T]
            y,  # [B, T]
            share=share,
            clip=config.clip,
            scale=state.scale,
            micro_batch=config.micro_batch,
            autocast=lambda: autocast(session.device, state.precision),
        )
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        raise _no_memory(config, session.saved_step) from error
    if not step.finite:
        session.log.write(step=state.step + 1, loss=step.loss, gradient_norm=step.gradient_norm)
        return step, share
    state.step += 1
    state.loss_sum, state.loss_count = state.loss_sum + step.loss, state.loss_count + 1
    if session.average is not None:
        session.average.update(state.step)
    seconds = time.perf_counter() - start
    session.pace.note(x.numel(), seconds)
    if session.budget is not None:
        session.budget.note_step(seconds)
    session.observer.on_step(
        StepInfo(
            step=state.step,
            total_steps=state.total_steps,
            loss=step.loss,
            rate=share,
            gradient_norm=step.gradient_norm,
            epoch=session.batches.epoch_of(state.step),
            tokens_per_second=x.numel() / session.pace.smooth,
            seconds=session.seconds(),
            seconds_left=session.seconds_left(),
        )
    )
    return step, share


def _plan(session: Session) -> None:
    """Set the number of steps as soon as it can be known, and correct it now and then."""
    state, budget, wanted = session.state, session.budget, session.config.eval_every
    if budget is not None and budget.due(session.seconds()):
        if not budget.evaluation:
            budget.note_evaluation(_guess_evaluation(session))
        known = state.eval_every or wanted
        state.total_steps = budget.correct(state.step, session.seconds(), known)
    if state.total_steps is not None and state.eval_every is None:
        count = budget.evaluations if budget is not None else EVALUATIONS
        state.eval_every = evaluation_interval(state.total_steps, wanted, count)


def _keep_snapshot(session: Session, *, end: bool = False) -> None:
    """Before the checkpoint of the same step, so that a resumed run never lacks one."""
    step, total = session.state.step, session.state.total_steps
    if session.snapshots.due(step, step if end else total):
        keep_snapshot(session)


def _guess_evaluation(session: Session) -> float:
    """Seconds that an evaluation and its checkpoint may take, until one is seen."""
    held_out = session.data.val.n_tokens
    tokens = min(session.config.eval_tokens or held_out, held_out)
    # Forward is a third of a step's work, but short documents leave rows half empty.
    speed = session.pace.tokens / session.pace.seconds
    size = 12 * session.model.count_parameters()  # weights, and two numbers of the optimizer
    return 0.7 * tokens / speed + size / DISK_SPEED + OVERHEAD


def _evaluation_is_due(session: Session) -> bool:
    state = session.state
    if state.total_steps is None or state.eval_every is None:
        return False
    left = state.total_steps - state.step
    if left <= 0:
        return True
    if session.config.eval_every is None and left < state.eval_every / 2:
        return False  # the last one comes soon anyway
    return state.step % state.eval_every == 0


def out_of_memory(error: BaseException) -> bool:
    """Whether torch or Python says so; on a CPU torch has only a sentence for it."""
    words = str(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        "can't allocate memory" in words or "out of memory" in words
    )


def _no_memory(config: TrainConfig, saved: int | None) -> UserError:
    rows = config.micro_batch or config.batch_size
    advice = tr(
        "out of memory with {rows} rows at once; try micro_batch {half} (same result, less "
        "memory), a smaller block_size or a smaller model",
        rows=rows,
        half=max(1, rows // 2),
    )
    if saved is not None:
        advice += tr("; the checkpoint of step {step} is kept", step=saved)
    return UserError(advice)


def _log_step(session: Session, step: Step, share: float) -> None:
    state = session.state
    session.log.write(
        step=state.step,
        loss=step.loss,
        gradient_norm=step.gradient_norm,
        rate=share,
        epoch=session.batches.epoch_of(state.step),
        seconds=round(session.seconds(), 3),
    )


def _patience_is_over(session: Session) -> bool:
    patience = session.config.patience
    return patience is not None and session.state.watch.since_best >= patience
