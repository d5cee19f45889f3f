"""SPEC C3, A8: folders of other makers give the logits and the text that transformers gives."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.explain.catalogue import find
from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.interop.run_folder import FAMILIES as OURS
from mingyue.interop.run_folder import family_of, load_model, never_written, save_model
from mingyue.model.gpt import GPT
from mingyue.model.hooks import run_with_cache
from mingyue.model.step import Step
from tests.interop.folders import TOKENIZER
from tests.interop.foreign import (
    FAMILIES,
    LENGTH,
    random_model,
    save_family,
    settings_of,
    theirs,
    transformers,
)
from tests.model.configs import random_ids


def test_every_family_is_tested() -> None:
    assert {*FAMILIES, "mingyue"} == {family.MODEL_TYPE for family in OURS}


def logits(model: Any, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(ids).logits


def agree(a: Any, b: Any, ids: torch.Tensor) -> None:
    torch.testing.assert_close(logits(a, ids), logits(b, ids), rtol=0, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_logits_agree_and_the_layout_stays(family: str, data: st.DataObject) -> None:
    """Loaded, saved again, opened by transformers: one model, in its family's layout."""
    given = data.draw(settings_of(family))
    other = random_model(family, TOKENIZER.vocab_size + 2, data.draw(st.integers(0, 9)), **given)
    with tempfile.TemporaryDirectory() as folder:
        other.save_pretrained(folder)
        TOKENIZER.save(folder)
        model, tokenizer, _ = load_model(folder)
        assert isinstance(model, GPT)
        ids = random_ids(model.config, 2, LENGTH)
        agree(other, model, ids)

        save_model(model, tokenizer, f"{folder}/again")
        agree(theirs(f"{folder}/again"), other, ids)
        again, _, _ = load_model(f"{folder}/again")
        assert again.config == model.config
        assert all(map(torch.equal, model.state_dict().values(), again.state_dict().values()))
        kind = json.loads(Path(folder, "again", "config.json").read_text())["model_type"]
        whole = family == "glm" and model.config.rope.fraction == 1  # then it is a Llama or Qwen2
        assert kind == family or (whole and kind in ("llama", "qwen2"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_usual_folder_keeps_its_family(family: str, tmp_path: Path) -> None:
    save_family(family, tmp_path)
    model, tokenizer, _ = load_model(tmp_path)
    assert family == family_of(model.config).MODEL_TYPE
    save_model(model, tokenizer, tmp_path / "again")
    folders = tmp_path, tmp_path / "again"
    before, after = (json.loads((f / "config.json").read_text()) for f in folders)
    assert after["eos_token_id"] == before["eos_token_id"]
    opened = transformers().AutoTokenizer.from_pretrained
    first, second = (opened(str(folder)) for folder in folders)
    assert first("明月 cat").input_ids == second("明月 cat").input_ids
    assert first.bos_token_id == second.bos_token_id


@pytest.mark.parametrize("family", FAMILIES)
def test_same_greedy_ids(family: str, tmp_path: Path) -> None:
    """Read at once, then written one by one with the fast step, as far as the context goes."""
    different: set[int] = set()
    for seed in range(3):
        other = save_family(family, tmp_path, seed)
        model, tokenizer, _ = load_model(tmp_path)
        assert isinstance(model, GPT)
        prompt = [*tokenizer.begin, *tokenizer.encode("床前 cat")]
        never = never_written(model.config, tokenizer)
        written = other.generate(
            torch.tensor([prompt]), do_sample=False, max_length=64, suppress_tokens=never
        )[0].tolist()

        ids, cache, step = list(prompt), model.new_cache(1), Step(model)
        with torch.no_grad():
            scores = model(torch.tensor([ids]), cache=cache).logits[:, -1]
        while len(ids) < 64 and ids[-1] not in tokenizer.ends:
            allowed = scores.clone()
            allowed[:, never] = -torch.inf
            ids.append(int(allowed.argmax()))
            scores = step(torch.tensor(ids[-1:]), cache) if len(ids) < 64 else scores
        assert ids == written
        different |= set(ids[len(prompt) :])
    assert len(different) > 5  # else nothing was compared


@pytest.mark.parametrize("family", FAMILIES)
def test_shards(family: str, tmp_path: Path) -> None:
    other = save_family(family, tmp_path)
    (tmp_path / "model.safetensors").unlink()
    other.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    model, _, _ = load_model(tmp_path)
    agree(other, model, random_ids(model.config, 1, 20))


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision(family: str, tmp_path: Path) -> None:
    """Weights in bf16 are taken as they are, and computed with in fp32."""
    save_family(family, tmp_path).bfloat16().save_pretrained(tmp_path)
    model, _, _ = load_model(tmp_path)
    agree(theirs(tmp_path, dtype=torch.float32), model, random_ids(model.config, 1, 20))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_extended_vocabulary(family: str, tied: bool, tmp_path: Path) -> None:
    """New rows, saved there, loaded here, saved here, loaded there: still one table, or two."""
    other = save_family(family, tmp_path, tie_word_embeddings=tied)
    other.resize_token_embeddings(other.config.vocab_size + 7, mean_resizing=False)
    with torch.no_grad():
        other.get_input_embeddings().weight[-7:].normal_()
    other.save_pretrained(tmp_path)
    model, tokenizer, _ = load_model(tmp_path)
    assert (model.head is None) == tied
    ids = random_ids(model.config, 2, 30)
    agree(other, model, ids)
    save_model(model, tokenizer, tmp_path / "again")
    again = theirs(tmp_path / "again")
    agree(again, model, ids)
    assert (again.get_input_embeddings().weight is again.get_output_embeddings().weight) == tied


# What is refused


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as error:
        load_model(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def change(folder: Path, **settings: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


@pytest.mark.parametrize("family", FAMILIES)
def test_keys_that_are_missing_extra_or_misshapen(family: str, tmp_path: Path) -> None:
    """Each tensor of each family, one after the other."""
    save_family(family, tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    for name, tensor in tensors.items():
        for changed in (
            {k: v for k, v in tensors.items() if k != name},
            {**tensors, name + "_more": tensor.clone()},
            {**tensors, name: torch.cat((tensor, tensor[:1]))},
        ):
            safetensors.torch.save_file(changed, path)
            assert name in refusal(tmp_path)
    safetensors.torch.save_file(tensors, path)
    load_model(tmp_path)


WINDOW = {"use_sliding_window": True, "sliding_window": 8, "layer_types": None}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({**WINDOW, "max_window_layers": 1}, "sliding_window"),
        ({**WINDOW, "max_window_layers": "x"}, "sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding_window"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, "layer to layer"),
        ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "partial_rotary"),
        ({"rope_scaling": {"type": "longrope", "short_factor": [1.0]}}, "longrope"),
        ({"rope_scaling": {"type": "llama3", "factor": 8.0}}, "low_freq_factor"),
        ({"rope_scaling": {"type": "yarn", "factor": 2.0, "attention_factor": 1.0}}, "attention_f"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"model_type": "mistral"}, "'mistral' are not known here; there are gpt2, llama, qwen2"),
        ({"model_type": "chatglm", "auto_map": {"AutoModel": "evil.Model"}}, "chatglm"),
    ],
)
@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
def test_what_we_compute_otherwise_is_refused_by_name(
    family: str, settings: dict[str, Any], named: str, tmp_path: Path
) -> None:
    save_family(family, tmp_path)
    change(tmp_path, **settings)
    assert named in refusal(tmp_path)


YARN = {"rope_type": "yarn", "factor": 2.0}


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("glm", {"head_dim": 10}),  # five dimensions would turn
        ("glm4", {"hidden_act": "gelu"}),
        ("llama", {"mlp_bias": True}),
        ("llama", {"num_attention_heads": 5, "num_key_value_heads": 1}),
        ("llama", {"rope_scaling": {**YARN, "original_max_position_embeddings": 4}}),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
        ("gpt2", {"activation_function": "relu"}),
    ],
)
def test_settings_of_one_family(family: str, settings: dict[str, Any], tmp_path: Path) -> None:
    save_family(family, tmp_path)
    change(tmp_path, **settings)
    assert "config.json" in refusal(tmp_path)


