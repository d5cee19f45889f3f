"""From documents to a dataset: nothing lost, nothing on both sides, nothing stale."""

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mingyue.data.blocks
import mingyue.data.preparation
from mingyue import language
from mingyue.data import Damaged, Dataset, cache_folder, prepare
from mingyue.data.dataset import Split
from mingyue.errors import UserError
from mingyue.text.document import Document
from mingyue.text.tokenizer import Tokenizer

from .corpora import HAN, Memory, poem, poems, sides


def both(dataset: Dataset) -> list[str]:
    train, val = sides(dataset)
    return train + val


@pytest.mark.parametrize("kind", ["char", "byte", "bpe"])
def test_documents_are_held_out_whole(kind: str) -> None:
    texts = poems(200)
    dataset = prepare(Memory(texts), kind=kind, vocab_size=300, val_fraction=0.1)
    train, val = sides(dataset)
    assert sorted(train + val) == sorted(texts)
    assert len(val) == 20
    assert dataset.split.how == "documents"
    assert dataset.tokenizer.kind == kind
    assert dataset.train.document(0).dtype == np.uint16


def test_the_seed_decides() -> None:
    texts = poems(200)
    held_out = [set(sides(prepare(Memory(texts), seed=s))[1]) for s in (0, 0, 1)]
    assert held_out[0] == held_out[1] != held_out[2]
    assert len(held_out[2]) == 10


def test_copies_are_on_one_side() -> None:
    texts = poems(300)
    copies = [text.replace("，", "　").replace("。", "！\n") for text in texts]
    train, val = sides(prepare(Memory(texts + copies), val_fraction=0.2))
    assert sorted(train + val) == sorted(texts + copies)
    assert len(val) == 120
    assert {t.replace("　", "，").replace("！\n", "。") for t in val}.isdisjoint(
        t.replace("　", "，").replace("！\n", "。") for t in train
    )


def test_near_copies_move_to_training() -> None:
    """In each pair the first couplet is shared; whichever of the two is held out has to move."""
    pairs = [(text, text[:12] + poem(2)) for text in poems(150)]
    single = poems(150, seed=5)
    texts = [text for pair in pairs for text in pair] + single
    dataset = prepare(Memory(texts), val_fraction=0.2)
    train, val = sides(dataset)
    assert sorted(train + val) == sorted(texts)
    couplets = {text[:12] for text in train} | {text[12:] for text in train}
    assert not any(text[:12] in couplets for text in val)
    assert dataset.split.moved > 30
    assert len(val) + dataset.split.moved == 90
    assert any("moved to training" in line for line in dataset.lines())
    assert set(val) & set(single), "what is like nothing else stays"


def test_if_all_would_move_there_is_no_validation() -> None:
    texts = [f"風雨夜來花落知多少。{c}處處聞啼鳥！" for c in HAN]
    dataset = prepare(Memory(texts))
    train, val = sides(dataset)
    assert (sorted(train), val) == (sorted(texts), [])
    assert dataset.val.n_tokens == 0
    assert any("no validation loss" in line for line in dataset.lines())


@settings(max_examples=30)
@given(
    st.lists(st.text("明月。，\na𠀀", max_size=40), min_size=1, max_size=40),
    st.integers(1, 20),
    st.sampled_from([0, 0.05, 0.5]),
    st.sampled_from(["char", "byte"]),
)
def test_nothing_is_lost_whatever_the_blocks(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    size: int,
    fraction: float,
    kind: str,
) -> None:
    """Long documents arrive in pieces, blocks are tiny; the result is that of whole documents."""
    expected = [text for text in texts if text]
    if not expected:
        return
    rng = random.Random(size)
    pieces: list[Document] = []
    for text in texts:
        cut = rng.randint(0, len(text))
        pieces += [Document(text[:cut], ends=False), Document(text[cut:])]
    folder = tmp_path_factory.mktemp("data")
    options = {"kind": kind, "val_fraction": fraction}
    whole = prepare(Memory(texts), folder=folder / "whole", **options)
    assert sorted(both(whole)) == sorted(expected)
    default = mingyue.data.blocks.blocks.__defaults__
    try:
        mingyue.data.blocks.blocks.__defaults__ = (size,)
        cut_up = prepare(Memory(pieces), folder=folder / "cut", **options)
    finally:
        mingyue.data.blocks.blocks.__defaults__ = default
    assert sorted(both(cut_up)) == sorted(expected)
    if "。" not in "".join(texts):  # else a cut inside a sentence can hide a near copy
        assert sorted(sides(cut_up)[1]) == sorted(sides(whole)[1])


# Few or short documents


def test_one_long_document_gives_its_tail() -> None:
    random.seed(0)
    text = "".join(random.choices(HAN + "。\n", k=4000))
    dataset = prepare(Memory([text]))
    train, val = sides(dataset)
    assert (train, val) == ([text[:3800]], [text[3800:]])
    assert dataset.split.how == "tails"
    assert any("last part of 1 " in line for line in dataset.lines())


