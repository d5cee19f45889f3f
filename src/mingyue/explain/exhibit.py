"""What an exhibit is: a pure function from a subject and knobs to something to look at.

    Definition(name="pairs", spec="D12", title=…, brief=…, show=show, texts=("床前明月光",))

An exhibit claims what the article says one should see. A verdict measures whether it is so in
this model, and may say no. Nothing is drawn that was not computed from the subject.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal

import numpy as np

from mingyue.explain.panels import Panel
from mingyue.explain.subject import Subject
from mingyue.settings import Settings


@dataclass(frozen=True)
class Verdict:
    """A claim, the number that was measured for it, and whether it bears the claim out."""

    claim: str
    measured: str
    holds: bool | None  # None: cannot be told from this text or this model


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """What came of it."""

    name: str
    title: str
    see: str  # what to look at, and what it means; whole sentences
    verdicts: Sequence[Verdict]
    panels: Sequence[Panel]
    notes: Sequence[str] = field(
        default_factory=tuple
    )  # on the text: what was changed, cut, lacking

    def to_json(self) -> dict[str, Any]:
        """As plain lists, dicts, strings and numbers; a number that is none becomes None."""
        return _plain(self) | {"panels": [_plain(panel) for panel in self.panels]}


Need = bool | Literal["if at hand"]
"""Whether something is needed, or used where it is at hand."""


class Knobs(Settings):
    """What can be turned; each exhibit adds its own.

    Descriptions are words for the reader, literals in English; they are translated where shown.
    """


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An exhibit, not yet shown to anybody."""

    name: str
    spec: str  # the row of the specification
    title: Callable[[], str]  # functions, since the language is chosen later
    brief: Callable[[], str]  # one line for the list
    texts: Sequence[str]  # to show it on, the first one that the model can read
    show: Callable[[Subject, Any], Exhibit]
    knobs: type[Knobs] = Knobs
    pages: Sequence[str] = ()  # of its panels, by plain name; with some models there are fewer
    needs_dataset: Need = False  # the text that the model learned, to look for examples in
    needs_snapshots: bool = False  # looks at all steps of training that were kept


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        fields = {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
        return {"kind": type(value).__name__.lower(), **fields}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