@pytest.mark.parametrize("window", [64, 4096])
def test_a_window_that_covers_the_context_is_none(window: int, tmp_path: Path) -> None:
    other = save_family(
        "qwen2", tmp_path, use_sliding_window=True, sliding_window=window, max_window_layers=0
    )
    model, _, _ = load_model(tmp_path)
    agree(other, model, random_ids(model.config, 1, 64))


def test_settings_in_the_words_of_before(tmp_path: Path) -> None:
    """``rope_theta`` and ``rope_scaling``, as nearly all published folders have them."""
    other = save_family("llama", tmp_path)
    scaling = dict(other.config.rope_parameters)
    theta = scaling.pop("rope_theta")
    path = tmp_path / "config.json"
    raw = json.loads(path.read_text())
    del raw["rope_parameters"]
    path.write_text(json.dumps({**raw, "rope_theta": theta, "rope_scaling": scaling}))
    model, _, _ = load_model(tmp_path)
    assert model.config.rope.base == 500_000
    agree(other, model, random_ids(model.config, 1, 64))


@pytest.mark.parametrize("family", ["gpt2", "qwen2"])
def test_a_copy_of_the_table_that_is_none(family: str, tmp_path: Path) -> None:
    """Tied by its settings, and yet with a head of its own: neither reading is safe."""
    other = save_family(family, tmp_path, tie_word_embeddings=True)
    path = tmp_path / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    table = other.get_input_embeddings().weight.detach().clone()
    safetensors.torch.save_file({**tensors, "lm_head.weight": table}, path)
    load_model(tmp_path)
    safetensors.torch.save_file({**tensors, "lm_head.weight": table + 1}, path)
    assert "lm_head.weight" in refusal(tmp_path)


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    save_family("qwen3", tmp_path)
    tensors = safetensors.torch.load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    for file in ("a.safetensors", "b.safetensors"):
        safetensors.torch.save_file(tensors, tmp_path / file)
    table = dict(zip(tensors, ["a.safetensors", "b.safetensors"] * len(tensors), strict=False))
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    assert "another file" in refusal(tmp_path)


