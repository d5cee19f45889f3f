"""A run with headings: who gets them, what its folder says, that it writes none by itself."""

import json
from pathlib import Path

import pytest

import mingyue
from mingyue.errors import UserError
from mingyue.text.verse.heading import MARKS, heading, split_heading
from mingyue.training.config import DataConfig
from mingyue.training.recipe import Asked, with_headings
from mingyue.training.run import train

from .conftest import SETTINGS, Notes

HEADED = {**SETTINGS, "data": {"documents": "line", "headings": True}, "steps": 6, "eval_every": 3}


@pytest.fixture(scope="module")
def run(poems, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("headed") / "run"
    train(poems, folder, **HEADED)
    return folder


def test_the_folder_says_so(run: Path):
    about = json.loads((run / "mingyue.json").read_text("utf-8"))
    assert about["headings"] is True
    assert about["recipe"]["data"]["headings"] is True


def test_marks_are_known_and_never_written_here_or_in_transformers(run: Path):
    writer = mingyue.load(run)
    ids = writer.tokenizer.encode(MARKS)
    assert [writer.tokenizer.token_text(id) for id in ids] == list(MARKS)
    suppressed = json.loads((run / "generation_config.json").read_text("utf-8"))["suppress_tokens"]
    assert set(ids) <= set(suppressed)
    for prompt in ("", heading("五言", title="春江")):
        for done in writer.generate(prompt, n=20, seed=1, temperature=5.0, max_tokens=30):
            assert not set(MARKS) & set(done.text)
            assert split_heading(done.prompt)[0] == prompt


def test_resumed_it_keeps_them(poems, tmp_path: Path):
    class Stop(Notes):
        def on_step(self, step):
            if step.step == 4:
                raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(poems, folder, observer=Stop(), **HEADED)
    assert train(poems, folder, resume=True).steps == 6
    with pytest.raises(UserError, match="headings"):
        train(poems, folder, resume=True, data={"headings": False})


def test_only_verse_gets_them_unasked(poems):
    def settled(source, **asked):
        return Asked.of(source, asked.pop("data", {}), asked, None, {}).recipe().data.headings

    assert settled("songci") is settled(None) is settled("tang", kind="lstm") is True
    assert settled(poems) is settled("modern") is settled("tang", data={"headings": False}) is False
    for cannot in ({"kind": "ngram"}, {"kind": "word2vec"}, {"causal": False}):
        assert settled("tang", **cannot) is False
        with pytest.raises(UserError, match="leave --headings out"):
            settled("tang", data={"headings": True}, **cannot)
    with pytest.raises(UserError, match="leave --headings out"):
        settled("tang", data={"headings": True, "tokenizer": "bpe"})
    assert with_headings(poems, DataConfig.checked(headings=True)) is True


def test_a_run_from_before_there_were_headings_goes_on_without(poems, tmp_path: Path):
    folder = tmp_path / "run"
    train(poems, folder, **{**HEADED, "data": {"documents": "line"}})
    path = folder / "mingyue.json"
    about = json.loads(path.read_text("utf-8"))
    assert about.pop("headings") is False
    assert about["recipe"]["data"].pop("headings") is False
    path.write_text(json.dumps(about), "utf-8")
    assert train(poems, folder, resume=True).steps == 6
