"""Saving and loading by ourselves, and folders that are broken or mean harm."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.interop import native
from mingyue.interop.run_folder import FAMILIES, family_of, load_model, save_model
from mingyue.interop.weights import parameter_shapes
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer
from tests.interop.folders import ONLY_OURS, TOKENIZER, gpt2_like, rotary_like, small
from tests.model.configs import configs, lively


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    save_model(lively(small()), TOKENIZER, folder, about={"command": "mingyue train tang"})
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A good folder to spoil."""
    return shutil.copytree(saved, tmp_path / "run")


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    change(tensors)
    safetensors.torch.save_file(tensors, folder / "model.safetensors")


def refusal(folder: Path) -> str:
    """The one line that loading ends with."""
    with pytest.raises(UserError) as error:
        load_model(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("config", ONLY_OURS, ids=str)
def test_only_ours(config: ModelConfig, tmp_path: Path) -> None:
    assert family_of(config) is native
    model = lively(config)
    save_model(model, TOKENIZER, tmp_path)
    again, _, _ = load_model(tmp_path)
    assert again.config == config
    assert all(map(torch.equal, model.state_dict().values(), again.state_dict().values()))


@settings(max_examples=60, deadline=None)
@given(config=configs() | gpt2_like() | rotary_like())
def test_settings_survive_every_family(config: ModelConfig) -> None:
    """Theirs say all that matters: read back without ours, they give an equal model."""
    for family in FAMILIES[:-1]:
        if not family.expresses(config):
            continue
        raw = json.loads(json.dumps(family.to_config(config)))
        other = family.from_config(raw)
        assert family.to_config(other) | {"attention_dropout": 0} == (
            family.to_config(config) | {"attention_dropout": 0}
        )
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "kv_heads", "head_width"):
            assert getattr(other, name) == getattr(config, name)


@settings(max_examples=40, deadline=None)
@given(config=configs())
def test_shapes_without_memory(config: ModelConfig) -> None:
    shapes = {name: tuple(t.shape) for name, t in GPT(config).state_dict().items()}
    assert parameter_shapes(config) == shapes


def test_about_is_kept(saved: Path) -> None:
    _, tokenizer, about = load_model(saved)
    assert about["command"] == "mingyue train tang"
    assert tokenizer.encode("床前") == TOKENIZER.encode("床前")


def test_saving_again_replaces(folder: Path) -> None:
    model = lively(small(d_model=16), seed=5)
    save_model(model, TOKENIZER, folder)
    again, _, about = load_model(folder)
    assert again.config == model.config
    assert "command" not in about
    assert not list(folder.glob("*.tmp"))


def test_loading_leaves_the_random_state_alone(saved: Path) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    load_model(saved)
    assert torch.equal(torch.rand(3), expected)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("precious")
    with pytest.raises(UserError, match="run"):
        save_model(lively(small()), TOKENIZER, tmp_path / "run")
    assert (tmp_path / "run").read_text() == "precious"
    assert "run" in refusal(tmp_path / "run")


def test_missing_pieces(folder: Path) -> None:
    assert "nowhere" in refusal(folder / "nowhere")
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        kept = (folder / name).read_bytes()
        (folder / name).unlink()
        assert name in refusal(folder)
        (folder / name).write_bytes(kept)
    load_model(folder)


