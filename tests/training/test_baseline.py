"""A run that learned no more than which tokens are frequent says so; one that did does not."""

import json
import math
from collections import Counter

import pytest

from mingyue.data.preparation import prepare
from mingyue.data.tokens import Tokens
from mingyue.language import speaking
from mingyue.text.corpus import open_corpus
from mingyue.training.baseline import frequencies, unigram_loss
from mingyue.training.run import train

from .conftest import SETTINGS, Notes

KINDS = {
    "gpt": {},
    "both sides": {"causal": False},
    "lstm": {"kind": "lstm", "d_model": 32, "n_layer": 1, "block_size": 16},
    "gru": {"kind": "gru", "d_model": 32, "n_layer": 1, "block_size": 16},
    "word2vec": {"kind": "word2vec", "d_model": 32, "block_size": 16, "window": 1},
}


@pytest.fixture
def pattern(tmp_path):
    """A text that knows one order only, so that a little learning is enough to beat frequency."""
    path = tmp_path / "pattern.txt"
    path.write_text("春江花月夜山水云风雨。\n" * 200, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "val_fraction"),
    # A Word2Vec drops most of so frequent tokens in training: nothing to go by there.
    [*((kind, 0.1) for kind in KINDS), *((kind, 0) for kind in KINDS if kind != "word2vec")],
)
def test_a_short_run_hears_it_and_a_long_one_does_not(pattern, tmp_path, kind, val_fraction):
    model = KINDS[kind] if "kind" in KINDS[kind] else {**SETTINGS["model"], **KINDS[kind]}
    data = {"documents": "file", "val_fraction": val_fraction}
    slow = dict.fromkeys(("learning_rate", "embedding_rate", "matrix_rate"), 1e-4)
    for steps, hardly, rates in ((1, 1, slow), (150, 0, {})):
        notes = Notes()
        result = train(
            pattern,
            tmp_path / f"{steps}",
            **{**SETTINGS, "model": model, "data": data, "steps": steps, **rates},
            observer=notes,
        )
        said = [note for note in result.notes if "hardly learned" in note]
        assert len(said) == hardly, (result.notes, result.best_loss, result.train_loss)
        assert len(result.notes) == hardly and notes.results == [result]


def test_an_interrupted_run_is_not_judged(pattern, tmp_path):
    import os
    import signal

    def press(step: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    result = train(pattern, tmp_path / "run", **{**SETTINGS, "steps": 9}, observer=Notes(press))
    assert (result.reason, result.notes) == ("interrupted", [])


def test_the_loss_of_frequencies_by_hand(poems):
    data = prepare(open_corpus(poems, documents="line"), val_fraction=0.2)
    V = data.tokenizer.vocab_size
    for text, most in ((data.val, None), (data.val, 17), (data.train, None), (data.val, 10**9)):
        ids = text.slice(0, text.n_tokens).tolist()[:most]
        counts = Counter(data.train.slice(0, data.train.n_tokens).tolist())
        total = sum(counts.values()) + V
        by_hand = -sum(math.log((counts[id] + 1) / total) for id in ids) / len(ids)
        assert unigram_loss(data.train, text, V, most) == pytest.approx(by_hand, rel=1e-9)


def test_frequencies_count_all_pieces():
    tokens = Tokens.from_documents([[1, 2, 0], [2, 2, 0]])
    assert frequencies(tokens, 4).tolist() == [2, 1, 3, 0]
    assert frequencies(tokens, 4, 2).tolist() == [0, 1, 1, 0]


def test_the_record_of_a_run_is_english_in_every_language(poems, tmp_path):
    records = []
    settings = {k: v for k, v in SETTINGS.items() if k not in ("model", "batch_size")}
    for language in ("zh", "en"):
        notes = Notes()
        with speaking(language):
            train(poems, tmp_path / language, minutes=0.03, observer=notes, **settings)
        records.append(json.loads((tmp_path / language / "mingyue.json").read_bytes()))
        logged = (tmp_path / language / "log.jsonl").read_text(encoding="utf-8")
        assert not set(logged) & set("的了是在第步损失留")
    for record in records:
        words = [w for choice in record["choices"] for w in choice.values()]
        assert words and all(ord(c) < 0x3000 for w in words for c in w)
    names = [[choice["name"] for choice in record["choices"]] for record in records]
    assert names[0] == names[1]
