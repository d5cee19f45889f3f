"""What was asked for: everything needed to make a run again, and the folder it goes to.

The recipe lies in the run folder (``mingyue.json``). A resumed run takes it from there; what is
asked again must say the same, since a run whose second half follows other rules is neither.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.config import ModelConfig, out_of_place
from mingyue.text.source import COLLECTIONS
from mingyue.training.config import MODEL, MODELS, DataConfig, TrainConfig
from mingyue.training.lock import LOCK

ABOUT = "mingyue.json"
RUNS = Path("runs")
LENGTHS = ("steps", "minutes")


@dataclass(frozen=True)
class Recipe:
    """A text, how to read it, the model's shape (its vocabulary follows from the text) and how
    to train."""

    source: str
    data: DataConfig
    model: dict[str, Any]  # settings of ModelConfig, without vocab_size
    train: TrainConfig

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "data": self.data.model_dump(mode="json"),
            "model": self.model,
            "train": self.train.model_dump(mode="json"),
        }


@dataclass(frozen=True)
class Asked:
    """What the caller said in so many words; the rest is default."""

    source: str | None
    data: dict[str, Any]
    model: dict[str, Any]
    train: dict[str, Any]

    @classmethod
    def of(
        cls,
        source: str | Path | None,
        data: DataConfig | Mapping[str, Any] | None,
        model: ModelConfig | Mapping[str, Any] | None,
        train: TrainConfig | Mapping[str, Any] | None,
        settings: Mapping[str, Any],
    ) -> "Asked":
        return cls(
            None if source is None else str(source),
            _said(data),
            _said(model),
            {**_said(train), **settings},
        )

    def recipe(self) -> Recipe:
        """The recipe of a new run.

        Raises:
            UserError: for a setting that does not exist or cannot be.
        """
        kind = str(self.model.get("kind", "gpt"))
        model = {**MODELS.get(kind, MODEL), **self.model}
        # Any vocabulary will do to see whether the shape is possible, before the text is read.
        whole = ModelConfig.checked(**{"vocab_size": 1, **model}).model_dump(mode="json")
        for name in out_of_place(kind, self.model):
            raise UserError(
                tr("{name}: a model of the kind {kind} has no such setting", name=name, kind=kind)
            )
        source, data = self.source or "tang", DataConfig.checked(**self.data)
        return Recipe(
            source,
            data.changed(headings=with_headings(source, data, kind=kind, causal=whole["causal"])),
            {**{k: whole[k] for k in whole if k != "vocab_size"}, **_vocabulary(self.model)},
            TrainConfig.checked(**self.train),
        )

    def resumed(self, folder: Path) -> Recipe:
        """The recipe of the run in ``folder``, which nothing asked may contradict.

        Raises:
            UserError: there is no run, its recipe cannot be read, or something differs.
        """
        try:
            recorded = json.loads((folder / ABOUT).read_bytes())["recipe"]
            recipe = Recipe(
                self.source or str(recorded["source"]),
                DataConfig.checked(**recorded["data"]),
                dict(recorded["model"]),
                TrainConfig.checked(**recorded["train"]),
            )
            ModelConfig.checked(**{"vocab_size": 1, **recipe.model})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise UserError(
                tr(
                    "{folder}: no run to resume; its {file} cannot be read",
                    folder=folder,
                    file=ABOUT,
                )
            ) from None
        # Through the same checks, so that 1 and 1.0, or a default said aloud, are no difference.
        asked = self._train_without_other_length()
        checked_train = recipe.train.changed(**asked)
        for now, then, names in (
            (checked_train.model_dump(mode="json"), recipe.train.model_dump(mode="json"), asked),
            (DataConfig.checked(**self.data).model_dump(mode="json"), recorded["data"], self.data),
            (self._model_as_recorded(recipe), recipe.model, self.model),
        ):
            for name in names:
                if now.get(name) != then.get(name):
                    raise _differs(folder, name, then, now)
        return recipe

    def _train_without_other_length(self) -> dict[str, Any]:
        """What was asked, and where it names one kind of length, the other kind taken away."""
        asked = {k: v for k, v in self.train.items() if v is not None or k not in LENGTHS}
        if "steps" in asked and "minutes" not in asked:
            return {**asked, "minutes": None}
        if "minutes" in asked and "steps" not in asked:
            return {**asked, "steps": None}
        return asked

    def _model_as_recorded(self, recipe: Recipe) -> dict[str, Any]:
        if not self.model:
            return {}
        return ModelConfig.checked(**{"vocab_size": 1, **recipe.model, **self.model}).model_dump(
            mode="json"
        )


def with_headings(source: str, data: DataConfig, *, kind: str = "gpt", causal: bool = True) -> bool:
    """Whether training documents get headings: as asked, else in the collections of verse.

    Raises:
        UserError: they were asked for, but the model could not learn to go on from one.
    """
    able = kind in ("gpt", "lstm", "gru") and causal and data.tokenizer == "char"
    if data.headings and not able:
        raise UserError(
            tr(
                "headings are for models that read characters and write: gpt, lstm or gru, "
                "--tokenizer char, not --bidirectional; leave --headings out"
            )
        )
    return able and source in COLLECTIONS if data.headings is None else data.headings


def _differs(folder: Path, name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> UserError:
    """One line that names both sides; a length may be of one kind then and of the other now."""
    if name in LENGTHS:
        name_then, name_now = (
            next(kind for kind in LENGTHS if side.get(kind) is not None) for side in (then, now)
        )
    else:
        name_then = name_now = name
    return UserError(
        tr(
            "{folder}: this run was begun with {then}, not {now}; leave it out to resume, or begin "
            "a new run with another --out",
            folder=folder,
            then=f"{name_then} {then.get(name_then)}",
            now=f"{name_now} {now.get(name_now)}",
        )
    )


def new_folder(out: str | Path | None, name: str) -> Path:
    """The folder for a new run: ``out``, or ``runs/NAME``, numbered if that is taken.

    Raises:
        UserError: ``out`` is a file, or a folder with something in it.
    """
    if out is None:
        return next(path for path in _numbered(name) if not path.exists())
    folder = Path(out)
    if folder.is_dir():
        if is_run(folder) and not nothing_learned(folder):
            raise UserError(
                tr(
                    "{folder}: already holds a run; --resume goes on with it, another --out begins "
                    "a new one",
                    folder=folder,
                )
            )
        if not is_run(folder) and any(path.name != LOCK for path in folder.iterdir()):
            raise UserError(
                tr("{folder}: not empty, and not a run; choose another --out", folder=folder)
            )
    elif folder.exists() or any(part.is_file() for part in folder.parents):
        raise UserError(
            tr("{folder}: is a file, not a folder; choose another --out", folder=folder)
        )
    return folder


def old_folder(out: str | Path | None, name: str) -> Path:
    """The folder of the run to resume: ``out``, or the newest ``runs/NAME`` there is.

    Raises:
        UserError: there is none.
    """
    if out is None:
        there: list[Path] = []
        for path in _numbered(name):
            if not path.exists():
                break
            if is_run(path):
                there.append(path)
        out = there[-1] if there else RUNS / name
    folder = Path(out)
    if not is_run(folder):
        raise UserError(tr("{folder}: there is no run to resume", folder=folder))
    return folder


def is_run(folder: Path) -> bool:
    """Whether a training wrote this folder."""
    return (folder / ABOUT).is_file() or (folder / "checkpoints").is_dir()


def nothing_learned(folder: Path) -> bool:
    """Whether a run ended before its first checkpoint: a new one may take its place."""
    return not (folder / "model.safetensors").exists() and not any(
        (folder / "checkpoints").glob("step-*")
    )


def default_name(source: str) -> str:
    """A short name for the folder: the corpus or the file's stem."""
    name = source.removeprefix("hf:").rstrip("/\\")
    return Path(name).stem or "run"


def _numbered(name: str) -> Iterator[Path]:
    yield RUNS / name
    number = 2
    while True:
        yield RUNS / f"{name}-{number}"
        number += 1


def _said(settings: Any) -> dict[str, Any]:
    if settings is None:
        return {}
    if isinstance(settings, Mapping):
        return dict(settings)
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def _vocabulary(model: Mapping[str, Any]) -> dict[str, Any]:
    return {"vocab_size": model["vocab_size"]} if "vocab_size" in model else {}
