"""A model's shape in words, of whatever kind it is."""

from mingyue.cli.screen import number
from mingyue.language import tr
from mingyue.model.config import ModelConfig

NAMES = {"lstm": "LSTM", "gru": "GRU", "ngram": "n-gram", "word2vec": "Word2Vec"}


def size(config: ModelConfig, parameters: int) -> str:
    """How large it is, in one line."""
    c = config
    layers = tr("1 block") if c.n_layer == 1 else tr("{n} blocks", n=c.n_layer)
    heads = c.n_head if c.kv_heads == c.n_head else f"{c.n_head}/{c.kv_heads}"
    heads = tr("1 head") if c.n_head == 1 else tr("{n} heads", n=heads)
    match c.kind:
        case "gpt":
            parts = [layers, heads, f"d_model {c.d_model}", f"block_size {c.block_size}"]
        case "lstm" | "gru":
            parts = [layers, f"d_model {c.d_model}", f"block_size {c.block_size}"]
        case "word2vec":
            parts = [f"d_model {c.d_model}", f"window {c.window}", f"negatives {c.negatives}"]
        case "ngram":
            parts = [f"order {c.order}"]
    return tr(
        "{parameters} parameters: {shape}, vocabulary {vocab}",
        parameters=number(parameters),
        shape=", ".join(parts),
        vocab=number(c.vocab_size),
    )


def kinds(config: ModelConfig) -> list[str]:
    """What it is made of."""
    c = config
    tied = ["tied"] * c.tie_embeddings
    if c.kind != "gpt":
        return [NAMES[c.kind], *tied]
    return [c.position, c.activation, c.norm] + ["qk_norm"] * c.qk_norm + ["bias"] * c.bias + tied
