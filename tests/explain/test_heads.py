"""D6: patterns, jobs and losses are those of the model's own modules, and verdicts can say no."""

import copy
import itertools
import math
import random

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.errors import UserError
from mingyue.explain.exhibits.heads import HeadsKnobs, show
from mingyue.explain.measures import jobs
from mingyue.explain.measures.head_costs import costs
from mingyue.explain.measures.head_harm import harm, mean_and_error
from mingyue.explain.measures.head_looks import looks
from mingyue.explain.measures.sample import sample
from mingyue.explain.subject import Subject
from mingyue.model.attention import attend_readably
from mingyue.model.gpt import GPT
from tests.explain.corpora import with_text
from tests.explain.helpers import subject
from tests.model.configs import POSITIONS

TEXT = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
JOBS = ["itself", "previous", "same", "start", "slot", "sign", "end"]


@torch.no_grad()
def patterns(model: GPT, ids: Tensor) -> Tensor:
    """By the modules, without hooks: [L, B, H, T, T]."""
    x, view, found = model.embedding(ids), model.view(0, ids.shape[1]), []
    if model.config.position in ("learned", "sinusoidal"):
        x = x + model.position(0, ids.shape[1])
    for block in model.blocks:
        q, k, v = block.attention.project(block.norm_1(x), view.rotation)
        found.append(attend_readably(q, k, v, view).pattern)
        x = block(x, view)
    return torch.stack(found)


def rows_of(texts: list[str], looked: Subject) -> list[list[int]]:
    end = looked.tokenizer.end_id
    return [[end, *looked.tokenizer.encode(text), end] for text in texts]


def shuffled(n: int) -> list[str]:
    """Texts about nothing, so that no head can be of use."""
    dice = random.Random(0)
    return ["".join(dice.sample(TEXT, len(TEXT))) for _ in range(n)]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("n_kv_head", [1, 2])
def test_patterns_drawn_are_those_of_the_modules(position: str, n_kv_head: int) -> None:
    looked = subject(TEXT, position=position, n_kv_head=n_kv_head)
    drawn = show(looked, HeadsKnobs()).panels[0]
    np.testing.assert_allclose(
        drawn.values, patterns(looked.model, looked.ids)[:, 0].numpy(), atol=1e-6
    )
    np.testing.assert_allclose(drawn.values.sum(axis=-1), 1, atol=1e-6)
    assert (np.triu(drawn.values, 1) == 0).all()


@pytest.mark.parametrize("position", POSITIONS)
def test_scores_differences_and_losses_recomputed(position: str) -> None:
    texts = [TEXT, TEXT[12:], TEXT[:5]]
    config = {"position": position, "n_kv_head": 1, "bias": True}
    looked = with_text(subject(TEXT, **config), val=texts)
    text = sample(looked, "val", 10_000)
    found, lost = looks(looked, text), harm(looked, text)
    model, losses = looked.model, []
    sums, counts = np.zeros((2, 2)), 0  # previous token
    apart = np.zeros((2, 2, 2))
    for row in rows_of(texts, looked):
        ids = torch.tensor([row[:-1]])
        pattern = patterns(model, ids)[:, 0]  # [L, H, T, T]
        sums += pattern.diagonal(-1, dim1=2, dim2=3).sum(dim=2).numpy()
        counts += len(row) - 2
        for h in range(2):
            moved = (pattern - pattern[:, h : h + 1]).clamp(min=0)
            apart[:, h] += moved.sum(dim=(2, 3)).numpy()
    n = sum(len(row) - 1 for row in rows_of(texts, looked))
    np.testing.assert_allclose(found.score[1].numpy(), sums / counts, rtol=1e-4)
    np.testing.assert_allclose(found.difference.numpy(), apart / n, atol=1e-5)
    for layer, head in [(None, None), (0, 1), (1, 0)]:
        cut = copy.deepcopy(model)
        if layer is not None:  # what the head found is thrown away: its columns of W_o are 0
            width = model.config.head_width
            weight = cut.blocks[layer].attention.out.weight
            with torch.no_grad():
                weight[:, head * width : (head + 1) * width] = 0
        total = 0.0
        for row in rows_of(texts, looked):
            with torch.no_grad():
                logits = cut(torch.tensor([row[:-1]])).logits[0]
            total += float(F.cross_entropy(logits, torch.tensor(row[1:]), reduction="sum"))
        losses.append(total / n)
    assert float(lost.mean[0, 1]) == pytest.approx(losses[1] - losses[0], abs=1e-4)
    assert float(lost.mean[1, 0]) == pytest.approx(losses[2] - losses[0], abs=1e-4)


def test_the_standard_error_is_that_of_the_mean() -> None:
    """As often as the means of many samples lie apart; texts count as one draw each."""
    dice = torch.Generator().manual_seed(0)
    counts = torch.randint(4, 20, (400, 60), generator=dice)  # samples of 60 texts
    own = torch.randn(400, 60, generator=dice)  # what the tokens of a text have in common
    noise = torch.randn(400, 60, generator=dice) * counts.sqrt()
    found = [
        mean_and_error((own * n + one)[None], n)
        for own, one, n in zip(own, noise, counts, strict=True)
    ]
    means, errors = torch.cat([m for m, _ in found]), torch.cat([e for _, e in found])
    assert float(errors.mean()) == pytest.approx(float(means.std()), rel=0.1)
    assert mean_and_error(torch.ones(1, 7), torch.ones(7))[1].isnan()  # too few


