"""How fast a large text is prepared, and in how much memory.

    python benchmarks/prepare_speed.py [--megabytes 1000] [--cases zh-txt,en-jsonl]

Texts of the given size are made, one at a time: Chinese and English, each as one large .txt, and as
very many short documents: the rows of a .jsonl, or the lines of a .txt. Chinese is made from the
Tang poems: at each place of a long text a random one of them, with a fifth of its characters
exchanged at random, so that some poems nearly repeat others and most do not. English is made of
invented words whose frequencies fall as those of real ones do (Zipf), in sentences and paragraphs;
one paragraph in fifty repeats an earlier one. ``prepare(open_corpus(file))`` then runs in a process
of its own with an empty cache: reading, counting, choosing what to hold out, finding copies,
tokenizing, writing, and checking that the file did not change meanwhile. Printed: seconds,
megabytes (10⁶ bytes of the file) a second, and the largest resident memory of that process.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from peers import middle, table, timed

from mingyue.data import prepare
from mingyue.text.char import code_points
from mingyue.text.corpus import open_corpus
from mingyue.text.readers import Division

CASES = ("zh-txt", "zh-jsonl", "zh-lines", "en-txt", "en-jsonl", "en-lines")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=1000.0)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--kind", default="char", choices=["char", "byte", "bpe"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for the texts and results [temporary]")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)  # file, division, kind
    asked = parser.parse_args()
    if asked.worker:
        _work(*asked.worker)
        return
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="prepare-speed-", dir=asked.folder) as name:
        for case in asked.cases.split(","):
            rows.append(_measure(case, asked, Path(name)))
            print(*rows[-1], flush=True)
    print()
    table(["", "MB", "documents", "held out", "seconds", "MB/s", "peak MiB"], rows)


def _measure(case: str, asked: argparse.Namespace, work: Path) -> list[str]:
    language, _, ending = case.partition("-")
    path = work / ("text.jsonl" if ending == "jsonl" else "text.txt")
    division = "line" if ending == "lines" else "auto"
    write(path, language, int(asked.megabytes * 1e6))
    size = path.stat().st_size
    seconds, memory, said = [], [], {}
    for round_ in range(asked.repeats):
        cache = work / f"cache-{round_}"
        environment = {**os.environ, "MINGYUE_CACHE": str(cache)}
        command = [sys.executable, __file__, "--worker", path, division, asked.kind]
        _, output, rss = timed(command, env=environment)
        said = json.loads(output.splitlines()[-1])
        seconds.append(said["seconds"])
        memory.append(rss)
        for leftover in sorted(cache.rglob("*"), reverse=True):
            leftover.unlink() if leftover.is_file() else leftover.rmdir()
    path.unlink()
    took = middle(seconds)
    return [
        f"{case}, {asked.kind}",
        f"{size / 1e6:,.0f}",
        f"{said['documents']:,}",
        f"{said['held_out']:,}",
        f"{took:.1f}",
        f"{size / 1e6 / took:.1f}",
        f"{max(memory) / 2**20:,.0f}",
    ]


def _work(path: str, division: Division, kind: str) -> None:
    begun = time.perf_counter()
    dataset = prepare(open_corpus(path, documents=division), None, kind=kind)
    seconds = time.perf_counter() - begun
    split = dataset.split
    documents, held_out = split.train_documents + split.val_documents, split.val_documents
    found = {"seconds": seconds, "documents": documents, "held_out": held_out}
    print(json.dumps(found))


def write(path: Path, language: str, size: int) -> None:
    """Make a text of about ``size`` bytes."""
    written = 0
    jsonl = path.suffix == ".jsonl"
    with path.open("w", encoding="utf-8", newline="") as file:
        for text in _chinese() if language == "zh" else _english():
            row = json.dumps({"text": text}, ensure_ascii=False) if jsonl else text
            file.write(row + "\n")
            written += len(row) * (3 if language == "zh" else 1) + 1
            if written >= size:
                return


def _chinese() -> Iterator[str]:
    """Poems with a fifth of their characters exchanged, for ever."""
    random = np.random.default_rng(0)
    poems = [code_points(document.text) for document in open_corpus("tang")]
    everything = np.concatenate(poems)
    han = everything[everything >= 0x4E00]
    han = han[han < 0xA000]
    while True:
        chosen = [poems[i] for i in random.integers(len(poems), size=10_000)]
        codes = np.concatenate(chosen)
        exchanged = (random.random(len(codes)) < 0.2) & (codes >= 0x4E00) & (codes < 0xA000)
        codes[exchanged] = random.choice(han, int(exchanged.sum()))
        text = codes.astype("<u4").tobytes().decode("utf-32-le")
        start = 0
        for poem in chosen:
            yield text[start : start + len(poem)]
            start += len(poem)


def _english() -> Iterator[str]:
    """Paragraphs of invented words, for ever."""
    random = np.random.default_rng(0)
    words = [_word(random) for _ in range(30_000)]
    chances = 1 / np.arange(3, len(words) + 3)
    sums = np.cumsum(chances / chances.sum())
    earlier: list[str] = []
    while True:
        drawn = np.searchsorted(sums, random.random(100_000)).clip(max=len(words) - 1).tolist()
        lengths = random.integers(5, 22, 10_000).tolist()
        sentences: list[str] = []
        at = 0
        for length in lengths:
            if at + length > len(drawn):
                break
            sentence = " ".join([words[i] for i in drawn[at : at + length]])
            sentences.append(sentence[0].upper() + sentence[1:] + ".")
            at += length
        at = 0
        while at < len(sentences):
            if earlier and random.random() < 0.02:
                yield earlier[int(random.integers(len(earlier)))]
            count = int(random.integers(1, 8))
            paragraph = " ".join(sentences[at : at + count])
            at += count
            if len(earlier) < 10_000:
                earlier.append(paragraph)
            yield paragraph


def _word(random: np.random.Generator) -> str:
    syllables = [
        "bcdfghjklmnprstvwz"[random.integers(18)] + "aeiou"[random.integers(5)]
        for _ in range(random.integers(1, 5))
    ]
    return "".join(syllables) + ("", "n", "s", "r", "t")[random.integers(5)]


if __name__ == "__main__":
    main()
