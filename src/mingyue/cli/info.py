"""``mingyue info``: what a run folder holds and how it came about."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mingyue.cli.flags import SWITCH, Flag, Panel, Place
from mingyue.cli.reading import table
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.model.config import ModelConfig
    from mingyue.model.language_model import LanguageModel
    from mingyue.text.tokenizer import Tokenizer

EXAMPLES = """
mingyue info runs/tang
mingyue info runs/tang --json
"""

Rows = list[tuple[str, object]]


def brief() -> str:
    return tr("show what a run folder holds")


def what() -> str:
    return tr(
        "Show what a run folder holds: the model and its size part by part, what it was trained "
        "on and how, its losses, and the command that made it."
    )


def places() -> list[Place]:
    return [Place("folder", "RUN", tr("a run folder, or a model folder of transformers"))]


def panels() -> list[Panel]:
    return [Panel(tr("Form"), [Flag("json", SWITCH, tr("as a JSON object"), option="--json")])]


def run(given: dict[str, Any]) -> int:
    """Print all that is known."""
    from mingyue.interop.run_folder import family_of, load_model
    from mingyue.interop.snapshots import snapshots

    model, tokenizer, about = load_model(given["folder"])
    family = family_of(model.config).MODEL_TYPE
    parts, steps = parameters_by_part(model), list(snapshots(given["folder"]))
    if given["json"]:
        whole = {
            "model": model.config.model_dump(mode="json"),
            "model_type": family,
            "parameters": model.count_parameters(),
            "parameters_by_part": parts,
            "tokenizer": {"kind": tokenizer.kind, "vocab_size": tokenizer.vocab_size},
            "snapshots": steps,
            **about,
        }
        print(json.dumps(whole, ensure_ascii=False, indent=2))
        return 0

    from mingyue.cli.screen import console, print_pairs

    out = console()
    print_pairs(out, _model(model, tokenizer, family), tr("Model"))
    print_pairs(out, part_rows(parts), tr("Parameters"))
    for title, rows in (
        (tr("Training"), _training(about, model.config, steps)),
        (tr("Text"), _text(about)),
        (tr("Origin"), _origin(about)),
    ):
        if rows:
            print_pairs(out, rows, title)
    return 0


_PARTS = {
    "attention.": "attention",
    "ffn.": "feedforward",
    "embedding.": "embedding",
    "position.": "position",
    "company.": "company",
    "head.": "head",
    "_ih_l": "input",
    "_hh_l": "recurrent",
}
"""What is in the name of a parameter, and the part of the model it belongs to."""


def parameters_by_part(model: "LanguageModel") -> dict[str, int]:
    """How many numbers each part of the model has learned. Shared ones count once."""
    from mingyue.model.ngram import Ngram

    parts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = next((part for word, part in _PARTS.items() if word in name), "norms")
        parts[part] = parts.get(part, 0) + parameter.numel()
    if isinstance(model, Ngram):
        parts = {f"{n}-grams": len(model.keys(n)) for n in range(1, model.config.order + 1)}
    return parts


def _model(model: "LanguageModel", tokenizer: "Tokenizer", family: str) -> Rows:
    from mingyue.cli.shape import kinds, sizes
    from mingyue.interop import native

    ours = tr("none; opens in Mingyue only")
    return [
        *((size.name, size.value) for size in sizes(model.config)),
        (tr("kinds"), ", ".join(kinds(model.config))),
        (tr("tokenizer"), tr("{kind}, {n} tokens", kind=tokenizer.kind, n=tokenizer.vocab_size)),
        (tr("layout for transformers"), ours if family == native.MODEL_TYPE else family),
    ]


def part_rows(parts: Mapping[str, int]) -> Rows:
    """A line for each part, numbers under each other, and one for all."""
    from mingyue.cli.screen import number

    words = {
        "embedding": tr("embedding"),
        "position": tr("positions"),
        "attention": tr("attention"),
        "feedforward": tr("feed-forward"),
        "norms": tr("norms"),
        "input": tr("gates: from the token"),
        "recurrent": tr("gates: from the state"),
        "head": tr("output head"),
        "company": tr("table of company"),
    }
    words |= {part: part for part in parts if part not in words}
    total = sum(parts.values())
    width = len(number(total))  # no wider than needed: a narrow terminal would break the lines
    rows: Rows = [
        (words[part], f"{number(parts[part]):>{width}}  {parts[part] / total:6.1%}")
        for part in words
        if part in parts
    ]
    return [*rows, (tr("all"), number(total))]


def _training(about: Mapping[str, Any], config: "ModelConfig", snapshots: Sequence[int]) -> Rows:
    from mingyue.cli.screen import duration, number
    from mingyue.cli.shape import loss_of

    result = table(about, "result")
    rows: Rows = []
    if "status" in about:
        rows.append((tr("status"), _status(about["status"])))
    if isinstance(loss := result.get("val_loss"), float):
        rows.append((tr("held-out loss"), loss_of(config, f"{loss:.4f}")))
    if isinstance(steps := result.get("steps"), int):
        kept = result.get("weights_of_step")
        rows.append((tr("steps"), tr("{n}, weights of step {kept}", n=number(steps), kept=kept)))
    if snapshots:
        rows.append((tr("snapshots"), tr("steps {steps}", steps=", ".join(map(str, snapshots)))))
    if isinstance(seconds := result.get("seconds"), int | float):
        rows.append((tr("time"), duration(seconds)))
    machine = [str(result[k]) for k in ("device", "precision") if k in result]
    if machine:
        rows.append((tr("machine"), ", ".join(machine)))
    settings = _settings(table(table(about, "recipe"), "train"), config)
    return [*rows, (tr("settings"), ", ".join(settings))] if settings else rows


def _settings(recipe: Mapping[str, Any], config: "ModelConfig") -> list[str]:
    """The settings of training that this kind of model makes use of."""
    from mingyue.cli.shape import optimizer

    if config.kind == "ngram":
        return []
    used = {**recipe}
    if isinstance(asked := recipe.get("optimizer"), str):
        used["optimizer"] = optimizer(config, asked)
        if used["optimizer"] != "muon":
            used["matrix_rate"] = None
    names = ("optimizer", "schedule", "batch_size", "seed")
    rates = ("matrix_rate", "embedding_rate", "head_rate", "learning_rate")
    return [f"{n} {used[n]}" for n in (*names, *rates) if used.get(n) is not None]


def _status(word: object) -> object:
    """The status in the reader's language; as it stands if it is none of ours."""
    known = {
        "training": tr("in training, or broken off"),
        "done": tr("done"),
        "patience": tr("done: no better for long"),
        "interrupted": tr("interrupted"),
        "diverged": tr("diverged"),
    }
    return known.get(word, word) if isinstance(word, str) else word


