"""D16: reach counted anew, one row and one place at a time; verdicts that can say no."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.exhibits import memory
from mingyue.explain.exhibits.memory import EXHIBIT, MemoryKnobs
from mingyue.explain.measures import price
from mingyue.explain.measures.reach import distances, gradient, influence, kept
from mingyue.explain.measures.rehearsal import Excerpt, rehearse
from mingyue.explain.panels import Curves, Table
from mingyue.explain.subject import Subject
from mingyue.interop.run_folder import save_model
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.making import make_model
from mingyue.model.recurrent import Recurrent
from mingyue.text.tokenizer import Tokenizer
from tests.explain.corpora import with_text
from tests.explain.helpers import POEM, subject
from tests.model.configs import POSITIONS, lively

FAST = MemoryKnobs(repeats=1, steps=20)


def poems(n: int = 60) -> list[str]:
    random = np.random.default_rng(0)
    return [
        "".join(random.choice(list("床前明月光疑是地上霜舉頭望低思故鄉"), 40)) for _ in range(n)
    ]


def rnn(kind: str = "lstm", V: int = 30, **changed: Any) -> LanguageModel:
    torch.manual_seed(0)
    sizes = {"n_layer": 2, "d_model": 16, **changed}
    return make_model(ModelConfig.checked(kind=kind, vocab_size=V, **sizes)).eval()


def gpt(position: str = "rope", V: int = 30, **changed: Any) -> LanguageModel:
    sizes = {"n_layer": 2, "n_head": 2, "d_model": 16, "block_size": 32, **changed}
    return lively(ModelConfig.checked(vocab_size=V, position=position, **sizes))


MODELS = [*(lambda p=p: gpt(p) for p in POSITIONS), lambda: rnn("lstm"), lambda: rnn("gru")]


@torch.no_grad()
@pytest.mark.parametrize("make", MODELS)
def test_influence_is_the_mean_over_other_tokens(make: Any):
    """Drawn 400 times it comes near the exact mean over all of them, weighed by frequency."""
    model = make()
    row = torch.randint(3, 30, (1, 9), generator=torch.Generator().manual_seed(1))
    back = np.array([0, 1, 4, 7])
    many = influence(model, row.repeat(400, 1), back, seed=0)  # [400, 4]
    counts = torch.bincount(row[0], minlength=30).double()

    def after(ids: Tensor) -> Tensor:
        return model(ids).logits[0, -1].double().softmax(-1)

    for column, distance in enumerate(back.tolist()):
        at, exact, weight = 8 - distance, 0.0, 0.0
        for token in range(30):
            if token != row[0, at]:
                other = row.clone()
                other[0, at] = token
                exact += float(counts[token] * (after(other) - after(row)).clamp(min=0).sum())
                weight += float(counts[token])
        spread = float(many[:, column].std()) / 20
        assert float(many[:, column].mean()) == pytest.approx(exact / weight, abs=5 * spread + 1e-5)


@pytest.mark.parametrize("make", MODELS)
def test_the_gradient_is_the_slope_of_the_loss(make: Any):
    """Each vector moved a little in a random direction: the loss changes as the gradient says."""
    model = make().double()
    ids = torch.randint(0, 30, (2, 7), generator=torch.Generator().manual_seed(2))
    rows, wanted = ids[:, :-1], ids[:, -1]
    found = gradient(model, rows, wanted)  # [2, 6]
    moved = torch.zeros(1)

    def push(_module: object, _ids: object, vectors: Tensor) -> Tensor:
        return vectors + moved

    handle = model.embedding.register_forward_hook(push)
    for b, at in ((0, 5), (0, 0), (1, 3)):
        slopes = []
        for c in range(16):
            losses = []
            for step in (1e-5, -1e-5):
                moved = torch.zeros(2, 6, 16, dtype=torch.double)
                moved[b, at, c] = step
                with torch.no_grad():
                    hidden = model.hidden(rows)[b, -1]
                    scores = F.linear(hidden, model.unembedding)
                losses.append(float(F.cross_entropy(scores, wanted[b])))
            slopes.append((losses[0] - losses[1]) / 2e-5)
        length = float(np.linalg.norm(slopes))
        assert float(found[b, 5 - at]) == pytest.approx(length, rel=1e-3, abs=1e-5)
    handle.remove()


def test_nothing_is_left_behind_in_the_model():
    model = gpt()
    gradient(model, torch.zeros(1, 4, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    assert not model.embedding._forward_hooks
    assert all(weight.grad is None for weight in model.parameters())


def test_what_is_kept_is_a_ratio_with_its_error():
    """Of 300 draws of 50 rows the ratio scatters as much as the error says."""
    random = torch.Generator().manual_seed(0)
    back, found = np.array([0, 4, 8, 12]), []
    for _ in range(300):
        last = 0.5 + torch.rand(50, 1, generator=random)
        reach = torch.cat([last, last, 0.1 * last, 0.1 + torch.rand(50, 1, generator=random)], 1)
        found.append(kept(reach, back, far=8))
    ratios, errors = np.array(found).T
    assert ratios.mean() == pytest.approx((0.1 + 0.6) / 2, rel=0.02)
    assert errors.mean() == pytest.approx(ratios.std(), rel=0.2)
    assert kept(torch.ones(1, 4), back, far=8) == (1.0, float("inf"))


@pytest.mark.parametrize(("T", "most"), [(32, 100), (64, 9), (3, 1), (8, 8)])
def test_distances(T: int, most: int):
    back = distances(T, most)
    assert back[0] == 0 and back[-1] == T - 2 and (np.diff(back) > 0).all()
    assert len(back) <= max(2, most)
    assert len(back) == T - 1 or len(back) == max(2, most)


def curves(exhibit: Exhibit) -> list[Curves]:
    return [panel for panel in exhibit.panels if isinstance(panel, Curves)]


@pytest.fixture(scope="module")
def rehearsed() -> tuple[Subject, Exhibit]:
    seen = with_text(subject(POEM), train=poems())
    return seen, EXHIBIT.show(seen, MemoryKnobs(repeats=1))


def test_two_small_models_and_this_one(rehearsed: tuple[Subject, Exhibit]):
    seen, exhibit = rehearsed
    excerpt = Excerpt.of(seen)
    small = memory._rehearsed.__wrapped__(excerpt, 100, 0)
    counts = [model.count_parameters() for model in small]
    assert abs(counts[0] - counts[1]) < 0.02 * counts[1], "of like size"
    rows = excerpt.check()
    here = torch.tensor(excerpt.known)[rows]
    readers: Sequence[tuple[LanguageModel, Tensor]] = [
        (small[0], rows),
        (small[1], rows),
        (seen.model, here),
    ]
    moved, slopes = curves(exhibit)[:2]
    assert list(moved.lines) == ["small GPT", "small LSTM", "this model"]
    table = exhibit.panels[2]
    assert isinstance(table, Table)
    for row, line, curve, (model, ids) in zip(
        table.rows, moved.lines.values(), slopes.lines.values(), readers, strict=True
    ):
        with torch.no_grad():
            loss = F.cross_entropy(model(ids[:, :-1]).logits.mT, ids[:, 1:])
        assert row[1:3] == [model.count_parameters(), f"{loss:.2f}"]
        reach = influence(model, ids[:, :-1], moved.x.astype(int), 0)
        np.testing.assert_allclose(
            line, np.where(reach.mean(0) > 1e-6, reach.mean(0), np.nan), 0.05
        )
        back = gradient(model, ids[:, :-1], ids[:, -1]).mean(0)
        np.testing.assert_allclose(curve, (back / back[0])[:-1], rtol=0.05)
        assert curve[0] == 1.0
        far = reach[:, 16:].mean() / reach[:, 0].mean()
        assert float(str(row[3]).split()[0]) == pytest.approx(float(far), rel=0.06)


@pytest.mark.parametrize(
    ("layers", "bias", "holds"), [(2, -6.0, [True] * 3), (0, 6.0, [False] * 3)]
)
def test_verdicts_say_yes_and_no(layers: int, bias: float, holds: list[bool], tmp_path: Path):
    """An RNN that forgets at once; then one that forgets nothing, and a GPT without layers, which
    sees one token only."""
    seen = with_text(subject(POEM, n_layer=layers), train=poems())
    other = rnn("gru", V=seen.tokenizer.vocab_size, n_layer=1)
    assert isinstance(other, Recurrent)
    with torch.no_grad():
        for name, weight in other.blocks.named_parameters():
            if "bias_ih" in name:
                weight[16:32] = bias  # z: how much of the old is kept
            else:
                weight.mul_(0.3)
    save_model(other, seen.tokenizer, tmp_path)
    exhibit = EXHIBIT.show(seen, MemoryKnobs(rnn=str(tmp_path), repeats=1))
    assert [verdict.holds for verdict in exhibit.verdicts] == holds
    assert list(curves(exhibit)[0].lines) == ["this model", "GRU"]
    assert str(tmp_path) in exhibit.notes[0]


def test_two_alike_are_not_told_apart():
    assert memory._more([(0.3, 0.1), (0.25, 0.1)]) is None
    assert memory._more([(0.3, 0.01), (0.25, 0.01)]) is True
    assert memory._more([(0.2, 0.01), (0.25, 0.01)]) is False


@pytest.mark.parametrize("changed", [{}, {"n_kv_head": 1}, {"n_layer": 3}, {"d_head": 6}])
@torch.no_grad()
def test_numbers_kept_are_those_of_a_real_memory(changed: dict):
    model = gpt(**changed)
    for n in (1, 5):
        cache = model.new_cache(1, n)
        model(torch.zeros(1, n, dtype=torch.long), cache=cache)
        held = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)  # type: ignore[attr-defined]
        assert price.numbers_kept(model, n) == held
    for kind, parts in (("lstm", 2), ("gru", 1)):
        assert price.numbers_kept(rnn(kind), 9) == parts * 2 * 16


def test_a_run_that_cannot_be_compared_is_refused_in_a_line(tmp_path: Path):
    seen = with_text(subject(POEM), train=poems())

    def refused(folder: Path) -> str:
        with pytest.raises(UserError) as error:
            EXHIBIT.show(seen, MemoryKnobs(rnn=str(folder)))
        assert "\n" not in str(error.value) and str(folder) in str(error.value)
        return str(error.value)

    assert "no such folder" in refused(tmp_path / "nowhere")
    save_model(seen.model, seen.tokenizer, tmp_path / "gpt")
    assert "--model lstm|gru" in refused(tmp_path / "gpt")
    save_model(rnn(V=Tokenizer.bytes().vocab_size), Tokenizer.bytes(), tmp_path / "bytes")
    assert "vocabulary" in refused(tmp_path / "bytes")
    with pytest.raises(UserError, match="both directions"):
        EXHIBIT.show(subject(causal=False), FAST)


@pytest.mark.parametrize("position", POSITIONS)
def test_on_the_text_given_and_with_every_position_scheme(position: str):
    exhibit = EXHIBIT.show(subject(POEM, position=position), FAST)
    assert "again and again" in exhibit.notes[0]
    assert len(curves(exhibit)[0].lines) == 3
    short = EXHIBIT.show(subject("床前", position=position, block_size=8), FAST)
    assert list(curves(short)[0].lines) == ["small GPT", "small LSTM"]


def test_one_training_a_process(rehearsed: tuple[Subject, Exhibit], monkeypatch: Any):
    first = EXHIBIT.show(subject(POEM), FAST)
    monkeypatch.setattr(memory, "rehearse", lambda *_: pytest.fail("trained twice"))
    again = EXHIBIT.show(subject(POEM), FAST)
    assert again.verdicts == first.verdicts and again.panels[2] == first.panels[2]
    assert rehearse is not memory.rehearse
