"""Training speed: tokens a second, share of the machine's peak, and memory, beside two peers.

    python benchmarks/training_speed.py --nanogpt PATH [--compile] [--shape large|small|default|all]

Each contender is a process of its own that holds its model ready; in each round they take turns,
one at a time, each making whole steps (batch, forward, backward, clipping, optimizer) for some
seconds. Printed are medians over the rounds.

- nanoGPT: its own ``model.py`` from the clone and the optimizer it makes itself (AdamW), in fp32,
  under bf16 autocast, and with --compile through ``torch.compile``.
- transformers: ``GPT2LMHeadModel`` and torch's AdamW, in fp32 and under bf16 autocast.
- Mingyue: ``training.step.learn`` and ``training.optimizer.build_optimizer`` with the settings of
  ``mingyue train``, precision chosen by itself; once in our default layout, once as the layout of
  GPT-2 with exactly nanoGPT's parameters.

Floating-point operations are counted the same way for all: two for each multiply-add of a matrix
product, the head included, look-ups not; attention over the whole T × T square; the way back is
twice the way there; optimizer and elementwise work count nothing. The peak is that of a large
square matrix product with the same number of threads, the best of many, tried in each round.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from peers import NanoGPT, middle, table

Step = Callable[[], None]


class Shape(NamedTuple):
    """The sizes that contenders share, and the batch of each side."""

    n_layer: int
    n_head: int
    d_model: int
    block_size: int
    vocab_size: int
    batch: int


SHAPES = {
    "large": Shape(6, 6, 384, 256, 7000, 8),
    "small": Shape(4, 4, 128, 64, 65, 12),
    "default": Shape(4, 4, 256, 128, 9045, 16),  # what `mingyue train` makes of the Tang poems
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nanogpt", type=Path, required=True, help="a clone of nanoGPT")
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--compile", action="store_true", help="also with torch.compile")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each turn [4]")
    parser.add_argument("--repeats", type=int, default=3, help="rounds [3]")
    parser.add_argument("--threads", type=int, default=0, help="of torch [its own choice]")
    parser.add_argument(
        "--our-batch", type=int, default=64, help="ours also with this batch, small shape [64]"
    )
    parser.add_argument("--only", default="", help="only those with one of these words, by commas")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    if asked.worker:
        _work(asked.nanogpt, json.loads(asked.worker))
        return
    NanoGPT(asked.nanogpt)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    for name, shape in SHAPES.items():
        if asked.shape in (name, "all"):
            _compare(name, shape, asked)


def _compare(name: str, shape: Shape, asked: argparse.Namespace) -> None:
    """All contenders at one shape, and a table."""
    print(
        f"\n{name}: {shape.n_layer} layers, {shape.n_head} heads, {shape.d_model} wide, "
        f"T {shape.block_size}, vocabulary {shape.vocab_size:,}, batch {shape.batch}",
        flush=True,
    )
    workers = [
        _Worker(contender, asked)
        for contender in _contenders(name, shape, asked)
        if any(word in contender["name"] for word in asked.only.split(","))
    ]
    peak = {"fp32": 0.0, "bf16": 0.0}
    for _ in range(asked.repeats):
        for precision in peak:
            peak[precision] = max(peak[precision], product_speed(precision))
        for worker in workers:
            worker.turn(asked.seconds)
    found = [worker.end() for worker in workers]

    rows = []
    for worker, memory in zip(workers, found, strict=True):
        speed, about = middle(worker.speeds), worker.about
        work = speed * about["flops"]
        rows.append(
            [
                about["name"],
                about["precision"],
                f"{about['parameters']:,}",
                f"{speed:,.0f}",
                f"{about['flops'] / 1e6:.1f}",
                f"{work / 1e9:,.0f}",
                f"{work / peak[about['precision']]:.0%}",
                f"{work / peak['bf16']:.0%}",
                f"{memory / 2**20:,.0f}",
            ]
        )
    head = ["", "precision", "parameters", "tokens/s", "MFLOP/token", "GFLOP/s"]
    table([*head, "of its peak", "of bf16 peak", "peak MiB"], rows)
    print(f"matrix products here: fp32 {peak['fp32'] / 1e9:,.0f} GFLOP/s", end=", ")
    print(f"bf16 {peak['bf16'] / 1e9:,.0f} GFLOP/s")

    speeds = {worker.about["name"]: middle(worker.speeds) for worker in workers}
    ours = {n: s for n, s in speeds.items() if n.startswith("Mingyue")}
    theirs = {n: s for n, s in speeds.items() if n not in ours}
    if theirs:
        best = max(theirs, key=lambda n: theirs[n])
        for n, s in ours.items():
            print(f"{n}: {s / theirs[best]:.2f} times the best of the others ({best})")
            if "nanoGPT fp32" in theirs:
                print(f"{n}: {s / theirs['nanoGPT fp32']:.2f} times nanoGPT fp32")


def _contenders(name: str, shape: Shape, asked: argparse.Namespace) -> list[dict[str, Any]]:
    def one(title: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"name": title, "kind": kind, "shape": shape, **more}

    found = [
        one("nanoGPT fp32", "nanogpt", precision="fp32"),
        one("nanoGPT bf16", "nanogpt", precision="bf16"),
        one("transformers fp32", "transformers", precision="fp32"),
        one("transformers bf16", "transformers", precision="bf16"),
        one("Mingyue", "mingyue", layout="default"),
        one("Mingyue, GPT-2 layout", "mingyue", layout="gpt2"),
    ]
    if asked.compile:
        for precision in ("fp32", "bf16"):
            title = f"nanoGPT {precision} compiled"
            found.append(one(title, "nanogpt", precision=precision, compile=True))
        found.append(one("Mingyue compiled", "mingyue", layout="default", compile=True))
    if name == "small" and asked.our_batch:
        wide = shape._replace(batch=asked.our_batch)
        title = f"Mingyue, batch {asked.our_batch}"
        found.append({**one(title, "mingyue", layout="default"), "shape": wide})
    return found


class _Worker:
    """A contender in its own process: builds its model, then trains on call."""

    def __init__(self, contender: dict[str, Any], asked: argparse.Namespace) -> None:
        command = [sys.executable, __file__, "--nanogpt", str(asked.nanogpt)]
        command += ["--worker", json.dumps(contender), "--threads", str(asked.threads)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.about: dict[str, Any] = self._hear()  # ready, and nobody else has begun
        self.speeds: list[float] = []

    def turn(self, seconds: float) -> None:
        """Train so long and note the tokens a second."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        self.speeds.append(self._hear()["speed"])

    def end(self) -> int:
        """Its largest resident memory, in bytes."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        memory = self._hear()["memory"]
        self._process.wait()
        return memory

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # models print things of their own
            if line.startswith("{"):
                return json.loads(line)
        sys.exit("a contender failed; see above")


def _work(clone: Path, contender: dict[str, Any]) -> None:
    """The worker's side: say what was built, then a line for each turn, at the end the memory."""
    shape = Shape(*contender["shape"])
    torch.manual_seed(0)
    make = {"nanogpt": _nanogpt, "transformers": _transformers, "mingyue": _mingyue}
    step, about = make[contender["kind"]](shape, contender, clone)
    for _ in range(3):  # to settle, and to compile
        step()
    print(json.dumps({"name": contender["name"], **about}), flush=True)
    for line in sys.stdin:
        begun, steps = time.perf_counter(), 0
        while time.perf_counter() - begun < float(line):
            step()
            steps += 1
        seconds = time.perf_counter() - begun
        tokens = steps * shape.batch * shape.block_size
        print(json.dumps({"speed": tokens / seconds}), flush=True)
    unit = 1 if sys.platform == "darwin" else 1024
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps({"memory": memory}), flush=True)


