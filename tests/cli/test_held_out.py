"""``--held-out``: a text of one's own to validate on, from the first command to the last."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import TINY, Call

OTHERS = [f"天地玄黄，宇宙洪荒。{c}日月盈昃，辰宿列张。" for c in "寒来暑往秋收冬藏"]


@pytest.fixture
def held_out(tmp_path: Path) -> Path:
    path = tmp_path / "others.txt"
    path.write_text("\n\n".join(OTHERS) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def run(call: Call, held_out: Path, tmp_path: Path) -> Path:
    """A run that was validated on ``held_out``."""
    folder = tmp_path / "run"
    words = ["--documents", "blank", "--held-out", str(held_out), "--out", str(folder)]
    done = call("train", "poems.txt", *words, *TINY)
    assert done.code == 0, done.err
    assert "held out: all of others.txt" in done.out
    return folder


def _about(run: Path) -> dict:
    return json.loads((run / "mingyue.json").read_text(encoding="utf-8"))


def test_all_of_it_is_validated_on_and_recorded(run: Path, held_out: Path):
    about = _about(run)
    assert about["recipe"]["data"]["held_out"] == str(held_out)
    counts = {name: about["data"][name] for name in ("documents", "val_documents", "val_tokens")}
    tokens = sum(len(text) + 1 for text in OTHERS)
    assert counts == {"documents": 80, "val_documents": len(OTHERS), "val_tokens": tokens}


def test_eval_finds_it_again(call: Call, run: Path, held_out: Path):
    values = json.loads(call("eval", str(run), "--json").out)
    about = _about(run)
    assert (values["source"], values["n_documents"]) == (str(held_out), len(OTHERS))
    assert values["nats_per_token"] == pytest.approx(about["result"]["val_loss"], abs=1e-4)
    same = call("eval", str(run), "--on", str(held_out), "--documents", "blank", "--json")
    assert json.loads(same.out)["nats_per_token"] == pytest.approx(values["nats_per_token"])


def test_resume_takes_it_from_the_recipe(call: Call, run: Path, held_out: Path):
    resume = ("train", "--out", str(run), "--resume")
    for said in ([], ["--held-out", str(held_out)]):
        resumed = call(*resume, *said)
        assert resumed.code == 0, resumed.err
        assert "held out: all of others.txt" in resumed.out
    for said in (["--held-out", "poems.txt"], ["--val-fraction", "0.1"]):
        other = call(*resume, *said)
        assert other.code == 2 and said[0][2:].replace("-", "_") in other.err
        assert other.err.count("\n") == 1


def test_a_run_with_a_share_held_out_takes_no_other_text(call: Call, trained: Path, held_out: Path):
    other = call("train", "--out", "run", "--resume", "--held-out", str(held_out))
    assert other.code == 2 and "held_out" in other.err and other.err.count("\n") == 1


def test_it_is_said_when_it_changed_or_is_gone(call: Call, run: Path, held_out: Path):
    resume = ("train", "--out", str(run), "--resume")
    held_out.write_text(OTHERS[0], encoding="utf-8")
    for command in (("eval", str(run)), resume):
        changed = call(*command)
        assert changed.code == 2 and "has changed" in changed.err
    assert "others.txt" in call("eval", str(run)).err
    held_out.unlink()
    for command in (("eval", str(run)), resume):
        gone = call(*command)
        assert gone.code == 2 and "others.txt" in gone.err and gone.err.count("\n") == 1


def test_it_may_be_any_kind_of_text(call: Call, tmp_path: Path):
    table, folder = tmp_path / "others.jsonl", tmp_path / "others"
    folder.mkdir()
    rows = [json.dumps({"text": text}, ensure_ascii=False) for text in OTHERS]
    table.write_text("\n".join(rows), encoding="utf-8")
    for i, text in enumerate(OTHERS):
        (folder / f"{i}.txt").write_text(text, encoding="utf-8")
    characters = sum(map(len, OTHERS))
    for other in (table, folder):
        done = call("data", "poems.txt", "--documents", "blank", "--held-out", str(other))
        assert done.code == 0, done.err
        assert f"held out: all of {other.name} ({characters} characters)" in done.out
