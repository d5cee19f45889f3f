"""D12: the probability and loss under each character are the model's own."""

import math

import numpy as np
import pytest
import torch

from mingyue.explain.exhibit import Knobs
from mingyue.explain.exhibits.pairs import show
from mingyue.explain.subject import Subject, label
from mingyue.generation.writer import Writer
from mingyue.model.gpt import GPT
from tests.explain.helpers import POEM, subject


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "rope", "alibi", "none"])
def test_every_number_is_the_model_s(position: str):
    looked = subject(POEM, position=position)
    strip, table = show(looked, Knobs()).panels
    ids = [looked.tokenizer.end_id, *looked.tokenizer.encode(POEM)]
    with torch.no_grad():
        for t in range(len(ids) - 1):  # each position by itself: only what stands before it
            logits = looked.model(torch.tensor([ids[: t + 1]])).logits
            assert logits is not None
            p = logits[0, -1].softmax(-1)
            x, y, of_y, loss, likeliest, most = table.rows[t]
            assert (x, y) == ("▷" if t == 0 else POEM[t - 1], POEM[t])
            np.testing.assert_allclose([of_y, most], [p[ids[t + 1]], p.max()], rtol=1e-4)
            assert loss == pytest.approx(-math.log(p[ids[t + 1]]), rel=1e-4)
            assert strip.values[t] == pytest.approx(of_y)
            assert likeliest == label(looked.tokenizer, int(p.argmax()))


def test_a_model_that_never_learned_is_found_out_and_one_that_did_is_not():
    base = subject(POEM)
    torch.manual_seed(0)
    fresh = GPT(base.model.config)
    looked = Subject.of(Writer(fresh, base.tokenizer), POEM)
    assert show(looked, Knobs()).verdicts[1].holds is False
    optimizer = torch.optim.Adam(fresh.parameters(), lr=1e-2)
    for _ in range(20):
        loss = fresh.train()(looked.ids[:, :-1], looked.ids[:, 1:]).loss
        assert loss is not None
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    fresh.eval()
    learned = Subject.of(Writer(fresh, base.tokenizer), POEM)
    assert show(learned, Knobs()).verdicts[1].holds is True
