"""Writing speed: tokens a second for one text and for 32 at once, beside two peers.

    python benchmarks/decode.py [--llama-python PYTHON] [--run RUN --text FILE]

All write with the same weights: a model of 6 layers, 6 heads, 384 wide, vocabulary 7,000 in our
default layout (that of Qwen3), freshly made, since speed does not depend on what it learned.
Everybody draws at temperature 0.8 from all tokens but the end, so that nobody ends early. Each
contender is a process of its own that holds its model ready; in each round they take turns, one
at a time. Printed are medians over the rounds.

- Mingyue: ``Writer.generate``, from prompt to text, in each precision, and compiled where the
  package numba is there.
- transformers: ``generate`` of ``AutoModelForCausalLM`` on the run folder, in fp32.
- llama.cpp: ``llama_decode`` and its own samplers, called through llama-cpp-python one token after
  another, on files that ``interop.gguf`` writes. One text only. --llama-python names another
  Python that has the package.

What a narrower precision costs in loss can only be told from a model that has learned something:
with --run and --text, the loss in nats a token of that text, scored by the very step that writes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SHAPE = {"n_layer": 6, "n_head": 6, "d_model": 384, "block_size": 512}
VOCABULARY = 7000
TEMPERATURE = 0.8

Write = Callable[[int, int], int]
"""Write n texts of so many tokens; returns how many tokens there came."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--llama-python", default=sys.executable, help="has llama-cpp-python")
    parser.add_argument("--run", type=Path, help="a trained run, to tell the cost in loss")
    parser.add_argument("--text", type=Path, help="a text that this run has not seen")
    parser.add_argument("--text-tokens", type=int, default=20_000, help="of it at most [20000]")
    parser.add_argument("--tokens", type=int, default=256, help="new ones in a text [256]")
    parser.add_argument("--repeats", type=int, default=3, help="rounds [3]")
    parser.add_argument("--threads", type=int, default=0, help="[the cores there are]")
    parser.add_argument("--only", default="", help="only contenders whose name has this in it")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if hasattr(os, "sched_getaffinity"):
        asked.threads = asked.threads or len(os.sched_getaffinity(0))
    asked.threads = asked.threads or os.cpu_count() or 1
    if asked.worker:
        _work(json.loads(asked.worker), asked.threads)
        return
    with tempfile.TemporaryDirectory() as folder:
        contenders = [c for c in _contenders(Path(folder), asked) if asked.only in c["name"]]
        for n in (1, 32):
            _compare(n, [c for c in contenders if n == 1 or c["kind"] != "llama"], asked)
    if asked.run and asked.text:
        _loss(asked.run, asked.text, asked.text_tokens)


