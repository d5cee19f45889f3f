"""From files to documents: one reader for each kind of file, all of them streams.

A text file is one document, or one for each line or block; a table (``.jsonl``, ``.csv``,
``.parquet``) has one document in each row. Whatever cannot be read as asked ends in one line that
names the file and the place.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Literal, TypeVar

from mingyue.errors import UserError
from mingyue.language import Message, tr
from mingyue.text.document import Document, Handful, gather
from mingyue.text.encoding import detect, named_encoding
from mingyue.text.refusals import BinaryFile
from mingyue.text.report import Report
from mingyue.text.stream import CHUNK, decode, lines, whole_lines
from mingyue.text.tables import read_csv, read_jsonl, read_many_jsonl, read_parquet

Division = Literal["auto", "file", "line", "blank"]

TEXT_ENDINGS = ("", ".txt", ".text", ".md")
ENDINGS = (*TEXT_ENDINGS, ".jsonl", ".csv", ".tsv", ".parquet")

# From these on, blank-line separated blocks look like many documents rather than paragraphs.
_MANY_BLOCKS, _SHORT_BLOCK = 20, 300


@dataclass(frozen=True, slots=True)
class Options:
    """How to read: see ``open_corpus``."""

    encoding: str | None = None
    documents: Division = "auto"
    text_field: str | None = None


def readable(path: Path) -> bool:
    """Whether the ending is one we read."""
    return path.suffix.lower() in ENDINGS


def read_file(path: Path, options: Options, report: Report) -> Iterator[Document]:
    """The documents of one file, whatever its kind.

    Raises:
        BinaryFile: it holds no text.
        UserError: unknown ending, undecodable bytes, malformed rows, no column of that name.
    """
    ending = _ending(path)
    if ending == ".parquet":
        return read_parquet(path, options.text_field, report)
    pieces = _decoded(path, options, report)
    if ending == ".jsonl":
        return read_jsonl(path, lines(pieces), options.text_field, report)
    if ending in {".csv", ".tsv"}:
        return read_csv(path, lines(pieces), options.text_field, report)
    if options.text_field is not None:
        report.warn(Message("--text-field has no effect on text files"))
    if options.documents == "auto":
        pieces = _advise(pieces, path, report)
    return divide(pieces, options.documents, title=path.stem)


def read_many(path: Path, options: Options, report: Report) -> Iterator[Handful]:
    """The texts of ``read_file`` in handfuls; raises what it raises.

    Where documents are short and many, they are cut out of the file in bulk.
    """
    ending = _ending(path)
    if ending == ".jsonl":
        pieces = _decoded(path, options, report)
        return read_many_jsonl(path, pieces, options.text_field, report)
    if ending in TEXT_ENDINGS and options.documents == "line" and options.text_field is None:
        return _many_lines(_decoded(path, options, report))
    return gather(read_file(path, options, report))


def _many_lines(pieces: Iterable[str]) -> Iterator[Handful]:
    for piece in whole_lines(pieces):
        texts = [line for line in map(str.strip, piece.split("\n")) if line]
        if texts:
            yield Handful(texts, None)


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        known = ", ".join(ENDINGS[1:])
        raise UserError(
            tr("{path}: unknown kind of file; Mingyue reads {known}", path=path, known=known)
        )
    return ending


def _decoded(path: Path, options: Options, report: Report) -> Iterator[str]:
    """The characters of a file in pieces; its encoding goes into the report."""
    encoding = named_encoding(options.encoding) if options.encoding else detect(path)
    report.encodings[encoding.name] += 1
    return decode(path, encoding)


def divide(pieces: Iterable[str], division: Division, title: str = "") -> Iterator[Document]:
    """Cut a text that comes in pieces into documents; whitespace alone is none."""
    if division == "line":
        return (Document(line) for line in map(str.strip, lines(pieces)) if line)
    if division == "blank":
        return _blocks(lines(pieces))
    return _one_document(pieces, title)


def _one_document(pieces: Iterable[str], title: str) -> Iterator[Document]:
    """The whole text as one document, in the pieces in which it comes.

    Each piece waits for the next, since only the last may say that the document ends.
    """
    waiting, begun = "", False
    for piece in pieces:
        if begun or waiting.strip():
            yield Document(waiting, title=title, ends=False)
            waiting, begun = piece, True
        else:
            waiting += piece
    if begun or waiting.strip():
        yield Document(waiting, title=title)


def _blocks(text_lines: Iterable[str]) -> Iterator[Document]:
    """Blocks of lines between blank lines; a very long block goes out in pieces."""
    block: list[str] = []
    length = 0
    for line in chain(text_lines, [""]):
        if line.strip():
            if length > CHUNK:
                yield Document("\n".join(block) + "\n", ends=False)
                block, length = [], 0
            block.append(line)
            length += len(line)
        elif block:
            yield Document("\n".join(block))
            block, length = [], 0


def _advise(pieces: Iterator[str], path: Path, report: Report) -> Iterator[str]:
    """Look at the first piece on its way through; say so if it looks like many documents."""
    for number, piece in enumerate(pieces):
        if number == 0:
            sizes = [len(document.text) for document in _blocks(lines([piece]))]
            if len(sizes) >= _MANY_BLOCKS and median(sizes) < _SHORT_BLOCK:
                report.warn(
                    Message(
                        "{path} is read as one document, but looks like many short ones between "
                        "blank lines; if so, give --documents blank",
                        path=path,
                    )
                )
        yield piece


def files_of(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files below a folder that we read, and those that we do not, each in sorted order.

    Hidden files and folders are left alone; links to folders are not followed (they may run in
    circles).
    """
    found = sorted(
        (
            path
            for path in folder.rglob("*")
            if path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        ),
        key=lambda path: path.relative_to(folder).as_posix(),
    )
    return [p for p in found if readable(p)], [p for p in found if not readable(p)]


Read = TypeVar("Read", Document, Handful)


def read_folder(
    folder: Path,
    options: Options,
    report: Report,
    read: Callable[[Path, Options, Report], Iterator[Read]],
) -> Iterator[Read]:
    """What ``read`` gives of all files below a folder; the report says what was passed over."""
    files, others = files_of(folder)
    skipped = [path.relative_to(folder).as_posix() for path in others]
    for path in files:
        before = report.encodings.copy()
        empty = True
        try:
            for one in read(path, options, report):
                empty = False
                yield one
        except BinaryFile:
            if not empty:  # text at first: something is wrong with it, and half of it is taken
                raise
        if empty:
            report.encodings = before
            skipped.append(path.relative_to(folder).as_posix())
    if len(skipped) == 1:
        report.warn(
            Message(
                "1 file passed over (empty, or not of a kind that Mingyue reads): {name}",
                name=skipped[0],
            )
        )
    elif skipped:
        report.warn(
            Message(
                "{n} files passed over (empty, or not of a kind that Mingyue reads): {names}",
                n=len(skipped),
                names=", ".join(sorted(skipped)[:5]) + (" …" if len(skipped) > 5 else ""),
            )
        )
