"""Save a model as a folder that transformers opens, and load such folders.

    config.json, model.safetensors          the model, in the layout of a transformers family
    tokenizer.json, tokenizer_config.json   the tokenizer
    generation_config.json                  how to sample, what never to sample, where to stop
    mingyue.json                            how the model came about

``config.json`` also keeps our own settings under ``mingyue``, which transformers passes over.
They count only while they agree with the rest: somebody may have worked on the folder with
transformers, and then the family's settings are the truth.

Folders come from strangers. Nothing in one is run (there is no pickle here, and ``auto_map`` is
not looked at), no path in one is followed out of it, and the header of the weights is held
against the settings before memory is taken for them.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from mingyue import __version__
from mingyue.errors import UserError
from mingyue.interop import arcee, glm, glm4, gpt2, llama, native, qwen2, qwen3
from mingyue.interop.family import Family
from mingyue.interop.snapshots import snapshot
from mingyue.interop.stored import WEIGHTS, Stored, read_json, weight_files
from mingyue.interop.weights import (
    WrongConstant,
    check,
    check_constants,
    export,
    fill,
    parameter_shapes,
)
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.making import make_empty
from mingyue.model.ngram import Ngram
from mingyue.text.files import write_atomic
from mingyue.text.tokenizer import Tokenizer

FAMILIES: tuple[Family, ...] = (gpt2, llama, qwen2, qwen3, arcee, glm, glm4, native)
"""In order of preference; the last one expresses everything."""

ABOUT = "mingyue.json"


def family_of(config: ModelConfig) -> Family:
    """The first family that holds such a model exactly."""
    return next(family for family in FAMILIES if _expresses(family, config))


def _expresses(family: Family, config: ModelConfig) -> bool:
    """Whether the family has such models, all of which but ours are GPTs."""
    return family is native or (config.kind == "gpt" and family.expresses(config))


def save_model(
    model: LanguageModel,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write the six files, each whole or not at all; ``about`` goes into ``mingyue.json``.

    Raises:
        UserError: the folder cannot be written, or is a file.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise UserError(tr("{path}: is a file; name a folder for the model", path=folder))
    family = family_of(model.config)
    tensors = export(model.state_dict(), family.names(model.config))
    write_atomic(folder / WEIGHTS, safetensors.torch.save(tensors, {"format": "pt"}))
    tokenizer.save(folder, max_length=model.config.block_size)
    _write_json(folder / "generation_config.json", _generation_config(model.config, tokenizer))
    _write_json(folder / "config.json", _config(model, tokenizer, family))
    _write_json(folder / ABOUT, {"format": 1, "version": __version__, **(about or {})})


def load_model(
    folder: str | Path, device: str | torch.device = "cpu", step: int | None = None
) -> tuple[LanguageModel, Tokenizer, dict[str, Any]]:
    """A model in fp32 and evaluation mode, its tokenizer, and what ``mingyue.json`` says.

    ``step``: not as it was exported, but as it was after so many steps of training, for which
    there must be a snapshot (``interop.snapshots``).

    Raises:
        UserError: something is missing, damaged, or of a kind that is not known here; there is no
            snapshot of that step.
    """
    folder = Path(folder)
    if folder.is_file():
        raise UserError(tr("{path}: is a file; name the folder of a run or a model", path=folder))
    if not folder.is_dir():
        raise UserError(tr("{path}: no such folder, so there is no model", path=folder))
    raw = read_json(folder / "config.json")
    tokenizer = Tokenizer.load(folder)
    model = load_weights(folder, raw, step)
    if tokenizer.vocab_size > model.config.vocab_size:
        raise UserError(
            tr(
                "{path}: the tokenizer has {tokens} tokens, but the model only {rows}",
                path=folder,
                tokens=tokenizer.vocab_size,
                rows=model.config.vocab_size,
            )
        )
    tokenizer.ends |= _ends(folder, raw, model.config.vocab_size)
    about = read_json(folder / ABOUT) if (folder / ABOUT).is_file() else {}
    return model.to(device).eval(), tokenizer, about


def load_weights(folder: Path, raw: Mapping[str, Any], step: int | None = None) -> LanguageModel:
    """The model that ``config.json`` (``raw``) describes, with the weights of the folder.

    ``step`` is that of ``load_model``.

    Raises:
        UserError: as ``load_model``.
    """
    if raw.get("quantization_config"):
        raise UserError(
            tr(
                "{path}: the weights are quantized (quantization_config), which cannot be read "
                "here; get the folder in bf16 or fp32",
                path=folder / "config.json",
            )
        )
    kind = raw.get("model_type")
    family = next((f for f in FAMILIES if kind == f.MODEL_TYPE), None)
    if family is None:
        raise UserError(
            tr(
                "{path}: models of the type {kind} are not known here; there are {known}",
                path=folder / "config.json",
                kind=repr(kind),
                known=", ".join(f.MODEL_TYPE for f in FAMILIES),
            )
        )
    source = folder if step is None else snapshot(folder, step)
    weights = Stored(weight_files(folder) if step is None else [source])
    try:
        if config := _our_config(family, raw):
            with suppress(WrongConstant):  # trained since, no longer what our settings say
                return _build(config, family, weights, source)
        config = family.from_config(raw)
        if not _expresses(family, config):
            raise UserError(
                tr(
                    "{path}: a model of the type {kind} with these settings is none that "
                    "transformers and Mingyue compute alike",
                    path=folder / "config.json",
                    kind=kind,
                )
            )
        return _build(config, family, weights, source)
    except (OverflowError, RuntimeError, MemoryError) as error:  # numbers that no machine holds
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            tr("{path}: such a model cannot be made: {why}", path=folder / "config.json", why=why)
        ) from error


def _our_config(family: Family, raw: Mapping[str, Any]) -> ModelConfig | None:
    """Our own settings, if they are there and say the same as the family's."""
    ours = raw.get("mingyue")
    if not isinstance(ours, Mapping):
        return None
    try:
        config = ModelConfig.checked(**{str(name): value for name, value in ours.items()})
    except UserError:
        if family is native:
            raise
        return None
    if not _expresses(family, config):
        return None
    same = all(raw.get(name) == value for name, value in family.to_config(config).items())
    return config if same else None


