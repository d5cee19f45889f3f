"""D2: the counts, the loss and its gradient are those of Word2Vec; neighbours are counted anew."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.exhibits import word2vec
from mingyue.explain.exhibits.word2vec import EXHIBIT, Word2VecKnobs
from mingyue.explain.measures import company
from mingyue.explain.panels import Curves, Table
from mingyue.explain.subject import Subject
from mingyue.interop.run_folder import save_model
from mingyue.model.config import ModelConfig
from mingyue.model.making import make_model
from mingyue.model.word2vec import Word2Vec
from mingyue.text.tokenizer import Tokenizer
from tests.explain.corpora import with_text
from tests.explain.helpers import POEM, subject

TOPICS = [[chr(0x4E00 + 20 * topic + i) for i in range(20)] for topic in range(5)]
ALL = "".join("".join(topic) for topic in TOPICS)


def poems(n: int = 400) -> list[str]:
    """Each keeps to one topic's twenty characters."""
    random = np.random.default_rng(0)
    return ["".join(random.choice(TOPICS[i % 5], 20)) + "。" for i in range(n)]


def tokens(*documents: list[int]) -> Tokens:
    return Tokens.from_documents(documents)


def learned(d_model: int = 48) -> Subject:
    """A GPT whose table lies by topics, as if it had been trained; with the poems beside it."""
    seen = with_text(subject(ALL, d_model=d_model, block_size=128), train=poems())
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for topic in TOPICS:
            ids = seen.tokenizer.encode("".join(topic))
            middle = torch.randn(d_model, generator=generator)
            noise = torch.randn(20, d_model, generator=generator)
            seen.model.embedding.weight[ids] = middle + 0.5 * noise
    return seen


@pytest.fixture(scope="module")
def shown() -> tuple[Subject, Exhibit]:
    seen = learned()
    return seen, EXHIBIT.show(seen, Word2VecKnobs(character=TOPICS[0][3]))


def test_pairs_are_counted_one_by_one():
    random = np.random.default_rng(3)
    documents = [[*random.integers(3, 40, n).tolist(), 0] for n in (200, 3, 90, 1, 300, 400)]
    found = company.company(tokens(*documents), frozenset([0, 7]))
    known = found.known.tolist()
    assert 0 not in known and 7 not in known and (np.diff(found.times) <= 0).all()
    near = np.zeros_like(found.near)
    for document in documents:
        for a, one in enumerate(document):
            for b in range(max(0, a - 5), min(len(document), a + 6)):
                if a != b and one in known and document[b] in known:
                    place = known.index(one), known.index(document[b])
                    near[place] += 1 - (abs(a - b) - 1) / 5
    np.testing.assert_allclose(found.near, near)
    i, j = 2, 5
    by_chance = near[i].sum() * near[j].sum() / near.sum()
    assert found.lift(np.array([i]), np.array([j]))[0] == pytest.approx(near[i, j] / by_chance)


def test_a_long_text_is_counted_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(company, "READ", 6400)
    random = np.random.default_rng(3)
    documents = [[*random.integers(3, 40, 99).tolist(), 0] for _ in range(200)]
    found = company.company(tokens(*documents), frozenset([0]))
    assert found.read == 6400
    most = 2 * 6400 * sum(1 - d / 5 for d in range(5))  # if each had all its neighbours
    assert 0.9 * most < found.near.sum() < most, "pieces are whole stretches of text"


def test_the_loss_over_counts_is_that_of_word2vec():
    """One document, read in a row by the model in which nothing is left to chance."""
    random = np.random.default_rng(0)
    V = 30
    text = random.integers(0, V, 600)
    found = company.company(tokens(text.tolist()), frozenset())
    model = make_model(ModelConfig.checked(kind="word2vec", vocab_size=V, d_model=16)).eval()
    assert isinstance(model, Word2Vec)
    model.told(torch.from_numpy(np.bincount(text, minlength=V)))
    with torch.no_grad():
        model.embedding.weight.normal_()
        model.company.weight.normal_()
        ids = torch.from_numpy(text)[None]
        wanted = model(ids[:, :-1], ids[:, 1:]).loss
    known = torch.from_numpy(found.known)
    assert len(known) == V
    e = model.embedding.weight.detach()[known].requires_grad_()
    o = model.company.weight.detach()[known].requires_grad_()
    n = torch.from_numpy(found.near / found.near.sum()).float()
    drawn = torch.from_numpy(found.times**0.75).float()
    strangers = 5 * n.sum(dim=1, keepdim=True) * (drawn / drawn.sum())
    assert company.loss(e.detach(), o.detach(), n, strangers) == pytest.approx(
        float(wanted), rel=1e-4
    )
    scores = e @ o.T
    (n * F.softplus(-scores) + strangers * F.softplus(scores)).sum().backward()
    for slope, by_autograd in zip(
        company.slopes(e.detach(), o.detach(), n, strangers), (e.grad, o.grad), strict=True
    ):
        torch.testing.assert_close(slope, by_autograd)


