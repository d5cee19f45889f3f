"""The model that a config describes, of whatever kind."""

import torch

from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.model.ngram import Ngram
from mingyue.model.recurrent import Recurrent
from mingyue.model.word2vec import Word2Vec

KINDS: dict[str, type[LanguageModel]] = {
    "gpt": GPT,
    "lstm": Recurrent,
    "gru": Recurrent,
    "ngram": Ngram,
    "word2vec": Word2Vec,
}


def make_model(config: ModelConfig) -> LanguageModel:
    """A new model with fresh random weights (an n-gram model: without counts)."""
    return KINDS[config.kind](config)


def make_empty(config: ModelConfig) -> LanguageModel:
    """The same with memory for its weights but no weights in it yet: drawing numbers that are
    read from a file at once takes longer than the reading."""
    with torch.device("meta"):  # what a config alone decides, such as angles, is made all the same
        model = make_model(config)

    def real(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(tensor, device="cpu") if tensor.is_meta else tensor

    return model._apply(real)
