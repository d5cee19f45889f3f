"""The options of ``train`` are the settings it has, and the help tells their true defaults."""

import pytest

from mingyue.cli import settings
from mingyue.cli.flags import SWITCH, Flag, Panel
from mingyue.model.config import ModelConfig
from mingyue.training.config import MINUTES, MODEL, DataConfig, TrainConfig

MODEL_FLAGS = settings.model().flags
DATA_FLAGS = [*settings.reading().flags, *settings.cutting().flags]
OF_OUTPUT = ("sample_prompt", "keep", "snapshots")
TRAIN_FLAGS = [
    *settings.length().flags,
    *settings.training().flags,
    *settings.machine().flags,
    *(f for f in settings.output().flags if f.name in OF_OUTPUT),
]


def _default(flag: Flag, config: type) -> object:
    if config is ModelConfig and flag.name in MODEL:
        return MODEL[flag.name]
    if flag.name == "minutes":
        return MINUTES
    return config.model_fields[flag.name].default  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("flag", "config"),
    [(f, ModelConfig) for f in MODEL_FLAGS]
    + [(f, DataConfig) for f in DATA_FLAGS]
    + [(f, TrainConfig) for f in TRAIN_FLAGS],
    ids=lambda v: v.name if isinstance(v, Flag) else "",
)
def test_an_option_is_a_setting_with_its_default(flag: Flag, config: type):
    default = _default(flag, config)
    if isinstance(default, bool):
        said = {"on": True, "off": False, "two": False, "": False, "before": True}
        assert said[flag.default] is default
    elif isinstance(default, int | float):
        assert float(flag.default) == default
    elif isinstance(default, str) and default:
        assert flag.default == default
    else:  # None, or an empty text: the help says in words what follows from the others
        assert not default


@pytest.mark.parametrize("flag", [*MODEL_FLAGS, *DATA_FLAGS, *TRAIN_FLAGS], ids=lambda f: f.name)
def test_a_default_that_is_said_is_accepted(flag: Flag):
    if flag.kind is not SWITCH and flag.default.replace(".", "").isdigit():
        flag.value(flag.default)


def test_bounds_agree_with_the_settings():
    """What an option lets through is not refused later, at the ends of its range."""
    ends = {"vocab_size": ["257"], "val_fraction": ["0", "0.5"], "warmup": ["0"], "clip": ["9"]}
    ends |= {"learning_rate": ["10"], "weight_decay": ["0", "10"], "decay_fraction": ["0", "1"]}
    for flags, config in ((DATA_FLAGS, DataConfig), (TRAIN_FLAGS, TrainConfig)):
        for flag in flags:
            for value in ends.get(flag.name, []):
                config.checked(**{flag.name: flag.value(value)})


def test_only_what_was_said_is_passed_on():
    panel = Panel("", [f for f in TRAIN_FLAGS if f.name in ("steps", "compile", "seed")])
    assert panel.said({"steps": "7", "compile": False, "seed": None}) == {
        "steps": 7,
        "compile": False,
    }
