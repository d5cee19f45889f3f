"""Held-out loss on the Tang poems after equal time, beside nanoGPT and transformers.

    python benchmarks/tang_equal_time.py --nanogpt PATH [--minutes 1,3,10] [-- OPTIONS]

All learn from the same documents with the same ids, end tokens included: our prepared corpus,
exported. For each number of minutes M:

- nanoGPT: ``train.py`` in the clone with the recipe of its README for a CPU, with as many
  iterations as fit into M (a short run before says how fast they are here);
- transformers: ``Trainer`` with its own defaults on a new ``GPT2LMHeadModel`` of the same shape,
  its text in blocks laid end to end, as many steps as fit (it needs the package accelerate);
- Mingyue: ``mingyue train tang --minutes M``, and M/4. Words after ``--`` are added to it.

Times are of whole processes. All are scored by one function: each held-out poem alone after an
end token, every token once, poems longer than a model's block in windows side by side.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers import CPU_RECIPE, NanoGPT, export, middle, ours, score, table, timed

import mingyue
from mingyue.data import Tokens, prepare
from mingyue.text.corpus import open_corpus

PILOT = 60
"""Iterations of the run that measures the speed."""


def main() -> None:
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nanogpt", type=Path, help="a clone of nanoGPT")
    parser.add_argument("--minutes", default="1,3,10", help="how long, separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without", default="", help="a peer to leave out: nanogpt,transformers")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)  # data, out, steps
    asked = parser.parse_args(words[:cut])
    if asked.worker:
        data, out, steps = asked.worker
        _train_transformers(Path(data), Path(out), int(steps))
        return
    with tempfile.TemporaryDirectory(prefix="tang-equal-time-") as name:
        _compare(asked, words[cut + 1 :], Path(name))


def _compare(asked: argparse.Namespace, more: list[str], work: Path) -> None:
    dataset = prepare(open_corpus("tang"), None)
    vocab_size, end_id = dataset.tokenizer.vocab_size, dataset.tokenizer.end_id
    data = work / "data"
    export(data, _all(dataset.train), _all(dataset.val), vocab_size)
    poems = [
        np.concatenate([[end_id], dataset.val.document(i)]) for i in range(dataset.val.n_documents)
    ]
    peers: dict[str, Any] = {}
    if "nanogpt" not in asked.without:
        if asked.nanogpt is None:
            sys.exit("name a clone of nanoGPT by --nanogpt, or leave it out by --without nanogpt")
        peers["nanoGPT"] = _NanoGPT(NanoGPT(asked.nanogpt), data, work)
    if "transformers" not in asked.without:
        peers["transformers"] = _Transformers(data, work)

    rows: list[list[str]] = []
    summary: list[str] = []
    for minutes in map(float, asked.minutes.split(",")):
        found: dict[str, list[float]] = {}
        for round_ in range(asked.repeats):
            runs: dict[str, Callable[[], tuple[str, Any]]] = {
                name: partial(peer.run, minutes, round_) for name, peer in peers.items()
            }
            for label, share in (("Mingyue, a quarter", 4), ("Mingyue", 1)):
                out = work / f"ours-{minutes:g}-{share}-{round_}"
                runs[label] = partial(_ours, out, minutes / share, round_, more)
            for label, run in runs.items():
                begun = time.perf_counter()
                detail, model = run()
                seconds = time.perf_counter() - begun
                logits, block_size = model()
                loss, count = score(logits, poems, block_size)
                found.setdefault(label, []).append(loss)
                row = [f"{label}, {minutes:g} min", f"{seconds:.1f}", f"{loss:.4f}", detail]
                rows.append([*row, f"{count:,}"])
                print(*rows[-1], flush=True)
        medians = {label: middle(losses) for label, losses in found.items()}
        quarter = medians["Mingyue, a quarter"]
        for peer in peers:
            verdict = "reaches" if quarter <= medians[peer] else "does not reach"
            summary.append(
                f"{minutes:g} min: {peer} {medians[peer]:.4f}, Mingyue {medians['Mingyue']:.4f}; "
                f"in {minutes / 4:g} min {quarter:.4f}, which {verdict} it"
            )
    print()
    table(["", "seconds", "nats/token", "steps", "tokens scored"], rows)
    print(f"\nmedians of {asked.repeats}:", *summary, sep="\n")


def _all(tokens: Tokens) -> np.ndarray:
    return tokens.slice(0, tokens.n_tokens)


def _ours(folder: Path, minutes: float, seed: int, more: list[str]) -> tuple[str, Any]:
    command: list[Any] = [sys.executable, "-m", "mingyue", "train", "tang", "--out", folder]
    command.append("--no-headings")  # all read the same text
    timed([*command, "--minutes", minutes, "--seed", seed, *more])
    result = mingyue.load(folder).about.get("result", {})
    return f"{result.get('total_steps', '')}", lambda: ours(folder)[:2]


class _NanoGPT:
    """Its recipe with as many iterations as fit."""

    def __init__(self, nano: NanoGPT, data: Path, work: Path) -> None:
        self.nano, self.data, self.work = nano, data, work
        # It evaluates at the beginning and at the end, and saves at the end.
        pilot = self._train(PILOT, work / "nanogpt-pilot")
        self.pace = pilot.milliseconds / 1000
        self.overhead = pilot.seconds - PILOT * self.pace  # start, both evaluations, saving

    def run(self, minutes: float, round_: int) -> tuple[str, Any]:
        steps = max(PILOT, int((minutes * 60 - self.overhead) / self.pace))
        run = self._train(steps, self.work / f"nanogpt-{minutes:g}-{round_}")
        # The pace of a longer run is the better measure for the next.
        self.pace = (run.seconds - self.overhead) / steps
        return str(steps), lambda: self.nano.load(run.checkpoint)

    def _train(self, steps: int, out: Path) -> Any:
        lengths = {"max_iters": steps, "lr_decay_iters": steps, "eval_interval": steps}
        return self.nano.train(self.data, out, **CPU_RECIPE, **lengths)


class _Transformers:
    """``Trainer`` in a process of its own, with as many steps as fit."""

    def __init__(self, data: Path, work: Path) -> None:
        self.data, self.work = data, work
        short, long = (self._train(n, work / f"transformers-{n}") for n in (10, 10 + PILOT))
        self.pace = max(1e-4, (long - short) / PILOT)
        self.overhead = short - 10 * self.pace

    def run(self, minutes: float, round_: int) -> tuple[str, Any]:
        steps = max(PILOT, int((minutes * 60 - self.overhead) / self.pace))
        out = self.work / f"transformers-{minutes:g}-{round_}"
        self.pace = (self._train(steps, out) - self.overhead) / steps
        return str(steps), lambda: _load_transformers(out)

    def _train(self, steps: int, out: Path) -> float:
        command = [sys.executable, __file__, "--worker", self.data, out, steps]
        return timed(command)[0]


def _train_transformers(data: Path, out: Path, steps: int) -> None:
    """The worker: what a newcomer to transformers writes."""
    import pickle

    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    block = CPU_RECIPE["block_size"]
    ids = np.fromfile(data / "train.bin", np.uint16).astype(np.int64)
    rows = ids[: len(ids) // block * block].reshape(-1, block)
    with (data / "meta.pkl").open("rb") as file:  # our own export
        vocab_size = pickle.load(file)["vocab_size"]
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab_size,
            n_positions=block,
            n_embd=CPU_RECIPE["n_embd"],
            n_layer=CPU_RECIPE["n_layer"],
            n_head=CPU_RECIPE["n_head"],
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    examples = [{"input_ids": row, "labels": row} for row in torch.from_numpy(rows)]
    arguments = TrainingArguments(
        output_dir=str(out),
        max_steps=steps,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=examples)  # type: ignore[arg-type]
    trainer.train()
    trainer.save_model(str(out))


def _load_transformers(folder: Path) -> tuple[Any, int]:
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(folder).eval()
    return lambda ids: model(ids).logits, model.config.n_positions


if __name__ == "__main__":
    main()
