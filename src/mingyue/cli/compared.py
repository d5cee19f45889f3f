"""Runs measured for ``mingyue compare``: the same documents, the same seed, the same figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from mingyue.cli import poems
from mingyue.cli.poems import Poems, Progress
from mingyue.cli.reading import other_text, own_text, table
from mingyue.data.dataset import Dataset
from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.evaluation.documents import alike
from mingyue.evaluation.loss import Loss, evaluate, silent
from mingyue.evaluation.verse import Verse, beside
from mingyue.generation.writer import Writer, load
from mingyue.language import tr
from mingyue.training.log import read_log


@dataclass
class Run:
    """One of the models, and what has been found out about it."""

    folder: str
    name: str
    writer: Writer
    held_out: Tokens
    """What it is measured on."""
    learned: Dataset | None
    """The text it was trained on, if that can be found again."""
    loss: Loss | None = None
    texts: list[str] = field(default_factory=list)
    verse: Verse | None = None

    @property
    def seconds(self) -> float | None:
        """How long it was trained, if that is known."""
        seconds = table(self.writer.about, "result").get("seconds")
        return float(seconds) if isinstance(seconds, int | float) else None

    @property
    def tokens_per_second(self) -> float | None:
        """How fast it learned: the median of what was logged; of what was counted, all in all."""
        if speeds := [
            look["tokens_per_second"] for look in self.looks if "tokens_per_second" in look
        ]:
            return median(speeds)
        tokens = table(self.writer.about, "data").get("train_tokens")
        counted = self.writer.model.config.kind == "ngram"
        return tokens / self.seconds if counted and tokens and self.seconds else None

    @property
    def looks(self) -> list[dict[str, Any]]:
        """The log's lines with a held-out loss and the time."""
        path = Path(self.folder) / "log.jsonl"
        lines = read_log(path) if path.is_file() else []
        return [line for line in lines if {"val_loss", "seconds"} <= line.keys()]


def opened(
    folders: Sequence[str], on: str | None, reading: Mapping[str, Any], progress: Progress
) -> tuple[list[Run], list[str]]:
    """The runs with what they are to be measured on, and what is to be said about that.

    It is all of the text ``on``, or else the documents that every run held out.

    Raises:
        UserError: a model that predicts no next token; a text that is not there or has changed;
            no document that all held out.
    """
    writers = [load(folder) for folder in folders]
    for folder, writer in zip(folders, writers, strict=True):
        if not writer.model.predicts:
            raise UserError(tr("{folder}: {why}", folder=folder, why=silent(writer.model)))
    names = [Path(folder).name for folder in folders]
    if len(set(names)) < len(names):
        names = list(folders)
    runs, notes = [], []
    for folder, name, writer in zip(folders, names, writers, strict=True):
        if on is None:
            learned = own_text(writer.about, folder, progress)
            runs.append(Run(folder, name, writer, learned.val, learned))
            continue
        text = other_text(on, writer.tokenizer, progress, reading)
        runs.append(Run(folder, name, writer, text.train, poems.learned(writer, folder, progress)))
        if unknown := text.split.train_unknown:
            notes.append(
                tr(
                    "{n} characters of the text are unknown to {run}, and are guessed as one: "
                    "its loss is too low",
                    n=f"{unknown:,}",
                    run=name,
                )
            )
    return runs, notes + ([] if on else _share(runs))


def _share(runs: Sequence[Run]) -> list[str]:
    """Leave of what each run held out what all of them did."""
    shared = alike([(run.held_out, run.writer.tokenizer) for run in runs])
    if not shared[0].n_documents:
        raise UserError(
            tr(
                "{runs}: held out no document that the others held out too, so there is nothing "
                "to compare them on; name a text that none of them has learned by --on",
                runs=", ".join(run.folder for run in runs),
            )
        )
    counts = [run.held_out.n_documents for run in runs]
    for run, tokens in zip(runs, shared, strict=True):
        run.held_out = tokens
    if shared[0].n_documents == max(counts):
        return []
    return [
        tr(
            "the runs held out different documents ({counts}); compared on the {n} that all of "
            "them held out",
            counts=", ".join(f"{n:,}" for n in counts),
            n=f"{shared[0].n_documents:,}",
        )
    ]


def measured(runs: Sequence[Run], wanted: Poems | None, progress: Progress) -> list[Run]:
    """The runs with their loss and their texts: with ``wanted`` poems, else a single sample.

    On Ctrl-C those that are ready, if any are.
    """
    done = []
    try:
        for i, run in enumerate(runs, start=1):

            def heard(doing: str, part: float, of: str = f"{i}/{len(runs)} {run.name}") -> None:
                progress(f"{of} · {doing}", part)

            run.loss = evaluate(
                run.writer.model,
                run.held_out,
                end_id=run.writer.tokenizer.end_id,
                progress=partial(heard, tr("evaluating")),
            )
            one = Poems(n=1) if wanted is None else wanted
            run.texts = poems.write(run.writer, one, run.held_out, heard)
            done.append(run)
            if len(run.texts) < one.n:
                break
    except KeyboardInterrupt:
        if not done:
            raise
    return done


def judge(runs: Sequence[Run], wanted: Poems, progress: Progress) -> Verse:
    """Give each run what its poems are like; what real ones are like, beside the first one's
    training."""
    real = poems.real_poems(runs[0].held_out, runs[0].writer.tokenizer, wanted.form)
    sets = [*(run.texts for run in runs), real]
    copies = [[] for _ in sets]
    fingerprints = [run.learned.fingerprint if run.learned else run.folder for run in runs]
    for one in dict.fromkeys(fingerprints):  # runs that learned the same are looked at together
        same = [i for i, each in enumerate(fingerprints) if each == one]
        if (learned := runs[same[0]].learned) is None:
            continue
        places = same + [len(runs)] * (same[0] == 0)
        tokenizer = runs[same[0]].writer.tokenizer
        found = poems.copies_of([sets[i] for i in places], learned.train, tokenizer, progress)
        for i, each in zip(places, found, strict=True):
            copies[i] = each
    progress(tr("judging"), 0.0)
    *verses, of_real = beside(sets, wanted.form, copies)
    for run, verse in zip(runs, verses, strict=True):
        run.verse = verse
    return of_real
