"""Tokenizers of other makers: the same ids, the same text, in whatever pieces it comes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mingyue.interop.run_folder import load_model, never_written
from mingyue.text.tokenizer import Tokenizer
from tests.interop.foreign import TOKENIZERS, save_family, save_tokenizer, transformers

TEXT = st.text(
    st.sampled_from("明月光 the cat\n\t🐈ñ，。0▁𠀀") | st.characters(codec="utf-8"), max_size=16
)
FIRST = {"llama2": ["<s>"], "llama": ["<|begin_of_text|>"], "arcee": ["<|begin_of_text|>"]}
FIRST |= {"glm": ["[gMASK]", "<sop>"], "glm4": ["[gMASK]", "<sop>"]}


@pytest.fixture(scope="module", params=TOKENIZERS)
def pair(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Tokenizer]:
    """What transformers makes of a folder, and what we make of it."""
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(request.param, folder)
    assert Tokenizer.load(folder).begin == [
        Tokenizer.load(folder)._ids[mark] for mark in FIRST.get(request.param, [])
    ]
    return transformers().AutoTokenizer.from_pretrained(str(folder)), Tokenizer.load(folder)


SHARED = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SHARED
@given(text=TEXT)
def test_same_ids_and_the_marks_of_the_family(pair: tuple[Any, Tokenizer], text: str) -> None:
    theirs, ours = pair
    wanted = theirs(text, split_special_tokens=True).input_ids
    assert [*ours.begin, *ours.encode(text)] == wanted
    assert theirs.decode(wanted, skip_special_tokens=True) == ours.decode(wanted)


@SHARED
@given(prompt=TEXT, data=st.data())
def test_pieces_after_a_prompt(pair: tuple[Any, Tokenizer], prompt: str, data: Any) -> None:
    """Any ids, torn characters among them: prompt and pieces are what all ids together write."""
    _, ours = pair
    first = [*ours.begin, *ours.encode(prompt)]
    ids = data.draw(st.lists(st.integers(0, ours.vocab_size - 1), max_size=12))
    stream = ours.decode_stream(first)
    pieces = [stream.push(id) for id in ids]
    whole = "".join([ours.decode(first), *pieces, stream.flush()])
    wanted = ours.decode([*first, *ids])
    assert whole == wanted or (ours.kind == "other" and "�" in wanted)  # see StreamDecoder


@SHARED
@given(text=TEXT, cut=st.integers(0, 20))
def test_no_blank_is_put_in_or_lost(pair: tuple[Any, Tokenizer], text: str, cut: int) -> None:
    """A text cut between two tokens is whole again, and shows no � on its way."""
    _, ours = pair
    ids = ours.encode(text)
    first = [*ours.begin, *ids[:cut]]
    if "�" in ours.decode(first) or "�" in text:
        return
    stream = ours.decode_stream(first)
    pieces = [stream.push(id) for id in ids[cut:]]
    assert "�" not in "".join(pieces)
    assert ours.decode(first) + "".join([*pieces, stream.flush()]) == ours.decode(ids)


@pytest.mark.parametrize("switch", [True, False])
def test_tokenizer_json_is_the_truth(switch: bool, tmp_path: Path) -> None:
    """Also where ``add_bos_token`` says something else: so do others read it."""
    save_tokenizer("llama2", tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(path.read_text().replace("{", f'{{"add_bos_token": {str(switch).lower()}, ', 1))
    ours = Tokenizer.load(tmp_path)
    theirs = transformers().AutoTokenizer.from_pretrained(str(tmp_path))
    assert [*ours.begin, *ours.encode("cat")] == theirs("cat").input_ids
    assert ours.begin


def test_our_own_begin_after_an_end() -> None:
    for ours in (Tokenizer.bytes(), Tokenizer.characters({"明": 1})):
        assert ours.begin == [ours.end_id] and ours.ends == {ours.end_id}


def test_all_ends_and_only_tokens_are_written(tmp_path: Path) -> None:
    """Several ends, as models for talk have; rows without a token, and ids without one."""
    save_family("qwen2", tmp_path)
    generation = tmp_path / "generation_config.json"
    generation.write_text('{"eos_token_id": [321, 322, -1, "x", 99999]}')
    model, tokenizer, _ = load_model(tmp_path)
    assert tokenizer.ends == {tokenizer.end_id, 321, 322}
    never = never_written(model.config, tokenizer)
    assert not tokenizer.ends & set(never)
    rows = range(tokenizer.vocab_size, model.config.vocab_size)
    assert len(rows) == 3 and set(rows) <= set(never)


def test_gaps_between_ids(tmp_path: Path) -> None:
    save_tokenizer("gpt2", tmp_path)
    path = tmp_path / "tokenizer.json"
    state = json.loads(path.read_text())
    vocabulary = state["model"]["vocab"]
    last = max(vocabulary, key=vocabulary.get)
    vocabulary[last] += 5  # 319 becomes 324, and the end token stays at 320
    path.write_text(json.dumps(state))
    tokenizer = Tokenizer.load(tmp_path)
    assert (tokenizer.vocab_size, tokenizer.end_id) == (325, 320)
    assert {319, 321, 322, 323} <= set(tokenizer.never_sampled)
    assert 320 not in tokenizer.never_sampled