def _nanogpt(shape: Shape, contender: dict[str, Any], clone: Path) -> tuple[Step, dict[str, Any]]:
    module = NanoGPT(clone).module
    model = module.GPT(
        module.GPTConfig(
            block_size=shape.block_size,
            vocab_size=shape.vocab_size,
            n_layer=shape.n_layer,
            n_head=shape.n_head,
            n_embd=shape.d_model,
            dropout=0.0,
            bias=False,  # as its train.py has it
        )
    )
    optimizer = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")
    forward = torch.compile(model) if contender.get("compile") else model

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return forward(x, y)[1]

    return _plain_step(shape, contender["precision"], model, optimizer, loss)


def _transformers(
    shape: Shape, contender: dict[str, Any], _clone: Path
) -> tuple[Step, dict[str, Any]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=shape.vocab_size,
            n_positions=shape.block_size,
            n_embd=shape.d_model,
            n_layer=shape.n_layer,
            n_head=shape.n_head,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            resid_pdrop=0.0,
            use_cache=False,
            bos_token_id=0,
            eos_token_id=0,
        )
    ).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(x: torch.Tensor, _y: torch.Tensor) -> torch.Tensor:
        return model(x, labels=x).loss  # which shifts the labels itself

    return _plain_step(shape, contender["precision"], model, optimizer, loss)


