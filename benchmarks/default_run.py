"""The default run on the Tang poems: how long, how good, and are the poems even?

    python benchmarks/default_run.py [--minutes 5] [--samples 200] [--out runs/benchmark]

Trains by the command a newcomer types, in a process of its own, and times all of it, start-up
and saving included. Then, on the model that was saved: the loss over every held-out token, beside
n-gram models counted on the same training text; and the share of samples whose lines all have
five or all have seven characters, beside the same share of the held-out poems.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import mingyue
from mingyue.data import Dataset, Tokens, prepare
from mingyue.evaluation.loss import evaluate
from mingyue.model.config import ModelConfig
from mingyue.text.corpus import open_corpus
from mingyue.text.verse import is_even
from mingyue.training.counting import count_ngrams


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmark"))
    parser.add_argument("--seed", type=int, default=0)
    asked, more = parser.parse_known_args()

    command = [sys.executable, "-m", "mingyue", "train", "tang", "--out", str(asked.out)]
    command += ["--minutes", str(asked.minutes), "--seed", str(asked.seed), *more]
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begun

    writer = mingyue.load(asked.out)
    data = prepare(open_corpus("tang"), writer.tokenizer)
    loss = evaluate(writer.model, data.val, end_id=data.tokenizer.end_id)
    poems = writer.generate(n=asked.samples, seed=1, temperature=0.8, max_tokens=400)
    even = sum(is_even(poem.text) for poem in poems) / len(poems)
    ended = sum(poem.reason == "end" for poem in poems) / len(poems)
    steps = json.loads((asked.out / "mingyue.json").read_text())["result"]["total_steps"]

    counted = {n: _counted(data, n) for n in (2, 4)}
    length = f"for --minutes {asked.minutes:g} ({steps} steps)"
    print(f"whole command         {seconds:8.1f} s {length}")
    print(f"parameters            {writer.model.count_parameters():,}")
    print(f"held-out loss         {loss.nats_per_token:8.3f} nats per character, ends included")
    print(f"  over                {loss.n_tokens:,} tokens of {loss.n_documents:,} poems")
    print(f"  bits per character  {loss.bits_per_character:8.3f}")
    for n, nats in counted.items():
        print(f"{n}-gram, same text     {nats:8.3f}")
    print(
        f"even lines, 5 or 7    {even:8.1%} of {len(poems)} samples ({ended:.1%} ended themselves)"
    )
    print(f"  held-out poems      {_even_share(data.val, data.tokenizer):8.1%}")


def _counted(data: Dataset, order: int) -> float:
    end_id = data.tokenizer.end_id
    config = ModelConfig(kind="ngram", vocab_size=data.tokenizer.vocab_size, order=order)
    model = count_ngrams(data.train, config, end_id=end_id)
    return evaluate(model, data.val, end_id=end_id).nats_per_token


def _even_share(tokens: Tokens, tokenizer: mingyue.Tokenizer) -> float:
    poems = [tokenizer.decode(tokens.document(i).tolist()) for i in range(tokens.n_documents)]
    return sum(map(is_even, poems)) / len(poems)


if __name__ == "__main__":
    main()
