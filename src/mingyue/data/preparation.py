"""From a corpus to token shards, in two passes and bounded memory.

The first pass (``survey``) counts characters and chooses what to hold out; then the vocabulary
is fixed; the second pass turns the text into ids and writes them. The result is kept in the
cache under a key made of everything it depends on (the text, the tokenizer, the split, the
rules), so a prepared corpus is used again exactly as long as it is right.

The vocabulary of a character tokenizer is that of the whole text, held-out part included:
otherwise a loss would depend on how many characters the split made unknown. BPE merges are
learnt from the training side only.

Who has a held-out text of their own gives it: then the corpus is wholly for training and alone
decides the vocabulary, and nothing is compared or moved.
"""

import atexit
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mingyue.data.blocks import blocks
from mingyue.data.dataset import FORMAT, Damaged, Dataset, is_prepared, write_meta
from mingyue.data.headings import Headings
from mingyue.data.survey import Survey, survey
from mingyue.data.writing import Divider, changed, write_tokens
from mingyue.errors import UserError
from mingyue.language import Message, tr
from mingyue.text.files import folder_atomic
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse.heading import HEADING_VERSION

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus

BPE_CHARACTERS = 10_000_000
"""BPE is learnt from a random sample of about this many characters of a longer text."""

Progress = Callable[[str, float], None]


