"""A session, as new or as the newest good checkpoint left it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from mingyue.data.batches import Batches, largest_block
from mingyue.data.dataset import Dataset
from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.making import make_model
from mingyue.model.word2vec import Word2Vec
from mingyue.training.average import Average
from mingyue.training.baseline import frequencies
from mingyue.training.budget import Budget, evaluation_interval
from mingyue.training.checkpoint import Checkpoint, Checkpoints
from mingyue.training.compiling import compiled, plain
from mingyue.training.config import TrainConfig
from mingyue.training.embeddings import start_from
from mingyue.training.log import Log, read_log
from mingyue.training.observe import Observer
from mingyue.training.optimizer import build_optimizer
from mingyue.training.precision import (
    LossScale,
    choose_precision,
    product_dtype,
    should_compile,
)
from mingyue.training.recipe import (
    Recipe,
)
from mingyue.training.session import Session
from mingyue.training.snapshots import Snapshots
from mingyue.training.state import TrainState


def fit_model(recipe: Recipe, dataset: Dataset, observer: Observer) -> ModelConfig:
    """The recipe's model for this text: its vocabulary, and a block no longer than the text.

    Raises:
        UserError: the text is too short to learn from, or a vocab_size was asked for that is
            not the tokenizer's.
    """
    vocab_size, tokens = dataset.tokenizer.vocab_size, dataset.train.n_tokens
    wanted = recipe.model.get("vocab_size", vocab_size)
    if wanted != vocab_size:
        raise UserError(
            tr(
                "vocab_size {wanted} is not that of the text's tokenizer, {actual}; leave it out",
                wanted=wanted,
                actual=vocab_size,
            )
        )
    if tokens == 0:
        raise UserError(tr("{source}: there is nothing to learn from", source=recipe.source))
    config = ModelConfig.checked(**{**recipe.model, "vocab_size": vocab_size})
    longest = largest_block(dataset.train)
    if longest < config.block_size:
        observer.on_message(
            tr(
                "the text has only {tokens} tokens to train on; block_size goes from {block} "
                "down to {longest}",
                tokens=tokens,
                block=config.block_size,
                longest=longest,
            )
        )
        config = config.changed(block_size=longest)
    return config


def open_session(
    recipe: Recipe,
    model_config: ModelConfig,
    dataset: Dataset,
    device: torch.device,
    folder: Path,
    observer: Observer,
    started: float,
    *,
    about: Mapping[str, Any],
    resume: bool,
) -> Session:
    """Everything the loop needs, as new or as the newest good checkpoint left it.

    Raises:
        UserError: the run to resume has saved before, but nothing of it can be read.
    """
    config = recipe.train
    checkpoints = Checkpoints(folder / "checkpoints", config.keep)
    checkpoints.clear_leftovers()
    found = checkpoints.load(observer.on_message) if resume else None
    if resume and found is None:
        if has_saved(folder):
            raise _nothing_readable(folder)
        observer.on_message(tr("{folder}: no good checkpoint; from the beginning", folder=folder))

    torch.manual_seed(config.seed)
    model = make_model(model_config)
    if isinstance(model, Word2Vec) and found is None:  # a checkpoint holds them
        model.told(torch.from_numpy(frequencies(dataset.train, model_config.vocab_size)))
    _given_vectors(model, dataset, config, fresh=found is None, observer=observer)
    model.to(device)
    state = _state(config, model_config, device, found)
    optimizer = build_optimizer(model, config, product_dtype(state.precision))
    average = Average(model, config.ema) if config.ema else None
    if found is not None:
        _restore(found, model, optimizer, average, folder)

    batches = Batches(
        dataset.train,
        batch_size=config.batch_size,
        block_size=model_config.block_size,
        seed=config.seed,
        end_id=dataset.tokenizer.end_id,
    )
    forward = plain(model)
    if state.compiled:
        x, y = (torch.from_numpy(a).to(device) for a in batches.batch(state.step))
        size = config.micro_batch or config.batch_size
        forward, state.compiled = compiled(model, x[:size], y[:size], state.precision, observer)
    most = None
    if config.epochs is not None:
        most = max(1, round(config.epochs * batches.rows_per_epoch / config.batch_size))
    if state.total_steps is not None and most is not None:
        state.total_steps = min(state.total_steps, most)
    budget = None
    if config.minutes is not None and state.total_steps is None:
        budget = Budget(config.minutes * 60, most=most)
    return Session(
        folder=folder,
        about=about,
        config=config,
        model=model,
        forward=forward,
        optimizer=optimizer,
        average=average,
        data=dataset,
        batches=batches,
        device=device,
        state=state,
        budget=budget,
        checkpoints=checkpoints,
        snapshots=Snapshots(folder, config.snapshots, found.step if found else None),
        log=Log(folder / "log.jsonl", after_step=state.step),
        observer=observer,
        started=started,
        saved_step=found.step if found else None,
    )


def has_saved(folder: Path) -> bool:
    """Whether the run in ``folder`` ever came to a checkpoint, be it still there or not.

    The log shows it too: a run takes steps after an evaluation only when its checkpoint was
    written. (Steps before the first evaluation were never saved, and can be made again.)
    """
    if (folder / "model.safetensors").exists():
        return True
    if any((folder / "checkpoints").glob("step-*")):
        return True
    lines = read_log(folder / "log.jsonl") if (folder / "log.jsonl").exists() else []
    looks = [line["step"] for line in lines if "train_loss" in line]
    return bool(looks) and lines[-1]["step"] > looks[0]


def _nothing_readable(folder: Path) -> UserError:
    if (folder / "model.safetensors").exists():
        return UserError(
            tr(
                "{folder}: no checkpoint can be read, so this run cannot go on; its exported model "
                "is untouched; begin a new run with another --out",
                folder=folder,
            )
        )
    return UserError(
        tr(
            "{folder}: no checkpoint can be read, so this run cannot go on; begin a new run with "
            "another --out",
            folder=folder,
        )
    )


def _state(
    config: TrainConfig, model: ModelConfig, device: torch.device, found: Checkpoint | None
) -> TrainState:
    if found is not None:
        return TrainState.from_json(found.state)
    precision = choose_precision(config.precision, device, model.d_model)
    return TrainState(
        precision=precision,
        compiled=should_compile(config.compile, device, config.minutes),
        total_steps=config.steps,
        eval_every=evaluation_interval(config.steps, config.eval_every) if config.steps else None,
        scale=LossScale.of(precision),
    )


def _given_vectors(
    model: LanguageModel, dataset: Dataset, config: TrainConfig, *, fresh: bool, observer: Observer
) -> None:
    """Put given vectors into a new model; leave them as they are if they are to stay so."""
    if config.embeddings and fresh:
        found = start_from(model, dataset.tokenizer, Path(config.embeddings))
        observer.on_message(
            tr(
                "{path}: vectors for {found} of {vocab} tokens",
                path=config.embeddings,
                found=found,
                vocab=dataset.tokenizer.vocab_size,
            )
        )
    if config.freeze_embeddings:
        model.embedding.weight.requires_grad_(False)


def _restore(
    found: Checkpoint, model: LanguageModel, optimizer: Any, average: Average | None, folder: Path
) -> None:
    try:
        model.load_state_dict(found.model)
        optimizer.load(found.optimizer)
        if average is not None:
            average.load(found.optimizer)
    except (RuntimeError, KeyError) as error:
        raise UserError(
            tr(
                "{folder}: the checkpoint of step {step} is not of this model",
                folder=folder,
                step=found.step,
            )
        ) from error
