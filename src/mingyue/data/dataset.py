"""A prepared corpus on disk: token shards, the tokenizer that made them, and what was done.

    train-00000.bin …  val-00000.bin …           token ids (``tokens``)
    train.documents.npy  val.documents.npy       where each document begins
    tokenizer.json  tokenizer_config.json
    meta.json                                    counts, and the size and hash of every file

``meta.json`` is written last and the whole folder is renamed into place, so a folder either is
complete or does not exist; a file that was changed or cut off later is found by its hash.
"""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from mingyue.data.tokens import Tokens
from mingyue.language import tr
from mingyue.text.files import write_atomic
from mingyue.text.report import Report
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse.heading import CLOSE, OPEN

FORMAT = 1
"""Counted up when the files or the rules that make them change, so that old ones are remade."""

META = "meta.json"


class Damaged(Exception):
    """A prepared folder that is incomplete, altered, or was made for something else."""


@dataclass(frozen=True)
class Split:
    """How the text was divided, in counts.

    ``how`` is "documents" (whole documents were held out), "tails" (the last part of each long
    document was), "given" (the held-out text is one of its own) or "none".
    """

    how: Literal["documents", "tails", "given", "none"]
    wanted: bool
    """Whether validation was asked for."""
    train_documents: int
    val_documents: int
    train_characters: int
    val_characters: int
    moved: int
    """Documents that were to be held out but went to training, being mostly there already."""
    train_unknown: int
    val_unknown: int
    """Characters that the vocabulary lacks."""
    held_out: str = ""
    """The name of the held-out text, where it is one of its own."""
    headed: int = 0
    """Training documents that stand behind a heading."""

    def lines(self) -> list[str]:
        """The split for a person."""
        if self.how == "none":
            lines = [tr("nothing held out, as asked")]
            if self.moved:
                lines = [
                    tr(
                        "nothing held out: each document that was chosen has half of its "
                        "sentences in other documents too; no validation loss"
                    )
                ]
            elif self.wanted:
                lines = [tr("nothing held out: the text is too short; no validation loss")]
        elif self.how == "given":
            lines = [
                tr(
                    "held out: all of {name} ({characters} characters)",
                    name=self.held_out,
                    characters=f"{self.val_characters:,}",
                )
            ]
        else:
            sentence = (
                tr(
                    "documents held out: {val} ({characters} characters); to train on: {train}",
                    val=f"{self.val_documents:,}",
                    characters=f"{self.val_characters:,}",
                    train=f"{self.train_documents:,}",
                )
                if self.how == "documents"
                else tr(
                    "too few documents to hold out whole ones: held out the last part of "
                    "{val} ({characters} characters)",
                    val=f"{self.val_documents:,}",
                    characters=f"{self.val_characters:,}",
                )
            )
            lines = [sentence]
            if self.moved:
                lines.append(
                    tr(
                        "held out no longer but moved to training, where half of their sentences "
                        "occur too: {n}",
                        n=f"{self.moved:,}",
                    )
                )
        if self.headed:
            lines.append(
                tr(
                    "{n} training documents begin with a heading (form, author, title), so that "
                    "one can be asked for; --no-headings trains without",
                    n=f"{self.headed:,}",
                )
            )
        if unknown := self.train_unknown + self.val_unknown:
            lines.append(
                tr(
                    "{n} characters ({percent}%) are not in the vocabulary, {val} of them held "
                    "out; they are learnt as one unknown character",
                    n=f"{unknown:,}",
                    percent=f"{100 * unknown / (self.train_characters + self.val_characters):.3g}",
                    val=f"{self.val_unknown:,}",
                )
            )
        return lines


@dataclass(frozen=True)
class Dataset:
    """Token ids to train on and to validate with, both memory-mapped.

    ``val`` may be empty (``val.n_tokens == 0``). ``fingerprint`` is a hash of everything that
    can influence training: all ids and the tokenizer.
    """

    folder: Path
    name: str
    layout: Literal["verse", "plain"]
    tokenizer: Tokenizer
    train: Tokens
    val: Tokens
    report: Report
    split: Split
    fingerprint: str

    def lines(self) -> list[str]:
        """What was read, cleaned and held out, for a person."""
        return self.report.lines() + self.split.lines()

    @classmethod
    def open(cls, folder: Path, key: str | None = None, *, check: bool = True) -> Self:
        """Open a prepared folder; ``check`` reads every file of it and compares the hashes.

        Raises:
            Damaged: something is missing or altered, or it was prepared for another ``key``.
        """
        try:
            meta = json.loads((folder / META).read_text(encoding="utf-8"))
            if meta["format"] != FORMAT or key not in (None, meta["key"]):
                raise Damaged(folder)
            if check and meta["files"] != _files(folder):
                raise Damaged(folder)
            tokenizer = Tokenizer.load(folder)
            signs = [tokenizer.encode(sign)[0] for sign in OPEN + CLOSE if tokenizer.marks]
            brackets = (signs[0], signs[1]) if signs else None
            return cls(
                folder=folder,
                name=meta["name"],
                layout=meta["layout"],
                tokenizer=tokenizer,
                train=Tokens.open(folder, "train", tokenizer.dtype, brackets),
                val=Tokens.open(folder, "val", tokenizer.dtype),
                report=Report.from_dict(meta["report"]),
                split=Split(**meta["split"]),
                fingerprint=meta["fingerprint"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Damaged(folder) from error


def write_meta(
    folder: Path, *, key: str, name: str, layout: str, report: Report, split: Split
) -> None:
    """Seal a folder in which all other files are complete."""
    files = _files(folder)
    fingerprint = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    meta: dict[str, Any] = {
        "format": FORMAT,
        "key": key,
        "name": name,
        "layout": layout,
        "fingerprint": fingerprint,
        "report": report.as_dict(),
        "split": asdict(split),
        "files": files,
    }
    text = json.dumps(meta, ensure_ascii=False, indent=2) + "\n"
    write_atomic(folder / META, text.encode())


def _files(folder: Path) -> dict[str, str]:
    """The hash of every file but the meta file itself, by name."""
    paths = [path for path in sorted(folder.iterdir()) if path.name != META and path.is_file()]
    with ThreadPoolExecutor(os.cpu_count(), "hashing") as pool:
        return dict(zip([path.name for path in paths], pool.map(_hash, paths), strict=True))


def _hash(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def is_prepared(folder: Path) -> bool:
    """Whether the folder looks like one of ours, sound or not, so that it may be replaced."""
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        return isinstance(meta, dict) and {"format", "key", "files"} <= set(meta)
    except (OSError, ValueError):
        return False
