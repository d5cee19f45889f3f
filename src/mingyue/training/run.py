"""All of it together: from the name of a text to a run folder.

``train`` reads top to bottom as the story of a run: settle the recipe and the folder, read the
text, build the model, go on from a checkpoint if there is one, run the loop, write the best
weights where ``mingyue write`` and ``transformers`` look for them.
"""

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

import mingyue
from mingyue.data.dataset import Dataset
from mingyue.errors import UserError
from mingyue.interop import native
from mingyue.interop.run_folder import family_of
from mingyue.language import speaking, tr
from mingyue.model.config import ModelConfig
from mingyue.text.files import write_atomic
from mingyue.training.choosing import choose
from mingyue.training.config import DataConfig, TrainConfig
from mingyue.training.counted import count
from mingyue.training.idle import idle
from mingyue.training.lock import only_one
from mingyue.training.loop import run_loop
from mingyue.training.observe import Choice, Observer, RunInfo, RunResult
from mingyue.training.outcome import finish
from mingyue.training.precision import choose_device, deterministic
from mingyue.training.reading import read, tokenise
from mingyue.training.recipe import (
    ABOUT,
    Asked,
    Recipe,
    default_name,
    new_folder,
    old_folder,
)
from mingyue.training.session import Session
from mingyue.training.setup import fit_model, open_session
from mingyue.training.trial import threads_of_torch


def train(
    source: str | Path | None = None,
    out: str | Path | None = None,
    *,
    model: ModelConfig | Mapping[str, Any] | None = None,
    config: TrainConfig | Mapping[str, Any] | None = None,
    data: DataConfig | Mapping[str, Any] | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    started: float | None = None,
    **settings: Any,
) -> RunResult:
    """Train a model on a text and write a run folder.

        mingyue.train("tang", minutes=5)
        mingyue.train("my.txt", "runs/mine", steps=500, model={"d_model": 128})

    Args:
        source: "tang", "songci", "modern", "english", a file, a folder or "hf:NAME"; None: "tang".
        out: The run folder; None: ``runs/NAME``, numbered if taken.
        model: Settings of ``ModelConfig`` that differ from the default model.
        config: Settings of ``TrainConfig``; single ones may also be given by name (``settings``).
        data: Settings of ``DataConfig``: how to read and split the text.
        resume: Go on with the run in ``out``. What is not said is taken from it, and what is
            said must agree with it.
        observer: Hears what happens.
        command: What the user typed, for the record.
        started: ``time.monotonic()`` of the moment the command was given; ``minutes`` count
            from it.

    Raises:
        UserError: for anything that is wrong with text, settings, folder, memory or disk.
    """
    started = time.monotonic() if started is None else started
    observer = observer or Observer()
    asked = Asked.of(source, data, model, config, settings)
    name = default_name(asked.source or "tang")
    folder = old_folder(out, name) if resume else new_folder(out, name)
    recipe = asked.resumed(folder) if resume else asked.recipe()
    device = choose_device(recipe.train.device)
    with only_one(folder):  # before the text: a place that cannot be written costs no wait
        if not resume:
            new_folder(folder, name)  # still free, now that nobody else can take it
        result = _run(recipe, asked, device, folder, observer, started, command, resume=resume)
    observer.on_end(result)
    return result


def _run(
    recipe: Recipe,
    asked: Asked,
    device: torch.device,
    folder: Path,
    observer: Observer,
    started: float,
    command: Sequence[str] | None,
    *,
    resume: bool,
) -> RunResult:
    """The run itself, in a folder that is ours alone."""
    counted = recipe.model.get("kind") == "ngram"
    if counted and resume:
        raise UserError(
            tr("{folder}: an n-gram model is counted in one go; begin a new run", folder=folder)
        )
    dataset = _read(recipe, observer)
    begun = _same_text(folder, dataset) if resume else {}
    cards = [device] if device.type == "cuda" else []
    # All that is random and all settings of torch are the caller's again when this is over.
    with torch.random.fork_rng(cards), deterministic():
        choices: Callable[[], list[Choice]] = list
        if not resume and recipe.train.minutes is not None and not counted:
            passed = partial(_since, started)
            recipe, choices = choose(recipe, asked, dataset, device, passed, observer)
            observer.on_choices(choices())
        model_config = fit_model(recipe, dataset, observer)
        if not resume:
            _layout(model_config, observer)
            if line := idle(recipe, asked):
                observer.on_message(line)
        about = _about(recipe, dataset, command, choices) | begun
        if counted:
            return count(recipe.train, model_config, dataset, folder, observer, started, about)
        with threads_of_torch(recipe.train.threads):
            session = open_session(
                recipe,
                model_config,
                dataset,
                device,
                folder,
                observer,
                started,
                about=about,
                resume=resume,
            )
            if not resume:  # the recipe first, so that even a run killed at once can be resumed
                write_atomic(folder / ABOUT, _json(about))
            with session.log:
                observer.on_start(_info(session, folder))
                reason = run_loop(session)
            return finish(session, folder, reason, about)


