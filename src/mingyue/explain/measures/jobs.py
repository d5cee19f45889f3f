"""What a head could be for: a job says which earlier tokens it would look at.

A head's score is the attention it gives them, on average over all tokens for which there are any.
A head that looks at everything alike gives them their share too; what is above it is the *excess*.
"""

from collections.abc import Sequence
from unicodedata import category

import torch
from torch import Tensor

from mingyue.explain.subject import Subject
from mingyue.language import tr

LINE_ENDS = frozenset("，。！？；：,.!?;:\n\r")


def names() -> list[str]:
    """The jobs, in the order of ``targets``."""
    return [
        tr("the token itself"),
        tr("previous token"),
        tr("same token earlier"),
        tr("line start"),
        tr("slot in paired line"),
        tr("punctuation"),
        tr("end token"),
    ]


def targets(subject: Subject, ids: Tensor) -> Tensor:
    """What each job looks at from each token: ids [B, T] → bool [jobs, B, T, T].

    Lines end at a sign or a line break, which belongs to the line that it ends; the second, fourth
    … line of a text is paired with the one before it. No job looks ahead.
    """
    B, T = ids.shape
    texts = {i: subject.tokenizer.token_text(i) for i in ids.unique().tolist()}
    end = ids == subject.tokenizer.end_id  # [B, T]
    sign = _where(ids, [i for i, text in texts.items() if is_sign(text)])
    stop = _where(ids, [i for i, text in texts.items() if LINE_ENDS & set(text)])
    line = torch.zeros_like(ids)  # [B, T], the end token in front being line 0
    slot = torch.zeros_like(ids)
    for t in range(1, T):
        new = end[:, t - 1] | (stop[:, t - 1] & ~stop[:, t])
        line[:, t] = line[:, t - 1] + new
        slot[:, t] = (slot[:, t - 1] + 1) * ~new
    word = ~(end | sign)
    one, other = ids[:, :, None], ids[:, None, :]  # [B, T, 1], [B, 1, T]
    distance = torch.arange(T)[:, None] - torch.arange(T)[None]  # [T, T]
    distance = distance.to(ids.device)
    earlier, content = distance > 0, word[:, :, None] & word[:, None, :]
    from_line, to_line = line[:, :, None], line[:, None, :]
    starts = (slot == 0)[:, None, :] & word[:, None, :]
    paired = (from_line % 2 == 0) & (from_line == to_line + 1) & (to_line > 0)
    paired = paired & end[:, :1, None]  # in the middle of a text nobody knows which line it is
    found = [
        (distance == 0).expand(B, T, T),
        (distance == 1).expand(B, T, T),
        (one == other) & earlier & content,
        starts & (from_line == to_line) & earlier,
        paired & (slot[:, :, None] == slot[:, None, :]) & content,
        sign[:, None, :] & (distance >= 0),
        end[:, None, :] & earlier,
    ]
    return torch.stack([job & (distance >= 0) for job in found])


def scores(pattern: Tensor, looked_at: Tensor, real: Tensor) -> Tensor:
    """Sums over all tokens that have something to look at: pattern [B, H, T, T], looked_at
    [jobs, B, T, T], real [B, T] → [jobs, H]."""
    counted = looked_at & real[None, :, :, None]
    return torch.einsum("bhts,jbts->jh", pattern.float(), counted.float())


def occasions(looked_at: Tensor, real: Tensor) -> Tensor:
    """For how many tokens each job has something to look at, [jobs]."""
    return (looked_at.any(dim=-1) & real).sum(dim=(1, 2))


def is_sign(text: str) -> bool:
    """Whether a token is nothing but punctuation or line breaks; a blank alone is none."""
    marks = text.strip(" ")
    return bool(marks) and all(category(c).startswith("P") or c in "\n\r" for c in marks)


def _where(ids: Tensor, wanted: Sequence[int]) -> Tensor:
    return torch.isin(ids, torch.tensor(wanted, dtype=ids.dtype, device=ids.device))
