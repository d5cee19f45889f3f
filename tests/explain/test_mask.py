"""What the mask takes away, rebuilt from the weights; and that only a cheater cheats."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mingyue.explain.exhibit import Exhibit
from mingyue.explain.exhibits import mask
from mingyue.explain.exhibits.mask import EXHIBIT, MaskKnobs
from mingyue.explain.measures import rehearsal
from mingyue.explain.measures.rehearsal import BLOCK, Excerpt
from mingyue.explain.panels import Curves, Matrix, Table
from mingyue.explain.subject import Subject
from mingyue.model.attention import attend_readably
from mingyue.model.block import Block
from mingyue.model.position import RotaryPosition
from tests.explain.corpora import with_text
from tests.explain.helpers import POEM, subject
from tests.model.configs import POSITIONS

LAWS = MaskKnobs(steps=0)


def tables(exhibit: Exhibit) -> list[Table]:
    return [panel for panel in exhibit.panels if isinstance(panel, Table)]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("changed", [{}, {"n_kv_head": 1, "qk_norm": False, "bias": True}])
@torch.no_grad()
def test_scores_before_and_after(position: str, changed: dict):
    seen = subject(position=position, **changed)
    exhibit = EXHIBIT.show(seen, LAWS)
    before, after = exhibit.panels
    assert isinstance(before, Matrix) and isinstance(after, Matrix)
    model, T = seen.model, seen.ids.shape[1]
    future = np.triu(np.ones((T, T), bool), 1)
    x, view = model.embedding(seen.ids), model.view(0, T)
    if position in ("learned", "sinusoidal"):
        x = x + model.position(0, T)  # type: ignore[misc]
    rotation = model.position(0, T) if isinstance(model.position, RotaryPosition) else None
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        q, k, v = block.attention.project(block.norm_1(x), rotation)
        steps = attend_readably(q, k, v, view)
        np.testing.assert_allclose(after.values[layer], steps.scores[0], atol=1e-3)
        raw = q @ k.repeat_interleave(2 // k.shape[1], dim=1).mT / math.sqrt(q.shape[-1])
        if position == "alibi":
            far = torch.arange(T)[:, None] - torch.arange(T)[None]
            raw = raw - far.abs() * model.slopes[:, None, None]
        np.testing.assert_allclose(before.values[layer], raw[0], atol=1e-3)
        x = block(x, view)
    assert np.isneginf(after.values[..., future]).all()
    assert [verdict.holds for verdict in exhibit.verdicts] == [True, True]
    shares = torch.from_numpy(before.values).softmax(dim=-1).numpy()
    ahead = shares[..., future].sum() / shares[..., 0].size
    assert f"{ahead:.1%}" in exhibit.verdicts[1].measured


def test_a_model_without_mask_is_found_out():
    verdict = EXHIBIT.show(subject(causal=False), LAWS).verdicts[0]
    assert verdict.holds is False and verdict.measured.startswith("0 of ")


def test_a_token_that_nobody_would_look_at_anyway():
    """All queries against all later keys: nothing would go to the future, and that is said."""
    seen = subject("月", qk_norm=False, position="none", n_layer=1, n_head=1)
    block = seen.model.blocks[0]
    assert isinstance(block, Block)
    with torch.no_grad():
        first = block.norm_1(seen.model.embedding(seen.ids))[0, 0]  # the end token, [C]
        block.attention.qkv.weight.zero_()
        block.attention.qkv.weight[0] = 10 * first / first.norm()
        block.attention.qkv.weight[16] = 10 * first / first.norm()  # its key is all it asks for
    assert EXHIBIT.show(seen, LAWS).verdicts[1].holds is False


def poems(n: int = 200) -> list[str]:
    """Lines of seven in which each character tells something, not all, about the next."""
    random = np.random.default_rng(0)
    signs = "床前明月光疑是地上霜舉頭望低思故鄉"
    made = []
    for _ in range(n):
        at, line = int(random.integers(len(signs))), ""
        for _ in range(12):
            line += signs[at]
            at = (at + int(random.integers(1, 5))) % len(signs)
        made.append(line)
    return made


@pytest.fixture(scope="module")
def cheated() -> tuple[Subject, Exhibit]:
    seen = with_text(subject(POEM), train=poems())
    return seen, EXHIBIT.show(seen, MaskKnobs())


def test_the_cheater_dives_and_cannot_write(cheated: tuple[Subject, Exhibit]):
    """With mask: about ln 4, the best there is. Without: nearly 0, until it must go on alone."""
    seen, exhibit = cheated
    assert [verdict.holds for verdict in exhibit.verdicts] == [True] * 4
    curves = exhibit.panels[2]
    assert isinstance(curves, Curves)
    masked, unmasked = (line[-10:].mean() for line in curves.lines.values())
    assert unmasked < 0.5 < 1.2 < masked < 2
    losses, writing = tables(exhibit)
    with_mask, without, blind = ([float(cell) for cell in row[1:]] for row in losses.rows)
    assert with_mask[1] == with_mask[2], "one pass equals many, if there is a mask"
    assert without[2] > with_mask[2] + 1 > without[1] + 1
    assert with_mask[0] == pytest.approx(masked, abs=6e-3) and without[0] == pytest.approx(
        unmasked, abs=6e-3
    )
    kinds = len(set(seen.tokenizer.encode("".join(poems())))) + 1  # and the end token
    assert blind == pytest.approx([math.log(kinds)] * 3, abs=6e-3)
    signs = "床前明月光疑是地上霜舉頭望低思故鄉"

    def steps(text: str) -> list[int]:
        return [(signs.index(b) - signs.index(a)) % len(signs) for a, b in pairwise(text)]

    well, badly = (np.mean([1 <= s <= 4 for s in steps(str(row[1]))]) for row in writing.rows)
    assert well > badly + 0.2


@torch.no_grad()
def test_the_losses_are_those_of_the_models_trained(cheated: tuple[Subject, Exhibit]):
    excerpt = Excerpt.of(cheated[0])
    models = [rehearsal.small(excerpt, 0) for _ in range(2)]
    models[1].config = models[1].config.changed(causal=False)
    rehearsal.rehearse(models, excerpt, 100, 0)
    rows = excerpt.check()
    for model, row in zip(models, tables(cheated[1])[0].rows, strict=False):
        logits = model(rows[:, :-1]).logits
        assert logits is not None
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        assert float(row[2]) == pytest.approx(float(loss), abs=6e-3)
        t = 7
        logits = model(rows[:, :t]).logits
        assert logits is not None
        alone = F.cross_entropy(logits[:, -1], rows[:, t], reduction="none")
        torch.testing.assert_close(rehearsal.left_to_right(model, rows)[:, t - 1], alone)


def test_one_training_a_process(cheated: tuple[Subject, Exhibit], monkeypatch: pytest.MonkeyPatch):
    exhibit = cheated[1]
    monkeypatch.setattr(mask, "rehearse", lambda *_: pytest.fail("trained twice"))
    again = EXHIBIT.show(with_text(subject(POEM), train=poems()), MaskKnobs())
    assert again.to_json() == exhibit.to_json()


def test_two_that_learned_nothing_are_not_told_apart():
    exhibit = EXHIBIT.show(with_text(subject(POEM), train=poems()), MaskKnobs(steps=1))
    assert [verdict.holds for verdict in exhibit.verdicts[2:]] == [False, False]


def test_without_text_of_its_own_it_repeats_the_one_given():
    seen = subject("床前明月光，疑是地上霜。")
    exhibit = EXHIBIT.show(seen, MaskKnobs(steps=60))
    assert [verdict.holds for verdict in exhibit.verdicts[2:]] == [None, True]
    assert "13 tokens" in exhibit.notes[-1]
    losses, writing = tables(exhibit)
    assert "same text" in losses.title
    assert str(writing.rows[0][1]).startswith("床前明月光"), "known by heart"


def test_no_training_and_a_window():
    text = "".join(chr(ord("一") + i) for i in range(100))
    exhibit = EXHIBIT.show(subject(text, block_size=128), MaskKnobs(steps=0, start=20))
    assert len(exhibit.verdicts) == 2 and len(exhibit.panels) == 2
    matrix = exhibit.panels[0]
    assert isinstance(matrix, Matrix) and matrix.values.shape == (2, 2, 64, 64)
    assert matrix.rows[0] == text[19]


@pytest.mark.parametrize(
    "train",
    [
        poems(3),
        ["月"],
        ["".join(poems(300))],
        poems(1000),
        [*poems(5), "".join(poems(100)), *poems(200)],
    ],
    ids=["few", "tiny", "one long", "many", "mixed"],
)
def test_an_excerpt_is_text_of_its_own_and_never_learns_what_it_is_asked(train: list[str]):
    seen = with_text(subject(POEM), train=train)
    excerpt = Excerpt.of(seen)
    end = seen.tokenizer.end_id
    whole = [excerpt.known[i] for d in (*excerpt.train, *excerpt.held) for i in d]
    assert {*whole} == {*excerpt.known} and excerpt.known[excerpt.end_id] == end
    assert all(d[-1] == excerpt.end_id and excerpt.end_id not in d[:-1] for d in excerpt.train)
    for document in (*excerpt.train, *excerpt.held):
        text = seen.tokenizer.decode([excerpt.known[i] for i in document[:-1]])
        assert any(text in one for one in train)
    if excerpt.apart:
        n = len(excerpt.train) + len(excerpt.held)
        assert n <= rehearsal.PIECES and len(excerpt.held) == -(-n // 8)
    else:
        assert excerpt.train == excerpt.held
    rows = excerpt.check()
    assert rows.shape[1] == BLOCK + 1 and 1 <= len(rows) <= 32
    assert hash(excerpt) == hash(Excerpt.of(with_text(subject(POEM), train=train)))
