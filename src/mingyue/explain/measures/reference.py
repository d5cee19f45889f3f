"""Whether a head looks from one token at another on that token's account.

Half of a head's attention on 猫 says nothing about 它 if the head looks at 猫 from everywhere. So
the look of 它 is held against two others in the same head: those of the other tokens that see 猫,
each from its own place; and those of other tokens put in the place of 它, where nothing differs but
who asks.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from mingyue.explain.subject import Subject

TRIED = 16
"""Tokens that are put in the place of the one that asks."""


@dataclass(frozen=True)
class Looks:
    """What each head gives to one key, [L, H]; nan where there is nobody to compare with."""

    own: Tensor  # from the token in question
    others: Tensor  # from the other tokens that see it, on average
    instead: Tensor  # from other tokens in the same place, on average

    @property
    def clear(self) -> Tensor:
        """Above 0 where it is more than half, and twice what either of the others is."""
        most = torch.maximum(self.others.nan_to_num(0), self.instead.nan_to_num(0))
        return torch.minimum(self.own - 0.5, self.own / 2 - most)

    @property
    def compared(self) -> bool:
        return not (bool(self.others.isnan().any()) or bool(self.instead.isnan().any()))


@torch.no_grad()
def looks(subject: Subject, t: int, key: int) -> Looks:
    """From position ``t``, and from elsewhere, at position ``key``."""
    ids = subject.ids[0]
    first = key + 1 if subject.model.config.causal else 1
    others = [s for s in range(first, len(ids)) if s not in (t, key)]
    left_out = {int(ids[t]), int(ids[key]), subject.tokenizer.end_id}
    instead = [i for i in dict.fromkeys(ids.tolist()) if i not in left_out][:TRIED]
    texts = subject.ids.repeat(1 + len(instead), 1)  # [1 + n, T], the text itself first
    texts[1:, t] = ids.new_tensor(instead)
    seen = subject.see(lambda name: name.endswith("hook_pattern"), texts)
    given = torch.stack([pattern[..., key].float() for pattern in seen.values()])  # [L, 1+n, H, T]
    return Looks(
        given[:, 0, :, t],
        given[:, 0][..., others].mean(dim=-1),
        given[:, 1:, :, t].mean(dim=1),
    )
