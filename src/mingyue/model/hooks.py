"""Look at any number inside a model, and change it.

    logits, cache = run_with_cache(model, ids, "blocks.0.attn.hook_pattern")
    logits = run_with_hooks(model, ids, [("blocks.1.hook_mlp_out", lambda value, hook: 0 * value)])

Names and habits are those of TransformerLens (Nanda & Bloom 2022), so that what one knows from
there holds here; ``observed`` lists them with their shapes. Nothing is built into the fast
forward pass: a model that is not looked at costs nothing. Gradients flow through all of it.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.observed import observed

NamesFilter = str | Iterable[str] | Callable[[str], bool] | None
"""One name, some, all for which a function is true, or None: all but ``hook_result``, which takes
as much room as all others together."""


@dataclass(frozen=True)
class HookPoint:
    """Where a hook was called."""

    name: str

    def layer(self) -> int | None:
        """The block it lies in; None outside of them."""
        parts = self.name.split(".")
        return int(parts[1]) if parts[0] == "blocks" else None


Hook = Callable[[Tensor, HookPoint], Tensor | None]
"""Gets a tensor and where it stands; what it returns takes its place, None leaves it."""


def run_with_cache(
    model: GPT, ids: Tensor, names_filter: NamesFilter = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits [B, T, V] for ids [B, T], and the tensors with the names asked for.

    Raises:
        UserError: the model has no such name.
    """
    names = _names(names_filter)
    seen: dict[str, Tensor] = {}
    listener = _Listener([(_predicate(names), lambda value, hook: _keep(seen, hook.name, value))])
    logits = observed(model, ids, listener)
    if isinstance(names, list):
        listener.check(names)
    return logits, seen


def run_with_hooks(
    model: GPT, ids: Tensor, fwd_hooks: Sequence[tuple[NamesFilter, Hook]]
) -> Tensor:
    """Logits [B, T, V] for ids [B, T], each of ``fwd_hooks`` called where its names say, in order.

    Raises:
        UserError: the model has no such name.
    """
    hooks = [(_names(names), hook) for names, hook in fwd_hooks]
    listener = _Listener([(_predicate(names), hook) for names, hook in hooks])
    logits = observed(model, ids, listener)
    listener.check([name for names, _ in hooks if isinstance(names, list) for name in names])
    return logits


class _Listener:
    """Calls the hooks, and remembers which names there were."""

    def __init__(self, hooks: Sequence[tuple[Callable[[str], bool], Hook]]):
        self._hooks = hooks
        self._known: list[str] = []

    def __call__(self, name: str, value: Tensor) -> Tensor:
        self._known.append(name)
        for wanted, hook in self._hooks:
            if wanted(name):
                new = hook(value, HookPoint(name))
                value = value if new is None else new
        return value

    def wants(self, name: str) -> bool:
        self._known.append(name)
        return any(wanted(name) for wanted, _ in self._hooks)

    def check(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._known:
                close = difflib.get_close_matches(name, self._known, n=3, cutoff=0.3)
                raise UserError(
                    tr(
                        "{name}: this model has no such activation; near it are {close}",
                        name=name,
                        close=", ".join(close) or self._known[0],
                    )
                )


def _keep(seen: dict[str, Tensor], name: str, value: Tensor) -> None:
    seen[name] = value


def _names(names: NamesFilter) -> list[str] | Callable[[str], bool] | None:
    if isinstance(names, str):
        return [names]
    return names if names is None or callable(names) else list(names)


def _predicate(names: list[str] | Callable[[str], bool] | None) -> Callable[[str], bool]:
    if names is None:
        return lambda name: not name.endswith("hook_result")
    return names if callable(names) else set(names).__contains__
