"""``mingyue data``: what a text becomes before a model sees it."""

from typing import TYPE_CHECKING, Any

from mingyue.cli import settings
from mingyue.cli.flags import Flag, Panel, Place, text, whole
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.cli.tally import Tally
    from mingyue.data.dataset import Dataset
    from mingyue.text.corpus import Corpus

EXAMPLES = """
mingyue data tang
mingyue data novel.txt --documents blank --sample 5
mingyue data songci --script traditional --export songci.jsonl
"""


def brief() -> str:
    return tr("show what reading and cleaning make of a text")


def what() -> str:
    return tr(
        "Show what reading and cleaning make of a text: encodings, documents, characters, "
        "vocabulary, what is held out, some documents to look at. It is kept ready for training."
    )


def places() -> list[Place]:
    return [
        Place(
            "source",
            "SOURCE",
            tr(
                "tang, songci, modern, english, a .txt .jsonl .csv .parquet file, a folder, or "
                "hf:NAME"
            ),
        )
    ]


def panels() -> list[Panel]:
    return [_look(), settings.reading(), settings.cutting()]


def _look() -> Panel:
    return Panel(
        tr("Look"),
        [
            Flag("sample", whole(0, 1000), tr("so many documents to look at"), "3"),
            Flag("export", text("FILE"), tr("write all documents to this new .jsonl or .txt")),
        ],
    )


def run(given: dict[str, Any]) -> int:
    """Print what was found; with ``--export`` write it too."""
    look = _look().said(given)
    said = settings.reading().said(given) | settings.cutting().said(given)
    path = look.get("export")

    from mingyue.cli.export import checked_target, export
    from mingyue.cli.tally import tally
    from mingyue.cli.waiting import Waiting
    from mingyue.training.config import DataConfig
    from mingyue.training.reading import read, tokenise
    from mingyue.training.recipe import with_headings

    if path is not None:
        checked_target(path)
    how = DataConfig.checked(**said)
    how = how.changed(headings=with_headings(given["source"], how))
    corpus = read(given["source"], how)
    with Waiting() as waiting:
        dataset = tokenise(corpus, how, waiting.phase)
        waiting.phase(tr("counting"), 0.0)
        counted = tally(corpus, look.get("sample", 3))
        written = None if path is None else export(corpus, path)
    _print(dataset, counted)
    _print_samples(counted, corpus)
    if written is not None:
        from mingyue.cli.screen import console, number, visible

        said = (
            tr("1 document written to {path}", path=path)
            if written == 1
            else tr("{n} documents written to {path}", n=number(written), path=path)
        )
        console().print(visible(said))
    return 0


def _print(dataset: "Dataset", counted: "Tally") -> None:
    from mingyue.cli.screen import console, number, print_pairs, visible

    out = console()
    for line in dataset.lines():
        out.print(visible(line))
    frequent = " ".join(visible(c) if c.strip() else f"U+{ord(c):04X}" for c in counted.frequent)
    train, val = dataset.train, dataset.val
    rows: list[tuple[str, object]] = [
        (tr("different characters"), number(counted.different)),
        (tr("most frequent"), frequent),
        (
            tr("vocabulary"),
            tr(
                "{n} tokens ({kind})",
                n=number(dataset.tokenizer.vocab_size),
                kind=dataset.tokenizer.kind,
            ),
        ),
        (tr("tokens to learn from"), number(train.n_tokens)),
        (tr("tokens held out"), number(val.n_tokens)),
        (tr("document length"), _lengths(counted)),
        (tr("longest line"), _longest(counted)),
    ]
    print_pairs(out, rows)


def _lengths(counted: "Tally") -> str:
    from mingyue.cli.screen import number

    return tr(
        "shortest {least}, middle {middle}, longest {most} characters",
        least=number(counted.shortest),
        middle=number(counted.median),
        most=number(counted.longest),
    )


def _longest(counted: "Tally") -> str:
    from mingyue.cli.screen import number, visible

    length = tr("{n} characters", n=number(counted.longest_line))
    return f"{length}: {visible(counted.longest_line_begins)}"


def _print_samples(counted: "Tally", corpus: "Corpus") -> None:
    from mingyue.cli.screen import console, visible
    from mingyue.text.verse import lay_out

    out = console()
    for sample in counted.samples:
        head = " · ".join(filter(None, (sample.title, sample.author)))
        out.print(f"\n{visible(head)}" if head else "\n—", style="bold")
        body = lay_out(sample.text) if corpus.layout == "verse" else sample.text
        for line in body.strip().splitlines()[:20]:
            out.print(f"  {visible(line)}")