def test_it_learns_and_the_seed_decides():
    found = company.company(learned().dataset.train, frozenset())  # type: ignore[union-attr]
    one, same = (company.skip_gram.__wrapped__(found, 60, 0) for _ in range(2))
    other = company.skip_gram.__wrapped__(found, 60, 1)
    assert torch.equal(one.e, same.e) and not torch.equal(one.e, other.e)
    assert one.after < one.before - 0.1


def cosines(table: torch.Tensor, one: int, others: list[int]) -> np.ndarray:
    rows = table.detach().double().numpy()
    return np.array(
        [rows[one] @ rows[i] / np.linalg.norm(rows[one]) / np.linalg.norm(rows[i]) for i in others]
    )


def side_by_side(exhibit: Exhibit) -> Table:
    table = exhibit.panels[0]
    assert isinstance(table, Table)
    return table


def test_neighbours_and_overlap_counted_anew(shown: tuple[Subject, Exhibit]):
    seen, exhibit = shown
    assert seen.dataset is not None
    never = [seen.tokenizer.end_id, *seen.tokenizer.never_sampled]
    found = company.company(seen.dataset.train, frozenset(never))
    known = found.known.tolist()
    tables = [
        company.skip_gram(found, 100, 0).e,
        seen.model.embedding.weight[torch.from_numpy(found.known)],
    ]
    names = [seen.tokenizer.token_text(i) for i in known]
    near: list[list[list[int]]] = []
    for table in tables:
        lists = []
        for i in range(len(known)):
            others = [j for j in range(len(known)) if j != i]
            order = np.argsort(-cosines(table, i, others))[:20]
            lists.append([others[j] for j in order])
        near.append(lists)
    asked = [i for i, name in enumerate(names) if name != "。"]
    shares = {
        k: np.mean([len({*near[0][i][:k]} & {*near[1][i][:k]}) / k for i in asked])
        for k in (1, 2, 5, 10, 20)
    }
    side, frequent, curves = exhibit.panels
    assert isinstance(side, Table) and isinstance(frequent, Table) and isinstance(curves, Curves)
    drawn = dict(zip(curves.x, next(iter(curves.lines.values())), strict=True))
    for k, share in shares.items():
        assert drawn[k] == pytest.approx(share, abs=0.011)
    told = [float(n) / 100 for n in re.findall(r"([\d.]+)%", exhibit.verdicts[0].measured)]
    assert told[0] == pytest.approx(shares[10], abs=0.005)
    each = [len({*near[0][i][:10]} & {*near[1][i][:10]}) / 10 for i in asked]
    assert told[1] == pytest.approx(np.std(each) / len(each) ** 0.5, abs=2e-3)
    assert told[2] == pytest.approx(10 / (len(known) - 1), abs=6e-4)
    assert f"{10 - 10 * shares[10]:.1f}"[:2] in exhibit.verdicts[1].measured
    pairs, total = found.near, found.near.sum()
    for place, lists in ((0, near[0]), (2, near[1])):
        lift = [
            np.mean([pairs[i, j] * total / pairs[i].sum() / pairs[j].sum() for j in lists[i][:10]])
            for i in asked
        ]
        measured = float(exhibit.verdicts[2].measured.split()[place])
        assert measured == pytest.approx(np.exp(np.mean(np.log(lift))), abs=0.06)
    np.testing.assert_allclose(curves.lines["by chance"], curves.x / (len(known) - 1))
    chosen = names.index(TOPICS[0][3])
    for column, lists, table in ((1, near[0], tables[0]), (3, near[1], tables[1])):
        told = [str(row[column]).removesuffix(" ✓") for row in side.rows]
        assert told == [names[i] for i in lists[chosen][:10]]
        cosine = cosines(table, chosen, lists[chosen][:10])
        assert [float(row[column + 1]) for row in side.rows] == pytest.approx(cosine, abs=6e-3)
    both = {*near[0][chosen][:10]} & {*near[1][chosen][:10]}
    assert sum("✓" in str(row[1]) for row in side.rows) == len(both)
    assert sum("✓" in str(row[3]) for row in side.rows) == len(both)
    for row in frequent.rows:
        i = names.index(str(row[0]))
        assert row[3] == len({*near[0][i][:10]} & {*near[1][i][:10]})


