"""Which lines may stand for a line of a pattern."""

import pytest

from mingyue.text.verse import REGULATED
from mingyue.text.verse.licence import may_follow, versions

LINES = {line for f in REGULATED.values() for p in f.patterns for line in p.lines}


def licences(line: str) -> dict[str, str]:
    return {version.tones: version.licence for version in versions(line)}


def test_there_are_four_lines_of_either_length() -> None:
    assert len(LINES) == 8 and sum(len(line) == 5 for line in LINES) == 4


@pytest.mark.parametrize("line", sorted(LINES))
def test_laws_of_versions(line: str) -> None:
    found = [version.tones for version in versions(line)]
    assert found[0] == line and len(set(found)) == len(found)
    for version in versions(line):
        assert version.tones[-1] == line[-1] and version.tones[1] == line[1]
        assert version.tones[-3:] != "平平平", "三平调"
        if line[-1] == "平":
            core = version.tones[-5:]
            assert core != "仄平仄仄平", "孤平"
            assert not version.owes
        if not version.licence:  # 二四六分明
            assert all(version.tones[i] == line[i] for i in range(1, len(line) - 1, 2))


@pytest.mark.parametrize(
    ("line", "free"),
    [("仄仄平平仄", 4), ("平平平仄仄", 4), ("仄仄仄平平", 2), ("平平仄仄平", 2)],
)
def test_an_oblique_line_has_two_free_places_a_level_one_has_one(line: str, free: int) -> None:
    """王力: in five characters; with two more in front there is one more."""
    assert sum(not v.licence for v in versions(line)) == free
    front = "平平" if line[1] == "仄" else "仄仄"
    assert sum(not v.licence for v in versions(front + line)) == 2 * free


def test_the_named_licences() -> None:
    assert licences("平平平仄仄")["平平仄平仄"] == "特定格式"
    assert "仄平仄平仄" not in licences("平平平仄仄"), "its first place is not free"
    assert licences("仄仄平平平仄仄")["平仄平平仄平仄"] == "特定格式"
    assert "仄仄仄平仄平仄" not in licences("仄仄平平平仄仄"), "nor the third of seven"
    assert licences("平平仄仄平")["仄平平仄平"] == "孤平自救"
    assert "仄平仄仄平" not in licences("平平仄仄平")
    assert licences("仄仄平平仄仄平")["平仄仄平平仄平"] == "孤平自救"
    assert licences("仄仄平平仄")["仄仄仄平仄"] == "", "半拗 is free"
    assert licences("仄仄平平仄")["仄仄仄仄仄"] == "对句相救"


def test_what_the_first_line_owes_the_second_pays() -> None:
    debts = [v for v in versions("仄仄平平仄") if v.owes]
    assert {v.tones for v in debts} == {"仄仄平仄仄", "平仄平仄仄", "仄仄仄仄仄", "平仄仄仄仄"}
    payers = {v.tones for v in versions("平平仄仄平") if may_follow(debts[0], v)}
    assert payers == {"平平平仄平", "仄平平仄平"}
    plain = versions("仄仄平平仄")[0]
    assert all(may_follow(plain, v) for v in versions("平平仄仄平"))
