"""Any exhibit at any step that was kept: ``--step``, ``--scrub``, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from mingyue.cli.main import main
from tests.cli.conftest import TINY, Call

STEPS = [0, 3, 6]
TEXT = "天地玄黄"


@pytest.fixture(scope="session")
def kept(texts: Path, cache: Path) -> Path:
    """A run that kept snapshots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGYUE_CACHE", str(cache))
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.chdir(texts)
        words = ["train", "poems.txt", "--documents", "blank", "--out", "kept", *TINY]
        assert main([*words, "--snapshots", "3"]) == 0
    return texts / "kept"


def chance(done: str) -> list[float]:
    return json.loads(done)["panels"][0]["values"]


def test_an_exhibit_at_a_step_is_of_the_model_then(call: Call, kept: Path):
    at = {s: call("explain", "pairs", str(kept), TEXT, "--step", str(s), "--json") for s in STEPS}
    assert all(done.code == 0 for done in at.values())
    assert json.loads(at[3].out)["step"] == 3
    assert "after 3 steps of training" in at[3].out
    assert chance(at[0].out) != chance(at[3].out) != chance(at[6].out)
    end = call("explain", "pairs", str(kept), TEXT, "--json")
    assert json.loads(end.out)["step"] is None
    assert chance(at[6].out) == pytest.approx(chance(end.out), rel=5e-3)  # the best is the last


def test_info_names_the_steps(call: Call, kept: Path, trained: Path):
    assert "snapshots: steps 0, 3, 6" in call("info", str(kept)).out
    assert json.loads(call("info", str(kept), "--json").out)["snapshots"] == STEPS
    assert "snapshots: steps" not in call("info", str(trained)).out


def test_scrubbing_as_json_is_the_exhibit_at_each_step(call: Call, kept: Path):
    done = call("explain", "pairs", str(kept), TEXT, "--scrub", "--json")
    rows = json.loads(done.out)
    assert [row["step"] for row in rows] == STEPS
    for row in rows:
        alone = call("explain", "pairs", str(kept), TEXT, "--step", str(row["step"]), "--json").out
        assert row["panels"] == json.loads(alone)["panels"]


def test_scrubbing_writes_one_page_in_both_languages(call: Call, kept: Path, tmp_path: Path):
    path = tmp_path / "page.html"
    done = call("explain", "pairs", str(kept), TEXT, "--scrub", "--figure", str(path))
    assert (done.code, done.err) == (0, "") and "page.html" in done.out
    found = re.search(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.S)
    assert found
    data = json.loads(found[1])
    assert data["steps"] == STEPS and set(data["languages"]) == {"en", "zh"}
    assert all(len(of["exhibits"]) == 3 for of in data["languages"].values())
    assert data["languages"]["zh"]["words"]["step"] == "训练步数"


def test_a_pages_choice_holds_at_every_step(call: Call, kept: Path):
    done = call("explain", "heads", str(kept), TEXT, "--layer", "1", "--scrub", "--json")
    assert [row["panels"][0]["page"][0] for row in json.loads(done.out)] == [1, 1, 1]


def test_learning_shows_all_steps(call: Call, kept: Path):
    done = call("explain", "learning", str(kept), TEXT)
    assert done.code == 0 and "from the first step to the last" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pairs", "kept", "--step", "4"], "no snapshot of step 4; there are 0, 3, 6"),
        (["pairs", "run", "--step", "4"], "--snapshots 8"),
        (["pairs", "run", "--scrub", "--json"], "--snapshots 8"),
        (["learning", "run"], "--snapshots 8"),
        (["pairs", "kept", "--step", "-1"], "--step: -1 does not fit"),
        (["learning", "kept", "--step", "3"], "--step: learning shows all steps"),
        (["learning", "kept", "--scrub", "--json"], "--scrub: learning shows all steps"),
        (["pairs", "kept", "--scrub"], "give --figure FILE.html"),
        (["pairs", "kept", "--scrub", "--figure", "a.svg"], "a.svg: --scrub writes a page"),
        (["pairs", "kept", "--scrub", "--step", "3", "--json"], "leave out --step"),
        (["all", "kept", "--scrub", "--out", "a.html"], "--scrub is for one exhibit"),
        (["pairs", "--step", "3"], "RUN is missing"),
        (["pairs", "--scrub"], "RUN is missing"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    call: Call, kept: Path, trained: Path, words: list[str], said: str
):
    done = call("explain", *words)
    assert done.code == 2 and done.out == ""
    assert said in done.err and done.err.count("\n") == 1


def test_a_damaged_snapshot_is_said_in_one_line(call: Call, kept: Path, tmp_path: Path):
    import shutil

    folder = tmp_path / "damaged"
    shutil.copytree(kept, folder)
    (folder / "snapshots" / "step-000003.safetensors").write_bytes(b"\0" * 20)
    done = call("explain", "pairs", str(folder), TEXT, "--step", "3")
    assert done.code == 2 and "step-000003.safetensors" in done.err and done.err.count("\n") == 1
    assert call("explain", "pairs", str(folder), TEXT, "--step", "6").code == 0