def prepare(
    corpus: "Corpus",
    tokenizer: Tokenizer | None = None,
    *,
    kind: str = "char",
    vocab_size: int = 8192,
    min_count: int = 1,
    val_fraction: float = 0.05,
    seed: int = 0,
    held_out: "Corpus | None" = None,
    headings: bool = False,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Tokenize ``corpus`` and divide it into training and validation documents.

    Args:
        tokenizer: a ready one; else one is made: ``kind`` "char" (characters that occur
            ``min_count`` times), "byte", or "bpe" (of ``vocab_size`` tokens).
        val_fraction: share of the text to hold out, 0 to 0.5; at most about ten million
            characters are.
        seed: decides which documents are held out.
        held_out: a text of its own to validate with; ``val_fraction`` and ``seed`` then say
            nothing. Its characters that ``corpus`` lacks become unknown ones, and are counted.
        headings: about a quarter of the training documents begin with their form, author and
            title, or some of these (``headings``); for characters only.
        folder: where to keep the result; by default a place in the user's cache, or a temporary
            one where that cannot be written.
        progress: told what is being done and which share of it is done, 0 to 1 (0 while that
            is unknown).

    Raises:
        UserError: no text, an impossible option, a mis-decoded text, or no room to write.
    """
    maker = _checked_maker(tokenizer, kind, vocab_size, min_count)
    if not 0 <= val_fraction <= 0.5:
        raise UserError(
            tr("a validation share of {share} is impossible: give 0 to 0.5", share=val_fraction)
        )
    if headings and (tokenizer is not None or kind != "char"):
        raise UserError(tr("headings need a tokenizer of characters (--tokenizer char)"))
    progress = progress or (lambda _doing, _share: None)
    progress(tr("looking at {name}", name=corpus.name), 0.0)
    if held_out is not None:
        val_fraction, seed = 0.0, 0
    texts = [corpus] if held_out is None else [corpus, held_out]
    fingerprints = [text.fingerprint() for text in texts]
    settings = [FORMAT, fingerprints[0], maker.key, val_fraction, seed, *fingerprints[1:]]
    if headings:
        settings += ["headings", HEADING_VERSION]
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()
    target = Path(folder) if folder is not None else cache_folder() / key[:24]
    warning = None
    try:
        return Dataset.open(target, key)
    except Damaged:
        if folder is not None:
            _refuse_foreign(target)
        else:
            place, warning = writable_cache()
            target = place / key[:24]

    heads = Headings(corpus) if headings else None
    found = survey(
        corpus if heads is None else heads.seen(),
        val_fraction,
        seed,
        lambda n: progress(tr("reading {name}: {n} characters", name=corpus.name, n=f"{n:,}"), 0.0),
    )
    if not found.n_characters:
        raise UserError(tr("{name}: there is no text in it", name=corpus.name))
    progress(tr("making the vocabulary"), 0.0)
    made = maker.make(corpus, found) if heads is None else heads.tokenizer(found, min_count)
    if found.tails:  # the parts of a long document have no headings of their own
        heads = None
    with folder_atomic(target) as temporary:
        made.save(temporary)
        split = write_tokens(
            corpus, found, made, temporary, partial(progress, tr("writing tokens")), held_out, heads
        )
        for text, fingerprint in zip(texts, fingerprints, strict=True):
            if text.fingerprint() != fingerprint:
                raise changed(text.name)
            if text is held_out:
                for note in text.report.warnings:
                    corpus.report.warn(note)
        if warning:
            corpus.report.warn(warning)
        write_meta(
            temporary,
            key=key,
            name=corpus.name,
            layout=corpus.layout,
            report=corpus.report,
            split=split,
        )
    return Dataset.open(target, key, check=False)


def cache_folder() -> Path:
    """Where prepared corpora are kept: ``MINGYUE_CACHE`` or the user's cache folder."""
    import platformdirs

    root = os.environ.get("MINGYUE_CACHE") or platformdirs.user_cache_dir("mingyue")
    return Path(root) / "data"


def writable_cache() -> tuple[Path, Message | None]:
    """The cache folder, made if need be.

    Where a user's own cache cannot be written (a home that is read-only, or none at all), a
    temporary folder that goes with the process, and a warning that says so.

    Raises:
        UserError: the folder that ``MINGYUE_CACHE`` names cannot be written, or none can.
    """
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder, None
    except OSError as error:
        why = error.strerror or str(error)
    if os.environ.get("MINGYUE_CACHE"):
        raise UserError(
            tr(
                "{path}: MINGYUE_CACHE names this folder, but it cannot be written: {why}",
                path=folder,
                why=why,
            )
        )
    try:
        temporary = Path(tempfile.mkdtemp(prefix="mingyue-"))
    except OSError:
        raise UserError(
            tr(
                "{path}: the cache folder cannot be written ({why}), nor can a temporary one; "
                "name another folder by MINGYUE_CACHE",
                path=folder,
                why=why,
            )
        ) from None
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary, Message(
        "{path}: this cache folder cannot be written ({why}); the text is kept ready in a "
        "temporary folder, for this time only",
        path=folder,
        why=why,
    )


class _Maker(NamedTuple):
    """How the tokenizer will be made, and what in that decides the result."""

    key: list[object]
    make: "Callable[[Corpus, Survey], Tokenizer]"


def _checked_maker(
    tokenizer: Tokenizer | None, kind: str, vocab_size: int, min_count: int
) -> _Maker:
    if tokenizer is not None:
        return _Maker(["ready", tokenizer.fingerprint()], lambda _corpus, _found: tokenizer)
    if kind == "char":
        if min_count < 1:
            raise UserError(tr("a minimum count of {n} is impossible: give 1 or more", n=min_count))
        return _Maker(
            ["char", min_count],
            lambda _corpus, found: Tokenizer.characters(found.characters(), min_count=min_count),
        )
    if kind == "byte":
        return _Maker(["byte"], lambda _corpus, _found: Tokenizer.bytes())
    if kind == "bpe":
        Tokenizer.train_bpe([], vocab_size)  # refuses an impossible size before any work
        return _Maker(
            ["bpe", vocab_size],
            lambda corpus, found: Tokenizer.train_bpe(_sample(corpus, found), vocab_size),
        )
    raise UserError(tr("{kind}: no such tokenizer; give char, byte or bpe", kind=kind))


def _sample(corpus: "Corpus", found: Survey) -> Iterator[str]:
    """The training side, or of a long text a random sample of blocks of it."""
    divide = Divider(found)
    random = np.random.default_rng(found.n_characters)
    share = BPE_CHARACTERS / found.n_characters
    for block in blocks(corpus):
        pieces, owners = divide(block)
        if random.random() < share:
            yield from (pieces.texts[i] for i in np.flatnonzero(owners < 0))


def _refuse_foreign(target: Path) -> None:
    """Never replace a folder or file that somebody else put there."""
    if target.is_dir():
        if is_prepared(target) or not any(target.iterdir()):
            return
    elif not target.exists():
        return
    raise UserError(
        tr("{path}: exists and is not a prepared corpus; choose another folder", path=target)
    )
