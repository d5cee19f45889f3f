"""How much memory, and how long, it takes to load a folder of weights.

    python benchmarks/load_memory.py                     # a random Qwen2 of 1 GB, in bf16 and fp32
    python benchmarks/load_memory.py FOLDER              # a folder that is there

Prints the highest resident memory of a process that does nothing but load, less what it had
before, as a multiple of what the weights take in fp32; the same of transformers, where it is
installed, in fp32 too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOADERS = {
    "mingyue": "from mingyue.interop.run_folder import load_model as load",
    "transformers": (
        "import torch, transformers\n"
        "def load(folder):\n"
        "    auto = transformers.AutoModelForCausalLM\n"
        "    return auto.from_pretrained(folder, dtype=torch.float32).eval(),\n"
    ),
}

MEASURE = """
import json, re, sys, time
{loader}
def memory(what):
    text = open("/proc/self/status").read()
    return int(re.search(what + r":\\s+(\\d+)", text)[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the highest so far is forgotten
before, start = memory("VmRSS"), time.perf_counter()
model = load(sys.argv[1])[0]
seconds = time.perf_counter() - start
weights = sum(p.numel() for p in model.parameters()) * 4
peak, left = memory("VmHWM") - before, memory("VmRSS") - before
print(json.dumps({{"weights": weights, "peak": peak, "left": left, "seconds": seconds}}))
"""


def measure(loader: str, folder: Path) -> dict[str, float]:
    program = MEASURE.format(loader=LOADERS[loader])
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def made(folder: Path, dtype: str, layers: int) -> Path:
    """A folder of random weights in a process of its own."""
    program = f"""
import torch
from mingyue.interop.run_folder import save_model
from mingyue.model.config import ModelConfig, preset
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer
sizes = dict(vocab_size=32_000, d_model=1024, n_head=16, n_kv_head=4, d_ff=2816, n_layer={layers})
model = GPT(ModelConfig.checked(**preset("qwen2"), **sizes)).to(torch.{dtype})
save_model(model, Tokenizer.bytes(), {str(folder)!r})
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    return folder


def report(name: str, folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    print(f"{name}: {size / 1e9:.2f} GB of files")
    for loader in LOADERS:
        try:
            found = measure(loader, folder)
        except SystemExit as error:
            print(f"  {loader:13} not measured: {str(error).splitlines()[-1]}")
            continue
        weights = found["weights"]
        print(
            f"  {loader:13} peak {found['peak'] / weights:.2f} × the weights in fp32, afterwards "
            f"{found['left'] / weights:.2f} ×, {found['seconds']:.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--layers", type=int, default=16)
    given = parser.parse_args()
    if given.folder:
        report(str(given.folder), given.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("bfloat16", "float32"):
            start = time.perf_counter()
            path = made(Path(folder, dtype), dtype, given.layers)
            print(f"made in {time.perf_counter() - start:.0f} s")
            report(dtype, path)


if __name__ == "__main__":
    main()
