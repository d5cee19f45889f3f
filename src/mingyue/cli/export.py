"""A corpus as a plain file: what Mingyue reads, cleaned, for other programs."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus


def checked_ending(path: str) -> str:
    """``.jsonl`` or ``.txt``.

    Raises:
        UserError: another one.
    """
    ending = Path(path).suffix.lower()
    if ending not in {".jsonl", ".txt"}:
        raise UserError(tr("{path}: --export writes .jsonl or .txt", path=path))
    return ending


def checked_target(path: str) -> str:
    """The ending of a file that can be made at ``path``; asked before the long work begins.

    Raises:
        UserError: another ending, something is there already (it may be the very text that is
            read), or there is no such folder.
    """
    ending = checked_ending(path)
    if os.path.lexists(path):
        raise UserError(
            tr("{path}: exists already; --export writes a new file, so name another", path=path)
        )
    if not Path(path).absolute().parent.is_dir():
        folder = Path(path).parent
        raise UserError(
            tr("{path}: there is no folder {folder}; make it first", path=path, folder=folder)
        )
    return ending


def export(corpus: "Corpus", path: str) -> int:
    """Write all documents into a new file; how many there were.

    ``.jsonl``: an object with title, author and text on each line. ``.txt``: the texts with an
    empty line between them, which ``--documents blank`` reads back if they have none inside.

    Raises:
        UserError: as ``checked_target``, or the file cannot be written.
    """
    from mingyue.text.files import open_atomic

    ending, number, text = checked_target(path), 0, ""
    with open_atomic(path) as file:
        for piece in corpus:
            text += piece.text
            if not piece.ends:
                if ending == ".txt":
                    file.write(text.encode())
                    text = ""
                continue
            if ending == ".jsonl":
                row = {"title": piece.title, "author": piece.author, "text": text}
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            else:
                file.write(text.rstrip("\n").encode() + b"\n\n")
            number, text = number + 1, ""
    return number