def _plain_step(
    shape: Shape,
    precision: str,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> tuple[Step, dict[str, Any]]:
    """A step as nanoGPT and most tutorials write it."""
    batch = _batch(shape)

    def cast() -> AbstractContextManager[object]:
        return nullcontext() if precision == "fp32" else torch.autocast("cpu", torch.bfloat16)

    def step() -> None:
        x, y = batch()
        with cast():
            value = loss(x, y)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        value.item()

    tables = shape.vocab_size, shape.block_size  # of tokens (also the head) and of positions
    matrices = sum(p.numel() for p in model.parameters() if p.dim() == 2 and len(p) not in tables)
    matrices += shape.vocab_size * shape.d_model
    attention = 2 * shape.n_layer * shape.block_size * shape.d_model
    return step, {
        "precision": precision,
        "parameters": sum(p.numel() for p in model.parameters()),
        "flops": 6 * (matrices + attention),
    }


def _mingyue(shape: Shape, contender: dict[str, Any], _clone: Path) -> tuple[Step, dict[str, Any]]:
    from mingyue.model.config import ModelConfig
    from mingyue.model.gpt import GPT
    from mingyue.training.compiling import compiled, plain
    from mingyue.training.config import TrainConfig
    from mingyue.training.observe import Observer
    from mingyue.training.optimizer import build_optimizer
    from mingyue.training.precision import LossScale, autocast, choose_precision, product_dtype
    from mingyue.training.step import learn

    layout: dict[str, Any] = {}
    if contender["layout"] == "gpt2":
        layout = {"position": "learned", "norm": "layernorm", "activation": "gelu"}
        layout |= {"qk_norm": False, "tie_embeddings": True}
    sizes = shape._asdict()
    sizes.pop("batch")
    model = GPT(ModelConfig.checked(**sizes, **layout)).train()
    config, device = TrainConfig(steps=1000), torch.device("cpu")
    precision = choose_precision("auto", device, shape.d_model)
    optimizer = build_optimizer(model, config, product_dtype(precision))
    batch = _batch(shape)
    forward = plain(model)
    if contender.get("compile"):
        forward, worked = compiled(model, *batch(), precision, Observer())
        if not worked:
            sys.exit("Mingyue cannot be compiled here")

    def step() -> None:
        x, y = batch()
        learn(
            forward,
            optimizer,
            x,
            y,
            share=0.1,
            clip=config.clip,
            scale=LossScale.of(precision),
            micro_batch=None,
            autocast=lambda: autocast(device, precision),
        )

    return step, {
        "precision": precision,
        "parameters": model.count_parameters(),
        "flops": model.flops_per_token(shape.block_size),
    }


def _batch(shape: Shape) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    """Batches x, y [B, T] of random ids, the same for all contenders."""
    generator = torch.Generator().manual_seed(1)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        size = (shape.batch, shape.block_size + 1)
        ids = torch.randint(shape.vocab_size, size, generator=generator)
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    return batch


def product_speed(precision: str) -> float:
    """Floating-point operations a second of a large square matrix product, the best of many."""
    best = 0.0
    for n in (1024, 2048, 4096) if precision == "bf16" else (1024, 2048):
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        a, b = torch.randn(n, n).to(dtype), torch.randn(n, n).to(dtype)
        seconds = 0.0
        for _ in range(6):
            begun = time.perf_counter()
            a @ b
            seconds = time.perf_counter() - begun
            best = max(best, 2 * n**3 / seconds)
        if seconds > 0.5:  # emulated: larger ones are no faster, and take minutes
            break
    return best


if __name__ == "__main__":
    main()