def _text(about: Mapping[str, Any]) -> Rows:
    from mingyue.cli.screen import number

    data, recipe = table(about, "data"), table(about, "recipe")
    rows: Rows = []
    if "source" in recipe:
        rows.append((tr("source"), recipe["source"]))
    for part, documents, tokens in (
        (tr("trained on"), "documents", "train_tokens"),
        (tr("held out"), "val_documents", "val_tokens"),
    ):
        if isinstance(data.get(documents), int) and isinstance(data.get(tokens), int):
            n, t = number(data[documents]), number(data[tokens])
            amount = (
                tr("1 document, {tokens} tokens", tokens=t)
                if data[documents] == 1
                else tr("{documents} documents, {tokens} tokens", documents=n, tokens=t)
            )
            rows.append((part, amount))
    if "fingerprint" in data:
        rows.append((tr("fingerprint"), str(data["fingerprint"])[:16]))
    return rows


def _origin(about: Mapping[str, Any]) -> Rows:
    rows: Rows = []
    if isinstance(command := about.get("command"), list):
        rows.append((tr("command"), shlex.join(map(str, command))))
    versions = {"mingyue": about.get("version"), **table(about, "versions")}
    listed = ", ".join(f"{name} {value}" for name, value in versions.items() if value)
    return [*rows, (tr("versions"), listed)] if listed else rows
