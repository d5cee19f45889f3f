"""Random small model shapes, and models whose every weight matters."""

import torch
from hypothesis import strategies as st

from mingyue.model.config import ModelConfig, RopeConfig
from mingyue.model.gpt import GPT

POSITIONS = ["learned", "sinusoidal", "rope", "alibi", "none"]


@st.composite
def configs(draw, positions=tuple(POSITIONS), **fixed) -> ModelConfig:
    n_kv_head = draw(st.sampled_from([1, 2, 3]))
    n_head = n_kv_head * draw(st.sampled_from([1, 2]))
    width = draw(st.sampled_from([4, 8, 10]))
    values = {
        "vocab_size": draw(st.integers(5, 40)),
        "block_size": draw(st.integers(8, 24)),
        "n_layer": draw(st.integers(1, 3)),
        "n_head": n_head,
        "n_kv_head": n_kv_head,
        "d_head": width,
        "d_model": draw(st.sampled_from([8, 12, 16])),
        "d_ff": draw(st.sampled_from([None, 7, 20])),
        "activation": draw(st.sampled_from(["gelu", "gelu_tanh", "swiglu", "relu2"])),
        "norm": draw(st.sampled_from(["rmsnorm", "layernorm"])),
        "position": draw(st.sampled_from(list(positions))),
        "rope": RopeConfig(
            base=draw(st.sampled_from([100.0, 10_000.0])),
            fraction=draw(st.sampled_from([0.5, 1.0])),
            scaling=draw(st.sampled_from(["none", "linear", "ntk", "yarn", "llama3", "dynamic"])),
            factor=draw(st.sampled_from([1.0, 2.0])),
        ),
        "qk_norm": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "attention_bias": draw(st.sampled_from([None, None, "qkv", "all"])),
        "post_norm": draw(st.booleans()),
        "tie_embeddings": draw(st.booleans()),
    }
    return ModelConfig.checked(**{**values, **fixed})


def lively(config: ModelConfig, seed: int = 0) -> GPT:
    """A model with large random weights, so that no part of it is silent."""
    torch.manual_seed(seed)
    model = GPT(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            parameter.normal_(centre, 0.3)
    return model


def random_ids(config: ModelConfig, batch: int, length: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(config.vocab_size, (batch, length), generator=generator)  # [B, T]
