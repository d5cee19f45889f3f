"""Fit the law of ``training/law.py`` to the runs of a sweep, and draw them.

    python benchmarks/sweep_fit.py docs/sweep.jsonl --figure docs/figures/sweep.png

Fitted are E, A, α, K, β and b* to the Tang runs, then E, A and K alone to the English ones. Runs of
fewer than 300 steps (200 for English) or with rates far from the default are left out: the dial
makes no such runs.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import torch
from sweep import LADDER

from mingyue.model.config import ModelConfig

VOCABULARY = {"tang": 9045, "english": 68}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.results.read_text().splitlines()]
    tang = [r for r in lines if r["text"] == "tang" and _usual(r, 300)]
    english = [r for r in lines if r["text"] == "english" and _usual(r, 200)]
    first = fit(tang, [3.0, 5.0, -0.9, 5.0, -1.0, 1.0], range(6))
    second = fit(english, [1.0, 3.0, first[2], 4.0, first[4], first[5]], (0, 1, 3))
    for name, runs, p in (("tang", tang, first), ("english", english, second)):
        error = predicted(runs, torch.tensor(p)) - torch.tensor([r["loss"] for r in runs])
        E, A, alpha, K, beta, batch = p[0], *map(math.exp, p[1:])
        print(
            f"{name}: {len(runs)} runs, E {E:.2f}, A {A:.1f}, alpha {alpha:.3f}, K {K:.1f}, "
            f"beta {beta:.3f}, batch {batch:.2f}; "
            f"mean error {error.square().mean().sqrt():.3f} nats"
        )
    if asked.figure:
        draw(tang, first, asked.figure)


def _usual(run: dict[str, Any], steps: int) -> bool:
    return (
        run["steps"] >= steps
        and run["rate"] > 0.8
        and run["block_size"] <= 128
        and run["activation"] == "swiglu"
        and not run["tie_embeddings"]
        and run["decay_fraction"] == 0.5
    )


def predicted(runs: list[dict[str, Any]], p: torch.Tensor) -> torch.Tensor:
    """The law's loss of each run; p holds E and the logarithms of A, α, K, β, b*."""
    N = torch.tensor([float(_model(r).products) for r in runs])
    D = torch.tensor([float(r["tokens"]) for r in runs])
    b = torch.tensor([float(r["batch_size"] * r["block_size"]) for r in runs])
    A, alpha, K, beta, batch = p[1:].exp()
    return p[0] + A * N**-alpha + K * (D / (1 + b / (batch * D.sqrt()))) ** -beta


def _model(run: dict[str, Any]) -> ModelConfig:
    n_layer, n_head = LADDER[run["d_model"]]
    return ModelConfig(
        vocab_size=VOCABULARY[run["text"]],
        n_layer=run["n_layer"] or n_layer,
        n_head=n_head,
        d_model=run["d_model"],
        block_size=run["block_size"],
    )


def fit(runs: list[dict[str, Any]], start: list[float], free: Any) -> list[float]:
    """Least squares over the entries of ``start`` named in ``free``."""
    fixed = torch.tensor(start, dtype=torch.float64)
    chosen = list(free)
    x = fixed[chosen].clone().requires_grad_()
    losses = torch.tensor([r["loss"] for r in runs], dtype=torch.float64)
    optimizer = torch.optim.LBFGS([x], max_iter=2000, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        error = predicted(runs, fixed.index_put((torch.tensor(chosen),), x)) - losses
        value = error.square().mean()
        value.backward()
        return value

    optimizer.step(closure)  # type: ignore[arg-type]
    fixed[chosen] = x.detach()
    return fixed.tolist()


def draw(runs: list[dict[str, Any]], p: list[float], path: Path) -> None:
    """Loss by width at each amount of work, measured (points) and by the law (crosses)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    law = predicted(runs, torch.tensor(p)).tolist()
    for colour, work in enumerate(sorted({r["work"] for r in runs})):
        some = sorted(
            ((_model(r).products, r["loss"], e) for r, e in zip(runs, law, strict=True)
             if r["work"] == work)
        )  # fmt: skip
        weights, losses, laws = zip(*some, strict=True)
        axes.plot(weights, losses, "o-", color=f"C{colour}", label=f"{work:.0e} operations")
        axes.plot(weights, laws, "x", color=f"C{colour}")
    axes.set(
        xscale="log", xlabel="weights in products, N", ylabel="held-out loss, nats a character"
    )
    axes.set_title("Tang poems at equal work (crosses: the law)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
