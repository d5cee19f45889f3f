"""How a run ends: the best weights in the run folder, and one line for the reader."""

from pathlib import Path
from typing import Any

from mingyue.errors import UserError
from mingyue.interop.run_folder import save_model
from mingyue.language import tr
from mingyue.training.baseline import hardly_learned
from mingyue.training.observe import Reason, RunResult
from mingyue.training.session import Session
from mingyue.training.state import TrainState


def finish(session: Session, folder: Path, reason: Reason, about: dict[str, Any]) -> RunResult:
    """Write the best weights and what became of the run.

    Raises:
        UserError: the very first steps diverged, so there is nothing to keep.
    """
    state, watch = session.state, session.state.watch
    chosen = session.checkpoints.best() if watch.best_loss is not None else None
    chosen = chosen or session.checkpoints.load(session.observer.on_message)
    if chosen is None:
        raise UserError(_diverged(state.step + 1, None))
    weights = chosen.model
    if session.average is not None:
        session.average.load(chosen.optimizer)
        weights = {**weights, **session.average.weights}
    session.model.load_state_dict(weights, strict=True)
    result = RunResult(
        out=folder,
        model=session.model.config,
        reason=reason,
        message=_message(reason, state, chosen.step),
        steps=state.step,
        total_steps=state.total_steps,
        best_step=watch.best_step,
        best_loss=watch.best_loss,
        train_loss=state.train_loss if state.train_loss is not None else watch.train_at_best,
        seconds=session.seconds(),
        notes=hardly_learned(session, reason),
    )
    about = {
        **about,
        "status": reason,
        "result": {
            "steps": result.steps,
            "total_steps": result.total_steps,
            "weights_of_step": chosen.step,
            "val_loss": result.best_loss,
            "seconds": round(result.seconds, 1),
            "parameters": session.model.count_parameters(),
            "device": session.device.type,
            "precision": state.precision,
            "compiled": state.compiled,
        },
    }
    save_model(session.model, session.data.tokenizer, folder, about=about)
    return result


def _message(reason: Reason, state: TrainState, kept: int) -> str:
    match reason:
        case "interrupted":
            return tr("stopped at step {step} and saved; --resume goes on", step=state.step)
        case "diverged":
            return _diverged(state.step + 1, kept)
        case "patience":
            return tr(
                "stopped at step {step}: no better on held-out text (looks in a row: {count}); the "
                "weights of step {kept} are kept",
                step=state.step,
                count=state.watch.since_best,
                kept=kept,
            )
        case _:
            if state.step == 1:
                return tr("done: 1 step; its weights are kept")
            return tr(
                "done: {step} steps; the weights of step {kept} are kept",
                step=state.step,
                kept=kept,
            )


def _diverged(step: int, kept: int | None) -> str:
    why = tr(
        "step {step}: loss or gradient is no longer a number; a smaller learning_rate and "
        "matrix_rate, more warmup or precision fp32 helps",
        step=step,
    )
    if kept is None:
        return why
    return why + tr("; the weights of step {kept} are kept", kept=kept)
