"""LSTM and GRU against their equations; states carried on; nothing seen of the future."""

import pytest
import torch

from mingyue.model.config import ModelConfig
from mingyue.model.recurrent import Recurrent, State

KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])


def network(kind: str, **changed: object) -> Recurrent:
    torch.manual_seed(0)
    sizes = {"vocab_size": 11, "d_model": 8, "n_layer": 2, "block_size": 16}
    model = Recurrent(ModelConfig.checked(kind=kind, **{**sizes, **changed}))
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.5)
    return model.eval()


def logits(model: Recurrent, ids: torch.Tensor, **said: object) -> torch.Tensor:
    scores = model(ids, **said).logits
    assert scores is not None
    return scores


@KINDS
@torch.no_grad()
def test_one_layer_is_what_the_equations_say(kind: str):
    model = network(kind, n_layer=1)
    W, U, b, c_ = (p for _, p in model.blocks.named_parameters())
    ids = torch.tensor([[1, 5, 3]])
    h = memory = torch.zeros(8)
    for t, x in enumerate(model.embedding(ids)[0]):
        wx, uh = W @ x + b, U @ h + c_
        if kind == "lstm":
            i, f, g, o = (wx + uh).chunk(4)
            memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
            h = o.sigmoid() * memory.tanh()
        else:
            (wr, wz, wn), (ur, uz, un) = wx.chunk(3), uh.chunk(3)
            r, z = (wr + ur).sigmoid(), (wz + uz).sigmoid()
            h = z * h + (1 - z) * (wn + r * un).tanh()
        assert torch.allclose(model.hidden(ids)[0, t], h, atol=1e-6)


@KINDS
@torch.no_grad()
def test_a_state_carried_on_equals_the_whole_text(kind: str):
    model = network(kind)
    ids = torch.randint(11, (3, 20))  # longer than block_size: there is no limit
    whole, cache = logits(model, ids), model.new_cache(3)
    parts = [logits(model, ids[:, :7], cache=cache), logits(model, ids[:, 7:8], cache=cache)]
    cache = cache.gather([(cache, [2, 0])])
    assert isinstance(cache, State)
    assert cache.length == 8
    rest = logits(model, ids[[2, 0], 8:], cache=cache)
    assert torch.allclose(torch.cat(parts, 1), whole[:, :8], atol=1e-6)
    assert torch.allclose(rest, whole[[2, 0], 8:], atol=1e-6)


@KINDS
@torch.no_grad()
def test_no_future(kind: str):
    model = network(kind)
    ids = torch.randint(11, (1, 9))
    other = ids.clone()
    other[0, 5:] = (other[0, 5:] + 1) % 11
    assert torch.equal(logits(model, ids)[:, :5], logits(model, other)[:, :5])


@KINDS
def test_it_learns(kind: str):
    model = network(kind).train()
    ids = torch.arange(11).repeat(3)[None, :]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        loss = model(ids[:, :-1], ids[:, 1:]).loss
        assert loss is not None
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3


@KINDS
def test_operations_are_those_of_the_matrices(kind: str):
    """Counted on the model itself: two operations a weight, thrice for a step."""
    model = network(kind)
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embedding" not in n]
    assert model.flops_per_token() == 6 * sum(p.numel() for p in matrices)
