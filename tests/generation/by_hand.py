"""Writing as its rules say it in words: one text at a time, every token from a pass over all."""

import torch
from torch import Tensor

from mingyue.data.tokens import Tokens
from mingyue.generation.sampling import Sampling, draw
from mingyue.generation.stream import chances
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.ngram import Ngram
from mingyue.model.recurrent import Recurrent
from mingyue.training.counting import count_ngrams


def window_of(ids: list[int], prompt: int, limit: int) -> list[int]:
    """What the model sees of a text when it is at its last id: the window fills up to the context
    (``limit``), then its last half begins a new one."""
    window: list[int] = []
    for place, id in enumerate(ids):
        if place < prompt:  # the prompt is read at once, its front cut off
            window = [*window, id][-limit:]
        elif len(window) < limit:
            window = [*window, id]
        else:
            window = [*window, id][-max(1, limit // 2) :]
    return window


@torch.no_grad()
def scores(model: LanguageModel, ids: list[int], prompt: int) -> Tensor:
    """What the model gives the token after ``ids``, from a pass over all it may see: [1, V]."""
    logits = model(torch.tensor([window_of(ids, prompt, model.context)])).logits
    assert logits is not None
    return logits[:, -1]


def text_by_hand(
    model: LanguageModel, prompt: list[int], sampling: Sampling, seed: int, n: int
) -> list[int]:
    """What a stream writes, at most ``n`` tokens; fewer where learned positions end."""
    ids, luck = list(prompt), chances(seed)
    bias = sampling.shift(torch.tensor([], dtype=torch.long), model.config.vocab_size)
    learned = model.config.kind == "gpt" and model.config.position == "learned"
    for _ in range(n):
        if learned and len(ids) > model.context:
            break
        seen = torch.zeros(1, model.config.vocab_size, dtype=torch.bool)
        seen[0, ids] = True
        changed = sampling.apply(scores(model, ids, len(prompt)), seen, bias)
        chance = torch.tensor([next(luck)])
        ids.append(int(changed.argmax() if sampling.greedy else draw(changed, chance)))
    return ids[len(prompt) :]


def recurrent(kind: str, vocab_size: int = 20) -> Recurrent:
    """An LSTM or GRU whose every weight matters."""
    torch.manual_seed(0)
    sizes = {"vocab_size": vocab_size, "d_model": 8, "n_layer": 2, "block_size": 8}
    model = Recurrent(ModelConfig.checked(kind=kind, **sizes))
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.5)
    return model.eval()


def ngram(order: int, vocab_size: int = 20) -> Ngram:
    """Counts of short texts in which everything follows everything, but not equally often."""
    generator = torch.Generator().manual_seed(order)
    steps = torch.randint(1, 4, (600,), generator=generator)
    ids = (steps.cumsum(0) % (vocab_size - 1) + 1).tolist()
    config = ModelConfig(kind="ngram", vocab_size=vocab_size, order=order, block_size=8)
    texts = [[*ids[i : i + 4], 0] for i in range(0, len(ids), 4)]
    return count_ngrams(Tokens.from_documents(texts), config, end_id=0)
