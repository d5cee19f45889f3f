"""Weights under our names and under theirs.

A family stores the same numbers under other names, sometimes cut differently: GPT-2 keeps its
matrices transposed, Llama has three matrices for our fused Q, K, V. A ``Names`` table says which
tensors of theirs, one on top of the other, make which parameter of ours. It is read in both
directions here, and strictly: a tensor that is missing, left over or of another shape is an
error that names it, because a model with one wrong matrix still writes, only badly.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.making import make_model


@dataclass(frozen=True)
class Match:
    """One parameter of ours and the tensors of theirs that, stacked by rows, make it."""

    ours: str
    theirs: tuple[str, ...]
    rows: tuple[int, ...] = ()  # rows of each of theirs; not needed when it is only one
    transposed: bool = False  # theirs is [in, out]
    order: Tensor | None = None  # row i of ours is row order[i] of theirs


@dataclass(frozen=True)
class Constant:
    """A tensor they store that is no parameter of ours, since its value is fixed."""

    theirs: str
    shape: tuple[int, ...]
    make: Callable[[], Tensor]


@dataclass(frozen=True)
class Names:
    """The whole table of one model."""

    matches: list[Match]
    constants: list[Constant] = field(default_factory=list)
    copies: Mapping[str, str] = field(default_factory=dict)  # theirs that only repeat another one
    ignored: re.Pattern[str] = re.compile(r"(?!)")  # tensors of theirs that say nothing
    prefix: str = ""  # what their file may leave off the front of every name


class Source(Protocol):
    """A safetensors file being read, or several of them."""

    def shapes(self) -> Mapping[str, tuple[int, ...]]: ...
    def tensor(self, name: str) -> Tensor: ...


class WrongConstant(Exception):
    """A stored tensor does not have the fixed value that the table promises."""


def parameter_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter of such a model, without taking memory for it."""
    if config.position != "learned":  # the others have no parameters, only angles to compute
        config = config.changed(position="none")
    with torch.device("meta"):
        return {name: tuple(t.shape) for name, t in make_model(config).state_dict().items()}


def export(parameters: Mapping[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Our parameters as their tensors, on the CPU, each with its own memory."""
    theirs: dict[str, Tensor] = {}
    for match in names.matches:
        whole = parameters[match.ours].detach().cpu()
        if match.order is not None:
            whole = whole[match.order.argsort()]
        parts = whole.split(match.rows) if match.rows else (whole,)
        for name, part in zip(match.theirs, parts, strict=True):
            theirs[name] = (part.T if match.transposed else part).clone().contiguous()
    for constant in names.constants:
        theirs[constant.theirs] = constant.make()
    return theirs


def fill(model: nn.Module, source: Source, names: Names, path: Path) -> None:
    """Copy their tensors into our parameters; ``check`` must have agreed before.

    Raises:
        UserError: one of them holds whole numbers, or is no copy where it should be.
    """
    shortened = _shortened(source.shapes(), names)
    parameters = model.state_dict()  # the same memory as the model's
    assert {match.ours for match in names.matches} == parameters.keys(), "a table has gaps"
    for match in names.matches:
        parts = [source.tensor(_stored(name, names, shortened)) for name in match.theirs]
        if parameters[match.ours].is_floating_point() and not all(
            part.is_floating_point() for part in parts
        ):
            raise UserError(
                tr(
                    "{path}: {name} does not hold floating-point numbers",
                    path=path,
                    name=match.theirs[0],
                )
            )
        parts = [part.T if match.transposed else part for part in parts]
        target, start = parameters[match.ours], 0
        for part in parts:
            target[start : start + part.shape[0]] = part
            start += part.shape[0]
        if match.order is not None:
            target.copy_(target[match.order])
    for copy, original in names.copies.items():
        if copy in source.shapes():
            same = _stored(original, names, shortened)
            if not torch.equal(source.tensor(copy), source.tensor(same)):
                raise UserError(
                    tr(
                        "{path}: {copy} is not {original}, though config.json says "
                        "tie_word_embeddings; set it to false there if both are meant",
                        path=path,
                        copy=copy,
                        original=same,
                    )
                )


def check_constants(source: Source, names: Names) -> None:
    """Compare fixed tensors with what is stored.

    Raises:
        WrongConstant: they differ by more than the rounding of the stored type.
    """
    shortened = _shortened(source.shapes(), names)
    for constant in names.constants:
        stored = source.tensor(_stored(constant.theirs, names, shortened))
        if not stored.is_floating_point():
            raise WrongConstant(constant.theirs)
        tolerance = 4 * torch.finfo(stored.dtype).eps
        if not torch.allclose(stored.float(), constant.make(), rtol=0, atol=tolerance):
            raise WrongConstant(constant.theirs)


def check(
    stored: Mapping[str, tuple[int, ...]],
    ours: Mapping[str, tuple[int, ...]],
    names: Names,
    path: Path,
) -> None:
    """Hold the shapes of a file against the table, before any tensor is read.

    Raises:
        UserError: names the tensors that are missing, left over or of another shape.
    """
    wanted = dict(_their_shapes(ours, names))
    shortened = _shortened(stored, names)
    wanted = {_stored(name, names, shortened): shape for name, shape in wanted.items()}
    missing = [name for name in wanted if name not in stored]
    if missing:
        raise UserError(
            tr("{path}: weights are missing: {names}", path=path, names=_listed(missing))
        )
    known = wanted.keys() | names.copies.keys()
    extra = [name for name in stored if name not in known and not names.ignored.search(name)]
    if extra:
        raise UserError(
            tr(
                "{path}: has weights that config.json does not speak of: {names}",
                path=path,
                names=_listed(extra),
            )
        )
    for name, shape in wanted.items():
        if stored[name] != shape:
            raise UserError(
                tr(
                    "{path}: {name} has the shape {found}, but config.json says {wanted}",
                    path=path,
                    name=name,
                    found=list(stored[name]),
                    wanted=list(shape),
                )
            )


def _their_shapes(
    ours: Mapping[str, tuple[int, ...]], names: Names
) -> Iterable[tuple[str, tuple[int, ...]]]:
    for match in names.matches:
        shape = ours[match.ours]
        for name, rows in zip(match.theirs, match.rows or shape[:1], strict=True):
            part = (rows, *shape[1:])
            yield name, part[::-1] if match.transposed else part
    for constant in names.constants:
        yield constant.theirs, constant.shape


def _shortened(stored: Mapping[str, object], names: Names) -> bool:
    """Whether the file leaves the prefix off its names, as a model without its head does."""
    return bool(names.prefix) and not any(name.startswith(names.prefix) for name in stored)


def _stored(name: str, names: Names, shortened: bool) -> str:
    return name.removeprefix(names.prefix) if shortened else name


def _listed(names: list[str], most: int = 4) -> str:
    # Names come from strangers' files: nothing unprintable goes to a terminal.
    shown = ", ".join(n[:80] if n.isprintable() else ascii(n[:80]) for n in names[:most])
    if len(names) <= most:
        return shown
    return tr("{names} and {n} more", names=shown, n=len(names) - most)
