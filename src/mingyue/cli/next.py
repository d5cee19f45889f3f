"""What may be done with a run that has just ended: commands that work on it as they stand."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from mingyue.cli import settings
from mingyue.cli.flags import SWITCH
from mingyue.errors import UserError
from mingyue.generation.prompt import prepare
from mingyue.text.tokenizer import Tokenizer
from mingyue.training.config import MODEL, DataConfig
from mingyue.training.observe import RunResult

VERSE = "床前明月光"


def commands(result: RunResult) -> list[str]:
    """In the order of interest; which there are depends on what the model can do."""
    run = str(result.out)
    about = json.loads((result.out / "mingyue.json").read_bytes())
    config = result.model
    if config.kind == "word2vec":
        found = [["train", *_text(about["recipe"]), *_vectors(run, config.d_model)]]
    elif not config.causal:  # it cannot write, and no next token means no loss
        found = [["explain", "mask", run]] * (config.n_layer > 0) + [["info", run]]
    else:
        found = [["write", run, *_prompt(result, about["layout"])]]
        if about["data"]["val_tokens"]:
            found.append(["eval", run])
    if result.reason == "interrupted":
        found.insert(0, ["train", "--out", run, "--resume"])
    return [shlex.join(["mingyue", *words]) for words in found]


def _prompt(result: RunResult, layout: str) -> list[str]:
    """A line of verse for a model of verse, if it can go on from it."""
    if layout != "verse":
        return []
    try:
        prepare(VERSE, Tokenizer.load(result.out), result.model, "refuse")
    except UserError:
        return []
    return [VERSE]


def _text(recipe: Mapping[str, Any]) -> list[str]:
    """The text of the run, read and cut as it was then; a switch (``--headings``) was settled for
    that kind of model and is left to the next one."""
    data = recipe["data"]
    usual = DataConfig.checked(held_out=data["held_out"]).model_dump() | {"held_out": None}
    usual["headings"] = data["headings"]  # settled by the text and the model that is next
    flags = [*settings.reading().flags, *settings.cutting().flags]
    valued = [flag for flag in flags if flag.kind is not SWITCH]
    said = [flag for flag in valued if data[flag.name] != usual[flag.name]]
    return [recipe["source"], *(w for f in said for w in (f.spelling, str(data[f.name])))]


def _vectors(run: str, width: int) -> list[str]:
    """A GPT that begins with the vectors of a run: as wide as they are, in as many heads as fit."""
    words = ["--embeddings", f"{run}/model.safetensors", "--d-model", str(width)]
    if width % (2 * MODEL["n_head"]):
        heads = next((n for n in (4, 3, 2) if width % n == 0 and width > n), 1)
        words += ["--n-head", str(heads)]
    return words
