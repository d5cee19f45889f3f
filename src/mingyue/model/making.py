"""The model that a config describes, of whatever kind."""

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
