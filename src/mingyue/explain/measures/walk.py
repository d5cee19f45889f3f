"""Watch code at work: which line made which tensor.

A walk retyped from the code would go stale with the next change of it. So nothing is retyped:
Python tells a tracer of each line that it runs, the line's text is read from the source, and the
tensor is the one that the line left behind. A line like ``a.view(…).transpose(…)`` makes tensors
that get no name; torch tells of these, and Python which piece of the line was running.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode


@dataclass(frozen=True)
class Made:
    """A tensor, and the code that made it."""

    function: str  # "Attention.project"
    name: str  # of the variable; "return" for what a function gives back; "" for a piece of a line
    call: str  # what was called last to make it: "transpose"
    code: str
    place: str  # "model/attention.py:90"
    tensor: Tensor


@dataclass(frozen=True)
class Statement:
    """An assignment or a return, as one line of text, and what is to the right in it."""

    code: str
    value: str
    call: str
    line: int


@contextmanager
def watching(functions: Sequence[FunctionType]) -> Iterator[list[Made]]:
    """Note every tensor that lines of ``functions`` make while the block runs, line by line.

    A tensor that is handed on is noted where it was made; a line in a loop, the first time.
    """
    codes = {function.__code__: function for function in functions}
    made: list[Made] = []
    noted: set[tuple[CodeType, int, str]] = set()
    pieces: dict[FrameType, dict[int, Tensor]] = {}  # by the instruction that ran

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code not in codes:
            return None
        function, name = codes[frame.f_code], frame.f_code.co_qualname
        statements = _statements(function)
        before = dict(frame.f_locals)
        line = frame.f_lineno

        def note(key: str, variable: str, call: str, code: str, at: int, value: Any) -> None:
            old = (frame.f_code, at, key) in noted or any(m.tensor is value for m in made)
            if isinstance(value, Tensor) and not old:
                noted.add((frame.f_code, at, key))
                made.append(Made(name, variable, call, code, f"{_file(function)}:{at}", value))

        def step(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal before, line
            done, now = statements.get(line), dict(frame.f_locals)
            if done is not None:  # what the line before this one has made
                for instruction, tensor in pieces.pop(frame, {}).items():
                    text, call = _piece(function, instruction)
                    if text and text != done.value:  # else it gets a name below
                        note(text, "", call, text, done.line, tensor)
                new = {k: v for k, v in now.items() if v is not before.get(k)}
                new |= _named(value) if event == "return" else {}
                for tensor in new.values():  # a piece that now has a name
                    made[:] = [m for m in made if m.name or m.tensor is not tensor]
                for variable, tensor in new.items():
                    note(variable, variable, done.call, done.code, done.line, tensor)
            before, line = now, frame.f_lineno
            return step

        return step

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        with _Results(set(codes), pieces):
            yield made
    finally:
        sys.settrace(outer)


class _Results(TorchFunctionMode):
    """Keeps what torch gave last to each instruction of the code that is watched."""

    def __init__(self, codes: set[CodeType], pieces: dict[FrameType, dict[int, Tensor]]):
        super().__init__()
        self._codes, self._pieces = codes, pieces

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code not in self._codes:
            frame = frame.f_back
        if frame is not None and isinstance(result, Tensor):
            self._pieces.setdefault(frame, {})[frame.f_lasti] = result
        return result


def _named(value: Any) -> dict[str, Any]:
    """What is given back: a tensor, or several with the names or numbers of their places."""
    if not isinstance(value, tuple):
        return {"return": value}
    fields = getattr(value, "_fields", None) or [f"return {i}" for i in range(len(value))]
    return dict(zip(fields, value, strict=True))


def _file(function: FunctionType) -> str:
    path = Path(inspect.getsourcefile(function) or "")
    return f"{path.parent.name}/{path.name}"


@cache
def _statements(function: FunctionType) -> dict[int, Statement]:
    """For every line of a function, by its number in the file, the statement it is part of."""
    lines, first = inspect.getsourcelines(function)
    source = textwrap.dedent("".join(lines))
    found: dict[int, Statement] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
            start = first + node.lineno - 1
            code, value = (ast.get_source_segment(source, n) or "" for n in (node, node.value))
            statement = Statement(_line(code), _line(value), _called(node.value), start)
            found |= dict.fromkeys(range(start, first + (node.end_lineno or 0)), statement)
    return found


@cache
def _piece(function: FunctionType, instruction: int) -> tuple[str, str]:
    """The text that an instruction was made from, and what it calls last."""
    positions = function.__code__.co_positions()
    line, end, left, right = next(islice(positions, instruction // 2, None))
    if line is None or end is None or left is None or right is None:
        return "", ""
    lines, first = inspect.getsourcelines(function)
    part = [text.encode() for text in lines[line - first : end - first + 1]]  # columns are bytes
    part[-1] = part[-1][:right]
    part[0] = part[0][left:]
    text = b"".join(part).decode()
    return _line(text), _called(ast.parse(text, mode="eval").body)


def _called(node: ast.AST) -> str:
    """x.view(…) → view, linear(…) → linear; "" for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _line(code: str) -> str:
    return re.sub(r"\s*\n\s*", " ", code)
