"""Skip-gram: its loss against the formula written out, its vectors against the text's company."""

import math

import pytest
import torch

from mingyue.errors import UserError
from mingyue.generation.decode import Decoding
from mingyue.model.config import ModelConfig
from mingyue.model.loss import IGNORED
from mingyue.model.word2vec import Word2Vec

V = 9


def model(**changed: object) -> Word2Vec:
    torch.manual_seed(0)
    sizes = {"vocab_size": V, "d_model": 4, "window": 2, "negatives": 3}
    made = Word2Vec(ModelConfig.checked(kind="word2vec", **{**sizes, **changed}))
    for parameter in made.parameters():
        parameter.data.normal_()
    made.told(torch.randint(1, 50, (V,)))
    return made.eval()


def by_hand(model: Word2Vec, texts: list[list[int | None]]) -> float:
    """Every pair within the window, each with the negatives that are to be expected."""
    e, o = model.embedding.weight.double(), model.company.weight.double()
    chances = model.frequencies.double() ** 0.75
    chances /= chances.sum()
    window, K = model.config.window, model.config.negatives
    total = weights = 0.0
    for text in texts:
        for i, centre in enumerate(text):
            for j, other in enumerate(text):
                distance = abs(i - j)
                if centre is None or other is None or not 1 <= distance <= window:
                    continue
                weight = 1 - (distance - 1) / window
                loss = math.log1p(math.exp(-float(e[centre] @ o[other])))
                for token in range(V):
                    against = math.log1p(math.exp(float(e[centre] @ o[token])))
                    loss += K * float(chances[token]) * against
                total, weights = total + weight * loss, weights + weight
    return total / weights


@pytest.mark.parametrize("window", [1, 2, 5, 30])
@torch.no_grad()
def test_the_loss_is_that_of_the_pairs(window: int):
    w2v = model(window=window)
    text = torch.randint(V, (2, 8))
    targets = text[:, 1:].clone()
    targets[1, 3] = IGNORED
    rows: list[list[int | None]] = [text[0].tolist(), text[1].tolist()]
    rows[1][4] = None
    loss = w2v(text[:, :-1], targets).loss
    assert loss is not None
    assert loss.item() == pytest.approx(by_hand(w2v, rows), rel=1e-5)


def test_in_training_it_is_so_on_average():
    w2v = model(negatives=5)
    w2v.told(torch.ones(V))
    w2v.frequencies.fill_(1e-4)  # rare, so that none is dropped
    text = torch.randint(V, (4, 12))
    with torch.no_grad():
        exact = w2v(text[:, :-1], text[:, 1:]).loss
        w2v.train()
        drawn = [w2v(text[:, :-1], text[:, 1:]).loss for _ in range(200)]
    assert exact is not None
    assert torch.stack([d for d in drawn if d is not None]).mean().item() == pytest.approx(
        exact.item(), rel=0.02
    )


def test_those_with_the_same_company_become_alike():
    """1 and 2 stand among 3 and 4; 5 and 6 among 7 and 8."""
    torch.manual_seed(1)
    w2v = Word2Vec(
        ModelConfig.checked(kind="word2vec", vocab_size=V, d_model=8, window=1, negatives=5)
    )
    w2v.told(torch.ones(V))
    w2v.frequencies.fill_(1e-3)
    optimizer = torch.optim.Adam(w2v.parameters(), lr=0.05)
    for _ in range(150):
        side = torch.randint(2, (16, 1)) * 4
        row = torch.arange(12) % 2 * 2  # 0 2 0 2 …
        text = 1 + side + row + torch.randint(2, (16, 12))
        loss = w2v(text[:, :-1], text[:, 1:]).loss
        assert loss is not None
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    e = torch.nn.functional.normalize(w2v.embedding.weight.detach(), dim=-1)
    like = e @ e.T
    for a, b in ((1, 2), (3, 4), (5, 6), (7, 8)):
        assert like[a].index_fill(0, torch.tensor([a]), -2).argmax() == b


def test_it_does_not_write():
    with pytest.raises(UserError, match="cannot write"):
        Decoding(model())
