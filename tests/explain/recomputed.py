"""What a model computes on its way, once more from its modules and without hooks."""

from torch import Tensor

from mingyue.explain.subject import Subject
from mingyue.model.attention import Attended, attend_readably


def stream(looked: Subject, layer: int, ids: Tensor | None = None) -> Tensor:
    """The residual stream before a layer, [B, T, C]; after the last: ``layer`` = n_layer."""
    model, ids = looked.model, looked.ids if ids is None else ids
    T = ids.shape[1]
    x = model.embedding(ids)
    if model.config.position in ("learned", "sinusoidal"):
        x = x + model.position(0, T)
    for block in model.blocks[:layer]:
        x = block(x, model.view(0, T))
    return x


def attended(looked: Subject, layer: int) -> tuple[Tensor, Tensor, Tensor, Attended]:
    """q, k, v of a layer, and all that follows from them."""
    model = looked.model
    block, view = model.blocks[layer], model.view(0, looked.ids.shape[1])
    q, k, v = block.attention.project(block.norm_1(stream(looked, layer)), view.rotation)
    return q, k, v, attend_readably(q, k, v, view)
