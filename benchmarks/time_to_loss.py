"""Seconds from the command to a saved model of validation loss 1.886, beside nanoGPT.

    python benchmarks/time_to_loss.py --text input.txt --nanogpt PATH [--minutes 0.18] [-- OPTIONS]

The text (tinyshakespeare: 1,115,394 characters) is cut as nanoGPT does, the first 90% to train
on, the rest held out; tokens are characters. In each round, one after the other:

- nanoGPT: ``train.py`` with the recipe that its README gives for a CPU, 2,000 iterations;
- Mingyue cold: ``mingyue train TRAIN.txt --held-out VAL.txt --minutes M`` with an empty cache
  folder, as on a machine that never ran it;
- Mingyue warm: the same again, with the caches that the cold run left.

Measured is each whole process. (Cutting the text for nanoGPT is not, which is its advantage.)
Words after ``--`` go to ``mingyue train``. Both models are then scored by one function on the
whole held-out text, every token but the first once, in windows of each model's own block that lie
side by side; beside that stands what each tool said itself.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from peers import CPU_RECIPE, NanoGPT, export_text, middle, ours, score, table, timed


def main() -> None:
    options, more = _asked()
    with tempfile.TemporaryDirectory(prefix="time-to-loss-") as name:
        _compare(options, more, Path(name))


def _asked() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--nanogpt", type=Path, required=True, help="a clone of nanoGPT")
    parser.add_argument("--target", type=float, default=1.886, help="the loss to reach [1.886]")
    parser.add_argument("--minutes", type=float, default=0.18, help="of the warm run [0.18]")
    parser.add_argument("--cold-minutes", type=float, help="of the cold run [as the warm one]")
    parser.add_argument("--iterations", type=int, default=2000, help="of nanoGPT [2000]")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of the first round [0]")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    return parser.parse_args(words[:cut]), words[cut + 1 :]


def _compare(options: argparse.Namespace, more: list[str], work: Path) -> None:
    nano = NanoGPT(options.nanogpt)
    text = options.text.read_text(encoding="utf-8")
    cut = int(0.9 * len(text))
    train, val = text[:cut], text[cut:]
    (work / "train.txt").write_text(train, encoding="utf-8", newline="")
    (work / "val.txt").write_text(val, encoding="utf-8", newline="")
    ids = export_text(work / "nanogpt", train, val)
    nano_val = np.array([ids[c] for c in val])

    rows: list[list[str]] = []
    seconds: dict[str, list[float]] = {}
    losses: dict[str, list[float]] = {}

    def note(name: str, took: float, loss: float, count: int, own: float) -> None:
        seconds.setdefault(name, []).append(took)
        losses.setdefault(name, []).append(loss)
        rows.append([name, f"{took:.1f}", f"{loss:.4f}", f"{own:.4f}", f"{count:,}"])
        print(*rows[-1], flush=True)

    for round_ in range(options.repeats):
        out = work / f"nanogpt-{round_}"
        count = options.iterations
        recipe = {**CPU_RECIPE, "max_iters": count, "lr_decay_iters": count}
        # It saves where it evaluates, every 250 iterations; fewer in all still want an end.
        run = nano.train(work / "nanogpt", out, **recipe, eval_interval=min(250, count))
        logits, block_size = nano.load(run.checkpoint)
        own = run.val_losses[-1][1]
        note("nanoGPT", run.seconds, *score(logits, [nano_val], block_size), own)

        cache = work / f"cache-{round_}"
        for name, minutes in (
            ("Mingyue cold", options.cold_minutes or options.minutes),
            ("Mingyue warm", options.minutes),
        ):
            folder = work / f"{name.replace(' ', '-')}-{round_}"
            seed = options.seed + round_
            took = _train_ours(work, folder, minutes, seed, cache, more)
            logits, block_size, tokenizer = ours(folder)
            our_val = tokenizer.encode_array(val)
            note(name, took, *score(logits, [our_val], block_size), _own_loss(folder))

    print()
    table(["", "seconds", "loss, one scorer", "loss by itself", "tokens"], rows)
    print(f"\nmedians of {options.repeats}; target {options.target}")
    for name in seconds:
        reached = sum(loss <= options.target for loss in losses[name])
        line = f"{name:14s} {middle(seconds[name]):7.1f} s, loss {middle(losses[name]):.4f}"
        line += f", at most {options.target} in {reached} of {options.repeats}"
        if name != "nanoGPT":
            line += f"; 1/{middle(seconds['nanoGPT']) / middle(seconds[name]):.2f} of its time"
        print(line)


def _train_ours(
    work: Path, folder: Path, minutes: float, seed: int, cache: Path, more: list[str]
) -> float:
    """Seconds that ``mingyue train`` took, with all that caches anything told to do so there."""
    command: list[Any] = [sys.executable, "-m", "mingyue", "train", work / "train.txt"]
    command += ["--held-out", work / "val.txt", "--out", folder, "--seed", seed]
    command += ["--minutes", minutes, *more]
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(cache / "xdg"),
        "MINGYUE_CACHE": str(cache / "mingyue"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
    }
    return timed(command, env=environment)[0]


def _own_loss(folder: Path) -> float:
    """The loss that the run noted for the weights it kept."""
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    looks = [line for line in map(json.loads, lines) if line.get("val_loss") is not None]
    kept = [line for line in looks if line.get("best")] or looks
    return float(kept[-1]["val_loss"]) if kept else float("nan")


if __name__ == "__main__":
    main()
