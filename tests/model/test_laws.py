"""What must hold for every GPT, whatever its shape."""

from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from mingyue.model import attention as attention_module
from mingyue.model import loss as loss_module
from mingyue.model.attention import View, attend_fast, attend_readably
from mingyue.model.config import ModelConfig, RopeConfig
from mingyue.model.gpt import GPT
from mingyue.model.loss import IGNORED, cross_entropy
from mingyue.model.norm import rms_norm
from mingyue.model.position import ContextFull, RotaryPosition
from tests.model.configs import configs, lively, random_ids

few = settings(max_examples=40, deadline=None)


@few
@given(configs(), st.data())
def test_the_future_changes_nothing(config, data):
    """Causality: outputs 0..t are bit for bit the same whatever stands at t+1 and later."""
    model = lively(config)
    T = config.block_size
    t = data.draw(st.integers(0, T - 2))
    ids = random_ids(config, 2, T)
    other = ids.clone()
    other[:, t + 1 :] = (other[:, t + 1 :] + 1) % config.vocab_size
    for path in ("fast", "readable"):
        model.attention_path(path)
        with torch.no_grad():
            a, b = model(ids).logits, model(other).logits
        assert torch.equal(a[:, : t + 1], b[:, : t + 1])
        assert not torch.equal(a[:, t + 1 :], b[:, t + 1 :])


@few
@given(configs(causal=False))
def test_without_mask_the_future_counts(config):
    model = lively(config)
    ids = random_ids(config, 1, config.block_size)
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % config.vocab_size
    with torch.no_grad():
        assert not torch.equal(model(ids).logits[:, 0], model(other).logits[:, 0])


@few
@given(configs(), st.data())
def test_cached_equals_uncached(config, data):
    """Whatever the pieces in which a text arrives, the cache gives the same logits."""
    model = lively(config)
    ids = random_ids(config, 2, config.block_size)
    cuts = sorted(data.draw(st.sets(st.integers(1, config.block_size - 1), max_size=4)))
    cache = model.new_cache(2)
    with torch.no_grad():
        whole = model(ids).logits
        pieces = [
            model(ids[:, a:b], cache=cache).logits
            for a, b in zip([0, *cuts], [*cuts, config.block_size], strict=True)
        ]
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, rtol=1e-5, atol=1e-5)
    assert cache.length == config.block_size


@few
@given(configs(), st.booleans())
def test_readable_and_fast_paths_agree(config, causal):
    """The same outputs and the same gradients from both ways to compute attention."""
    model = lively(config.changed(causal=causal))
    ids = random_ids(config, 2, config.block_size)
    targets = random_ids(config, 2, config.block_size, seed=2)
    results = []
    for path in ("fast", "readable"):
        model.attention_path(path)
        model.zero_grad()
        model(ids, targets).loss.backward()
        results.append([model(ids).logits.detach(), *(p.grad.clone() for p in model.parameters())])
    for fast, readable in zip(*results, strict=True):
        torch.testing.assert_close(fast, readable, rtol=1e-3, atol=1e-4)


@few
@given(configs(), st.booleans())
def test_paths_agree_in_bf16(config, causal):
    """In bf16 the fast path is another one on a CPU; it agrees to the precision of the type."""
    model = lively(config.changed(causal=causal))
    q, k, v = (torch.randn(2, h, 9, 8) for h in (config.n_head, config.kv_heads, config.kv_heads))
    view = model.view(0, 9)
    readable = attend_readably(q, k, v, view).z
    fast = attend_fast(q.bfloat16(), k.bfloat16(), v.bfloat16(), view)
    assert fast.dtype == torch.bfloat16
    torch.testing.assert_close(fast.float(), readable, rtol=0.1, atol=0.05)


@few
@given(st.integers(1, 40), st.integers(1, 9), st.sampled_from([(1, 1), (2, 1), (6, 3)]))
def test_attention_by_rows_is_the_readable_one(T, rows, heads):
    """Outputs and gradients, however many queries are answered together; and no future."""
    generator = torch.Generator().manual_seed(T)
    q, k, v = (
        torch.randn(2, h, T, 8, generator=generator).requires_grad_()
        for h in (heads[0], heads[1], heads[1])
    )
    out = torch.randn(2, heads[0], T, 8, generator=generator)
    with patch.object(attention_module, "ROWS", rows):
        z = attention_module._attend_by_rows(q, k, v)
        slopes = torch.autograd.grad(z, (q, k, v), out)
        cut = T // 2
        later = [torch.cat((t[:, :, :cut], -3 * t[:, :, cut:]), dim=2) for t in (q, k, v)]
        assert torch.equal(attention_module._attend_by_rows(*later)[:, :, :cut], z[:, :, :cut])
    readable = attend_readably(q, k, v, View(None, True, None)).z
    torch.testing.assert_close(z, readable, rtol=1e-5, atol=1e-5)
    for mine, plain in zip(slopes, torch.autograd.grad(readable, (q, k, v), out), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-4, atol=1e-5)


@few
@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 12), st.booleans())
def test_norm_by_hand_is_the_formula(rows, heads, width, many):
    """Values and gradients of RMSNorm, with one weight and with one for each head."""
    x = torch.randn(2, rows, heads, width, generator=torch.Generator().manual_seed(rows))
    x = x.requires_grad_()
    weight = torch.linspace(-1, 2, heads * width).view(heads, width)
    weight = (weight if many else weight[0]).clone().requires_grad_()
    out = torch.linspace(-2, 1, x.numel()).view_as(x)
    formula = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight
    ours = rms_norm(x, weight, 1e-6)
    torch.testing.assert_close(ours, formula, rtol=1e-5, atol=1e-5)
    pairs = (torch.autograd.grad(y, (x, weight), out) for y in (ours, formula))
    for mine, plain in zip(*pairs, strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-3, atol=1e-4)


