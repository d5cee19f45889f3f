"""What was written, shown: as it comes, whole, or token by token with its probability."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from mingyue.language import tr

if TYPE_CHECKING:
    from rich.text import Text

    from mingyue.generation.writer import Completion, Writer
    from mingyue.generation.writing import Token

_GAP = "   "  # between two columns
_SPELT = {ord("\n"): "↵", ord(" "): "␣", ord("\t"): "⇥"}


def print_json(done: "Completion") -> None:
    """One object on one line."""
    from dataclasses import asdict

    print(json.dumps(asdict(done), ensure_ascii=False), flush=True)


def print_whole(done: "Completion", verse: bool, *, notes: bool = True) -> None:
    """The text after its prompt, then its tokens if asked for, then how it ended."""
    from mingyue.cli.screen import console, visible
    from mingyue.text.verse import lay_out

    out = console()
    whole = done.prompt + done.text
    out.print(visible(lay_out(whole) if verse else whole), soft_wrap=True)
    if done.tokens:
        print_tokens(done.tokens)
    print_end(done, notes=notes)


def print_tokens(tokens: "Sequence[Token]") -> None:
    """Below a text its tokens, each with its probability."""
    from mingyue.cli.screen import console

    out = console()
    out.print()
    for line in _table(tokens, out.width):
        out.print(line, soft_wrap=True)


def print_stream(writer: "Writer", prompt: str, verse: bool, asked: dict[str, Any]) -> None:
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
        for piece in laid_out(texts()) if verse else texts():
            print(visible(piece), end="", flush=is_terminal())
    finally:  # also after Ctrl-C, so that the shell's prompt stands on a line of its own
        with suppress(OSError):  # a full disk was said by the error that brought us here
            print()
    if last is not None:
        print_end(last)


def laid_out(pieces: Iterator[str]) -> Iterator[str]:
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


def print_end(done: "Completion", *, notes: bool = True, score: float | None = None) -> None:
    """Below a text: why it ended, if not by its own end, how likely it was if asked for, and what
    was done to the prompt; for whoever looks, also the seed that writes it again."""
    from mingyue.cli.screen import console, is_terminal, visible

    reasons = {
        "length": tr("stopped after {n} tokens (--max-tokens)", n=done.n_tokens),
        "context": tr("stopped: the context is full"),
        "stop": tr("stopped at a stop text"),
    }
    lines = [reasons[done.reason]] if done.reason in reasons else []
    if done.logprob is not None:
        mean = tr("mean ln p of a token: {value}", value=f"{done.logprob:.3f}")
        if score is not None and score != done.logprob:
            mean = tr("{mean}, less its faults {score}", mean=mean, score=f"{score:.3f}")
        lines.append(mean)
    if is_terminal(errors=True):
        lines.append(tr("--seed {seed} writes this again", seed=done.seed))
    err = console(errors=True)
    for line in [*lines, *(done.notes if notes else ())]:
        err.print(visible(f"({line})"), style="dim", soft_wrap=True)


def _table(tokens: "Sequence[Token]", width: int) -> "Iterator[Text]":
    """A line for each token: what it is, its probability, and the likeliest ones there with
    theirs; on a terminal as many as there is room for."""
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    from mingyue.cli.screen import is_terminal

    rows = [[(token.text, token.logprob), *token.others] for token in tokens]
    columns = [_column(column) for column in zip_longest(*rows)]
    if is_terminal():
        room, fitting = width, 0
        while fitting < len(columns) and (room := room - cell_len(columns[fitting][0])) >= 0:
            room, fitting = room - cell_len(_GAP), fitting + 1
        columns = columns[: max(1, fitting)]
    titles = [tr("token"), tr("likeliest")][: len(columns)]
    yield Text(_GAP.join(map(set_cell_size, titles, (cell_len(c[0]) for c in columns))), "dim")
    for chosen, *others in zip(*columns, strict=True):
        yield Text.assemble((chosen, "bold"), *(_GAP + other for other in others))


def _column(tokens: "Sequence[tuple[str, float] | None]") -> list[str]:
    """Tokens and their probabilities below each other; a Chinese character is two cells wide."""
    from rich.cells import cell_len, set_cell_size

    from mingyue.cli.screen import visible

    names = [visible(token[0].translate(_SPELT)) if token else "" for token in tokens]
    shares = [_percent(math.exp(token[1])) if token else "" for token in tokens]
    widest = max(map(cell_len, names))
    return [
        f"{set_cell_size(name, widest)} {share:>6}"
        for name, share in zip(names, shares, strict=True)
    ]


def _percent(p: float) -> str:
    return f"{p:.1%}" if p >= 0.0005 else "<0.1%"