def test_jobs_look_at_what_they_say() -> None:
    looked = subject(TEXT)
    aim = dict(zip(JOBS, jobs.targets(looked, looked.ids)[:, 0], strict=True))  # [T, T] each

    def targets(job: str, place: int) -> list[int]:
        return aim[job][place].nonzero().flatten().tolist()

    # ▷0 床1 前2 明3 月4 光5 ，6 疑7 是8 地9 上10 霜11 。12 舉13 頭14 望15 明16 月17 ，18 低19 頭20
    assert targets("itself", 3) == [3] and targets("previous", 3) == [2]
    assert targets("same", 16) == [3] and targets("same", 18) == [] and targets("same", 0) == []
    assert targets("start", 5) == [1] and targets("start", 6) == [1] and targets("start", 7) == []
    assert targets("slot", 9) == [3] and targets("slot", 15) == [] and targets("slot", 20) == [14]
    assert targets("slot", 12) == []  # signs fill no slot
    assert targets("sign", 12) == [6, 12] and targets("end", 5) == [0] and targets("end", 0) == []
    assert len(jobs.names()) == len(JOBS)
    even = torch.ones(1, 1, 25, 25).tril() / torch.arange(1, 26)[:, None]
    all_real = torch.ones(1, 25, dtype=torch.bool)
    seen = jobs.targets(looked, looked.ids)
    share = jobs.scores(even, seen, all_real)[:, 0] / jobs.occasions(seen, all_real)
    assert float(share[6]) == pytest.approx(sum(1 / t for t in range(2, 26)) / 24)


def test_padding_counts_for_nothing_and_long_documents_come_in_pieces() -> None:
    looked = with_text(subject(TEXT, block_size=8), val=[TEXT, TEXT[:3]])
    found = sample(looked, "val", 10_000)
    rows = rows_of([TEXT, TEXT[:3]], looked)
    wanted = [pair for row in rows for pair in itertools.pairwise(row)]
    pairs = torch.stack([found.ids, found.targets], dim=-1)[found.real].tolist()
    assert sorted(pairs) == sorted(map(list, wanted))
    assert found.ids.shape[1] <= 8 and "held-out" in found.source
    assert "its text" in sample(with_text(looked, train=[TEXT]), "val", 9).source
    assert "given text" in sample(with_text(looked), "val", 9).source


def test_a_previous_token_head_is_found_and_an_untrained_model_found_out() -> None:
    blank = subject(TEXT)
    blank.model.initialise()
    named, differ, harm, free = show(with_text(blank, val=shuffled(40)), HeadsKnobs()).verdicts
    assert (named.holds, differ.holds, harm.holds, free.holds) == (False, False, False, True)
    # A head that reads the previous token: positions are pairs of one-hot, moved by one.
    made = subject(TEXT, position="learned", n_layer=1, d_model=64, qk_norm=False)
    with torch.no_grad():
        made.model.embedding.weight.zero_()
        made.model.position.weight.copy_(torch.eye(64)[:32])
        weight = made.model.blocks[0].attention.qkv.weight
        weight.zero_()
        weight[:31, 1:32] = torch.eye(31)  # head 0: position t asks for position t - 1,
        weight[64:96, :32] = torch.eye(32)  # and each position says which one it is
        made.model.blocks[0].norm_1.weight.fill_(1.0)
    exhibit = show(made, HeadsKnobs())
    assert exhibit.verdicts[0].holds and "head 0.0, previous token" in exhibit.verdicts[0].measured
    job = next(row for row in exhibit.panels[3].rows if row[0] == "previous token")
    assert job[1] == "0.0" and job[2] > 0.9


def test_heads_cost_nothing_at_any_width() -> None:
    for position in POSITIONS:
        config = subject(TEXT, position=position, n_kv_head=1, d_model=32).model.config
        table, verdict = costs(config)
        assert verdict.holds is True
        for row in table.rows:
            shape = {"n_head": row[0], "n_kv_head": None, "qk_norm": False}
            model = GPT(config.changed(**shape))
            assert row[2:4] == [model.count_parameters(), model.flops_per_token()]
            wide = GPT(config.changed(**shape, d_head=32))
            assert row[4] == wide.count_parameters() and row[5] == row[0] * 32 * 3
        assert len(table.rows) >= 4


def test_what_cannot_be_told_is_not_told() -> None:
    both = show(subject(TEXT, causal=False), HeadsKnobs())
    assert both.verdicts[2].holds is None and math.isnan(both.panels[2].values[0, 0])
    short = show(subject("床前"), HeadsKnobs())
    assert short.verdicts[2].holds is None
    assert short.panels[3].rows[4][1] == "—"  # one line has no pair
    assert show(subject(TEXT, n_head=1), HeadsKnobs()).verdicts[1].holds is None
    assert show(subject(TEXT), HeadsKnobs()).verdicts[2].holds is None  # one text
    with pytest.raises(UserError, match="no layers"):
        show(subject(TEXT, n_layer=0), HeadsKnobs())


def test_long_texts_are_windowed() -> None:
    looked = subject(TEXT * 6, block_size=256)
    exhibit = show(looked, HeadsKnobs(start=70, tokens=64))
    assert exhibit.panels[0].values.shape == (2, 2, 64, 64)
    assert list(exhibit.panels[0].rows) == list(looked.labels[70:134])
    exhibit.to_json()
