"""``mingyue write``: a text goes on from a prompt, character by character."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mingyue.cli.flags import SWITCH, Flag, Panel, Place, choice, real, text, whole
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.generation.writer import Completion, Writer

EXAMPLES = """
mingyue write runs/tang
mingyue write runs/tang 床前明月光 --temperature 0.7 --seed 1
mingyue write runs/tang 春 --n 5 --top-p 0.9
echo 白日依山盡 | mingyue write runs/tang - --json
"""


def brief() -> str:
    return tr("write with a trained model")


def what() -> str:
    return tr(
        "Write with a trained model. Without a prompt it begins a text of its own; - reads the "
        "prompt from the input. A text ends where the model ends it."
    )


def places() -> list[Place]:
    return [
        Place("folder", "RUN", tr("a run folder, or a model folder of transformers")),
        Place("prompt", "PROMPT", tr("what the text begins with"), required=False),
    ]


def panels() -> list[Panel]:
    return [_amount(), _sampling(), _form(), _machine()]


def _amount() -> Panel:
    return Panel(
        tr("How much"),
        [
            Flag("n", whole(most=100_000), tr("so many texts"), "1"),
            Flag("max_tokens", whole(most=10_000_000), tr("at most so long"), "block_size"),
            Flag("stop", text("TEXT"), tr("end before this; may be repeated"), repeat=True),
        ],
    )


def _sampling() -> Panel:
    return Panel(
        tr("Chance"),
        [
            Flag(
                "temperature",
                real(least=0),
                tr("boldness; 0 takes the likeliest each time"),
                "0.8",
            ),
            Flag("top_k", whole(0), tr("only among the K likeliest; 0: all"), "0"),
            Flag("top_p", real(above=0, most=1), tr("the likeliest that sum to this"), "1"),
            Flag("min_p", real(least=0, most=1), tr("at least this share of the likeliest"), "0"),
            Flag(
                "typical_p",
                real(above=0, most=1),
                tr("tokens as surprising as expected, that sum to this"),
                "1",
                "--typical",
            ),
            Flag("repetition_penalty", real(above=0), tr("above 1: repeat less"), "1"),
            Flag("seed", whole(0, 2**63 - 1), tr("the same seed, the same text"), tr("by chance")),
        ],
    )


def _form() -> Panel:
    return Panel(
        tr("Form"),
        [
            Flag(
                "unknown",
                choice("refuse", "drop"),
                tr("characters of the prompt that the model has never seen"),
                "refuse",
            ),
            Flag(
                "layout",
                choice("verse", "plain"),
                tr("verse: a line break after each sentence"),
                tr("as the text learned"),
            ),
            Flag("json", SWITCH, tr("a JSON object for each text"), option="--json"),
        ],
    )


def _machine() -> Panel:
    return Panel(
        tr("Machine"),
        [
            Flag(
                "precision",
                choice("fp32", "fp16", "bf16", "int8"),
                tr("of the weights, on the CPU; fewer bits are faster and less exact"),
                "fp32",
            ),
            Flag(
                "compile",
                SWITCH,
                tr("compile the model first, for fp32 or int8 on the CPU (needs numba)"),
                tr("for long texts"),
                "--compile/--no-compile",
            ),
        ],
    )


def run(given: dict[str, Any]) -> int:
    """Print the texts: one as it is written, several each as soon as it and those beside it end."""
    amount, chance, form, machine = (panel.said(given) for panel in panels())
    layout, as_json = form.pop("layout", None), form.pop("json", False)
    prompt = _from_input() if given["prompt"] == "-" else given["prompt"] or ""

    from mingyue.generation.writer import load

    n = amount.pop("n", 1)
    asked = amount | chance | form
    writer = load(given["folder"], **machine)
    if layout is None:
        layout = "verse" if writer.about.get("layout") == "verse" else "plain"
    if as_json or n > 1:
        for number, done in enumerate(writer.samples(prompt, n=n, **asked), start=1):
            if as_json:
                _print_json(done)
            else:
                _print_whole(done, layout == "verse", last=number == n)
    else:
        _print_stream(writer, prompt, layout == "verse", asked)
    return 0


def _from_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UserError(tr("the prompt from the input is not text in UTF-8")) from None


def _print_json(done: "Completion") -> None:
    from dataclasses import asdict

    print(json.dumps(asdict(done), ensure_ascii=False), flush=True)


def _print_whole(done: "Completion", verse: bool, *, last: bool) -> None:
    from mingyue.cli.screen import console, visible
    from mingyue.text.verse import lay_out

    out = console()
    whole = done.prompt + done.text
    out.print(visible(lay_out(whole) if verse else whole), soft_wrap=True)
    _print_end(done, notes=last)  # what was done to the prompt is the same for all
    if not last:
        out.print()


def _print_stream(writer: "Writer", prompt: str, verse: bool, asked: dict[str, Any]) -> None:
    """The prompt as the model sees it, then each piece as soon as it is there."""
    from mingyue.cli.screen import is_terminal, visible
    from mingyue.generation.prompt import prepare

    unknown = asked.get("unknown", "refuse")
    begun = prepare(prompt, writer.tokenizer, writer.model.config, unknown).text
    pieces = writer.stream(prompt, **asked)
    last: Completion | None = None

    def texts() -> Iterator[str]:
        nonlocal last
        yield begun
        for piece in pieces:
            if isinstance(piece, str):
                yield piece
            else:
                last = piece

    try:
        for piece in _laid_out(texts()) if verse else texts():
            print(visible(piece), end="", flush=is_terminal())
    finally:  # also after Ctrl-C, so that the shell's prompt stands on a line of its own
        with suppress(OSError):  # a full disk was said by the error that brought us here
            print()
    if last is not None:
        _print_end(last)


def _laid_out(pieces: Iterator[str]) -> Iterator[str]:
    """Verse as it comes: what ``lay_out`` makes of the beginning of a text is the beginning of
    what it makes of the whole. Lines that are done are forgotten."""
    from mingyue.text.verse import lay_out

    text, shown = "", 0
    for piece in pieces:
        text += piece
        laid = lay_out(text)
        yield laid[shown:]
        shown = len(laid)
        line = laid.rpartition("\n")[2]
        if line and text.endswith(line):
            text, shown = line, len(line)


def _print_end(done: "Completion", *, notes: bool = True) -> None:
    """Below a text: why it ended, if not by its own end, and what was done to the prompt; for
    whoever looks, also the seed that writes it again."""
    from mingyue.cli.screen import console, is_terminal, visible

    reasons = {
        "length": tr("stopped after {n} tokens (--max-tokens)", n=done.n_tokens),
        "context": tr("stopped: the context is full"),
        "stop": tr("stopped at a stop text"),
    }
    lines = [reasons[done.reason]] if done.reason in reasons else []
    if is_terminal(errors=True):
        lines.append(tr("--seed {seed} writes this again", seed=done.seed))
    err = console(errors=True)
    for line in [*lines, *(done.notes if notes else ())]:
        err.print(visible(f"({line})"), style="dim", soft_wrap=True)
