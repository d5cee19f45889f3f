"""What was asked for in so many words and has no say in this run.

A shape that a kind of model cannot have is refused (``recipe``). Settings of training are only
named, for who compares kinds of models gives the same command for each.
"""

from mingyue.language import tr
from mingyue.training.config import TrainConfig
from mingyue.training.recipe import Asked, Recipe

COUNTING = {"eval_tokens", "sample_prompt", "sample_tokens"}
"""All that a run without steps makes use of."""
MUON = {"matrix_rate", "momentum"}
WRITING = {"sample_prompt", "sample_tokens"}


def idle(recipe: Recipe, asked: Asked) -> str | None:
    """A line that names such settings; None if there are none."""
    usual = TrainConfig.model_fields
    said = [n for n, v in asked.train.items() if v is not None and v != usual[n].default]
    if recipe.model["kind"] == "ngram":
        names = [name for name in said if name not in COUNTING] + _of_text(recipe, asked)
        listed = ", ".join(names)
        counted = tr("an n-gram model is counted in one go; without effect: {names}", names=listed)
        return counted if names else None
    without = _without_effect(recipe)
    names = [name for name in said if name in without] + _of_text(recipe, asked)
    return tr("without effect in this run: {names}", names=", ".join(names)) if names else None


def _without_effect(recipe: Recipe) -> set[str]:
    model, train, names = recipe.model, recipe.train, set[str]()
    if model["kind"] == "word2vec":  # has tables only, which Muon does not move
        names |= {"optimizer"} | MUON
    if train.optimizer == "adamw":
        names |= MUON
    if train.schedule != "wsd":
        names.add("decay_fraction")
    if model["kind"] == "word2vec" or not model["causal"]:
        names |= WRITING
    return names


def _of_text(recipe: Recipe, asked: Asked) -> list[str]:
    wanted_by = {"vocab_size": "bpe", "min_count": "char"}
    kind = recipe.data.tokenizer
    return [name for name in asked.data if wanted_by.get(name, kind) != kind]
