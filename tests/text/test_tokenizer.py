"""SPEC B2: characters, bytes and BPE; what goes in comes out; Hugging Face reads the same."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.text.byte import alphabet
from mingyue.text.tokenizer import Tokenizer

POEMS = ["床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。", "白日依山盡，黃河入海流。\n"]
# Newlines of all kinds, spaces, a second-plane character, e with a combining accent beside é,
# an emoji joined from two by a zero-width joiner, the signs that spell a special token.
ODD = " \t\n\r\r\n\x00\u3000 .,'s𠀀e\u0301é👩\u200d🚀\ufeff\ufffd<|end|>"
CHARACTERS = Tokenizer.characters(Counter("".join(POEMS) + ODD))
BYTES = Tokenizer.bytes()
BPE = Tokenizer.train_bpe(POEMS * 3 + ["the cat, the hat. It's the end"] * 3, 320)
ALL = {"char": CHARACTERS, "byte": BYTES, "bpe": BPE}

# Characters by the ten thousand, 月 so often that the strange ones among them do not matter.
MANY = {chr(c): 1 for c in range(0x4000, 0x18000) if not 0xD800 <= c < 0xF900} | {"月": 10**7}


any_text = st.text(max_size=60)  # hypothesis leaves lone surrogates out of st.text()
known_text = st.text(st.sampled_from("".join(POEMS) + ODD), max_size=60)
whole = st.sampled_from(list(ALL.values()))


def text_for(tokenizer: Tokenizer) -> st.SearchStrategy[str]:
    return known_text if tokenizer.kind == "char" else any_text | known_text


@pytest.mark.parametrize("kind", ALL)
def test_odd_text_comes_back(kind: str) -> None:
    assert ALL[kind].kind == kind
    for text in [ODD, "", *POEMS, "\r", " ", "  明 ", "<|end|>"]:
        assert ALL[kind].decode(ALL[kind].encode(text)) == text


@given(st.data(), whole)
def test_round_trip(data: st.DataObject, tokenizer: Tokenizer) -> None:
    text = data.draw(text_for(tokenizer))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(0 <= id < tokenizer.vocab_size for id in ids)
    assert not {tokenizer.end_id, *tokenizer.never_sampled} & set(ids)


@given(st.lists(st.text(max_size=20), max_size=4), whole)
def test_tables_equal_the_tokenizers_library(texts: list[str], tokenizer: Tokenizer) -> None:
    ids, lengths = tokenizer.encode_many(texts)
    expected = [tokenizer.encode(text) for text in texts]
    assert ids.dtype == tokenizer.dtype == np.uint16
    assert ids.tolist() == [id for part in expected for id in part]
    assert lengths.tolist() == [len(part) for part in expected]
    assert tokenizer.encode_array("".join(texts)).tolist() == tokenizer.encode("".join(texts))


@given(st.data(), whole)
def test_decoding_equals_the_tokenizers_library(data: st.DataObject, tokenizer: Tokenizer) -> None:
    """Any ids at all, torn characters and special tokens among them."""
    ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=30))
    assert tokenizer.decode(ids) == tokenizer._backend.decode(ids, skip_special_tokens=True)


@given(st.data(), whole)
def test_stream_equals_decode(data: st.DataObject, tokenizer: Tokenizer) -> None:
    ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=30))
    stream = tokenizer.decode_stream()
    assert "".join([*map(stream.push, ids), stream.flush()]) == tokenizer.decode(ids)


@given(st.data(), whole)
def test_stream_never_shows_a_torn_character(data: st.DataObject, tokenizer: Tokenizer) -> None:
    text = data.draw(text_for(tokenizer)).replace("\ufffd", "")
    stream = tokenizer.decode_stream()
    pieces = [*map(stream.push, tokenizer.encode(text)), stream.flush()]
    assert "\ufffd" not in "".join(pieces)
    assert pieces[-1] == "", "the last id completes the text"


def test_specials_spelt_out_are_text() -> None:
    for tokenizer in ALL.values():
        ids = tokenizer.encode("<|end|>")
        assert tokenizer.end_id not in ids
        assert tokenizer.decode(ids) == "<|end|>"
        assert tokenizer.decode([tokenizer.end_id, *ids]) == "<|end|>"
        assert tokenizer.token_text(tokenizer.end_id) == "<|end|>"


def test_never_sampled() -> None:
    assert CHARACTERS.never_sampled == [CHARACTERS.unk_id, CHARACTERS.pad_id] == [1, 2]
    assert BYTES.unk_id is None
    assert BYTES.never_sampled == [BYTES.pad_id] == [257]
    assert BPE.unk_id is None
    assert BPE.never_sampled == [BPE.pad_id] == [1]


def test_character_ids_go_by_count_then_code_point() -> None:
    tokenizer = Tokenizer.characters({"b": 2, "a": 2, "月": 9, "z": 1})
    assert [tokenizer.token_text(i) for i in range(tokenizer.vocab_size)] == [
        *("<|end|>", "<|unk|>", "<|pad|>"),
        *"月abz",
    ]
    assert Tokenizer.characters({"月": 9, "z": 1, "a": 2}, min_count=2).unknown("z月a") == ["z"]
    assert Tokenizer.characters({"月": 9, "z": 1, "a": 2}, limit=1).vocab_size == 4


def test_unknown_characters_are_named_and_never_written() -> None:
    assert CHARACTERS.unknown("明X月Y明X") == ["X", "Y"]
    assert CHARACTERS.unknown("明月") == []
    assert CHARACTERS.encode("X") == [CHARACTERS.unk_id]
    assert CHARACTERS.decode(CHARACTERS.encode("明X月")) == "明月"
    assert BYTES.unknown("明X月") == BPE.unknown("明X月") == []


@pytest.mark.parametrize("kind", ALL)
def test_lone_surrogates_do_no_harm(kind: str) -> None:
    tokenizer = ALL[kind]
    assert "\ud800" in tokenizer.unknown("月\ud800")
    assert tokenizer.encode("月\ud800") == tokenizer.encode("月\ufffd")
    assert tokenizer.encode_array("月\ud800").tolist() == tokenizer.encode("月\ufffd")


def test_token_text() -> None:
    assert BYTES.token_text(ord("a")) == "a"
    assert BYTES.token_text(0xE6) == "<0xE6>"
    assert CHARACTERS.token_text(CHARACTERS.encode("月")[0]) == "月"
    moon = BPE.encode("明月")
    assert "".join(map(BPE.token_text, moon)) == "明月"
    for tokenizer in ALL.values():
        assert tokenizer.token_text(tokenizer.vocab_size + 5) == f"<{tokenizer.vocab_size + 5}>"
        assert tokenizer.decode([tokenizer.vocab_size + 5]) == ""


def test_byte_alphabet_is_that_of_the_library() -> None:
    from tokenizers.pre_tokenizers import ByteLevel

    assert sorted(alphabet()) == sorted(ByteLevel.alphabet())
    assert BYTES.encode_array("明\n").tolist() == list("明\n".encode())


def test_bpe_learns_the_same_in_another_process() -> None:
    program = (
        "import sys; sys.path.insert(0, 'src')\n"
        "from mingyue.text.tokenizer import Tokenizer\n"
        "text = '春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。'\n"
        "print(Tokenizer.train_bpe([text[i:] + text[:i] for i in range(24)], 400).fingerprint())"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads, "PATH": ""},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, threads in [("1", "1"), ("2", "2"), ("3", "2")]
    }
    assert len(prints) == 1


def test_bpe_size() -> None:
    text = ["今夕何夕，共此燈燭光。"] * 9
    assert Tokenizer.train_bpe(text, 270).vocab_size == 270
    assert Tokenizer.train_bpe([], 500).vocab_size == 258, "nothing to join: bytes remain"
    for size in (257, -1, 10**9):
        with pytest.raises(UserError, match="258"):
            Tokenizer.train_bpe(text, size)


def test_a_misdecoded_file_is_refused() -> None:
    many = MANY
    with pytest.raises(UserError, match="different characters"):
        Tokenizer.characters(many)
    assert Tokenizer.characters(many, limit=65_000).dtype == np.uint16
    for strange in ("\ue123", "\ufffd", "\x01", "\u0378"):
        with pytest.raises(UserError, match="mis-decoded"):
            Tokenizer.characters({"月": 80, strange: 20})
        Tokenizer.characters({"月": 95, strange: 5})
    with pytest.raises(UserError, match="no vocabulary"):
        Tokenizer.characters({"月": 1}, min_count=2)


def test_a_large_vocabulary_needs_more_than_two_bytes() -> None:
    tokenizer = Tokenizer.characters(MANY, limit=65_536)
    assert tokenizer.dtype == np.uint32
    text = "".join(list(MANY)[65_500:65_536])
    assert tokenizer.decode(tokenizer.encode_array(text).tolist()) == text


# Files


@pytest.mark.parametrize("kind", ALL)
def test_save_and_load(kind: str, tmp_path: Path) -> None:
    ALL[kind].save(tmp_path, max_length=64)
    again = Tokenizer.load(tmp_path)
    assert again.fingerprint() == ALL[kind].fingerprint()
    for name in ("kind", "vocab_size", "end_id", "unk_id", "pad_id", "never_sampled"):
        assert getattr(again, name) == getattr(ALL[kind], name)
    assert again.encode(ODD) == ALL[kind].encode(ODD)
    first = (tmp_path / "tokenizer_config.json").read_bytes()
    again.save(tmp_path)
    assert (tmp_path / "tokenizer_config.json").read_bytes() == first


def test_fingerprints_differ() -> None:
    prints = {t.fingerprint() for t in [*ALL.values(), Tokenizer.characters({"a": 1})]}
    assert len(prints) == 4


@pytest.fixture(scope="module", params=ALL)
def beside_transformers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Our tokenizer and what AutoTokenizer makes of its folder, for each layout we write."""
    transformers = pytest.importorskip("transformers")
    ours = ALL[request.param]
    theirs = []
    for layout in [None, "gpt2", "llama", "qwen3", "arcee", "nanochat"]:
        folder = tmp_path_factory.mktemp("run")
        ours.save(folder, max_length=64)
        if layout:
            (folder / "config.json").write_text(json.dumps({"model_type": layout}))
        theirs.append(transformers.AutoTokenizer.from_pretrained(folder))
    return ours, theirs