@pytest.mark.parametrize("file", ["pytorch_model.bin", "consolidated.00.pth", "model.pt"])
def test_pickles_are_named_and_not_opened(file: str, tmp_path: Path) -> None:
    save_family("llama", tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / file)
    said = refusal(tmp_path)
    assert file in said and "safetensors" in said


# Looking inside


@pytest.mark.parametrize("family", FAMILIES)
def test_hooks_see_each_family(family: str, tmp_path: Path) -> None:
    save_family(family, tmp_path)
    model, _, _ = load_model(tmp_path)
    assert isinstance(model, GPT)
    ids = random_ids(model.config, 1, 12)
    with torch.no_grad():
        seen_logits, seen = run_with_cache(model, ids)
    torch.testing.assert_close(seen_logits, logits(model, ids), rtol=0, atol=1e-4)
    assert ("blocks.1.ln2_post.hook_scale" in seen) == (family == "glm4")
    stream = seen["hook_embed"] + seen.get("hook_pos_embed", 0.0)
    for layer in range(2):
        at = f"blocks.{layer}.hook_"
        stream = stream + seen[at + "attn_out"] + seen[at + "mlp_out"]
    torch.testing.assert_close(stream, seen["blocks.1.hook_resid_post"], rtol=0, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("exhibit", ["pairs", "qkv", "shapes"])
def test_exhibits_on_each_family(exhibit: str, family: str, tmp_path: Path) -> None:
    save_family(family, tmp_path)
    definition = find(exhibit)
    subject = Subject.of(Writer(*load_model(tmp_path)), "床前明月光")
    shown = definition.show(subject, definition.knobs())
    assert shown.panels
    if exhibit == "shapes" and family != "glm4":  # all its claims are laws
        assert all(verdict.holds for verdict in shown.verdicts)
