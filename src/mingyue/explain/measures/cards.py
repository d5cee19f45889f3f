"""The queries and keys of a text, of all layers and heads, in one tensor each."""

import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.explain.subject import Subject
from mingyue.language import tr


def queries_and_keys(subject: Subject, *, turned: bool) -> tuple[Tensor, Tensor]:
    """q and k as the scores are made of them, [L, H, T, D] each; shared keys written out.

    ``turned``: after RoPE, where the model has it; else before.

    Raises:
        UserError: the model has no layers.
    """
    config = subject.model.config
    if config.n_layer == 0:
        raise UserError(tr("this model has no layers, so no attention to look at"))
    kind = "norm_" if config.qk_norm else ""
    if turned and config.position == "rope":
        kind = "rot_"
    seen = subject.see(
        lambda name: name.endswith((f"attn.hook_{kind}q", f"attn.hook_{kind}k")),
    )

    def all_layers(card: str) -> Tensor:
        names = (f"blocks.{layer}.attn.hook_{kind}{card}" for layer in range(config.n_layer))
        return torch.stack([seen[name][0] for name in names]).transpose(1, 2)  # [L, heads, T, D]

    shared = config.n_head // config.kv_heads
    return all_layers("q"), all_layers("k").repeat_interleave(shared, dim=1)
