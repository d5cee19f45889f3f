"""The model as one function of ids and targets, through ``torch.compile`` where it pays."""

import torch
from torch import Tensor

from mingyue.language import tr
from mingyue.model.language_model import LanguageModel
from mingyue.training.observe import Observer
from mingyue.training.precision import Precision, autocast
from mingyue.training.step import Forward


def plain(model: LanguageModel) -> Forward:
    """The model as it is."""

    def forward(ids: Tensor, targets: Tensor) -> Tensor:
        loss = model(ids, targets).loss
        assert loss is not None
        return loss

    return forward


def compiled(
    model: LanguageModel, x: Tensor, y: Tensor, precision: Precision, observer: Observer
) -> tuple[Forward, bool]:
    """The same compiled, and whether it worked: tried once, forward and back, on x, y [B, T].

    A compiler is a large thing that may be missing or stumble; then the plain model is used and
    the reader is told once.
    """
    forward: Forward = torch.compile(plain(model))
    try:
        with autocast(x.device, precision):
            loss = forward(x, y)
        loss.backward()
    except Exception as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        observer.on_message(
            tr("torch.compile does not work here, going on without it: {reason}", reason=reason)
        )
        return plain(model), False
    finally:
        model.zero_grad(set_to_none=True)
    return forward, True
