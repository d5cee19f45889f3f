"""A run of an n-gram model: one pass through the text instead of steps."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mingyue.data.dataset import Dataset
from mingyue.evaluation.loss import evaluate
from mingyue.interop.run_folder import save_model
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.training.config import TrainConfig
from mingyue.training.counting import count_ngrams
from mingyue.training.log import Log
from mingyue.training.observe import Observer, RunResult
from mingyue.training.sample import sample


def count(
    config: TrainConfig,
    model_config: ModelConfig,
    dataset: Dataset,
    folder: Path,
    observer: Observer,
    started: float,
    about: Mapping[str, Any],
) -> RunResult:
    """Count, evaluate, save.

    Raises:
        UserError: the disk is full or refuses.
    """
    end_id = dataset.tokenizer.end_id
    progress = partial(observer.on_progress, tr("counting"))
    model = count_ngrams(dataset.train, model_config, end_id=end_id, progress=progress)
    n_ngrams = model.count_parameters()
    loss = None
    if dataset.val.n_tokens:
        held_out = evaluate(model, dataset.val, end_id=end_id, max_tokens=config.eval_tokens)
        loss = held_out.nats_per_token
    if text := sample(model, dataset, config, 0):
        observer.on_message(text)
    seconds = time.monotonic() - started
    result = {"val_loss": loss, "seconds": round(seconds, 1), "parameters": n_ngrams}
    folder.mkdir(parents=True, exist_ok=True)
    with Log(folder / "log.jsonl") as log:
        log.write(step=0, val_loss=loss, sample=text, seconds=round(seconds, 3))
    about = {**about, "status": "done", "result": result}
    save_model(model, dataset.tokenizer, folder, about=about)
    return RunResult(
        out=folder,
        model=model.config,
        reason="done",
        message=tr("done: {n} different n-grams counted", n=f"{n_ngrams:,}"),
        steps=0,
        total_steps=0,
        best_step=0,
        best_loss=loss,
        train_loss=None,
        seconds=seconds,
    )
