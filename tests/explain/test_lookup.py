"""D1: the numbers drawn are rows of the table, and the verdicts can say no."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from mingyue.errors import UserError
from mingyue.explain.exhibits.lookup import EXHIBIT, LookupKnobs, show
from mingyue.explain.subject import Subject
from tests.explain.helpers import in_bytes, subject
from tests.model.configs import configs

TEXT = "床前明月光，疑是地上霜。"
MANY = "".join(chr(0x4E00 + i) for i in range(300))


def among_many(**config) -> Subject:
    """``TEXT``, read by a model that has ``MANY`` characters beside."""
    return Subject.of(subject(TEXT + MANY, **config).writer, TEXT)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.mark.parametrize("position", ["learned", "rope", "none"])
def test_rows_and_neighbours_are_those_of_the_table(position: str) -> None:
    looked = among_many(position=position)
    exhibit = show(looked, LookupKnobs(k=5, character="月"))
    ids_table, one_hot, rows, bars = exhibit.panels
    table = looked.model.state_dict()["embedding.weight"].double().numpy()
    ids = [row[2] for row in ids_table.rows]
    assert ids == [looked.tokenizer.end_id, *looked.tokenizer.encode(TEXT)]
    np.testing.assert_array_equal(rows.values, table[ids].astype(np.float32)[:, :64])
    columns = [int(name) for name in one_hot.columns]
    product = one_hot.values @ table[columns]  # all other columns of the one-hot rows are 0
    np.testing.assert_allclose(product, table[ids], atol=1e-6)
    moon = looked.tokenizer.encode("月")[0]
    never = looked.tokenizer.never_sampled
    all_cosines = {i: cosine(table[i], table[moon]) for i in range(len(table)) if i != moon}
    best = sorted((c for i, c in all_cosines.items() if i not in never), reverse=True)[:5]
    np.testing.assert_allclose(bars.values, best, atol=1e-5)
    for name, value in zip(bars.names, bars.values, strict=True):
        if name != "▷":
            assert all_cosines[looked.tokenizer.encode(name)[0]] == pytest.approx(value, abs=1e-5)
    assert exhibit.verdicts[0].holds is True


@settings(max_examples=30)
@given(configs())
def test_one_hot_equals_lookup_in_any_model(config) -> None:
    looked = in_bytes(config, "ab ba")
    assert show(looked, LookupKnobs()).verdicts[0].holds is True


def test_a_table_that_was_never_trained_is_found_out() -> None:
    assert show(among_many(), LookupKnobs(k=3)).verdicts[1].holds is False
    assert show(subject(TEXT), LookupKnobs()).verdicts[1].holds is None  # too few rows to tell


def test_a_row_among_its_like_is_found_near_them() -> None:
    looked = among_many()
    table = looked.model.embedding.weight
    with torch.no_grad():
        like = [int(i) for i in looked.tokenizer.encode("月光霜明")]
        table[like] = table[like[0]] + 0.05 * torch.randn(4, 16)
    exhibit = show(looked, LookupKnobs(k=3, character="月"))
    assert set(exhibit.panels[3].names) == set("光霜明")
    assert exhibit.verdicts[1].holds is True


def test_a_broken_lookup_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = subject(TEXT)
    product = looked.model.embedding.by_one_hot
    monkeypatch.setattr(looked.model.embedding, "by_one_hot", lambda ids: product(ids) + 1e-3)
    verdict = show(looked, LookupKnobs()).verdicts[0]
    assert verdict.holds is False and " 0.001 in" in verdict.measured


def test_long_texts_are_windowed() -> None:
    looked = subject(MANY[:200], block_size=256)
    exhibit = show(looked, LookupKnobs(start=100))
    assert [len(panel.rows) for panel in exhibit.panels[:3]] == [64, 64, 64]
    assert exhibit.panels[0].rows[0][:2] == [100, looked.labels[100]]
    assert any("100 to 163 of 201" in note for note in exhibit.notes)


def test_a_character_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="猫 is not in the text"):
        show(subject(TEXT), LookupKnobs(character="猫"))
    with pytest.raises(UserError, match="position 99"):
        show(subject(TEXT), LookupKnobs(at=99))
    assert EXHIBIT.knobs is LookupKnobs
