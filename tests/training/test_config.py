"""Settings that cannot be are refused in one line."""

import pytest

from mingyue.errors import UserError
from mingyue.model.config import ModelConfig
from mingyue.training.config import MINUTES, MODEL, DataConfig, TrainConfig


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"steps": -5},
        {"steps": 1.5},
        {"minutes": 0},
        {"minutes": -1},
        {"minutes": float("nan")},
        {"minutes": float("inf")},
        {"steps": 10, "minutes": 1},
        {"batch_size": 0},
        {"batch_size": 4, "micro_batch": 8},
        {"learning_rate": 0},
        {"learning_rate": 1000},
        {"weight_decay": -0.1},
        {"clip": 0},
        {"beta2": 1.0},
        {"warmup": -1},
        {"decay_fraction": 1.5},
        {"eval_every": 0},
        {"patience": 0},
        {"ema": 1.0},
        {"seed": -1},
        {"keep": 0},
        {"precision": "int8"},
        {"optimizer": "sgd"},
        {"learning_rte": 0.1},
        {"freeze_embeddings": True},
    ],
)
def test_refused_in_one_line(wrong):
    with pytest.raises(UserError) as refusal:
        TrainConfig.checked(**wrong)
    assert "\n" not in str(refusal.value)
    assert next(iter(wrong)) in str(refusal.value)


def test_five_minutes_unless_said():
    assert TrainConfig.checked().minutes == MINUTES
    assert TrainConfig.checked(steps=3).minutes is None
    assert TrainConfig.checked(**TrainConfig.checked(steps=3).model_dump()).steps == 3


def test_default_model_is_possible():
    ModelConfig.checked(vocab_size=10, **MODEL)


def test_a_held_out_text_leaves_no_share_to_hold_out():
    how = DataConfig.checked(held_out="val.txt")
    assert how.val_fraction == 0.0
    assert DataConfig.checked(**how.model_dump()) == how, "a recipe can be read back"
    with pytest.raises(UserError, match="give one of them"):
        DataConfig.checked(held_out="val.txt", val_fraction=0.05)


@pytest.mark.parametrize(
    "wrong", [{"val_fraction": 1.0}, {"min_count": 0}, {"documents": "page"}, {"vocab_size": 3}]
)
def test_data_settings_too(wrong):
    with pytest.raises(UserError):
        DataConfig.checked(**wrong)
