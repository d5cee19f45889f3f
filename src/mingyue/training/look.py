"""A look at unseen text: the loss on held-out documents, a fresh sample, a checkpoint."""

import math
import time
from contextlib import nullcontext

from mingyue.evaluation.loss import Loss, evaluate
from mingyue.training.observe import EvalInfo
from mingyue.training.precision import autocast
from mingyue.training.sample import sample
from mingyue.training.session import Session, save


def look(session: Session) -> bool:
    """Evaluate, tell, save. False when the held-out loss is no number."""
    state, config, start = session.state, session.config, time.perf_counter()
    with session.average.in_place() if session.average else nullcontext():
        held_out = score(session)
        text = sample(session.model, session.data, config, state.step)
    session.model.train()
    val_loss = held_out.nats_per_token if held_out else None
    train_loss = state.train_loss if state.train_loss is not None else math.nan
    if val_loss is not None and not math.isfinite(val_loss):
        return False
    best = state.watch.note(state.step, train_loss, val_loss)
    notes = state.watch.warnings(train_loss, val_loss)
    speed = session.pace.tokens / session.pace.seconds if session.pace.seconds else 0.0
    flops = speed * session.model.flops_per_token(session.batches.block_size)
    bits = held_out.bits_per_character if held_out and session.model.predicts else None
    session.log.write(
        step=state.step,
        val_loss=val_loss,
        train_loss=train_loss,
        bits_per_character=bits,
        best=best,
        sample=text,
        tokens_per_second=round(speed, 1),
        flops_per_second=round(flops),
        seconds=round(session.seconds(), 3),
    )
    state.loss_sum, state.loss_count = 0.0, 0
    session.pace.tokens, session.pace.seconds = 0, 0.0
    save(session, best=best)
    session.pace.looking = time.perf_counter() - start
    if session.budget is not None:
        session.budget.note_evaluation(session.pace.looking)
    session.observer.on_eval(
        EvalInfo(
            step=state.step,
            total_steps=state.total_steps,
            train_loss=train_loss,
            val_loss=val_loss,
            bits_per_character=bits,
            best=best,
            tokens_per_second=speed,
            flops_per_second=flops,
            sample=text,
            seconds=session.seconds(),
            notes=notes,
        )
    )
    return True


def score(session: Session) -> Loss | None:
    """The loss on held-out text, in the precision of training (half the time, and the third
    decimal is all that it touches; ``mingyue eval`` is exact); None when there is none."""
    val, config = session.data.val, session.config
    if val.n_tokens == 0:
        return None
    with autocast(session.device, session.state.precision):
        return evaluate(
            session.model,
            val,
            end_id=session.data.tokenizer.end_id,
            batch_size=config.micro_batch or config.batch_size,
            max_tokens=config.eval_tokens,
            own_terms=True,
        )