def test_wrong_weights_are_named(saved: Path, tmp_path: Path) -> None:
    name = "model.layers.1.self_attn.k_proj.weight"
    changes: list[Callable[[dict[str, torch.Tensor]], object]] = [
        lambda t: t.pop(name),
        lambda t: t.update({name: t[name][:-1].clone()}),
        lambda t: t.update({name: t[name].flatten()}),
        lambda t: t.update({name: t[name].to(torch.int32)}),
        lambda t: t.update({name + ".more": torch.zeros(1), "x\x1b[31m": torch.zeros(1)}),
    ]
    for i, change in enumerate(changes):
        folder = shutil.copytree(saved, tmp_path / str(i))
        edit_weights(folder, change)
        message = refusal(folder)
        assert name in message or name.replace("k_proj", "q_proj") in message
        assert "\x1b" not in message


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("model_type", "bert"),
        ("model_type", "../../etc/passwd"),
        ("model_type", None),
        ("hidden_act", "gelu"),
        ("attention_bias", True),  # of which the file has none
        ("num_hidden_layers", 3),
        ("num_hidden_layers", -1),
        ("num_hidden_layers", 10**9),
        ("num_attention_heads", 0),
        ("hidden_size", 10**6),
        ("hidden_size", "wide"),
        ("hidden_size", [32]),
        ("vocab_size", 1e400),
        ("head_dim", 7),
        ("rope_parameters", {"rope_type": "llama3", "factor": 8.0}),
        ("rope_parameters", {"rope_type": "yarn", "factor": 2.0, "beta_fast": 9}),
        ("rope_parameters", {"rope_type": "linear"}),
        ("rope_parameters", [1]),
        ("rope_parameters", {"partial_rotary_factor": 0.5}),
    ],
)
def test_settings_that_do_not_fit(folder: Path, setting: str, value: object) -> None:
    edit(folder / "config.json", lambda c: c.update({setting: value}))
    refusal(folder)


@pytest.mark.parametrize(
    "ours",
    [
        None,
        {},
        {"vocab_size": 10},
        {"vocab_size": 10, "surprise": 1},
        {"vocab_size": 10**6, "d_model": 10**6, "n_head": 10**6, "d_head": 10**6, "n_layer": 1},
        {"vocab_size": 10, "rope": {"scaling": "ntk", "factor": 1e300}},
        {"vocab_size": 10, "position": "sinusoidal", "block_size": 10**6, "d_model": 10**6},
    ],
)
def test_our_own_settings_may_be_hostile(folder: Path, ours: object) -> None:
    edit(folder / "config.json", lambda c: c.update({"model_type": "mingyue", "mingyue": ours}))
    refusal(folder)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"model_type": NaN}']
)
def test_broken_json(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    assert "config.json" in refusal(folder)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_damaged_weights(saved: Path, tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    """A file cut anywhere, or with bytes of its header changed, loads or is refused; no more."""
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("damaged") / "run")
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
        path.write_bytes(content)
        assert "model.safetensors" in refusal(folder)
    else:
        content[data.draw(st.integers(0, 2000))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        try:
            load_model(folder)
        except UserError as error:
            assert "\n" not in str(error)
    shutil.rmtree(folder)


def test_pickles_are_not_opened(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "safetensors" in refusal(folder)


def test_no_code_of_the_folder_runs(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('ran')")
    edit(folder / "config.json", lambda c: c.update(auto_map={"AutoModel": "evil.Model"}))
    load_model(folder)


def test_shards_of_the_folder_are_read(folder: Path) -> None:
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    expected, _, _ = load_model(folder)
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    table = {}
    for i, part in enumerate((names[::2], names[1::2])):
        file = f"model-{i}.safetensors"
        safetensors.torch.save_file({n: tensors[n].contiguous() for n in part}, folder / file)
        table |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    model, _, _ = load_model(folder)
    assert all(map(torch.equal, model.state_dict().values(), expected.state_dict().values()))


@pytest.mark.parametrize("escape", ["../secret.safetensors", "/{}", "sub/x.safetensors", "", ".."])
def test_an_index_cannot_leave_its_folder(folder: Path, escape: str) -> None:
    outside = folder.parent / "secret.safetensors"
    (folder / "model.safetensors").rename(outside)
    (folder / "sub").mkdir()
    shutil.copy(outside, folder / "sub" / "x.safetensors")
    file = escape.format(outside)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"model.norm.weight": file}}))
    assert "index" in refusal(folder)


def test_tokenizer_larger_than_the_model(folder: Path) -> None:
    Tokenizer.bytes().save(folder)
    assert "258" in refusal(folder)
