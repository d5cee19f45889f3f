"""``mingyue write``: a text goes on from a prompt, character by character."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mingyue.cli import verse
from mingyue.cli.flags import SWITCH, Flag, Panel, Place, choice, real, text, whole
from mingyue.cli.pace import Pace
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.generation.prompt import Unknown
    from mingyue.generation.writer import Writer

EXAMPLES = """
mingyue write runs/tang
mingyue write runs/tang 床前明月光 --temperature 0.7 --seed 1
mingyue write runs/tang 春 --n 5 --top-p 0.9
mingyue write runs/tang --form 七绝 --title 春夜 --n 8 --best
mingyue write runs/tang --head 春夏秋冬 --rhyme 东
mingyue write runs/tang 床前明月光 --form 五绝 --tone hard
mingyue write runs/tang --couplet 海内存知己
mingyue write runs/tang 春 --n 20 --best
mingyue write runs/tang 春 --probabilities 4 --max-tokens 12
mingyue write runs/tang --prompts titles.txt --n 3 --json > texts.jsonl
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
    return [_amount(), verse.panel(), _sampling(), _output(), _machine()]


def _amount() -> Panel:
    return Panel(
        tr("How much"),
        [
            Flag("n", whole(most=100_000), tr("so many texts"), "1"),
            Flag("prompts", text("FILE"), tr("texts for each line of this file, as its prompt")),
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


def _output() -> Panel:
    return Panel(
        tr("Output"),
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
            Flag("best", SWITCH, tr("the likeliest of the texts first"), option="--best"),
            Flag(
                "probabilities",
                whole(0, 1000),
                tr("show how likely each token was, and the N likeliest there"),
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
    amount, poem, chance, output, machine = (panel.said(given) for panel in panels())
    layout, as_json = output.pop("layout", None), output.pop("json", False)
    path = amount.pop("prompts", None)
    if path is not None and given["prompt"] is not None:
        raise UserError(tr("--prompts: instead of a PROMPT, not beside it"))
    prompt = _from_input() if given["prompt"] == "-" else given["prompt"] or ""
    lines = [] if path is None else _lines(path)
    demand, shown = verse.demand_of(poem), verse.script_of(poem)
    asked = amount | chance | output
    if demand is not None:
        _refuse(asked, "max_tokens", "stop", "unknown")

    from mingyue.cli.written import print_json, print_stream, print_whole
    from mingyue.generation.writer import load

    writer = load(given["folder"], **machine)
    if layout is None:
        verses = demand is not None or writer.about.get("layout") == "verse"
        layout = "verse" if verses else "plain"
    n, laid_out = asked.get("n", 1), layout == "verse"
    prompts = [text for _, text in lines] or [prompt]
    if demand is not None:
        best = asked.pop("best", False)
        how = {"best": best, "as_json": as_json, "plain": layout == "plain"}
        verse.print_poems(writer, demand, prompts, asked, shown, **how)
        return 0
    heading = verse.heading_of(poem, writer)
    prompts = [heading + text for text in prompts]
    several = as_json or lines or n > 1 or asked.keys() & {"best", "probabilities"}
    if not several and "script" not in poem:
        print_stream(writer, prompts[0], laid_out, asked)
        return 0
    if path is not None:
        _check(path, lines, writer, asked.get("unknown", "refuse"))
    with Pace(n * len(prompts)) as pace:
        samples = writer.samples(prompts if lines else prompts[0], **asked, told=pace.told)
        for number, done in enumerate(samples, start=1):
            pace.hide()
            done = replace(done, prompt=shown(done.prompt), text=shown(done.text))
            if as_json:
                print_json(done)
                continue
            if number > 1:
                print()
            # What was done to a prompt is the same for all its texts.
            print_whole(done, laid_out, notes=number % n == 0)
    return 0


def _refuse(asked: dict[str, Any], *names: str) -> None:
    """Options that a form leaves nothing to say."""
    for name in names:
        if name in asked:
            option = "--" + name.replace("_", "-")
            raise UserError(tr("{option}: not with a form, which says it all", option=option))


def _from_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UserError(tr("the prompt from the input is not text in UTF-8")) from None


def _lines(path: str) -> list[tuple[int, str]]:
    """The lines of a file, numbered, without those that are blank."""
    try:
        read = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(tr("{path}, line {n}: not text in UTF-8", path=path, n=line)) from None
    except OSError as error:
        raise UserError(
            tr("{path}: cannot be read: {why}", path=path, why=error.strerror or error)
        ) from None
    lines = ((n, line.removesuffix("\r")) for n, line in enumerate(read.split("\n"), start=1))
    if not (found := [(n, line) for n, line in lines if line.strip()]):
        raise UserError(tr("{path}: there is no prompt in it", path=path))
    return found


def _check(path: str, lines: list[tuple[int, str]], writer: "Writer", unknown: "Unknown") -> None:
    """Say of a prompt that cannot be used in which line it is, before anything is written."""
    from mingyue.generation.prompt import prepare

    for n, line in lines:
        try:
            prepare(line, writer.tokenizer, writer.model.config, unknown)
        except UserError as error:
            raise UserError(tr("{path}, line {n}: {why}", path=path, n=n, why=error)) from None