def _since(started: float) -> float:
    return time.monotonic() - started


def _read(recipe: Recipe, observer: Observer) -> Dataset:
    """The text, tokenized, split and cut into shards (or found in the cache)."""
    corpus = read(recipe.source, recipe.data)
    dataset = tokenise(corpus, recipe.data, observer.on_progress)
    for line in dataset.lines():
        observer.on_message(line)
    return dataset


def _about(
    recipe: Recipe,
    dataset: Dataset,
    command: Sequence[str] | None,
    choices: Callable[[], list[Choice]],
) -> dict[str, Any]:
    """What ``mingyue.json`` says of a run: the same in whatever language it was made."""
    with speaking("en"):
        chosen = [asdict(choice) for choice in choices()]
    return {
        "format": 1,
        "version": mingyue.__version__,
        "layout": dataset.layout,
        "headings": dataset.split.headed > 0,
        "recipe": recipe.to_json(),
        "choices": chosen,
        "data": {
            "fingerprint": dataset.fingerprint,
            "documents": dataset.train.n_documents,
            "train_tokens": dataset.train.n_tokens,
            "val_documents": dataset.val.n_documents,
            "val_tokens": dataset.val.n_tokens,
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "platform": platform.platform(),
        },
        "command": list(command) if command is not None else None,
        "status": "training",
    }


def _layout(config: ModelConfig, observer: Observer) -> None:
    """Say so, before the time is spent, when the model will be one for Mingyue only."""
    if family_of(config) is not native:
        return
    usual = ModelConfig(vocab_size=config.vocab_size)
    names = ("activation", "norm", "position", "rope", "qk_norm", "bias", "causal")
    kinds = [n for n in names if getattr(config, n) != getattr(usual, n)]
    said = [n if n == "rope" else f"{n} {str(getattr(config, n)).lower()}" for n in kinds]
    if config.kind != "gpt":
        said = [config.kind]
    observer.on_message(
        tr(
            "transformers has no layout for this model ({kinds}); the run opens in Mingyue only",
            kinds=", ".join(said) or f"n_layer {config.n_layer}",
        )
    )


def _same_text(folder: Path, dataset: Dataset) -> dict[str, Any]:
    """What stays as the run in ``folder`` was begun: the command and the choices.

    Raises:
        UserError: the text is not the one it was begun with.
    """
    recorded = json.loads((folder / ABOUT).read_bytes())
    if recorded.get("data", {}).get("fingerprint") != dataset.fingerprint:
        raise UserError(
            tr(
                "{folder}: the text has changed since this run was begun; begin a new run with "
                "another --out",
                folder=folder,
            )
        )
    return {name: recorded[name] for name in ("command", "choices") if name in recorded}


def _info(session: Session, folder: Path) -> RunInfo:
    config = session.config
    return RunInfo(
        out=folder,
        config=config,
        model=session.model.config,
        parameters=session.model.count_parameters(),
        device=session.device.type,
        precision=session.state.precision,
        compiled=session.state.compiled,
        train_tokens=session.data.train.n_tokens,
        val_tokens=session.data.val.n_tokens,
        documents=session.data.train.n_documents,
        first_step=session.state.step,
        total_steps=session.state.total_steps,
        tokens_per_step=config.batch_size * session.model.config.block_size,
    )


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n"