def test_both_find_the_topics_and_still_differ(shown: tuple[Subject, Exhibit]):
    exhibit = shown[1]
    assert exhibit.verdicts[0].holds is True
    assert all(str(row[1])[0] in TOPICS[0] for row in side_by_side(exhibit).rows)
    assert "60 steps" not in exhibit.notes[0] and "100 steps" in exhibit.notes[0]


def test_a_table_that_was_never_trained_shares_nothing():
    seen = with_text(subject(ALL, d_model=48, block_size=128), train=poems())
    exhibit = EXHIBIT.show(seen, Word2VecKnobs())
    assert exhibit.verdicts[0].holds is False and exhibit.verdicts[1].holds is True


def test_a_gpt_with_the_very_vectors_of_skip_gram_shares_all(tmp_path: Path):
    """Then nothing is its own, and neither stands nearer by company."""
    seen = learned()
    save(tmp_path, seen, seen.model.embedding.weight)
    exhibit = EXHIBIT.show(seen, Word2VecKnobs(vectors=str(tmp_path)))
    assert [verdict.holds for verdict in exhibit.verdicts] == [True, False, False]
    assert str(tmp_path) in exhibit.notes[0]
    assert all("✓" in str(row[1]) for row in side_by_side(exhibit).rows)


def save(folder: Path, seen: Subject, table: torch.Tensor, **other: Any) -> None:
    config = {"kind": "word2vec", "d_model": table.shape[1], **other}
    model = make_model(ModelConfig.checked(vocab_size=seen.tokenizer.vocab_size, **config))
    if isinstance(model, Word2Vec):
        with torch.no_grad():
            model.embedding.weight.copy_(table)
    save_model(model, seen.tokenizer, folder)


def test_a_run_that_cannot_be_read_is_refused_in_a_line(tmp_path: Path):
    seen = learned()

    def refused(folder: Path) -> str:
        with pytest.raises(UserError) as error:
            EXHIBIT.show(seen, Word2VecKnobs(vectors=str(folder)))
        assert "\n" not in str(error.value) and str(folder) in str(error.value)
        return str(error.value)

    assert "no such folder" in refused(tmp_path / "nowhere")
    save(tmp_path / "lstm", seen, seen.model.embedding.weight, kind="lstm", n_layer=1)
    assert "--model word2vec" in refused(tmp_path / "lstm")
    other = make_model(
        ModelConfig.checked(kind="word2vec", d_model=8, vocab_size=Tokenizer.bytes().vocab_size)
    )
    save_model(other, Tokenizer.bytes(), tmp_path / "bytes")
    assert "vocabulary" in refused(tmp_path / "bytes")


def test_one_learning_a_process(monkeypatch: pytest.MonkeyPatch):
    seen = learned()
    first = EXHIBIT.show(seen, Word2VecKnobs(steps=5))
    monkeypatch.setattr(company.torch.optim, "Adam", lambda *_, **__: pytest.fail("learned twice"))
    again = EXHIBIT.show(seen, Word2VecKnobs(steps=5))
    assert again.to_json() == first.to_json()


def test_which_token_is_looked_at():
    seen = learned()
    for text, name in ((ALL, ALL[0]), ("床前明月光", TOPICS[0][0])):
        looked = with_text(Subject.of(seen.writer, text), train=poems())
        side = EXHIBIT.show(looked, Word2VecKnobs(steps=1)).panels[0]
        assert isinstance(side, Table)
        assert f"nearest to {name} in" in side.title or text != ALL
    with pytest.raises(UserError, match="月 is none of the"):
        EXHIBIT.show(seen, Word2VecKnobs(character="月", steps=1))
    with pytest.raises(UserError, match="is none of the"):
        EXHIBIT.show(seen, Word2VecKnobs(character=ALL[:2], steps=1))


def test_too_little_text():
    with pytest.raises(UserError, match="--on"):
        EXHIBIT.show(subject(), Word2VecKnobs())
    with pytest.raises(UserError, match="only 0 tokens come 10 times"):
        EXHIBIT.show(with_text(subject(), train=["床前明月光"]), Word2VecKnobs())
    few = with_text(subject(), train=[POEM + "床前光" * 9] * 12)
    exhibit = EXHIBIT.show(few, Word2VecKnobs(k=50, steps=5))
    assert [verdict.holds for verdict in exhibit.verdicts[:2]] == [None, None]
    assert word2vec.EXHIBIT.needs_dataset is True