def test_autotokenizer_agrees(beside_transformers) -> None:
    ours, theirs = beside_transformers
    # Spaces before signs are what clean_up_tokenization_spaces would eat.
    texts = [
        "",
        "明月 光 。",
        "it 's , a . !",
        "\r\n\r \t",
        "𠀀e\u0301é👩\u200d🚀",
        "  明  ",
        *POEMS,
    ]
    for hf in theirs:
        assert (hf.bos_token_id, hf.eos_token_id) == (ours.end_id, ours.end_id)
        assert (hf.unk_token_id, hf.pad_token_id) == (ours.unk_id, ours.pad_id)
        assert len(hf) == ours.vocab_size
        assert hf.model_max_length == 64
        for text in texts:
            ids = ours.encode(text)
            assert hf(text)["input_ids"] == ids
            assert hf.decode(ids, skip_special_tokens=True) == ours.decode(ids)
            with_end = [ours.end_id, *ids, ours.end_id]
            assert hf.decode(with_end, skip_special_tokens=True) == ours.decode(with_end)
        batch = hf(["明月光", ""], padding=True)
        assert ours.pad_id in batch["input_ids"][1]


@settings(max_examples=40)
@given(text=st.text(max_size=40))
def test_autotokenizer_agrees_on_any_text(beside_transformers, text: str) -> None:
    ours, theirs = beside_transformers
    ids = ours.encode(text)
    assert theirs[0](text, split_special_tokens=True)["input_ids"] == ids
    if "<|" not in text:
        assert theirs[0](text)["input_ids"] == ids
    assert theirs[0].decode(ids, skip_special_tokens=True) == ours.decode(ids)


