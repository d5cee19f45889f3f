"""What is wrong with a command is said in one line, in the reader's language; exit code 2."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mingyue.cli.flags import real, whole
from tests.cli.conftest import Call

WRONG = [
    (["trian"], "train"),
    (["--foo"], "--foo"),
    (["-x", "train"], "-x"),
    (["--lang"], "--lang"),
    (["--lang", "fr", "train"], "fr"),
    (["write"], "RUN"),
    (["data"], "SOURCE"),
    (["train", "a", "b"], "b"),
    (["train", "--stepz", "3"], "--steps"),
    (["train", "--steps"], "--steps"),
    (["train", "--resume=yes"], "--resume"),
    (["train", "--steps", "0"], "--steps"),
    (["train", "--steps", "-5"], "-5"),
    (["train", "--steps", "1.5"], "1.5"),
    (["train", "--steps", "ten"], "ten"),
    (["train", "--steps", ""], "''"),
    (["train", "--minutes", "0"], "--minutes"),
    (["train", "--minutes", "-1"], "-1"),
    (["train", "--minutes", "nan"], "nan"),
    (["train", "--minutes", "inf"], "inf"),
    (["train", "--learning-rate", "0"], "--learning-rate"),
    (["train", "--learning-rate", "-0.1"], "-0.1"),
    (["train", "--n-layer", "-1"], "--n-layer"),
    (["train", "--n-head", "0"], "--n-head"),
    (["train", "--dropout", "1"], "--dropout"),
    (["train", "--dropout", "nan"], "nan"),
    (["train", "--vocab-size", "10"], "--vocab-size"),
    (["train", "--val-fraction", "0.9"], "--val-fraction"),
    (["train", "--position", "compass"], "rope"),
    (["train", "--log", "paper"], "tensorboard"),
    (["train", "--seed", "-1"], "--seed"),
    (["write", "run", "--temperature", "-1"], "--temperature"),
    (["write", "run", "--top-p", "0"], "--top-p"),
    (["write", "run", "--top-k", "-2"], "--top-k"),
    (["write", "run", "--min-p", "2"], "--min-p"),
    (["write", "run", "--repetition-penalty", "0"], "--repetition-penalty"),
    (["write", "run", "--n", "0"], "--n"),
    (["write", "run", "--unknown", "guess"], "refuse"),
    (["write", "nowhere"], "nowhere"),
    (["eval", "nowhere"], "nowhere"),
    (["info", "nowhere"], "nowhere"),
    (["eval", "nowhere", "--script", "simplified"], "--on"),
    (["data", "nowhere.txt"], "nowhere.txt"),
    (["train", "nowhere.txt"], "nowhere.txt"),
    (["train", "poems.txt", "--held-out", "nowhere.txt"], "nowhere.txt"),
    (["data", "poems.txt", "--held-out", "nowhere.txt"], "nowhere.txt"),
    (["train", "poems.txt", "--held-out", "poems.txt", "--val-fraction", "0.1"], "--val-fraction"),
    (["data", "poems.txt", "--held-out", "poems.txt", "--val-fraction", "0.1"], "--val-fraction"),
    (["train", "--steps", "3", "--minutes", "1"], "minutes"),
    (["train", "poems.txt", "--d-model", "30", "--n-head", "4"], "n_head"),
    (["train", "poems.txt", "--micro-batch", "64", "--batch-size", "8"], "micro_batch"),
    (["train", "poems.txt", "--out", "poems.txt"], "poems.txt"),
    (["train", "poems.txt", "--resume", "--out", "nowhere"], "nowhere"),
    (["data", "poems.txt", "--export", "poems.pdf"], ".jsonl"),
    (["data", "poems.txt", "--export", "poems.txt"], "poems.txt"),
    (["data", "poems.txt", "--export", "nowhere/o.txt"], "nowhere"),
    (["write", "poems.txt"], "poems.txt"),
    (["data", "\udce6.txt"], "UTF-8"),
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("words", "named"), WRONG, ids=lambda v: " ".join(v) if v else "")
def test_one_line_and_exit_code_2(call: Call, words: list[str], named: str, language: str):
    done = call(*words) if "--lang" in words[:1] else call("--lang", language, *words)
    assert done.code == 2
    assert not done.out
    assert done.err.count("\n") == 1 and done.err.endswith("\n")
    assert "Traceback" not in done.err
    assert named in done.err
    if "--lang" not in words[:1]:
        assert done.err.startswith("明月：" if language == "zh" else "mingyue: ")


def test_a_file_that_is_no_text_and_an_empty_one(call: Call, tmp_path: Path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 40)
    for name in ("empty.txt", "binary.txt"):
        done = call("data", str(tmp_path / name))
        assert done.code == 2 and name in done.err and done.err.count("\n") == 1


def test_control_characters_do_not_reach_the_terminal(call: Call):
    done = call("data", "a\x1b[31m\rb\u202e.txt")
    assert done.code == 2 and done.err.count("\n") == 1
    assert not set(done.err) & set("\x1b\r\u202e")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(word=st.text(max_size=12).filter(lambda w: w.split("=")[0] != "--lang"))
def test_no_word_whatever_gives_a_traceback(call: Call, word: str):
    assert call("eval", "nowhere", "--stride", word).code == 2
    assert call(word, "nowhere", "nowhere", "nowhere").code in (0, 2)


@given(st.integers(-100, 100), st.integers(-100, 100))
def test_whole_numbers_keep_their_bounds(value: int, least: int):
    kind = whole(least, least + 50)
    if least <= value <= least + 50:
        assert kind.read(str(value)) == value
    else:
        with pytest.raises(ValueError):
            kind.read(str(value))


@given(st.floats())
def test_real_numbers_keep_their_bounds(value: float):
    if 0 < value <= 1:
        assert real(above=0, most=1).read(repr(value)) == value
    else:
        with pytest.raises(ValueError):
            real(above=0, most=1).read(repr(value))
    if 0 <= value < 1:
        assert real(least=0, below=1).read(repr(value)) == value
    else:
        with pytest.raises(ValueError):
            real(least=0, below=1).read(repr(value))


def test_an_export_never_replaces_a_file(call: Call, texts: Path, tmp_path: Path):
    before = (texts / "poems.txt").read_bytes()
    assert call("data", "poems.txt", "--export", "poems.txt").code == 2
    assert (texts / "poems.txt").read_bytes() == before
    (tmp_path / "link.txt").symlink_to(tmp_path / "not there.txt")
    for there in ("link.txt", "folder.txt"):
        (tmp_path / "folder.txt").mkdir(exist_ok=True)
        done = call("data", "poems.txt", "--export", str(tmp_path / there))
        assert done.code == 2 and "exists already" in done.err
    assert call("data", "poems.txt", "--export", str(tmp_path / "no" / "o.txt")).code == 2
    assert not (tmp_path / "no").exists()


def test_a_file_is_no_run_folder(call: Call, texts: Path):
    for command in ("write", "eval", "info"):
        done = call(command, "poems.txt")
        assert done.code == 2 and "is a file" in done.err and "no such" not in done.err


def test_a_cache_that_cannot_be_written(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "mine.txt").write_text("天地玄黄，宇宙洪荒。\n" * 9, encoding="utf-8")
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path / "file" / "cache"))
    done = call("data", str(tmp_path / "mine.txt"))
    assert done.code == 2 and "MINGYUE_CACHE" in done.err and done.err.count("\n") == 1
    monkeypatch.delenv("MINGYUE_CACHE")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(tmp_path / "file" / "cache"))
    done = call("data", str(tmp_path / "mine.txt"))
    assert done.code == 0, done.err
    assert done.out.count("temporary folder") == 1
