"""The sweep behind the dial: what loss comes of which shape, batch and rate, at equal work.

    python benchmarks/sweep.py --group size --results sweep.jsonl [--text input.txt] [--part 0/2]

Each run is ``mingyue.train`` with a fixed number of steps, so that how fast the machine was has no
part in it. "Work" is floating-point operations, counted exactly (``GPT.flops_per_token``). One
line of JSON a run goes to ``--results``; what is there already is not run again, so a sweep can be
stopped at any time and shared by several processes (``--part i/n``, one thread each). ``docs/``
holds the lines of the sweep that the rules of ``training/dial.py`` were read from, and
``benchmarks/sweep_plots.py`` draws them.

Groups: ``size`` (shapes at several amounts of work), ``batch`` (batch and rate together),
``block`` (tokens in a row), ``rate`` (rates by width), ``decay``, and ``tiny`` (texts of 50 KB and
500 KB, read many times).
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

import mingyue
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.text.corpus import open_corpus

LADDER = {
    32: (2, 2),
    64: (2, 2),
    96: (3, 3),
    128: (4, 4),
    192: (4, 4),
    256: (4, 4),
    320: (5, 5),
    384: (6, 6),
    512: (8, 8),
}
"""Width → blocks and heads."""


@dataclass(frozen=True)
class Trial:
    """One run of the sweep."""

    group: str
    text: str  # "tang", "english", or one of them and a size: "tang-50k"
    work: float  # floating-point operations of the whole run
    d_model: int = 192
    n_layer: int = 0  # 0: that of the ladder
    block_size: int = 128
    batch_size: int = 16
    rate: float = 1.0  # all rates, times the default ones
    decay_fraction: float = 0.5
    weight_decay: float = 0.1
    dropout: float = 0.0
    tie_embeddings: bool = False
    activation: str = "swiglu"
    seed: int = 0


def trials(group: str) -> Iterator[Trial]:
    """The plan of a group, the dearest last."""
    match group:
        case "size":
            for work, batch_size, widths in (
                (1e12, 4, (32, 64, 96, 128)),
                (4e12, 8, (32, 64, 96, 128, 192)),
                (1.6e13, 8, (64, 96, 128)),
            ):
                for width in widths:
                    yield Trial(group, "tang", work, width, batch_size=batch_size)
        case "depth":
            for work, width, n_layer in (
                (4e12, 64, 4),
                (4e12, 64, 6),
                (4e12, 96, 6),
                (1.6e13, 64, 4),
                (1.6e13, 64, 8),
                (1.6e13, 96, 6),
            ):
                yield Trial(group, "tang", work, width, n_layer=n_layer, batch_size=8)
        case "largest":
            for width in (192, 256, 384):
                yield Trial("size", "tang", 6e13, width)
        case "english":
            for work, widths in (
                (1.5e11, (32, 64, 96)),
                (5e11, (64, 96, 128)),
                (1.5e12, (64, 96, 128)),
            ):
                for width in widths:
                    yield Trial(group, "english", work, width, block_size=64)
            for block_size in (32, 128, 256):
                yield Trial(group, "english", 5e11, 64, block_size=block_size)
        case "batch":
            for batch_size in (2, 4, 8):
                for rate in (0.35, 0.5, 0.7, 1.0):
                    if rate < 0.6 * (batch_size / 2) ** 0.5 + 0.01 and rate * 4 > batch_size**0.5:
                        yield Trial(
                            group,
                            "english",
                            5e11,
                            64,
                            block_size=64,
                            batch_size=batch_size,
                            rate=rate,
                        )
            for batch_size, rate in ((2, 0.35), (4, 0.5), (4, 0.7), (4, 1.0), (8, 0.7), (8, 1.0)):
                yield Trial(group, "tang", 1e12, 96, batch_size=batch_size, rate=rate)
            for batch_size, rate in ((4, 0.7), (8, 0.7), (8, 1.0), (16, 1.0)):
                yield Trial(group, "tang", 4e12, 128, batch_size=batch_size, rate=rate)
        case "rate":
            for width, work in ((64, 1e12), (256, 4e12)):
                for rate in (0.5, 0.7, 1.4):
                    yield Trial(group, "tang", work, width, rate=rate)
        case "decay":
            for fraction in (0.3, 0.7, 1.0):
                yield Trial(group, "tang", 2e12, 128, decay_fraction=fraction)
        case "block":
            for block_size in (64, 256):
                yield Trial(
                    group, "tang", 2e12, 128, block_size=block_size, batch_size=2048 // block_size
                )
            yield Trial(group, "tang", 2e12, 128, tie_embeddings=True)
            yield Trial(group, "tang", 2e12, 128, activation="relu2")
        case "tiny":
            for width, works in ((32, (5e10, 2e11)), (64, (1e11, 4e11)), (128, (4e11, 1.6e12))):
                for text in ("english-50k", "tang-50k"):
                    for dropout in (0.0, 0.2):
                        for work in works:
                            yield Trial(
                                group,
                                text,
                                work,
                                width,
                                batch_size=8,
                                block_size=64,
                                dropout=dropout,
                            )
        case _:
            raise SystemExit(f"no group {group}; there are size large english batch rate tiny …")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--group", required=True, help="one or more, with commas")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--text", type=Path, help="an English text, for those groups")
    parser.add_argument("--part", default="0/1", help="which share of the runs: i/n [0/1]")
    asked = parser.parse_args()
    part, parts = map(int, asked.part.split("/"))
    plan = [trial for group in asked.group.split(",") for trial in trials(group)]
    for trial in plan[part::parts]:
        if any(_same(trial, line) for line in _lines(asked.results)):
            continue
        found = measure(trial, asked.text)
        with asked.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial) | found) + "\n")
        print(json.dumps(asdict(trial) | found), flush=True)


def measure(trial: Trial, english: Path | None) -> dict[str, object]:
    """Train once; the losses."""
    n_layer, n_head = LADDER[trial.d_model]
    shape = {
        "n_layer": trial.n_layer or n_layer,
        "n_head": n_head,
        "d_model": trial.d_model,
        "block_size": trial.block_size,
        "dropout": trial.dropout,
        "tie_embeddings": trial.tie_embeddings,
        "activation": trial.activation,
    }
    tiny = "-" in trial.text
    with tempfile.TemporaryDirectory(prefix="sweep-") as name:
        source, vocab_size, held_out = _source(trial.text, english, Path(name))
        with torch.device("meta"):
            model = GPT(ModelConfig.checked(vocab_size=vocab_size, **shape))
        per_step = model.flops_per_token() * trial.batch_size * trial.block_size
        steps = max(10, round(trial.work / per_step))
        out = Path(name) / "run"
        mingyue.train(
            source,
            out,
            model=shape,
            data={
                "val_fraction": held_out,
                "documents": "blank" if tiny else "auto",
                "headings": False,
            },
            config={
                "steps": steps,
                "batch_size": trial.batch_size,
                "learning_rate": 0.004 * trial.rate,
                "embedding_rate": 0.03 * trial.rate,
                "matrix_rate": 0.01 * trial.rate,
                "decay_fraction": trial.decay_fraction,
                "weight_decay": trial.weight_decay,
                "eval_every": max(1, steps // 10) if tiny else steps,
                "eval_tokens": 40_000,
                "sample_prompt": None,
                "seed": trial.seed,
            },
        )
        lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    looks = [line for line in lines if line.get("val_loss") is not None]
    return {
        "steps": steps,
        "tokens": steps * trial.batch_size * trial.block_size,
        "epochs": lines[-2].get("epoch"),
        "parameters": model.count_parameters(),
        "flops_per_token": model.flops_per_token(),
        "loss": looks[-1]["val_loss"],
        "best_loss": min(look["val_loss"] for look in looks),
        "train_loss": looks[-1]["train_loss"],
    }


def _source(text: str, english: Path | None, folder: Path) -> tuple[str, int, float]:
    """The text to name, its vocabulary, and the share to hold out."""
    name, _, size = text.partition("-")
    if name == "tang" and not size:
        return "tang", 9054, 0.05
    if name == "tang":
        poems = (document.text for document in open_corpus("tang"))
        whole = ""
        while len(whole.encode()) < 2 * int(size.rstrip("k")) * 1000:
            whole += next(poems).strip() + "\n\n"
    else:
        if english is None:
            raise SystemExit("name an English text with --text")
        whole = english.read_text(encoding="utf-8")
        whole = whole[: 2 * int(size.rstrip("k")) * 1000] if size else whole
    path = folder / f"{text}.txt"
    path.write_text(whole, encoding="utf-8")
    return str(path), len(set(whole)) + 5, 0.5 if size else 0.1


def _lines(results: Path) -> list[dict[str, object]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def _same(trial: Trial, line: dict[str, object]) -> bool:
    return all(line[name] == value for name, value in asdict(trial).items() if name != "group")


if __name__ == "__main__":
    main()
