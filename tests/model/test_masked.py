"""A model that sees both directions: what it learns from, and that both sides help."""

import torch
from torch.nn import functional as F

from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT, HIDDEN
from mingyue.model.loss import IGNORED

SIZES = {"vocab_size": 12, "d_model": 16, "n_layer": 2, "n_head": 2, "block_size": 16}


def model() -> GPT:
    torch.manual_seed(0)
    return GPT(ModelConfig.checked(causal=False, **SIZES))


@torch.no_grad()
def test_the_loss_is_that_of_every_seventh_token_with_the_mask_in_its_place():
    gpt = model().eval()
    for parameter in gpt.parameters():
        parameter.normal_(0, 0.3)
    ids = torch.randint(12, (2, 15))
    targets = ids.clone()
    targets[1, 8:] = IGNORED
    hidden = torch.zeros(2, 15, dtype=torch.bool)
    hidden[0, [0, 7, 14]] = hidden[1, [6]] = True  # 13 of the second row does not count
    gpt.embedding.weight.data = torch.cat([gpt.embedding.weight, gpt.mask[None]])  # a 13th row
    masked = ids.masked_fill(hidden, 12)
    logits = gpt(masked).logits
    assert logits is not None
    wanted = F.cross_entropy(logits[hidden], ids[hidden])
    loss = gpt(ids, targets).loss
    assert loss is not None
    assert torch.allclose(loss, wanted, atol=1e-5)
    assert torch.allclose(gpt.nats(ids, targets), wanted * 23, atol=1e-3)


def test_about_one_in_seven_is_drawn_in_training():
    gpt, seen = model().train(), []
    hidden = gpt.hidden
    gpt.hidden = lambda ids, masked=None: (seen.append(masked), hidden(ids, masked=masked))[1]
    for _ in range(50):
        gpt(ids := torch.randint(12, (8, 16)), ids)
    share = torch.stack(seen).float().mean().item()
    assert abs(share - 1 / HIDDEN) < 0.02


def test_it_learns_from_what_follows():
    """Each token is that two places later: only a model that looks ahead can know it."""
    gpt = model().train()
    optimizer = torch.optim.Adam(gpt.parameters(), lr=5e-3)
    loss = torch.tensor(9.0)
    for _ in range(400):
        pair = torch.randint(12, (32, 2))
        ids = pair.repeat(1, 8)
        found = gpt(ids, ids).loss
        assert found is not None
        loss = found
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 1.0  # log 12 = 2.5 without looking
