"""Losses by position, recomputed token by token; what a scheme cannot do is said."""

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.explain.exhibits.length import EXHIBIT, LengthKnobs
from mingyue.explain.measures import beyond as beyond_the_block
from mingyue.explain.measures.rehearsal import BLOCK, Excerpt, rehearse, small
from mingyue.explain.panels import Curves, Table
from mingyue.explain.subject import Subject
from mingyue.model.gpt import GPT
from tests.explain.helpers import POEM, said_number, subject
from tests.model.configs import POSITIONS

LAWS = LengthKnobs(steps=0)
EMPTY = Tokens.from_documents([])


def with_text(seen: Subject, val: Tokens, train: Tokens = EMPTY) -> Subject:
    dataset = cast(Any, SimpleNamespace(name="poems", train=train, val=val))
    return replace(seen, dataset=dataset)


def poems(seen: Subject, n: int = 12) -> Tokens:
    """Documents of several lengths, some longer than a block."""
    random = np.random.default_rng(0)
    ids = seen.tokenizer.encode(POEM)
    return Tokens.from_documents(
        [[*random.choice(ids, size=5 + 7 * (i % 4)), seen.tokenizer.end_id] for i in range(n)]
    )


@torch.no_grad()
def surprise(model: GPT, context: np.ndarray, wanted: int) -> float:
    logits = model(torch.from_numpy(context)[None]).logits
    assert logits is not None
    return float(F.cross_entropy(logits[0, -1:], torch.tensor([wanted])))


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("T", [8, 9])
def test_every_point_is_the_loss_of_its_tokens(position: str, T: int):
    seen = subject("床前明月光", position=position, block_size=T)
    tokens = poems(seen)
    exhibit = EXHIBIT.show(with_text(seen, tokens), LengthKnobs(rows=2, steps=0))
    curves, table = exhibit.panels
    assert isinstance(curves, Curves) and isinstance(table, Table)
    starts = [int(o) for o in tokens.offsets if o + 4 * T <= tokens.n_tokens]
    on, moved = np.full((2, 4 * T), np.nan), np.full((2, 4 * T), np.nan)
    for row, start in enumerate((starts[0], starts[-1])):
        text = np.append(seen.tokenizer.end_id, tokens.slice(start, start + 4 * T)).astype(np.int64)
        window = 0  # where the text begins that the moving window sees
        for t in range(4 * T):
            if t - window == T:
                window = t - T // 2
            moved[row, t] = surprise(seen.model, text[window : t + 1], text[t + 1])
            if t < T or position != "learned":
                on[row, t] = surprise(seen.model, text[: t + 1], text[t + 1])
    for line, wanted in zip(curves.lines.values(), (on, moved), strict=True):
        points = [8 * i * T // 8 for i in range(5)]
        for i, (a, b) in enumerate(pairwise(points)):
            if T == 8:
                drawn = line[8 * i : 8 * i + 8]
                np.testing.assert_allclose(drawn, wanted[:, a:b].mean(0), atol=1e-4)
    for block, (_, reading, moving) in enumerate(table.rows):
        part = slice(block * T, (block + 1) * T)
        if position == "learned" and block:
            assert reading == "no row"
        else:
            assert float(reading) == pytest.approx(on[:, part].mean(), abs=6e-4)
        assert float(moving) == pytest.approx(moved[:, part].mean(), abs=6e-4)
    gap = (on[:, T:] - moved[:, T:]).mean()
    said = exhibit.verdicts[0].measured
    if position == "learned":
        assert "no row" in said
    else:
        told, rounded = said_number(said)
        assert told == pytest.approx(gap, abs=rounded + 1e-4)


def test_a_learned_table_has_no_row_and_a_model_without_positions_reads_on():
    seen = subject("床前明月光", position="learned", block_size=8)
    assert EXHIBIT.show(with_text(seen, poems(seen)), LAWS).verdicts[0].holds is False
    blank = subject("床前明月光", position="none", block_size=8, n_layer=0)
    exhibit = EXHIBIT.show(with_text(blank, poems(blank)), LAWS)
    assert exhibit.verdicts[0].holds is True, "without layers nothing before matters"


def test_a_model_that_is_lost_beyond_its_block_is_found_out(monkeypatch: pytest.MonkeyPatch):
    """It knows by heart what follows each token, until its words are turned round at the end."""
    seen = subject("床前明月光", block_size=8, n_layer=0, d_model=32)
    model = seen.model
    cycle = [5, 6, 7, 8]
    with torch.no_grad():
        assert model.head is not None
        model.embedding.weight.copy_(10 * torch.eye(len(model.embedding.weight), 32))
        model.head.weight.copy_(torch.zeros_like(model.head.weight))
        for now, then in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            model.head.weight[then, now] = 1
    text = with_text(seen, Tokens.from_documents([[*cycle * 30, seen.tokenizer.end_id]] * 4))
    assert EXHIBIT.show(text, LAWS).verdicts[0].holds is True
    hidden = model.hidden
    lost = lambda ids: torch.cat([hidden(ids)[:, :8], -hidden(ids)[:, 8:]], dim=1)
    monkeypatch.setattr(model, "hidden", lost)
    found = EXHIBIT.show(replace(text), LAWS).verdicts[0]
    assert found.holds is False and found.measured.startswith("+")


def test_which_text_is_read():
    seen = subject("床前明月光", block_size=8)
    held = EXHIBIT.show(with_text(seen, poems(seen), poems(seen)), LAWS)
    assert "not learned" in " ".join(held.notes)
    own = EXHIBIT.show(with_text(seen, poems(seen, 1), poems(seen)), LAWS)
    assert "may have learned" in " ".join(own.notes)
    with pytest.raises(UserError, match="fewer than 32 tokens"):
        EXHIBIT.show(with_text(seen, EMPTY, poems(seen, 1)), LAWS)
    with pytest.raises(UserError, match="--on"):
        EXHIBIT.show(seen, LAWS)
    assert not math.isnan(float(held.panels[0].lines["reading on"].sum()))  # type: ignore[union-attr]


@torch.no_grad()
def test_small_models_of_every_scheme():
    """Their losses once more, from models trained anew and read token by token."""
    seen = subject("床前明月光", block_size=8)
    held = with_text(seen, EMPTY, poems(seen, 40))
    exhibit = EXHIBIT.show(held, LengthKnobs(steps=3))
    curves, table = exhibit.panels[2:]
    assert isinstance(curves, Curves) and isinstance(table, Table)
    assert list(curves.lines) == table.columns[1:] == list(POSITIONS)
    excerpt = Excerpt.of(held)
    models = [small(excerpt, 0, position=scheme) for scheme in POSITIONS]
    rehearse(models, excerpt, 3, 0)
    text = np.concatenate([np.array(document) for document in excerpt.held])
    begins = np.cumsum([0, *map(len, excerpt.held)])
    text = np.tile(text, -(-4 * BLOCK // len(text)))
    starts = sorted({int(b) + n * begins[-1] for b in begins[:-1] for n in range(9)})
    starts = [start for start in starts if start + 4 * BLOCK <= len(text)]
    rows = max(2, len(text) // (4 * BLOCK))
    chosen = {starts[round(i)] for i in np.linspace(0, len(starts) - 1, rows)}
    for column, model in enumerate(models, start=1):
        for block in range(4):
            cell = table.rows[block][column]
            if POSITIONS[column - 1] == "learned" and block:
                assert cell == "no row"
                continue
            losses = [
                surprise(
                    model, np.append(excerpt.end_id, text[start : start + t]), int(text[start + t])
                )
                for start in chosen
                for t in range(block * BLOCK, (block + 1) * BLOCK)
            ]
            assert float(cell) == pytest.approx(np.mean(losses), abs=2e-3)
            drawn = curves.lines[POSITIONS[column - 1]][4 * block : 4 * block + 4]
            assert drawn.mean() == pytest.approx(np.mean(losses), abs=2e-3)
    assert exhibit.verdicts[2].holds is None, "three steps teach nobody what a position is worth"


def test_what_is_said_of_schemes_follows_their_losses(monkeypatch: pytest.MonkeyPatch):
    seen = subject("床前明月光", block_size=8)
    held = with_text(seen, EMPTY, poems(seen, 40))
    noise = np.random.default_rng(0).normal(size=(6, 4 * BLOCK))  # the text's own, for all alike

    def said(**beyond: float) -> bool | None:
        """Within the block 0.5 nats are gained by all but none; ``beyond`` it so many."""
        found = np.tile(noise, (5, 1, 1))
        for scheme, gain in beyond.items():
            found[POSITIONS.index(scheme), :, :BLOCK] -= 0.5
            found[POSITIONS.index(scheme), :, BLOCK:] -= gain
        monkeypatch.setattr(beyond_the_block, "_losses", lambda *_: found)
        return EXHIBIT.show(held, LengthKnobs(steps=1)).verdicts[2].holds

    assert said(sinusoidal=-0.2, rope=0.0, alibi=0.5) is True
    assert said(sinusoidal=-0.2, rope=0.5, alibi=0.5) is False
    assert said(sinusoidal=-0.2, rope=0.0, alibi=0.0) is False
    assert said() is None


def test_the_small_models_are_trained_once(monkeypatch: pytest.MonkeyPatch):
    seen = subject("床前明月光", block_size=8)
    shown = [EXHIBIT.show(with_text(seen, EMPTY, poems(seen, 40)), LengthKnobs(steps=2))]
    monkeypatch.setattr(beyond_the_block, "rehearse", lambda *_: pytest.fail("trained twice"))
    shown += [EXHIBIT.show(with_text(seen, EMPTY, poems(seen, 40)), LengthKnobs(steps=2))]
    assert shown[0].to_json() == shown[1].to_json()