def test_turning_back_is_the_gradient_of_turning():
    for fraction in (0.5, 1.0):
        config = ModelConfig(vocab_size=9, d_model=32, n_head=2, rope=RopeConfig(fraction=fraction))
        rotation = RotaryPosition(config)(3, 7)
        rotation = rotation._replace(cos=rotation.cos.double(), sin=rotation.sin.double())
        x = torch.randn(2, 2, 7, 16, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(rotation.turn, (x,))


@few
@given(configs())
def test_every_parameter_learns(config):
    """A gradient reaches every weight: nothing is built and then left out."""
    model = lively(config)
    ids = random_ids(config, 2, config.block_size)
    model(ids, random_ids(config, 2, config.block_size, seed=2)).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@few
@given(configs(), st.integers(1, 8))
def test_loss_is_mean_of_target_log_probabilities(config, ignored):
    model = lively(config)
    ids = random_ids(config, 2, config.block_size)
    targets = random_ids(config, 2, config.block_size, seed=2)
    targets[0, :ignored] = IGNORED
    with torch.no_grad():
        loss = model(ids, targets).loss
        log_p = model(ids).logits.log_softmax(-1)
    kept = targets != IGNORED
    chosen = log_p.gather(-1, targets.clamp(min=0)[..., None])[..., 0][kept]
    torch.testing.assert_close(loss, -chosen.mean(), rtol=1e-4, atol=1e-5)


@few
@given(st.integers(1, 40), st.integers(2, 30), st.integers(0, 40), st.integers(20, 200))
def test_sliced_loss_equals_the_plain_one(n, vocab_size, ignored, size):
    """Values and gradients as of F.cross_entropy(F.linear(x, weight)), however sliced."""
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, 5, generator=generator).requires_grad_()
    weight = torch.randn(vocab_size, 5, generator=generator).mul_(20).requires_grad_()
    targets = torch.randint(vocab_size, (n,), generator=generator)
    targets[: min(ignored, n - 1)] = IGNORED
    with patch.object(loss_module, "SLICE", size):
        ours = cross_entropy(x, weight, targets)
        gradients = torch.autograd.grad(3 * ours, (x, weight))
    plain = F.cross_entropy(F.linear(x, weight), targets)
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(gradients, torch.autograd.grad(3 * plain, (x, weight)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_loss_of_nothing_is_zero_not_nan():
    x, weight = torch.randn(3, 5, requires_grad=True), torch.randn(4, 5)
    loss = cross_entropy(x, weight, torch.full((3,), IGNORED))
    loss.backward()
    assert loss.item() == 0 and x.grad.abs().sum() == 0


def test_batch_rows_do_not_meet():
    config = ModelConfig(vocab_size=20, block_size=12, d_model=16)
    model = lively(config)
    ids = random_ids(config, 3, 12)
    with torch.no_grad():
        together = model(ids).logits
        alone = torch.cat([model(row[None]).logits for row in ids])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_last_only_is_the_last_row():
    config = ModelConfig(vocab_size=20, block_size=12, d_model=16)
    model = lively(config)
    ids = random_ids(config, 2, 9)
    with torch.no_grad():
        torch.testing.assert_close(model(ids, last_only=True).logits, model(ids).logits[:, -1:])


def test_learned_positions_end_with_a_clear_word_and_others_go_on():
    for position in ("learned", "sinusoidal", "rope", "alibi", "none"):
        config = ModelConfig.checked(vocab_size=20, block_size=8, d_model=16, position=position)
        model = lively(config)
        ids = random_ids(config, 1, 9)
        if position == "learned":
            with pytest.raises(ContextFull, match="8"):
                model(ids)
        else:
            assert model(ids).logits.shape == (1, 9, 20)


def test_heads_cost_nothing():
    """Parameters and operations do not grow with the number of heads (SPEC A3)."""
    sizes = set()
    for n_head in (1, 2, 4, 8, 16):
        config = ModelConfig(vocab_size=20, d_model=64, n_head=n_head, qk_norm=False)
        model = GPT(config)
        sizes.add((model.count_parameters(), model.flops_per_token()))
    assert len(sizes) == 1


def test_counted_operations_are_those_performed():
    from torch.utils.flop_counter import FlopCounterMode

    config = ModelConfig(vocab_size=50, block_size=16, d_model=32, n_head=2, n_layer=2)
    model = GPT(config)
    model.attention_path("readable")
    ids = random_ids(config, 3, 16)
    with FlopCounterMode(display=False) as counter:
        model(ids, ids).loss.backward()
    assert model.flops_per_token(16) * ids.numel() == counter.get_total_flops()


def test_training_may_follow_inference_mode():
    """Tables made while generating are used in training afterwards."""
    for position in ("sinusoidal", "rope", "alibi"):
        config = ModelConfig.checked(vocab_size=20, block_size=8, d_model=16, position=position)
        model = GPT(config)
        ids = random_ids(config, 1, 8)
        with torch.inference_mode():
            model(ids)
        model(ids, ids).loss.backward()
        assert model.embedding.weight.grad is not None
