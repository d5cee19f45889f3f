"""Blind where it must be, and not where it must not; each number is that of a rebuilt model."""

from itertools import permutations

import pytest
import torch

from mingyue.errors import UserError
from mingyue.explain.exhibits.order import EXHIBIT, OrderKnobs
from mingyue.explain.panels import Table
from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer
from tests.explain.helpers import subject
from tests.model.configs import POSITIONS, lively


def rebuilt(model: GPT, position: str, causal: bool) -> GPT:
    """A new model with the same weights but for the table of positions."""
    other = GPT(model.config.changed(position=position)).double().eval()
    kept = other.state_dict()
    other.load_state_dict({k: v for k, v in model.state_dict().items() if k in kept}, strict=True)
    other.config = other.config.changed(causal=causal)
    return other


@torch.no_grad()
def after(model: GPT, rows: list[list[int]]) -> torch.Tensor:
    return model.hidden(torch.tensor(rows))[:, -1] @ model.unembedding.T  # [rows, V]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("text", ["狗咬人", "明月", "床前明月光，疑是地上霜。"])
def test_this_models_rows(position: str, text: str):
    seen = subject(text, position=position)
    exhibit = EXHIBIT.show(seen, OrderKnobs())
    table = exhibit.panels[0]
    assert isinstance(table, Table)
    ids, (comma,) = seen.tokenizer.encode(text), seen.tokenizer.encode("，")
    rows = [[seen.tokenizer.end_id, *order, comma] for order in (ids, ids[::-1])]
    for row in table.rows[: 1 if position == "none" else 2]:
        for causal, shown in zip((True, False), row[2:], strict=True):
            one, two = after(rebuilt(seen.model, str(row[1]), causal), rows)
            assert shown == pytest.approx(float((one - two).abs().max()), rel=1e-6, abs=1e-9)
    assert [verdict.holds for verdict in exhibit.verdicts] == [True] * 4
    named = {(row[0], row[1]): row[2:] for row in table.rows}
    for scheme in POSITIONS:
        masked, unmasked = named["fresh, 2 layers", scheme]
        assert masked > 1e-9 and (unmasked <= 1e-9) == (scheme == "none")
    assert max(named["fresh, one layer", "none"]) <= 1e-9
    assert seen.model.config.position == position and seen.model.config.causal, "left as it was"


def test_every_order_of_the_context_is_one_to_an_unmasked_model_without_positions():
    seen = subject("狗咬人也", position="none", causal=False)
    end, ids = seen.tokenizer.end_id, seen.tokenizer.encode("狗咬人也")
    rows = [[end, *order, 5] for order in permutations(ids)]
    found = after(rebuilt(seen.model, "none", False), rows)
    assert float((found - found[0]).abs().max()) <= 1e-9
    assert EXHIBIT.show(seen, OrderKnobs()).verdicts[0].holds is False, "and says so"


def test_one_layer_has_nothing_to_leak():
    exhibit = EXHIBIT.show(subject("狗咬人", position="none", n_layer=1), OrderKnobs())
    assert [v.holds for v in exhibit.verdicts] == [False, True, None, True]
    assert "1 layer" in exhibit.verdicts[2].measured


def test_what_this_model_expects_next():
    seen = subject("狗咬人")
    exhibit = EXHIBIT.show(seen, OrderKnobs())
    table = exhibit.panels[1]
    assert (
        isinstance(table, Table)
        and table.columns[0] == "狗咬人，"
        and table.columns[2] == "人咬狗，"
    )
    with torch.no_grad():
        logits = seen.model(seen.read("人咬狗，")).logits
    assert logits is not None
    best = logits[0, -1].softmax(-1).max()
    assert table.rows[0][3] == pytest.approx(float(best), rel=1e-4)


def test_words_are_turned_round_where_there_are_blanks():
    exhibit = EXHIBIT.show(subject("dog bites man"), OrderKnobs())
    assert "man bites dog" in exhibit.verdicts[0].claim


def test_a_text_that_is_its_own_mirror_is_refused():
    with pytest.raises(UserError, match="both ways"):
        EXHIBIT.show(subject("月明月"), OrderKnobs())


def test_words_are_turned_round_where_the_blank_is_part_of_the_word():
    """As in BPE; the tokens must stay the same, or there would be nothing to be blind to."""
    text = "the dog bites man, man bites dog, " * 9
    tokenizer = Tokenizer.train_bpe([text], 300)
    config = subject().model.config.changed(vocab_size=tokenizer.vocab_size)
    looked = Subject.of(Writer(lively(config), tokenizer), " dog bites man")
    assert list(looked.labels[1:]) == [" dog", " bites", " man"]
    exhibit = EXHIBIT.show(looked, OrderKnobs())
    assert exhibit.verdicts[0].claim.endswith(" dog bites man from man bites dog")
    assert exhibit.verdicts[1].holds
