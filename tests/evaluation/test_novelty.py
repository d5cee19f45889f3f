"""Copied lines and runs, beside a slow search, and by hand."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.evaluation import novelty
from mingyue.evaluation.novelty import Copied, copied
from mingyue.text.verse import lines_of

LEARNED = ["床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。", "白日依山盡，黃河入海流。"]


def slowly(text: str, learned: Sequence[str]) -> Copied:
    """Every run against every text."""
    lines = lines_of(text)
    whole, long = "".join(lines), [line for line in lines if len(line) >= 5]
    bodies = ["".join(lines_of(each)) for each in learned]
    runs = (whole[i:j] for i in range(len(whole)) for j in range(i + 1, len(whole) + 1))
    longest = max((len(run) for run in runs if any(run in body for body in bodies)), default=0)
    known = {line for each in learned for line in lines_of(each)}
    return Copied(len(long), sum(line in known for line in long), longest)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LEARNED[0], Copied(4, 4, 20)),
        ("床前明月光！！\n不是地上霜", Copied(2, 1, 5)),
        ("前明月光疑，是地上霜舉。", Copied(2, 0, 10)),  # as a run, over the ends of lines
        ("低頭思故鄉白日依山盡", Copied(1, 0, 5)),  # but not over the end of a text
        ("白日依，山盡黃。河入海流", Copied(0, 0, 10)),  # shorter lines are nobody's
        ("春眠不覺曉", Copied(1, 0, 0)),
        ("", Copied(0, 0, 0)),
        ("To be, or not to be", Copied(0, 0, 0)),
        ("白日\n依山盡\n白日依山盡，白日依山盡。", Copied(2, 2, 5)),
    ],
)
def test_by_hand(text: str, found: Copied):
    assert copied([text], LEARNED) == [found] == [slowly(text, LEARNED)]


VERSE = st.lists(st.text("天地玄黄𠀀，。\n", max_size=30), max_size=8)


@given(VERSE, VERSE, st.integers(1, 3))
def test_equals_the_slow_search(texts: list[str], learned: list[str], block: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(novelty, "_BLOCK", block)
        assert copied(texts, iter(learned)) == [slowly(text, learned) for text in texts]


@given(VERSE)
def test_what_was_learned_is_copied_whole(texts: list[str]):
    for text, found in zip(texts, copied(texts, texts), strict=True):
        assert found.copied == found.lines
        assert found.longest == len("".join(lines_of(text)))


def test_the_texts_learned_are_not_kept():
    """They come one by one, and blocks that were looked at are let go."""
    alive = 0

    class Text(str):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most = 0

    def stream():
        nonlocal alive, most
        for i in range(20_000):
            alive += 1
            most = max(most, alive)
            yield Text(f"{chr(0x4E00 + i)}日依山盡")

    copied(["白日依山盡"], stream())
    assert most <= 2 * novelty._BLOCK