def test_a_tail_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    random.seed(0)
    text = "".join(random.choices(HAN, k=4000))
    for size in (50, 3800, 199, 4000):
        pieces = [Document(text[i : i + size], ends=False) for i in range(0, 4000, size)]
        corpus = Memory([*pieces, Document("", ends=True), "短"], name=str(size))
        assert sides(prepare(corpus)) == ([text[:3800], "短"], [text[3800:]])


def test_a_few_short_documents_are_all_trained_on() -> None:
    texts = poems(10)
    dataset = prepare(Memory(texts))
    assert sides(dataset) == (texts, [])
    assert any("too short" in line for line in dataset.lines())
    assert prepare(Memory(["月"])).train.n_tokens == 2


def test_no_validation_when_none_is_asked_for() -> None:
    dataset = prepare(Memory(poems(100)), val_fraction=0)
    assert dataset.val.n_documents == 0
    assert dataset.lines()[-1] == "nothing held out, as asked"


def test_twenty_documents_give_one() -> None:
    for seed in range(5):
        assert len(sides(prepare(Memory(poems(20)), seed=seed))[1]) == 1


# Vocabulary


def test_all_characters_are_known_on_both_sides() -> None:
    texts = [text + chr(0x4E00 + i) for i, text in enumerate(poems(100))]
    dataset = prepare(Memory(texts))
    assert dataset.split.train_unknown == dataset.split.val_unknown == 0
    assert dataset.val.n_documents


def test_unknown_characters_are_counted() -> None:
    texts = ["明明月" + c for c in HAN if c not in "明月"]
    dataset = prepare(Memory(texts), min_count=2, val_fraction=0.1)
    split = dataset.split
    assert split.train_unknown + split.val_unknown == len(texts)
    assert split.val_unknown == dataset.val.n_documents > 0
    assert any(f"{len(texts)} characters (25%)" in line for line in dataset.lines())


def test_a_ready_tokenizer_is_used() -> None:
    tokenizer = Tokenizer.characters({"明": 3, "月": 2})
    dataset = prepare(Memory(["明月光"]), tokenizer)
    assert dataset.train.document(0).tolist() == [3, 4, tokenizer.unk_id, tokenizer.end_id]
    assert dataset.split.train_unknown == 1
    strange = prepare(Memory(["風花雪"]), tokenizer, val_fraction=0)
    assert any("3 characters (100%)" in line for line in strange.lines())


