"""SPEC C3: a run folder is a transformers folder, with no code of ours on the path."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mingyue.generation.writer import Writer
from mingyue.interop.run_folder import load_model, save_model
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.text.tokenizer import Tokenizer
from tests.interop.folders import TOKENIZER, gpt2_like, rotary_like, small
from tests.interop.foreign import theirs, transformers
from tests.model.configs import lively, random_ids

PROMPT = "床前明月"
# Text that the vocabulary lacks too: both must say "unknown" at the same places.
ANY_TEXT = st.text(st.sampled_from("床前明月光，。\n 𠀀x"), max_size=12)


def same_weights(a: LanguageModel, b: LanguageModel) -> bool:
    first, second = a.state_dict(), b.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


@settings(max_examples=30, deadline=None)
@given(gpt2_like() | rotary_like(), st.integers(0, 9))
def test_logits_agree_and_folders_come_back(config: ModelConfig, seed: int) -> None:
    model = lively(config, seed)
    ids = random_ids(config, 2, config.block_size, seed)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        save_model(model, TOKENIZER, folder)
        other = theirs(folder)
        torch.testing.assert_close(other(ids).logits, model(ids).logits, rtol=0, atol=1e-4)

        again, tokenizer, _ = load_model(folder)
        assert again.config == config
        assert same_weights(model, again)
        assert tokenizer.fingerprint() == TOKENIZER.fingerprint()

        # What transformers writes itself is a folder of ours too.
        other.save_pretrained(f"{folder}/again")
        TOKENIZER.save(f"{folder}/again")
        again, _, _ = load_model(f"{folder}/again")
        assert again.config == config
        assert same_weights(model, again)


@pytest.mark.parametrize(
    "config",
    [
        small("gpt2"),
        small("gpt2", position="sinusoidal", tie_embeddings=False, bias=False),
        small(n_kv_head=2),
        small("llama", bias=True),
        small("llama", activation="relu2"),
    ],
    ids=["learned", "sinusoidal", "qwen3", "llama", "arcee"],
)
def test_same_text(config: ModelConfig, tmp_path: Path) -> None:
    longest = 0
    for seed in range(4):
        longest = max(longest, compare_greedy(lively(config, seed), tmp_path))
    assert longest > 5  # else nothing was compared


def compare_greedy(model: GPT, tmp_path: Path) -> int:
    """The text of both, prompt removed; its length."""
    save_model(model, TOKENIZER, tmp_path)
    other = theirs(str(tmp_path))
    tokenizer = transformers().AutoTokenizer.from_pretrained(str(tmp_path))
    ours = Writer(model, TOKENIZER).generate(PROMPT, temperature=0)[0]

    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(PROMPT).input_ids]])
    room = model.config.block_size - len(ids[0])  # past the block our window moves, theirs does not
    written = other.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=room
    )[0]
    text = tokenizer.decode(written, skip_special_tokens=True)
    assert text[len(PROMPT) :] == ours.text[:room]
    return len(text) - len(PROMPT)


def test_never_samples_unknown_or_padding(tmp_path: Path) -> None:
    """The generation config alone keeps transformers from it, even where they score best."""
    model = lively(small(tie_embeddings=False))
    assert model.head is not None
    with torch.no_grad():
        for id in TOKENIZER.never_sampled:
            model.head.weight[id] = 50 * model.head.weight.abs().sum(0)
    save_model(model, TOKENIZER, tmp_path)
    start = torch.full((16, 1), TOKENIZER.end_id)
    torch.manual_seed(0)
    written = theirs(str(tmp_path)).generate(start, attention_mask=torch.ones_like(start))
    text_ids = [id for row in written.tolist() for id in cut_at_end(row[1:])]
    assert not set(TOKENIZER.never_sampled) & set(text_ids)
    assert len(set(text_ids)) > 3


def cut_at_end(row: list[int]) -> list[int]:
    """What comes before the end token; after it transformers pads."""
    return row[: row.index(TOKENIZER.end_id)] if TOKENIZER.end_id in row else row


KINDS = {
    "char": TOKENIZER,
    "byte": Tokenizer.bytes(),
    "bpe": Tokenizer.train_bpe([PROMPT, "the cat, the hat"] * 3, 300),
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Tokenizer]:
    """A tokenizer of ours and what transformers makes of its run folder."""
    ours, folder = KINDS[request.param], tmp_path_factory.mktemp("tokenizer")
    save_model(lively(small(vocab_size=ours.vocab_size)), ours, folder)
    return transformers().AutoTokenizer.from_pretrained(str(folder)), ours


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ANY_TEXT)
def test_same_ids(pair: tuple[Any, Tokenizer], text: str) -> None:
    theirs, ours = pair
    ids = theirs(text).input_ids
    assert ids == ours.encode(text)
    assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids)
    assert (theirs.bos_token_id, theirs.eos_token_id) == (ours.end_id, ours.end_id)


def test_tokenizer_opens_where_the_model_is_only_ours(tmp_path: Path) -> None:
    save_model(lively(small(position="alibi")), TOKENIZER, tmp_path)
    tokenizer = transformers().AutoTokenizer.from_pretrained(str(tmp_path))
    assert tokenizer(PROMPT).input_ids == TOKENIZER.encode(PROMPT)
    assert tokenizer.eos_token_id == TOKENIZER.end_id


def test_half_precision_is_read_as_it_is(tmp_path: Path) -> None:
    model = lively(small()).bfloat16()
    save_model(model, TOKENIZER, tmp_path)
    again, _, _ = load_model(tmp_path)
    assert again.unembedding.dtype == torch.float32
    assert same_weights(model.float(), again)


def test_trained_elsewhere_since(tmp_path: Path) -> None:
    """Fixed positions and absent biases that were trained in transformers are believed."""
    save_model(lively(small("gpt2", position="sinusoidal", bias=False)), TOKENIZER, tmp_path)
    other = theirs(str(tmp_path))
    with torch.no_grad():
        other.transformer.wpe.weight += 0.1
        other.transformer.h[0].mlp.c_fc.bias += 0.2
    other.save_pretrained(tmp_path)
    model, _, _ = load_model(tmp_path)
    assert (model.config.position, model.config.bias) == ("learned", True)
    ids = random_ids(model.config, 2, 20)
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, other(ids).logits, rtol=0, atol=1e-4)


def test_resized_elsewhere_since(tmp_path: Path) -> None:
    """The family's settings count when ours have become stale."""
    save_model(lively(small()), TOKENIZER, tmp_path)
    other = theirs(str(tmp_path))
    other.resize_token_embeddings(TOKENIZER.vocab_size + 5, mean_resizing=False)
    other.save_pretrained(tmp_path)
    stale = json.loads((tmp_path / "config.json").read_text())["mingyue"]
    model, tokenizer, _ = load_model(tmp_path)
    assert stale["vocab_size"] == TOKENIZER.vocab_size
    assert model.config.vocab_size == TOKENIZER.vocab_size + 5
    # Rows that stand for no token are never written.
    with torch.no_grad():
        model.unembedding[-5:] = 50 * model.unembedding.abs().sum(0)
    assert Writer(model, tokenizer).generate("", n=4, seed=0)[0].text is not None
