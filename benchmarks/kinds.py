"""A GPT beside what came before it, at equal time on the same text (SPEC E3).

    python benchmarks/kinds.py [--minutes 5] [--rounds 1] [--out runs/kinds] [SOURCE]

Each kind is trained by the command a newcomer types, in a process of its own, and all are
measured alike: the loss over every held-out token, and the share of samples whose lines all have
five or all have seven characters. An n-gram model is counted, which is done before the time is up.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import mingyue
from mingyue.data import prepare
from mingyue.evaluation.loss import evaluate
from mingyue.text.corpus import open_corpus
from mingyue.text.verse import is_even

KINDS = {"GPT": ["gpt"], "LSTM": ["lstm"], "GRU": ["gru"]}
KINDS |= {f"{n}-gram": ["ngram", "--order", str(n)] for n in (2, 3, 4, 5)}
SAMPLES = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", default="tang")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/kinds"))
    asked = parser.parse_args()

    data = prepare(open_corpus(asked.source), None)
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in KINDS}
    for _ in range(asked.rounds):
        for name, kind in KINDS.items():
            folder = asked.out / name
            shutil.rmtree(folder, ignore_errors=True)
            command = [sys.executable, "-m", "mingyue", "train", asked.source, "--model", *kind]
            command += ["--minutes", str(asked.minutes), "--out", str(folder), "--no-headings"]
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - begun
            writer = mingyue.load(folder)
            loss = evaluate(writer.model, data.val, end_id=data.tokenizer.end_id)
            poems = writer.generate(n=SAMPLES, seed=1, temperature=0.8, max_tokens=200)
            even = sum(is_even(poem.text) for poem in poems) / len(poems)
            size = writer.model.count_parameters()
            rows[name].append((seconds, size, loss.nats_per_token, loss.perplexity, even))
            print(_line(name, rows[name][-1]), file=sys.stderr, flush=True)

    print(f"{'':8}{'seconds':>9}{'parameters':>13}{'nats':>8}{'perplexity':>12}{'even':>7}")
    for name, found in rows.items():
        print(_line(name, [median(column) for column in zip(*found, strict=True)]))


def _line(name: str, row: tuple[float, ...] | list[float]) -> str:
    seconds, size, nats, perplexity, even = row
    return f"{name:8}{seconds:9.1f}{size:13,.0f}{nats:8.3f}{perplexity:12.1f}{even:7.0%}"


if __name__ == "__main__":
    main()
