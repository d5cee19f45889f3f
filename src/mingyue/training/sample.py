"""A few characters from the model as it is now, so that one can see it learn."""

from mingyue.data.dataset import Dataset
from mingyue.errors import UserError
from mingyue.generation.writer import Writer
from mingyue.model.language_model import LanguageModel
from mingyue.training.config import TrainConfig


def sample(model: LanguageModel, data: Dataset, config: TrainConfig, step: int) -> str | None:
    """What the model writes after ``sample_prompt``, or None if none is wanted.

    The seed is the step, so a resumed run writes the same. Characters of the prompt that
    the vocabulary lacks are dropped.
    """
    if config.sample_prompt is None:
        return None
    writer = Writer(model, data.tokenizer, {"layout": data.layout})
    try:
        written = writer.generate(
            config.sample_prompt,
            max_tokens=config.sample_tokens,
            seed=step,
            unknown="drop",
        )[0]
    except UserError:  # a prompt of unknown characters only must not end a training
        return None
    return written.prompt + written.text
