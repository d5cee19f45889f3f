"""A model as one GGUF file, which llama.cpp and the programs built on it open.

The file holds settings, vocabulary and tensors under names of its own. The way there leads
through the layouts of transformers: a family's table gives the tensors, and the ``gguf`` package
knows what each is called in a file of that architecture. Three things differ. Every matrix is
[out, in]. Where llama.cpp turns neighbouring dimensions of a head instead of the two halves, rows
of queries and keys change places. And the vocabulary says of each token what it is
(``gguf_vocabulary``).
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from mingyue.errors import UserError
from mingyue.interop import arcee, gpt2, llama, qwen3
from mingyue.interop.family import Family
from mingyue.interop.gguf_vocabulary import add_vocabulary
from mingyue.interop.run_folder import family_of, load_model
from mingyue.interop.weights import export
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.text.files import open_atomic

if TYPE_CHECKING:
    from gguf import GGUFWriter
    from torch import Tensor

Stored = Literal["f32", "f16", "bf16", "q8_0"]
"""How matrices are stored; vectors always are f32. q8_0 is 8 bits, with a scale for every 32."""

_SHARED = 32  # numbers under one scale in q8_0; matrices that this does not divide stay f16


def save_gguf(folder: str | Path, path: str | Path, stored: Stored = "f32") -> None:
    """Write the model of a run folder into a file, whole or not at all.

    Raises:
        UserError: the folder is none or damaged, llama.cpp has no such model or tokenizer, the
            ``gguf`` package is not there, or the file cannot be written.
    """
    if stored not in get_args(Stored):
        known = ", ".join(get_args(Stored))
        raise UserError(
            tr("{type}: no such type in GGUF; there are {known}", type=stored, known=known)
        )
    try:
        import gguf
    except ImportError:
        raise UserError(
            tr("GGUF needs the package gguf; install it with: pip install 'mingyue[gguf]'")
        ) from None
    folder, path = Path(folder), Path(path)
    model, tokenizer, _ = load_model(folder)
    state = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    if not isinstance(model, GPT):
        raise UserError(tr("llama.cpp has no models of the kind {kind}", kind=model.config.kind))
    family = _family(model.config)
    writer = gguf.GGUFWriter(None, family.MODEL_TYPE)
    writer.add_name(path.stem)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    mostly = "ALL" if stored == "f32" else "MOSTLY"
    writer.add_file_type(gguf.LlamaFileType[f"{mostly}_{stored.upper()}"])
    _add_settings(writer, model.config)
    add_vocabulary(writer, tokenizer, state, model.config.vocab_size)
    for name, tensor in _tensors(model, family):
        kind = gguf.GGMLQuantizationType[_kind(tensor, stored).upper()]
        writer.add_tensor(name, gguf.quants.quantize(tensor.numpy(), kind), raw_dtype=kind)
    with open_atomic(path) as file:  # the writer wants to open it itself
        writer.write_header_to_file(Path(file.name))
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def _family(config: ModelConfig) -> Family:
    """The layout that holds the model and that llama.cpp computes as we do."""
    family = family_of(config)
    same_bend = family is not gpt2 or config.activation == "gelu_tanh"
    same_turns = config.position != "rope" or config.rope.scaling != "llama3"
    no_biases = family is not qwen3 or not config.qkv_bias
    if family in (gpt2, llama, qwen3, arcee) and same_bend and same_turns and no_biases:
        return family
    raise UserError(
        tr(
            "llama.cpp has no model like this one: position {position}, norm {norm}, "
            "activation {activation}; the presets gpt2, llama and qwen3 can be taken there",
            position=config.position,
            norm=config.norm,
            activation=config.activation,
        )
    )


def _add_settings(writer: "GGUFWriter", config: ModelConfig) -> None:
    writer.add_block_count(config.n_layer)
    writer.add_context_length(config.block_size)
    writer.add_embedding_length(config.d_model)
    writer.add_feed_forward_length(config.ffn_width)
    writer.add_head_count(config.n_head)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_vocab_size(config.vocab_size)
    if config.norm == "layernorm":
        writer.add_layer_norm_eps(config.norm_eps)
    else:
        writer.add_layer_norm_rms_eps(config.norm_eps)
    if config.position == "rope":
        _add_rotation(writer, config)


def _add_rotation(writer: "GGUFWriter", config: ModelConfig) -> None:
    import gguf

    writer.add_key_length(config.head_width)
    writer.add_value_length(config.head_width)
    writer.add_rope_dimension_count(config.rotary_width)
    writer.add_rope_freq_base(config.rotary_base)
    if config.rope.scaling in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(config.rope.scaling))
        writer.add_rope_scaling_factor(config.rope.factor)
        writer.add_rope_scaling_orig_ctx_len(config.rotary_length)


def _tensors(model: GPT, family: Family) -> Iterator[tuple[str, "Tensor"]]:
    """Every tensor in fp32, under its name in the file."""
    import gguf

    config, table = model.config, family.names(model.config)
    matches = [replace(match, transposed=False) for match in table.matches]
    arch = next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == family.MODEL_TYPE)
    names = gguf.get_tensor_name_map(arch, config.n_layer)
    heads = {"q_proj": config.n_head, "k_proj": config.kv_heads}
    for theirs, tensor in export(model.state_dict(), replace(table, matches=matches)).items():
        name = names.get_name(theirs, try_suffixes=(".weight", ".bias"))
        assert name is not None, theirs
        turning = next((n for part, n in heads.items() if part in theirs), None)
        if family in (llama, arcee) and turning is not None:
            tensor = _halves_to_neighbours(tensor, turning)
        yield name, tensor.float().contiguous()


def _halves_to_neighbours(rows: "Tensor", n_head: int) -> "Tensor":
    """Dimensions i and i + D/2 of each head, which turn together, become 2i and 2i + 1."""
    halves = rows.unflatten(0, (n_head, 2, -1))  # [heads, 2, D/2, ...]
    return halves.transpose(1, 2).flatten(0, 2)


def _kind(tensor: "Tensor", stored: Stored) -> str:
    if tensor.dim() == 1:
        return "f32"
    if stored == "q8_0" and tensor.shape[-1] % _SHARED:
        return "f16"
    return stored