def test_bpe_is_learnt_from_the_training_side(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    def listen(texts: Iterable[str], _size: int) -> Tokenizer:
        heard.extend(texts)
        return Tokenizer.bytes()

    monkeypatch.setattr(Tokenizer, "train_bpe", listen)
    train, _ = sides(prepare(Memory(poems(100)), kind="bpe"))
    assert sorted(heard) == sorted(train)
    heard.clear()
    text = "".join(random.choices(HAN, k=4000))
    prepare(Memory([text]), kind="bpe")
    assert "".join(heard) == text[:3800]


def test_surrogates_from_broken_json_do_no_harm() -> None:
    for kind in ("char", "byte", "bpe"):
        train, _ = sides(prepare(Memory(["明月光" * 9 + "\ud83d"]), kind=kind, vocab_size=270))
        assert train == ["明月光" * 9 + "\ufffd"]


# The cache


def test_the_second_time_nothing_is_read(own_cache: Path) -> None:
    corpus = Memory(poems(60))
    first = prepare(corpus)
    assert first.folder.parent == cache_folder() == own_cache / "data"
    assert corpus.passes == 2
    again = prepare(corpus)
    assert corpus.passes == 2
    assert again.fingerprint == first.fingerprint
    assert again.lines() == first.lines()
    assert again.layout == "verse"
    assert sides(again) == sides(first)


def test_whatever_changes_makes_another_dataset() -> None:
    texts = poems(60)
    datasets = [
        prepare(Memory(texts)),
        prepare(Memory([*texts[:-1], texts[-1] + "月"])),
        prepare(Memory(texts), seed=1),
        prepare(Memory(texts), val_fraction=0.1),
        prepare(Memory(texts), min_count=25),
        prepare(Memory(texts), kind="byte"),
        prepare(Memory(texts), kind="bpe", vocab_size=300),
        prepare(Memory(texts), kind="bpe", vocab_size=290),
        prepare(Memory(texts), Tokenizer.characters({"月": 1})),
    ]
    assert len({d.folder for d in datasets}) == len(datasets)
    assert len({d.fingerprint for d in datasets}) == len(datasets)


@pytest.mark.parametrize(
    "harm",
    [
        lambda f: (f / "meta.json").unlink(),
        lambda f: (f / "meta.json").write_text("{"),
        lambda f: (f / "meta.json").write_text("[]"),
        lambda f: (f / "train-00000.bin").unlink(),
        lambda f: (f / "train-00000.bin").open("r+b").truncate(10),
        lambda f: (f / "train-00000.bin").open("r+b").write(b"\7\7"),
        lambda f: (f / "val.documents.npy").write_bytes(b""),
        lambda f: (f / "tokenizer.json").write_text("{}"),
        lambda f: (f / "train-00001.bin").write_bytes(b"\1\1"),
    ],
)
def test_a_damaged_cache_is_made_anew(harm) -> None:
    corpus = Memory(poems(60))
    first = prepare(corpus)
    harm(first.folder)
    with pytest.raises(Damaged):
        Dataset.open(first.folder)
    again = prepare(corpus)
    assert again.fingerprint == first.fingerprint
    assert corpus.passes == 4


def test_a_failure_leaves_nothing_behind(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Memory(poems(60))

    def fail(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr(mingyue.data.preparation, "write_meta", fail)
        with pytest.raises(RuntimeError):
            prepare(corpus)
    assert list((own_cache / "data").iterdir()) == []
    assert prepare(corpus).train.n_documents == 57


def test_a_text_that_changes_meanwhile_is_refused() -> None:
    class Growing(Memory):
        def __iter__(self):
            yield from super().__iter__()
            if self.passes == 1:
                self.documents.append(Document("月"))

    class Shifting(Memory):
        def __iter__(self):
            yield from super().__iter__()
            if self.passes == 1:
                self.documents[0], self.documents[1] = self.documents[1], self.documents[0]

    for kind in (Growing, Shifting):
        with pytest.raises(UserError, match="changed while"):
            prepare(kind(poems(30)))


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    first = prepare(Memory(poems(60)), folder=folder)
    assert first.folder == folder
    other = prepare(Memory(poems(61)), folder=folder)
    assert other.train.n_documents + other.val.n_documents == 61
    assert json.loads((folder / "meta.json").read_text())["name"] == "memory"

    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("work of years")
    (tmp_path / "file").write_text("mine")
    for place in (precious, tmp_path / "file"):
        with pytest.raises(UserError, match="choose another folder"):
            prepare(Memory(poems(60)), folder=place)
    assert (precious / "chapter.txt").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert prepare(Memory(poems(60)), folder=empty).folder == empty


# Refusals and progress


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kind": "word"}, "no such tokenizer"),
        ({"min_count": 0}, "minimum count"),
        ({"kind": "bpe", "vocab_size": 12}, "258"),
        ({"val_fraction": 0.6}, "validation share"),
        ({"val_fraction": -0.1}, "validation share"),
        ({"val_fraction": float("nan")}, "validation share"),
    ],
)
def test_absurd_options_are_refused_before_any_work(options: dict, complaint: str) -> None:
    corpus = Memory(poems(30))
    with pytest.raises(UserError, match=complaint):
        prepare(corpus, **options)
    assert corpus.passes == 0


def test_no_text_is_refused() -> None:
    for documents in ([], ["", ""], [Document("", ends=False)]):
        with pytest.raises(UserError, match="no text"):
            prepare(Memory(documents))


def test_a_misdecoded_text_is_refused(own_cache: Path) -> None:
    with pytest.raises(UserError, match="mis-decoded"):
        prepare(Memory(["\ufffd\ue123月\ufffd"] * 30))
    assert not list((own_cache / "data").glob("*"))  # nothing half made


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    prepare(Memory(poems(60)), progress=lambda doing, share: told.append((doing, share)))
    assert [doing.split()[0] for doing, _ in told] == ["looking", "reading", "making", "writing"]
    assert told[-1][1] == 1.0
    assert all(0 <= share <= 1 for _, share in told)


def test_lines_are_in_the_language_of_the_reader() -> None:
    dataset = prepare(Memory(poems(60)))
    try:
        language.use("zh")
        assert any("留出 3 篇文档" in line for line in dataset.lines())
    finally:
        language.use(None)


def test_importing_needs_no_torch() -> None:
    import subprocess
    import sys

    program = (
        "import sys; sys.path.insert(0, 'src')\n"
        "import mingyue.data\n"
        "assert not {'torch', 'tokenizers', 'platformdirs'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)


# A cache that cannot be written


def test_a_cache_of_the_user_that_cannot_be_written_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.delenv("MINGYUE_CACHE")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(tmp_path / "file" / "cache"))
    dataset = prepare(Memory(poems(60)))
    assert tmp_path / "file" not in dataset.folder.parents
    assert sum("temporary folder" in line for line in dataset.lines()) == 1
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path / "cache"))
    other = prepare(Memory(poems(60)))
    assert other.fingerprint == dataset.fingerprint
    assert not any("temporary folder" in line for line in other.lines())


def test_a_cache_that_was_named_must_be_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path / "file"))
    corpus = Memory(poems(6))
    with pytest.raises(UserError, match="MINGYUE_CACHE"):
        prepare(corpus)
    assert corpus.passes == 0


def test_counts_are_told_so_that_one_is_right_too() -> None:
    with language.speaking("en"):
        told = " ".join(Split("documents", True, 1, 1, 900, 100, 1, 0, 0).lines())
    assert "held out: 1 (100 characters)" in told
    assert not re.search(r"\b1 \w+s\b|\b1 [\w-]+ \w+s\b", told)
