"""Text given out piece by piece is whole: no torn characters, no half stop strings."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mingyue.generation.pieces import Pieces
from mingyue.text.tokenizer import Tokenizer

CHARACTERS = Tokenizer.characters(Counter("ab\n明月"))
BYTES = Tokenizer.bytes()
BPE = Tokenizer.train_bpe(["明月 abab 光光明月"] * 3, 300)

tokenizers = st.sampled_from([CHARACTERS, BYTES, BPE])
texts = st.text(st.sampled_from("ab\n明月"), max_size=20)
stop_strings = st.lists(st.text(st.sampled_from("ab\n明月"), min_size=1, max_size=3), max_size=3)


@given(tokenizers, texts, stop_strings)
def test_pieces_are_the_text_before_the_first_stop(
    tokenizer: Tokenizer, text: str, stops: list[str]
) -> None:
    pieces = Pieces(tokenizer.decode_stream(), stops)
    given_out = ""
    for id in tokenizer.encode(text):
        given_out += pieces.push(id)
        assert text.startswith(given_out)  # nothing is ever taken back
        if pieces.stopped:
            break
    given_out += pieces.finish()
    ends = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    assert pieces.stopped == bool(ends)
    if not ends:
        assert given_out == text
    else:  # of the stops that are complete first, the text before the earliest
        first = min(end for end, _ in ends)
        assert given_out == text[: min(start for end, start in ends if end == first)] or (
            tokenizer is BPE and any(given_out == text[:start] for _, start in ends)
        )


@given(texts)
def test_nothing_is_held_back_without_need(text: str) -> None:
    pieces = Pieces(CHARACTERS.decode_stream(), ["\n\n"])
    for i, id in enumerate(CHARACTERS.encode(text)):
        piece = pieces.push(id)
        if pieces.stopped:
            break
        assert bool(piece) == (text[i] != "\n")


def test_bytes_wait_for_the_whole_character() -> None:
    pieces = Pieces(BYTES.decode_stream())
    assert [pieces.push(id) for id in BYTES.encode("明a")] == ["", "", "明", "a"]


def test_a_torn_last_character_is_dropped() -> None:
    pieces = Pieces(BYTES.decode_stream())
    given_out = "".join(pieces.push(id) for id in BYTES.encode("月明")[:-1])
    assert given_out + pieces.finish() == "月"


def test_held_back_text_comes_at_the_end() -> None:
    pieces = Pieces(CHARACTERS.decode_stream(), ["月明"])
    assert [pieces.push(id) for id in CHARACTERS.encode("明月")] == ["明", ""]
    assert pieces.finish() == "月"
    assert not pieces.stopped