def _contenders(folder: Path, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """The model, saved for everybody, and who can be asked to write with it."""
    import torch

    from mingyue.interop.run_folder import save_model
    from mingyue.model.config import ModelConfig
    from mingyue.model.gpt import GPT
    from mingyue.text.tokenizer import Tokenizer

    torch.manual_seed(0)
    characters = map(chr, range(0x4E00, 0x4E00 + VOCABULARY - 3))  # three tokens are special
    tokenizer = Tokenizer.characters(Counter(characters))
    run = folder / "run"
    save_model(GPT(ModelConfig(vocab_size=VOCABULARY, **SHAPE)), tokenizer, run)
    found = [
        {"name": f"Mingyue {p}", "kind": "mingyue", "path": str(run), "precision": p}
        for p in ("fp32", "fp16", "bf16", "int8")
    ]
    if find_spec("numba"):
        found += [
            {**contender, "name": f"{contender['name']} compiled", "compile": True}
            for contender in found
            if contender["precision"] in ("fp32", "int8")
        ]
    found.append({"name": "transformers fp32", "kind": "transformers", "path": str(run)})
    probe = [asked.llama_python, "-c", "import llama_cpp"]
    if subprocess.run(probe, capture_output=True).returncode:
        print(f"llama.cpp left out: {asked.llama_python} has no llama-cpp-python")
        return found
    from mingyue.interop.gguf import save_gguf

    for stored in ("f32", "f16", "q8_0"):
        path = folder / f"{stored}.gguf"
        save_gguf(run, path, stored)
        found.append({"name": f"llama.cpp {stored}", "kind": "llama", "path": str(path)})
    return found


def _compare(n: int, contenders: list[dict[str, Any]], asked: argparse.Namespace) -> None:
    from peers import middle, table

    if not contenders:
        return
    workers = [_Worker(contender, asked) for contender in contenders]
    for _ in range(asked.repeats):
        for worker in workers:
            worker.turn(n, asked.tokens)
    speeds = {worker.name: middle(worker.speeds) for worker in workers}
    for worker in workers:
        worker.end()
    peers = [name for name in speeds if not name.startswith("Mingyue")]
    peers = [name for name in peers if name.endswith("32")]
    rows = [
        [name, f"{speed:,.0f}", *(f"{speed / speeds[peer]:.2f}" for peer in peers)]
        for name, speed in speeds.items()
    ]
    print(f"\n{n} at once, {asked.tokens} tokens each, {asked.threads} threads")
    table(["", "tokens/s", *(f"times {peer}" for peer in peers)], rows)
    sys.stdout.flush()


class _Worker:
    """A contender in its own process, with its model ready."""

    def __init__(self, contender: dict[str, Any], asked: argparse.Namespace) -> None:
        python = asked.llama_python if contender["kind"] == "llama" else sys.executable
        command = [python, __file__, "--worker", json.dumps(contender)]
        self._process = subprocess.Popen(
            [*command, "--threads", str(asked.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # llama.cpp and transformers talk a lot
            text=True,
        )
        self.name, self.speeds = contender["name"], list[float]()
        self._hear()  # ready, and nobody else has begun

    def turn(self, n: int, tokens: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{n} {tokens}\n")
        self._process.stdin.flush()
        self.speeds.append(self._hear()["speed"])

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit(f"{self.name} failed; call it alone with --worker to see why")


def _work(contender: dict[str, Any], threads: int) -> None:
    """The worker's side."""
    make = {"mingyue": _mingyue, "transformers": _transformers, "llama": _llama}
    write = make[contender["kind"]](contender, threads)
    write(1, 8)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        n, tokens = map(int, line.split())
        write(n, 4)  # to settle at this number
        begun = time.perf_counter()
        came = write(n, tokens)
        print(json.dumps({"speed": came / (time.perf_counter() - begun)}), flush=True)


def _mingyue(contender: dict[str, Any], threads: int) -> Write:
    import torch

    from mingyue.generation.writer import load

    torch.set_num_threads(threads)
    writer = load(
        contender["path"],
        device="cpu",
        precision=contender["precision"],
        compile=contender.get("compile", False),
    )
    no_end = {writer.tokenizer.end_id: -1e9}

    def write(n: int, tokens: int) -> int:
        texts = writer.generate(
            n=n, max_tokens=tokens, temperature=TEMPERATURE, logit_bias=no_end, seed=0
        )
        return sum(text.n_tokens for text in texts)

    return write


def _transformers(contender: dict[str, Any], threads: int) -> Write:
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(contender["path"], dtype=torch.float32).eval()

    def write(n: int, tokens: int) -> int:
        begun = torch.zeros((n, 1), dtype=torch.long)
        ids = model.generate(
            begun,
            attention_mask=torch.ones_like(begun),
            do_sample=True,
            temperature=TEMPERATURE,
            top_k=0,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            pad_token_id=0,
        )
        return ids[:, 1:].numel()

    return write


def _llama(contender: dict[str, Any], threads: int) -> Write:
    import llama_cpp

    llama = llama_cpp.Llama(
        contender["path"],
        n_ctx=SHAPE["block_size"],
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )
    context, vocabulary = llama.ctx, llama_cpp.llama_model_get_vocab(llama.model)
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    no_end = (llama_cpp.llama_logit_bias * 1)()
    no_end[0].token, no_end[0].bias = llama.token_eos(), -1e9
    n_tokens = llama_cpp.llama_vocab_n_tokens(vocabulary)
    for sampler in (
        llama_cpp.llama_sampler_init_logit_bias(n_tokens, 1, no_end),
        llama_cpp.llama_sampler_init_temp(TEMPERATURE),
        llama_cpp.llama_sampler_init_dist(0),
    ):
        llama_cpp.llama_sampler_chain_add(chain, sampler)

    def write(n: int, tokens: int) -> int:
        assert n == 1
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        latest = (llama_cpp.llama_token * 1)(llama.token_bos())
        for _ in range(tokens):
            if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(latest, 1)):
                raise RuntimeError("llama_decode failed")
            latest[0] = llama_cpp.llama_sampler_sample(chain, context, -1)
        return tokens

    return write


def _loss(run: Path, path: Path, most: int) -> None:
    """What each precision costs on a text, in nats a token."""
    import torch
    from peers import table

    from mingyue.generation.writer import load
    from mingyue.model.step import Step

    writer = load(run, device="cpu")
    model, length = writer.model, writer.model.config.block_size
    ids = writer.tokenizer.encode(path.read_text(encoding="utf-8"))[:most]
    rows = [[writer.tokenizer.end_id, *ids[i : i + length]] for i in range(0, len(ids), length)]
    batch = torch.tensor([row for row in rows if len(row) == length + 1])  # [rows, T + 1]
    if not len(batch):
        sys.exit(f"{path}: shorter than the context of {length} tokens")

    def loss(precision: Any) -> float:
        step = Step(model, precision)
        cache, total = model.new_cache(len(batch)).to(step.dtype), 0.0
        for t in range(length):
            logs = step(batch[:, t], cache).log_softmax(dim=-1)  # [rows, V]
            total -= float(logs.gather(1, batch[:, t + 1, None]).sum())
        return total / (len(batch) * length)

    losses = {precision: loss(precision) for precision in ("fp32", "fp16", "bf16", "int8")}
    print(f"\nloss of {run} on {len(batch) * length:,} tokens of {path}, nats a token")
    rows = [[p, f"{x:.5f}", f"{x - losses['fp32']:+.5f}"] for p, x in losses.items()]
    table(["", "loss", "beside fp32"], rows)


if __name__ == "__main__":
    main()
