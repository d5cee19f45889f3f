"""Each command that a training offers at its end runs, as it is printed, on a model of any kind."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Call, Outcome

SMALL = ["--steps", "3", "--block-size", "16", "--batch-size", "4"]
WIDTH = ["--d-model", "32", "--n-layer", "1"]
KINDS = {
    "gpt": [*SMALL, *WIDTH, "--n-head", "2"],
    "both sides": [*SMALL, *WIDTH, "--n-head", "2", "--bidirectional"],
    "both sides of nothing": [*SMALL, "--d-model", "32", "--n-layer", "0", "--bidirectional"],
    "lstm": ["--model", "lstm", *SMALL, *WIDTH],
    "gru": ["--model", "gru", *SMALL, *WIDTH],
    "ngram": ["--model", "ngram", "--order", "2"],
    "word2vec": ["--model", "word2vec", *SMALL, "--d-model", "30"],
    "word2vec, wide": ["--model", "word2vec", *SMALL, "--d-model", "32"],
}
READING = {
    "blocks": ["--documents", "blank"],
    "nothing held out": ["--documents", "blank", "--val-fraction", "0"],
    "another held out": ["--documents", "blank", "--held-out", "other texts/one.txt"],
    "byte pairs": ["--documents", "blank", "--tokenizer", "bpe", "--vocab-size", "300"],
}
OFFERED = {
    "both sides": ["explain", "info"],
    "both sides of nothing": ["info"],
    "word2vec": ["train"],
    "word2vec, wide": ["train"],
}


def offered(done: Outcome) -> list[list[str]]:
    """The commands below "next:", each in words."""
    _, _, lines = done.out.partition("next:\n")
    return [shlex.split(line) for line in lines.splitlines()]


def run(call: Call, words: list[str]) -> Outcome:
    """As it is printed; a training is only kept from lasting its five minutes."""
    assert words[0] == "mingyue"
    short = ["--minutes", "0.02"] if words[1] == "train" and "--resume" not in words else []
    return call(*words[1:], *short)


@pytest.fixture
def a_text(texts: Path) -> None:
    (texts / "other texts").mkdir(exist_ok=True)
    (texts / "other texts" / "one.txt").write_text("天地玄黄。\n\n宇宙洪荒。\n", "utf-8")


@pytest.mark.usefixtures("a_text")
@pytest.mark.parametrize("reading", READING)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_offered_runs(call: Call, tmp_path: Path, kind: str, reading: str):
    folder = str(tmp_path / "a run")
    done = call("train", "poems.txt", "--out", folder, *KINDS[kind], *READING[reading])
    assert done.code == 0, done.err
    commands = offered(done)
    can_eval = ["eval"] * (reading != "nothing held out")
    assert [words[1] for words in commands] == OFFERED.get(kind, ["write", *can_eval])
    for words in commands:
        after = run(call, words)
        assert after.code == 0, (words, after.err)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ngram"])
def test_an_interrupted_run_offers_to_go_on(
    call: Call, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
):
    from mingyue.training.interrupt import Interruption

    folder = str(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(
            Interruption, "asked", property(lambda _: True, lambda *_: None), raising=False
        )
        done = call("train", "poems.txt", "--out", folder, *KINDS[kind], *READING["blocks"])
    assert done.code == 130 and "stopped at step 1" in done.out
    commands = offered(done)
    assert commands[0] == ["mingyue", "train", "--out", folder, "--resume"]
    before = json.loads((tmp_path / "run" / "mingyue.json").read_bytes())
    for words in commands:
        after = run(call, words)
        assert after.code == 0, (words, after.err)
    after = json.loads((tmp_path / "run" / "mingyue.json").read_bytes())
    assert (after["status"], after["command"]) == ("done", before["command"])


def test_a_run_of_verse_offers_a_line_that_it_knows(
    call: Call, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from mingyue.text.corpus import _Corpus

    monkeypatch.setattr(_Corpus, "layout", "verse")
    (texts / "moon.txt").write_text("床前明月光，疑是地上霜。\n\n" * 3, encoding="utf-8")
    for text, prompt in (("moon.txt", ["床前明月光"]), ("poems.txt", [])):
        folder = str(tmp_path / text)
        done = call("train", text, *READING["nothing held out"], "--out", folder, *KINDS["gpt"])
        [words] = offered(done)
        assert words[2:] == [folder, *prompt]
        assert run(call, words).code == 0
