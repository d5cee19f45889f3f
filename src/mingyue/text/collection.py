"""The collections of poems that come with Mingyue: what they are and how they are stored.

A collection is cleaned once, when the package is built (or on first use), and kept as two files:
``tang.jsonl.xz``, one poem on each line, and ``tang.json``, which says where it comes from, by
which rules it was cleaned, what the cleaning did, and the hash of the poems. The hash is checked
whenever the collection is opened, so a damaged file is never trained on.

Only the standard library is used here, because the package build runs this file too.
"""

import hashlib
import json
import lzma
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mingyue.text.cleaning import CLEANING_VERSION, RawPoem, clean
from mingyue.text.document import Document
from mingyue.text.files import write_atomic
from mingyue.text.report import Report


@dataclass(frozen=True, slots=True)
class Collection:
    """Where a collection stands in the source package, and what its poems look like."""

    name: str
    members: re.Pattern[str]  # the files in the source package; group 1 is a number to sort by
    poem: Callable[[dict[str, Any]], RawPoem]  # from one entry of such a file
    script: Literal["traditional", "simplified"]
    shortest: int  # Han characters; what has fewer is a fragment
    longest_line: int  # characters; what has more is prose


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored collection that has been checked: its poems' file, their hash, the report."""

    poems: Path
    sha256: str
    report: Report

    def __iter__(self) -> Iterator[Document]:
        with lzma.open(self.poems, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield Document(**json.loads(line))


def store(
    collection: Collection, raw: list[RawPoem], folder: Path, about: dict[str, str]
) -> Report:
    """Clean ``raw`` and put both files into ``folder``; ``about`` names source and license.

    Raises:
        UserError: the folder cannot be written.
    """
    report = Report()
    poems = clean(raw, report, shortest=collection.shortest, longest_line=collection.longest_line)
    content = "".join(
        json.dumps(
            {"title": poem.title, "author": poem.author, "text": poem.text}, ensure_ascii=False
        )
        + "\n"
        for poem in poems
    ).encode()
    card = {
        **about,
        "cleaning_version": CLEANING_VERSION,
        "sha256": hashlib.sha256(content).hexdigest(),
        "report": report.as_dict(),
    }
    # The card last: it vouches for the poems.
    write_atomic(folder / f"{collection.name}.jsonl.xz", lzma.compress(content, preset=9))
    write_atomic(
        folder / f"{collection.name}.json",
        (json.dumps(card, ensure_ascii=False, indent=1) + "\n").encode(),
    )
    return report


def find(collection: Collection, folder: Path) -> Stored | None:
    """The stored collection in ``folder``; nothing if it is absent, damaged or cleaned by other
    rules than today's."""
    poems = folder / f"{collection.name}.jsonl.xz"
    try:
        card = json.loads((folder / f"{collection.name}.json").read_text(encoding="utf-8"))
        if card["cleaning_version"] != CLEANING_VERSION:
            return None
        with lzma.open(poems) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        if sha256 != card["sha256"]:
            return None
        return Stored(poems, sha256, Report.from_dict(card["report"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError, lzma.LZMAError):
        return None
