"""A model's shape in words, of whatever kind it is."""

from typing import NamedTuple

from mingyue.cli.screen import number
from mingyue.language import tr
from mingyue.model.config import ModelConfig

NAMES = {"lstm": "LSTM", "gru": "GRU", "ngram": "n-gram", "word2vec": "Word2Vec"}


class Size(NamedTuple):
    """Something that a kind of model has so many of."""

    name: str
    value: object
    brief: str = ""
    """Both in a few words; empty where it is of less interest."""


def sizes(config: ModelConfig) -> list[Size]:
    """All that its kind is measured by."""
    c = config
    block_size = _setting("block_size", c.block_size)
    layers = Size(
        tr("blocks"),
        c.n_layer,
        tr("1 block") if c.n_layer == 1 else tr("{n} blocks", n=c.n_layer),
    )
    match c.kind:
        case "gpt":
            heads = str(c.n_head) if c.kv_heads == c.n_head else f"{c.n_head}/{c.kv_heads}"
            return [
                layers,
                Size(
                    tr("heads"),
                    tr("{heads}, each {width} wide", heads=heads, width=c.head_width),
                    tr("1 head") if c.n_head == 1 else tr("{n} heads", n=heads),
                ),
                _setting("d_model", c.d_model),
                Size(tr("feed-forward width"), c.ffn_width),
                block_size,
            ]
        case "lstm" | "gru":
            return [layers, _setting("d_model", c.d_model), block_size]
        case "word2vec":
            return [
                _setting("d_model", c.d_model),
                _setting("window", c.window),
                _setting("negatives", c.negatives),
                block_size,
            ]
        case "ngram":
            return [_setting("order", c.order)]


def _setting(name: str, value: object) -> Size:
    return Size(name, value, f"{name} {value}")


def size(config: ModelConfig, parameters: int) -> str:
    """How large it is, in one line."""
    return tr(
        "{parameters} parameters: {shape}, vocabulary {vocab}",
        parameters=number(parameters),
        shape=", ".join(size.brief for size in sizes(config) if size.brief),
        vocab=number(config.vocab_size),
    )


def kinds(config: ModelConfig) -> list[str]:
    """What it is made of."""
    c = config
    rest = ["tied"] * c.tie_embeddings + [f"dropout {c.dropout:g}"] * (c.dropout > 0)
    if c.kind != "gpt":
        return [NAMES[c.kind], *rest]
    sight = ["bidirectional"] * (not c.causal)
    norms = ["qk_norm"] * c.qk_norm + ["bias"] * c.bias
    return [*sight, c.position, c.activation, c.norm, *norms, *rest]


def optimizer(config: ModelConfig, asked: str) -> str:
    """What moves its weights: Muon only where there are matrices in blocks."""
    has_matrices = config.kind != "word2vec" and config.n_layer > 0
    return asked if has_matrices else "adamw"


def loss_of(config: ModelConfig, nats: str) -> str:
    """A loss with what it is the mean of."""
    if config.kind == "word2vec":
        return tr("{nats} nats per pair", nats=nats)
    if not config.causal:
        return tr("{nats} nats per masked token", nats=nats)
    return tr("{nats} nats per token", nats=nats)
