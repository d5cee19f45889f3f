"""Tables of texts: JSON lines, CSV, Parquet and data sets of the Hugging Face hub.

They differ in how rows are stored and agree in what a row is: some named columns, one of which
holds the text. ``title`` and ``author`` are taken along where they are.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from json.scanner import make_scanner
from pathlib import Path
from typing import Any

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.char import has_surrogates
from mingyue.text.document import Document, Handful
from mingyue.text.report import Report
from mingyue.text.stream import whole_lines

# The csv module refuses cells over 128 KiB unless told; a novel in one cell is larger.
_LONGEST_CELL = 2**31 - 1
_ROWS_AT_A_TIME = 256  # of a Parquet file; a row may be long


def read_jsonl(
    path: Path, text_lines: Iterable[str], field: str | None, report: Report, *, first: int = 1
) -> Iterator[Document]:
    """One JSON object on each line (or a bare string); blank lines are passed over.

    ``first`` is the number of the first line.
    """
    for number, line in enumerate(text_lines, start=first):
        if not line.strip():
            continue
        where = _line(path, number)
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise UserError(tr("{where}: not valid JSON: {why}", where=where(), why=why)) from None
        if isinstance(row, str):
            row = {field or "text": row}
        if not isinstance(row, dict):
            raise UserError(tr("{where}: not a JSON object with a text in it", where=where()))
        yield from _document(row, _column(row, field, where), where, report)


def read_many_jsonl(
    path: Path, pieces: Iterable[str], field: str | None, report: Report
) -> Iterator[Handful]:
    """The same texts in handfuls, from the file in pieces: several times as fast.

    A piece in which every line is as it should be is read in one go; any other, line by line.
    """
    number = 1
    for piece in whole_lines(pieces):
        texts = _plain_texts(piece, field or "text")
        if texts is None:
            rows = read_jsonl(path, piece.split("\n"), field, report, first=number)
            texts = [document.text for document in rows]
        if texts:
            yield Handful(texts, None)
        number += piece.count("\n")


def _plain_texts(piece: str, field: str) -> list[str] | None:
    """The texts of the rows in ``piece``, or None if there is anything to be said about one."""
    make: Any = make_scanner  # the published types get its argument wrong
    value_at = make(json.JSONDecoder())  # the value at a place, and where it ends
    piece = piece if piece.endswith("\n") else piece + "\n"
    texts: list[str] = []
    at, length = 0, len(piece)
    try:
        while at < length:
            row, at = value_at(piece, at)
            if piece[at] != "\n":
                return None
            texts.append(row[field])  # only an object has one
            at += 1
    except (ValueError, StopIteration, RecursionError, KeyError, TypeError):
        return None
    # A line for each row; were there more of them, some row would go over two.
    if len(texts) != piece.count("\n") or not set(map(type, texts)) <= {str}:
        return None
    together = "".join(texts)
    if "\r" in together or has_surrogates(together) or not all(map(str.strip, texts)):
        return None
    return texts


def read_csv(
    path: Path, text_lines: Iterable[str], field: str | None, report: Report
) -> Iterator[Document]:
    """A header line, then rows; commas, semicolons or tabs, found out from the header."""
    csv.field_size_limit(_LONGEST_CELL)
    text_lines = iter(text_lines)
    header_line = next((line for line in text_lines if line.strip()), None)
    if header_line is None:
        return
    delimiter = max(",;\t", key=header_line.count)
    rows = csv.reader(
        (line + "\n" for line in _again(header_line, text_lines)), delimiter=delimiter, strict=True
    )
    try:
        header = [name.strip() for name in next(rows)]
        column = _column(header, field, _line(path, 1))
        for row in rows:
            where = _line(path, rows.line_num)
            if len(row) > len(header):
                raise UserError(
                    tr(
                        "{where}: {n} cells, but the header has {columns}; put texts with "
                        "commas in quotes",
                        where=where(),
                        n=len(row),
                        columns=len(header),
                    )
                )
            yield from _document(dict(zip(header, row, strict=False)), column, where, report)
    except csv.Error as error:
        raise UserError(
            tr(
                "{path}, line {number}: not valid CSV: {why}",
                path=path,
                number=rows.line_num,
                why=error,
            )
        ) from None


def read_parquet(path: Path, field: str | None, report: Report) -> Iterator[Document]:
    """Rows of a Parquet file, some hundred at a time."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            tr("{path}: reading Parquet needs pyarrow: pip install pyarrow", path=path)
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            column = _column(names, field, lambda: str(path))
            wanted = [name for name in dict.fromkeys((column, "title", "author")) if name in names]
            number = 0
            for batch in file.iter_batches(batch_size=_ROWS_AT_A_TIME, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield from _document(row, column, _row(path, number), report)
    except (arrow.ArrowException, OSError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(tr("{path}: cannot be read: {why}", path=path, why=why)) from error


def read_hub(name: str, field: str | None, report: Report) -> Iterator[Document]:
    """Rows of a data set by its name on the hub (``owner/name``, or ``owner/name:config``) or its
    local folder, streamed; the split ``train``, or else the first there is."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise UserError(
            tr("hf:{name} needs the package datasets: pip install datasets", name=name)
        ) from None
    address, _, config = name.partition(":") if not Path(name).exists() else (name, "", "")
    try:
        splits: Any = load_dataset(address, config or None, streaming=True)
        split = "train" if "train" in splits else next(iter(splits))
        for number, row in enumerate(splits[split], start=1):
            where = _row(f"hf:{name}", number)
            yield from _document(row, _column(row, field, where), where, report)
    except UserError:
        raise
    except Exception as error:  # the library lets through whatever its many sources raise
        why = str(error).strip().splitlines()[0][:200] if str(error).strip() else "?"
        raise UserError(
            tr(
                "hf:{name}: cannot be read ({kind}: {why}); check the name and the connection",
                name=name,
                kind=type(error).__name__,
                why=why,
            )
        ) from error


Where = Callable[[], str]
"""Says which row is meant; most are fine, and then nobody asks."""


def _line(path: Path, number: int) -> Where:
    return lambda: tr("{path}, line {number}", path=path, number=number)


def _row(path: Path | str, number: int) -> Where:
    return lambda: tr("{path}, row {number}", path=path, number=number)


def _column(columns: Iterable[str], field: str | None, where: Where) -> str:
    """The column with the text: the one asked for, or ``text``.

    Not the only one there is, if its name is another: it may hold addresses or numbers, and a
    CSV without a header would lose its first row.
    """
    wanted = field or "text"
    if wanted in columns:
        return wanted
    raise UserError(
        tr(
            "{where}: no column “{wanted}”; there are {columns}; choose with --text-field",
            where=where(),
            wanted=wanted,
            columns=", ".join(columns) or "–",
        )
    )


def _document(
    row: Mapping[str, Any], column: str, where: Where, report: Report
) -> Iterator[Document]:
    """The row's document; none, but counted, if its text is missing or blank."""
    text = row.get(column)
    if text is None or (isinstance(text, str) and not text.strip()):
        report.count("empty rows")
        return
    if not isinstance(text, str):
        raise UserError(
            tr(
                "{where}: “{column}” holds {value}, not text",
                where=where(),
                column=column,
                value=repr(text)[:40],
            )
        )
    if has_surrogates(text):
        raise UserError(
            tr("{where}: “{column}” holds half a surrogate pair", where=where(), column=column)
        )
    title, author = (
        value if isinstance(value := row.get(name), str) else "" for name in ("title", "author")
    )
    yield Document(text.replace("\r\n", "\n").replace("\r", "\n"), title=title, author=author)


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest
