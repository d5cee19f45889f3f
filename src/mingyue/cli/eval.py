"""``mingyue eval``: how surprised a model is by text it has not seen."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mingyue.cli import settings
from mingyue.cli.flags import SWITCH, Flag, Panel, Place, text, whole
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.data.tokens import Tokens
    from mingyue.evaluation.loss import Loss
    from mingyue.generation.writer import Writer

EXAMPLES = """
mingyue eval runs/tang
mingyue eval runs/tang --on songci --script traditional
mingyue eval runs/tang --on poems.txt --documents blank --json
"""


def brief() -> str:
    return tr("measure a model on text it has not seen")


def what() -> str:
    return tr(
        "Measure a model on text it has not seen: the held-out part of its own text, or all of "
        "another one. Every token counts once."
    )


def places() -> list[Place]:
    return [Place("folder", "RUN", tr("a run folder, or a model folder of transformers"))]


def panels() -> list[Panel]:
    return [_which(), settings.reading()]


def _which() -> Panel:
    return Panel(
        tr("Evaluation"),
        [
            Flag("on", text("SOURCE"), tr("all of this text instead"), tr("its held-out text")),
            Flag("max_tokens", whole(), tr("only the first so many tokens")),
            Flag("batch_size", whole(most=100_000), tr("rows computed at once"), "32"),
            Flag(
                "stride", whole(), tr("by how much the window moves in long documents"), tr("half")
            ),
            Flag("json", SWITCH, tr("as a JSON object"), option="--json"),
        ],
    )


def run(given: dict[str, Any]) -> int:
    """Print the losses."""
    asked, reading = _which().said(given), settings.reading().said(given)
    as_json, on = asked.pop("json", False), asked.pop("on", None)
    if reading and on is None:
        name = next(iter(reading)).replace("_", "-")
        raise UserError(tr("--{name} says how to read another text; name it by --on", name=name))

    from mingyue.cli.waiting import Waiting
    from mingyue.evaluation.loss import evaluate
    from mingyue.generation.writer import load

    writer = load(given["folder"])
    with Waiting() as waiting:
        tokens, lines = _text(writer, given["folder"], on, reading, waiting.phase)
        loss = evaluate(
            writer.model,
            tokens,
            end_id=writer.tokenizer.end_id,
            progress=lambda part: waiting.phase(tr("evaluating"), part),
            **asked,
        )
    source = on or _own_source(writer.about)
    _print_json(loss, source) if as_json else _print(loss, source, lines)
    return 0


def _text(
    writer: "Writer", folder: str, on: str | None, reading: dict[str, Any], progress: Any
) -> "tuple[Tokens, list[str]]":
    """The tokens to score, and what is to be said about them."""
    from mingyue.cli.reading import own_text
    from mingyue.data.preparation import prepare
    from mingyue.text.corpus import open_corpus

    if on is None:
        return own_text(writer.about, folder, progress).val, []
    data = prepare(
        open_corpus(on, **reading), writer.tokenizer, val_fraction=0.0, progress=progress
    )
    return data.train, data.lines()


def _own_source(about: Mapping[str, Any]) -> str:
    """The name of the text that a run's held-out documents come from."""
    recipe = about.get("recipe", {})
    return recipe.get("data", {}).get("held_out") or recipe.get("source", "")


def _print_json(loss: "Loss", source: str) -> None:
    from dataclasses import asdict

    values = {
        "source": source,
        **asdict(loss),
        "perplexity": loss.perplexity,
        "bits_per_character": loss.bits_per_character,
        "bits_per_byte": loss.bits_per_byte,
    }
    print(json.dumps(values, ensure_ascii=False))


def _print(loss: "Loss", source: str, lines: list[str]) -> None:
    from mingyue.cli.screen import console, number, print_pairs, visible

    out = console()
    for line in lines:
        out.print(visible(line), style="dim")
    counts = tr(
        "{tokens} tokens of {documents} documents, ends included; {characters} characters",
        tokens=number(loss.n_tokens),
        documents=number(loss.n_documents),
        characters=number(loss.n_characters),
    )
    rows: list[tuple[str, object]] = [
        (tr("text"), f"{source}: {counts}" if source else counts),
        (tr("loss"), tr("{nats} nats per token", nats=f"{loss.nats_per_token:.4f}")),
        (tr("perplexity"), f"{loss.perplexity:,.2f}"),
        (tr("bits per character"), f"{loss.bits_per_character:.4f}"),
        (tr("bits per byte"), f"{loss.bits_per_byte:.4f}"),
    ]
    print_pairs(out, rows)