def test_autotokenizer_takes_specials_in_text_for_specials(beside_transformers) -> None:
    """The one difference, and how to switch it off over there."""
    ours, theirs = beside_transformers
    assert theirs[0]("月<|end|>")["input_ids"][-1] == ours.end_id
    plain = theirs[0]("月<|end|>", split_special_tokens=True)["input_ids"]
    assert plain == ours.encode("月<|end|>")


def test_tokenizers_of_others_load(tmp_path: Path) -> None:
    """A Unigram model in SentencePiece's manner: spaces as ▁, the first one stripped."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers, processors

    pieces = [
        ("<unk>", 0.0),
        ("</s>", 0.0),
        ("▁the", -1.0),
        ("▁c", -2.0),
        ("at", -2.0),
        ("▁", -3.0),
    ]
    backend = Backend(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    backend.add_special_tokens(["<unk>", "</s>"])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    backend.enable_truncation(2)
    backend.save(str(tmp_path / "tokenizer.json"))
    config = {"eos_token": {"content": "</s>"}, "unk_token": "<unk>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))

    tokenizer = Tokenizer.load(tmp_path)
    assert (tokenizer.kind, tokenizer.end_id, tokenizer.unk_id) == ("other", 1, 0)
    ids = tokenizer.encode("the cat the cat")
    assert ids == [2, 3, 4, 2, 3, 4], "nothing added, nothing cut off"
    assert tokenizer.encode_array("the cat the cat").tolist() == ids
    assert tokenizer.decode(ids) == "the cat the cat"
    stream = tokenizer.decode_stream()
    pieces_out = [*map(stream.push, ids), stream.flush()]
    assert pieces_out[:3] == ["the", " c", "at"]
    assert "".join(pieces_out) == "the cat the cat"
    assert tokenizer.unknown("the q") == ["h", "e", "q"] or "q" in tokenizer.unknown("the q")
    assert tokenizer.never_sampled == [0]


def test_broken_folders_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match="not a tokenizer"):
        Tokenizer.load(tmp_path)
    BYTES.save(tmp_path)
    for content, complaint in [("{", "not valid JSON"), ("[]", "object was expected")]:
        (tmp_path / "tokenizer_config.json").write_text(content)
        with pytest.raises(UserError, match=complaint) as raised:
            Tokenizer.load(tmp_path)
        assert "\n" not in str(raised.value)
    (tmp_path / "tokenizer_config.json").unlink()
    assert Tokenizer.load(tmp_path).end_id == 256
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    Backend(models.WordLevel({"a": 0, "b": 1}, unk_token="b")).save(
        str(tmp_path / "tokenizer.json")
    )
    with pytest.raises(UserError, match="no end token"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lambda s: s["model"]["vocab"].update({"月": 4, "光": 4}), "one id to two"),
        (lambda s: s["model"].update(unk_token="?"), "unknown token"),
        (lambda s: s["model"].pop("vocab"), "not a tokenizer"),
        (lambda s: s["model"]["vocab"].pop("<|unk|>"), "unknown token"),
    ],
)
def test_damaged_vocabularies_are_refused(harm, complaint: str, tmp_path: Path) -> None:
    state = json.loads(Tokenizer.characters({"月": 2, "光": 1})._backend.to_str())
    harm(state)
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    with pytest.raises(UserError, match=complaint):
        Tokenizer.load(tmp_path)


def test_added_words_are_seen_before_characters() -> None:
    """A word that somebody added to a character tokenizer: the tables must not hide it."""
    tokenizer = Tokenizer.characters({"明": 2, "月": 1})
    tokenizer._backend.add_tokens(["明月"])
    again = Tokenizer(tokenizer._backend)
    assert again.kind == "other"
    assert again.encode_array("明月明").tolist() == again.encode("明月明") == [5, 3]
    assert again.decode([5, 3]) == "明月明"


def test_importing_costs_nothing() -> None:
    program = (
        "import sys; sys.path.insert(0, 'src')\n"
        "import mingyue.text.tokenizer, mingyue.text.script, mingyue.text.verse\n"
        "assert not {'numpy', 'torch', 'tokenizers', 'opencc'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)
