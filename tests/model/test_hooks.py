"""What is seen is what the model computes, and what is changed there changes it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from mingyue.errors import UserError
from mingyue.model.config import ModelConfig
from mingyue.model.hooks import HookPoint, run_with_cache, run_with_hooks
from tests.model.configs import configs, lively, random_ids

OURS = ModelConfig(vocab_size=20, block_size=12, n_layer=2, n_head=2, d_model=16)


def plain(model, ids):
    logits = model(ids).logits
    assert logits is not None
    return logits


def close(a, b, tolerance=1e-5):
    difference, largest = (a - b).abs().max(), b.abs().max().clamp(min=1)
    return (difference / largest).item() <= tolerance


@settings(max_examples=100, deadline=None)
@given(configs(), st.booleans())
def test_observed_is_forward(config: ModelConfig, causal: bool) -> None:
    """Every position, norm, activation, GQA, bias; causal or not."""
    model = lively(config.model_copy(update={"causal": causal}))
    ids = random_ids(config, 2, config.block_size)
    logits, seen = run_with_cache(model, ids, lambda name: True)
    assert close(logits, plain(model, ids), 1e-4)
    assert seen["hook_embed"].shape == (2, config.block_size, config.d_model)


@settings(max_examples=40, deadline=None)
@given(configs())
def test_gradients_are_those_of_forward(config: ModelConfig) -> None:
    model = lively(config)
    ids = random_ids(config, 2, 8)
    plain(model, ids).square().mean().backward()
    expected = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad()
    run_with_hooks(model, ids, [])[0:].square().mean().backward()
    for name, parameter in model.named_parameters():
        wanted = expected[name]
        assert parameter.grad is not None and wanted is not None
        assert close(parameter.grad, wanted, 1e-3), name


@settings(max_examples=40, deadline=None)
@given(configs())
@torch.no_grad()
def test_the_parts_make_the_whole(config: ModelConfig) -> None:
    """The stream is the sum of what was added to it; a head's share is its z through W_o."""
    model = lively(config)
    ids = random_ids(config, 2, 8)
    logits, seen = run_with_cache(model, ids, lambda name: True)
    stream = seen["hook_embed"] + seen.get("hook_pos_embed", 0.0)
    for layer, block in enumerate(model.blocks):
        at = f"blocks.{layer}."
        assert close(seen[at + "hook_resid_pre"], stream)
        stream = stream + seen[at + "hook_attn_out"]
        assert close(seen[at + "hook_resid_mid"], stream)
        stream = stream + seen[at + "hook_mlp_out"]
        assert close(seen[at + "hook_resid_post"], stream)
        heads, bias = seen[at + "attn.hook_result"].sum(dim=2), block.attention.out.bias
        added = seen[at + "hook_attn_out"]
        if not config.post_norm:
            assert close(heads if bias is None else heads + bias, added, 1e-4)
        elif bias is None and config.norm == "rmsnorm":
            assert close(heads, added, 1e-4)
            before = seen[at + "attn.hook_z"].flatten(2) @ block.attention.out.weight.T
            scale = seen[at + "ln1_post.hook_scale"]
            assert close(before / scale * block.norm_1_post.weight, added)
        pattern, scores = seen[at + "attn.hook_pattern"], seen[at + "attn.hook_attn_scores"]
        assert torch.equal(pattern, scores.softmax(dim=-1))
        assert torch.equal(pattern.triu(1), torch.zeros_like(pattern))  # the future: exactly 0
        post = seen[at + "mlp.hook_post"]
        found = F.linear(post, block.ffn.down.weight, block.ffn.down.bias)
        assert close(block.norm_2_post(found), seen[at + "hook_mlp_out"])
    last = seen["ln_final.hook_normalized"] * model.norm.weight
    if isinstance(model.norm, torch.nn.LayerNorm) and model.norm.bias is not None:
        last = last + model.norm.bias
    assert close(F.linear(last, model.unembedding), logits)
    assert close(seen["ln_final.hook_normalized"].square().mean(-1), torch.ones(2, 8), 1e-2)


@settings(max_examples=30, deadline=None)
@given(configs())
@torch.no_grad()
def test_names_are_the_same_whoever_looks(config: ModelConfig) -> None:
    """One name at a time gives the tensor that all together give."""
    model, ids = lively(config), random_ids(config, 1, 6)
    _, together = run_with_cache(model, ids)
    assert not any(name.endswith("hook_result") for name in together)
    for name, value in together.items():
        _, alone = run_with_cache(model, ids, name)
        assert list(alone) == [name]
        assert torch.equal(alone[name], value)


@torch.no_grad()
def test_what_a_hook_returns_is_computed_on_with() -> None:
    model, ids = lively(OURS), random_ids(OURS, 2, 8)
    untouched = plain(model, ids)
    assert close(run_with_hooks(model, ids, [(None, lambda value, hook: None)]), untouched)
    # A layer whose both additions are nothing is as good as absent.
    nothing = run_with_hooks(
        model,
        ids,
        [(["blocks.1.hook_attn_out", "blocks.1.hook_mlp_out"], lambda value, hook: 0 * value)],
    )
    del model.blocks[1]
    assert close(nothing, plain(model, ids))
    assert not close(nothing, untouched, 1e-2)


@torch.no_grad()
def test_a_head_switched_off_by_its_z_or_by_its_result() -> None:
    model, ids = lively(OURS), random_ids(OURS, 2, 8)

    def off(value, hook):
        value = value.clone()
        value[:, :, 1] = 0
        return value

    by_z = run_with_hooks(model, ids, [("blocks.0.attn.hook_z", off)])
    by_result = run_with_hooks(model, ids, [("blocks.0.attn.hook_result", off)])
    assert close(by_z, by_result)
    assert not close(by_z, plain(model, ids), 1e-2)


@torch.no_grad()
def test_scores_are_q_times_k() -> None:
    """From the cards after RoPE, by the formula."""
    model, ids = lively(OURS), random_ids(OURS, 1, 8)
    _, seen = run_with_cache(model, ids)
    q, k = (seen[f"blocks.1.attn.hook_rot_{card}"] for card in "qk")
    scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(OURS.head_width)
    causal = torch.ones(8, 8).tril().bool()
    assert close(seen["blocks.1.attn.hook_attn_scores"][:, :, causal], scores[:, :, causal])


def test_hooks_are_told_where_they_are() -> None:
    model, ids = lively(OURS), random_ids(OURS, 1, 4)
    seen: list[HookPoint] = []
    run_with_hooks(model, ids, [(lambda name: True, lambda value, hook: seen.append(hook))])
    layers = {hook.name: hook.layer() for hook in seen}
    assert layers["blocks.1.mlp.hook_post"] == 1
    assert layers["hook_embed"] is None and layers["ln_final.hook_scale"] is None


@pytest.mark.parametrize("name", ["blocks.7.hook_mlp_out", "blocks.0.attn.hook_patern", "x"])
def test_unknown_names_are_refused(name: str) -> None:
    model, ids = lively(OURS), random_ids(OURS, 1, 4)
    with pytest.raises(UserError, match="no such activation; near it"):
        run_with_cache(model, ids, name)
    with pytest.raises(UserError, match=name):
        run_with_hooks(model, ids, [([name], lambda value, hook: None)])