def _build(config: ModelConfig, family: Family, weights: Stored, source: Path) -> LanguageModel:
    names = family.names(config)
    check(weights.shapes(), parameter_shapes(config), names, source)
    check_constants(weights, names)
    model = make_empty(config)
    fill(model, weights, names, source)
    if isinstance(model, Ngram) and not model.sound():
        raise UserError(tr("{path}: damaged: its counts are none", path=source))
    return model


def _config(model: LanguageModel, tokenizer: Tokenizer, family: Family) -> dict[str, Any]:
    return {
        "architectures": [family.ARCHITECTURE],
        "model_type": family.MODEL_TYPE,
        **family.to_config(model.config),
        **_marks(tokenizer),
        "dtype": str(next(iter(model.state_dict().values())).dtype).removeprefix("torch."),
        "mingyue": model.config.model_dump(mode="json"),
    }


def _marks(tokenizer: Tokenizer) -> dict[str, Any]:
    """The ids of special tokens; in ours a text begins after the end of the one before."""
    ends = sorted(tokenizer.ends)
    return {
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": ends[0] if len(ends) == 1 else ends,
        "pad_token_id": tokenizer.end_id if tokenizer.pad_id is None else tokenizer.pad_id,
    }


def _ends(folder: Path, raw: Mapping[str, Any], rows: int) -> set[int]:
    """The ids with which a text ends, by the word of those who made the model."""
    path = folder / "generation_config.json"
    told = read_json(path) if path.is_file() else raw
    ends = told.get("eos_token_id", raw.get("eos_token_id"))
    ends = ends if isinstance(ends, list) else [ends]
    return {id for id in ends if isinstance(id, int) and 0 <= id < rows}


def _generation_config(config: ModelConfig, tokenizer: Tokenizer) -> dict[str, Any]:
    settings: dict[str, Any] = {
        **_marks(tokenizer),
        "do_sample": True,
        "temperature": 0.8,
        "top_k": 0,
    }
    # A table of positions ends the text, prompt and all; without one only new tokens count.
    fixed = config.position in ("learned", "sinusoidal")
    settings["max_length" if fixed else "max_new_tokens"] = config.block_size
    if forbidden := never_written(config, tokenizer):
        settings["suppress_tokens"] = forbidden
    return settings


def never_written(config: ModelConfig, tokenizer: Tokenizer) -> list[int]:
    """Ids the model may score but must not write: unknown, padding, and rows without a token."""
    return [*tokenizer.never_sampled, *range(tokenizer.vocab_size, config.vocab_size)]


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    write_atomic(path, text.encode() + b"\n")
