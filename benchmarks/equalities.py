"""What must be equal, measured on a trained run.

    python benchmarks/equalities.py runs/tang

Prints the largest difference of logits with and without KV cache, of logits before a change in
the text, between the two attention paths, and between Mingyue and transformers; and whether an
interrupted and resumed training gives the same weights as one that was left alone. The same laws
are property tests over random models (`tests/model/test_laws.py`, `tests/training/test_resume.py`,
`tests/interop/test_transformers.py`); this shows their numbers on a real one.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import mingyue
from mingyue.interop.run_folder import load_model
from mingyue.training.observe import Observer, StepInfo

TEXT = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
SMALL = {"d_model": 64, "n_layer": 2, "n_head": 2, "block_size": 64}


@torch.no_grad()
def main(run: str) -> None:
    poet = mingyue.load(run)
    model, end_id = poet.model, poet.tokenizer.end_id
    ids = torch.tensor([[end_id, *poet.tokenizer.encode(TEXT)]])  # [1, T]
    whole = logits(model, ids)

    cache = model.new_cache(1)
    pieces = [model(ids[:, i : i + 1], cache=cache).logits for i in range(ids.shape[1])]
    show("cached and uncached logits", torch.cat(pieces, dim=1), whole)

    half = ids.shape[1] // 2
    other = ids.clone()
    other[:, half:] = (other[:, half:] + 1) % model.config.vocab_size
    show("logits before a changed half", logits(model, other)[:, :half], whole[:, :half])

    model.attention_path("readable")
    show("fast and readable attention", logits(model, ids), whole)
    model.attention_path("fast")

    from transformers import AutoModelForCausalLM, AutoTokenizer

    theirs = AutoModelForCausalLM.from_pretrained(run, dtype=torch.float32).eval()
    show("Mingyue and transformers", theirs(ids).logits, whole)
    same = AutoTokenizer.from_pretrained(run)(TEXT)["input_ids"] == poet.tokenizer.encode(TEXT)
    print(f"{'ids of AutoTokenizer':34s} {'equal' if same else 'DIFFERENT'}")
    print(f"{'resumed and uninterrupted weights':34s} {resumed()}")


def logits(model: mingyue.GPT, ids: Tensor) -> Tensor:
    found = model(ids).logits
    assert found is not None
    return found


def show(what: str, one: Tensor, other: Tensor) -> None:
    print(f"{what:34s} {(one - other).abs().max().item():.1e}")


class _CtrlC(Observer):
    """Interrupts at a step, as a person would."""

    def on_step(self, step: StepInfo) -> None:
        if step.step == 23:
            os.kill(os.getpid(), signal.SIGINT)


@torch.enable_grad()
def resumed() -> str:
    """Train 40 steps on the Tang poems at once, and in two parts."""
    with tempfile.TemporaryDirectory() as folder:
        straight, broken = Path(folder, "straight"), Path(folder, "broken")
        settings = {"steps": 40, "sample_prompt": None, "eval_tokens": 2000, "eval_every": 20}
        mingyue.train("tang", straight, model=SMALL, **settings)
        mingyue.train("tang", broken, model=SMALL, observer=_CtrlC(), **settings)
        mingyue.train("tang", broken, resume=True)
        one, other = (load_model(run)[0].state_dict() for run in (straight, broken))
        return "equal, bit for bit" if all(torch.equal(one[k], other[k]) for k in one) else "DIFFER"


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["runs/tang"])
