"""``mingyue eval``: how surprised a model is by text it has not seen; how good its verse is."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mingyue.cli import poems, settings
from mingyue.cli.flags import SWITCH, Flag, Panel, Place, text, whole
from mingyue.cli.reading import other_text, own_text, refuse_unread, table
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset
    from mingyue.data.tokens import Tokens
    from mingyue.evaluation.loss import Loss
    from mingyue.evaluation.verse import Verse
    from mingyue.generation.writer import Writer

EXAMPLES = """
mingyue eval runs/tang
mingyue eval runs/tang --on songci --script traditional
mingyue eval runs/tang --on poems.txt --documents blank --json
mingyue eval runs/tang --verse
mingyue eval runs/tang --verse --form 七绝 --n 500
mingyue eval runs/tang --verse --form 七绝 --tone hard
"""


def brief() -> str:
    return tr("measure a model on text it has not seen")


def what() -> str:
    return tr(
        "Measure a model on text it has not seen: the held-out part of its own text, or all of "
        "another one. Every token counts once. With --verse: what it writes, beside real poems."
    )


def places() -> list[Place]:
    return [Place("folder", "RUN", tr("a run folder, or a model folder of transformers"))]


def panels() -> list[Panel]:
    return [_which(), poems.panel(), settings.reading()]


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
    """Print the losses, or how good the verse is."""
    asked, reading = _which().said(given), settings.reading().said(given)
    wanted = poems.asked(poems.panel().said(given))
    as_json, on = asked.pop("json", False), asked.pop("on", None)
    refuse_unread(reading, on)
    if wanted and asked:
        name = next(iter(asked)).replace("_", "-")
        raise UserError(tr("--{name} is about the loss; it does not go with --verse", name=name))

    from mingyue.cli.waiting import Waiting
    from mingyue.evaluation.loss import evaluate
    from mingyue.generation.writer import load

    writer, folder = load(given["folder"]), given["folder"]
    source = on or _own_source(writer.about)
    if wanted:
        with Waiting() as waiting:
            tokens, _ = _text(writer, folder, on, reading, waiting.phase)
            learned = poems.learned(writer, folder, waiting.phase)
            found = _verse(writer, wanted, tokens, learned, waiting.phase)
        return _print_verse(found, wanted, source, as_json=as_json)
    with Waiting() as waiting:
        tokens, lines = _text(writer, folder, on, reading, waiting.phase)
        loss = evaluate(
            writer.model,
            tokens,
            end_id=writer.tokenizer.end_id,
            progress=lambda part: waiting.phase(tr("evaluating"), part),
            **asked,
        )
    _print_json(loss, source) if as_json else _print(loss, source, lines)
    return 0


def _text(
    writer: "Writer", folder: str, on: str | None, reading: dict[str, Any], progress: Any
) -> "tuple[Tokens, list[str]]":
    """The tokens to score, and what is to be said about them."""
    if on is None:
        return own_text(writer.about, folder, progress).val, []
    data = other_text(on, writer.tokenizer, progress, reading)
    return data.train, data.lines()


def _verse(
    writer: "Writer",
    wanted: poems.Poems,
    tokens: "Tokens",
    learned: "Dataset | None",
    progress: Any,
) -> "list[Verse]":
    """Of the model's poems, of real ones, and of the lines of these dealt out anew."""
    from mingyue.evaluation.verse import beside, dealt

    real = poems.real_poems(tokens, writer.tokenizer, wanted.form)
    written = poems.write(writer, wanted, tokens, progress)
    sets, copies = [written, real], None
    if learned is not None:
        copies = poems.copies_of(sets, learned.train, writer.tokenizer, progress)
    progress(tr("judging"), 0.0)
    return [*beside(sets, wanted.form, copies), *beside([dealt(real, wanted.form)], wanted.form)]


def _print_verse(found: "list[Verse]", wanted: poems.Poems, source: str, *, as_json: bool) -> int:
    from dataclasses import asdict, replace

    from mingyue.evaluation.figure import NOTHING

    model, real, chance = found
    told = {"form": NOTHING, "even": NOTHING, "repeated": NOTHING}  # of the rest it says nothing
    chance = replace(chance, **told, distinct_1=NOTHING, distinct_2=NOTHING)
    if as_json:
        values = {
            "source": source,
            "form": wanted.form.name if wanted.form else None,
            "tone": wanted.tone,
            "seed": wanted.seed,
            "temperature": wanted.temperature,
            "model": asdict(model),
            "real": asdict(real),
            "chance": asdict(chance),
        }
        print(json.dumps(values, ensure_ascii=False))
    else:
        from mingyue.cli.columns import print_columns
        from mingyue.cli.screen import console, visible

        out = console()
        titles = [tr("the model"), tr("real poems"), tr("lines dealt")]
        shown = [verse for verse in (model, real, chance) if verse is model or verse.n]
        print_columns(out, titles[: len(shown)], poems.rows(shown, wanted.form))
        for note in (*poems.notes(model, wanted.form, real), *_notes(found, wanted, source)):
            out.print(visible(note), style="dim")
    from mingyue.cli.main import INTERRUPTED

    return INTERRUPTED if model.n < wanted.n else 0


def _notes(found: "list[Verse]", wanted: poems.Poems, source: str) -> Iterator[str]:
    model, _, chance = found
    if chance.n:
        yield tr(
            "Lines dealt: those of the real poems ({source}), each among lines of others, as "
            "chance would have it.",
            source=source,
        )
    if model.runs:
        counts = " · ".join(f"{length} ×{n}" for length, n in model.runs.items())
        yield tr("The model's longest copied runs: {counts}", counts=counts)
    if model.n < wanted.n:
        yield tr("stopped after {n} of {all} poems", n=f"{model.n:,}", all=f"{wanted.n:,}")


def _own_source(about: Mapping[str, Any]) -> str:
    """The name of the text that a run's held-out documents come from."""
    recipe = table(about, "recipe")
    return str(table(recipe, "data").get("held_out") or recipe.get("source", ""))


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
