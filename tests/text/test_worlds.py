"""The grammar that makes up texts, and the two little worlds that are made with it."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.data.dataset import Dataset
from mingyue.data.preparation import prepare
from mingyue.data.tokens import Tokens
from mingyue.explain.catalogue import all_exhibits
from mingyue.text import world
from mingyue.text.corpus import open_corpus
from mingyue.text.document import Document
from mingyue.text.grammar import Grammar, tidied

WORLDS = ["modern", "english"]
ARTICLE = {
    "modern": "猫喜欢吃鱼，它很聪明。狗咬人，人咬狗。打篮球，打酱油，打车。床前明月光，疑是地上霜。"
    "举头望明月，低头思故乡。",
    "english": "The animal didn't cross the street because it was too tired. bank dog bites man "
    "To be, or not to be",
}


@pytest.fixture(scope="module", params=WORLDS)
def named(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    return request.param, list(world.texts(request.param))


# ---- the grammar -------------------------------------------------------------------------


def says(grammar: str, n: int = 200) -> set[str]:
    made, random = Grammar(grammar), Random(0)
    return {made.say(random) for _ in range(n)}


def test_all_that_a_grammar_may_hold():
    cat, dog = "猫喜欢吃鱼，它喵喵叫。", "狗喜欢吃{}，它汪汪叫。"
    text = """
# two animals
document:
    {A=animal}{A}喜欢吃{A.food}，它{A.says}叫{end}

animal: 猫 ; food = 鱼 ; says = 喵喵
    狗 ; food = 骨头 / {meat} ; says = 汪汪
meat: 肉 / 鸡肉
end: 。 / ∅
"""
    expected = [cat, *(dog.format(food) for food in ("骨头", "肉", "鸡肉"))]
    assert says(text) == {each for one in expected for each in (one, one.removesuffix("。"))}


def test_two_letters_hold_different_words():
    found = says("document: {A=word}{B=word}{C=word}{A}{B}{C}\nword: a / b / c")
    assert found == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_a_letter_is_known_in_the_rules_below_and_forgotten_after():
    assert says("document: {A=word}{A}{more}{A}\nmore: {B=word}{A}{B}\nword: a / b") == {
        "aaba",
        "bbab",
    }
    with pytest.raises(ValueError, match="nothing was remembered as B"):
        Grammar("document: {A=word}{A}{more}{B}\nmore: {B=word}{A}{B}\nword: a / b")


def test_a_property_may_speak_of_what_is_remembered_where_it_is_said():
    grammar = "document: {P=who}{D=deed}{P}{D.then}\nwho: he / she\ndeed: x ; then = , {P} won"
    assert says(grammar) == {"he, he won", "she, she won"} or says(grammar) == {
        "He, he won",
        "She, she won",
    }
    with pytest.raises(ValueError, match="nothing was remembered as P"):
        Grammar("document: {D=deed}{D.then}\ndeed: x ; then = {P} won")


@pytest.mark.parametrize(
    ("grammar", "why"),
    [
        ("", "no rule document"),
        ("animal: cat", "no rule document"),
        ("document:", "without options: document"),
        ("document: a /", "line 1: an option is empty"),
        ("document: a / / b", "an option is empty"),
        ("    a", "line 1: no rule has begun"),
        ("document: a\ndocument: b", "line 2: not the beginning of a new rule"),
        ("document: a\nA: b", "not the beginning of a new rule"),
        ("document: a\nwhatever", "not the beginning of a new rule"),
        ("document: {animal}", "no such rule"),
        ("document: a\nanimal: cat", "never used: animal"),
        ("document: {A}", "nothing was remembered as A"),
        ("document: {A=animal}{A.food}\nanimal: cat ; food = fish\n    dog", "not every animal"),
        ("document: {A=animal}{A.food.x}\nanimal: cat ; food = fish", "braces hold a name"),
        ("document: {animal.food}\nanimal: cat ; food = fish", "no such rule"),
        ("document: {A=animal}{B=A}\nanimal: cat", "remembered already"),
        ("document: {animal\nanimal: cat", "braces hold a name"),
        ("document: a}", "braces hold a name"),
        ("document: {}", "braces hold a name"),
        ("document: {document}", "document leads back to itself"),
        ("document: {a1}\na1: {b1} / x\nb1: {a1}", "a1 leads back to itself"),
        (
            "document: {A=animal}{A.food}\nanimal: cat ; food = {animal} / {A.food}",
            "leads back to itself",
        ),
        ("document: a ; food", "a property is name = option"),
        ("document: a ; food = x ; food = y", "a property is name = option"),
        ("document: a ; food =", "an option is empty"),
    ],
)
def test_a_bad_grammar_is_refused(grammar: str, why: str):
    with pytest.raises(ValueError, match=re.escape(why)):
        Grammar(grammar)


names = st.sampled_from(["r0", "r1", "r2", "r3", "r4"])
inside = st.one_of(
    st.sampled_from(["a", "b", "，", "{A}", "{A.p}", "{B}", "{B.q}"]),
    names.map("{{{}}}".format),
    st.tuples(st.sampled_from("AB"), names).map(lambda pair: f"{{{pair[0]}={pair[1]}}}"),
)
option = st.lists(inside, min_size=1, max_size=4).map("".join)
properties = st.sampled_from(["", " ; p = x", " ; p = {A} / y ; q = {r4}", " ; q = z"])
options = st.lists(st.tuples(option, properties).map("".join), min_size=1, max_size=3)


@given(st.lists(options, min_size=6, max_size=6), st.integers(0, 9))
def test_what_is_accepted_speaks_and_what_could_not_is_refused(drawn: list[list[str]], seed: int):
    """Whatever rules: a grammar is refused when it is read, or never fails when it speaks."""
    heads = ["document", "r0", "r1", "r2", "r3", "r4"]
    text = "\n".join(
        f"{head}:\n" + "\n".join(f"    {each}" for each in some)
        for head, some in zip(heads, drawn, strict=True)
    )
    try:
        grammar = Grammar(text)
    except ValueError:
        return
    random = Random(seed)
    for _ in range(5):
        assert not re.search(r"[{}/;∅]", grammar.say(random))


def test_english_is_tidied():
    said = "the cat saw a owl  and a old  dog . it ran, but a dog did not ."
    assert tidied(said) == "The cat saw an owl and an old dog. It ran, but a dog did not."
    assert tidied("a b. e") == "A b. E"
    assert tidied("床前明月光。") == "床前明月光。"


# ---- the worlds --------------------------------------------------------------------------


def test_there_are_two():
    assert sorted(WORLDS) == sorted(world.WORLDS)


def test_always_the_same(named: tuple[str, list[str]]):
    name, texts = named
    assert [next(iter(world.texts(name)))] == texts[:1]
    assert list(world.texts(name, 500)) == texts[:500]
    assert list(world.texts(name, 500, seed=1)) != texts[:500]
    corpus = open_corpus(name)
    assert (corpus.name, corpus.layout) == (name, "plain")
    assert [document.text for document, _ in zip(corpus, range(99), strict=False)] == texts[:99]
    assert corpus.fingerprint() == open_corpus(name).fingerprint()


def test_the_fingerprint_follows_the_grammar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = world.fingerprint("modern")
    (tmp_path / "modern.txt").write_text("document: 猫 / 狗", encoding="utf-8")
    monkeypatch.setattr(world, "FOLDER", tmp_path)
    assert world.fingerprint("modern") != before
    assert sorted(world.texts("modern", 2)) == ["狗", "猫"]
    with pytest.raises(ValueError, match="only 2 different texts"):
        list(world.texts("modern", 3))


def test_great_variety(named: tuple[str, list[str]]):
    name, texts = named
    assert len(set(texts)) == len(texts) == world.TEXTS >= 50_000
    words = Counter("".join(texts) if name == "modern" else re.findall(r"\w+", " ".join(texts)))
    assert len(words) > 400
    rare = [word for word, n in words.items() if n < 20]
    assert not rare, "a word seen so seldom is not learned"
    assert len({text[:8] for text in texts}) > 1000


def test_texts_are_well_formed(named: tuple[str, list[str]]):
    name, texts = named
    end, sign = ("。？！”", "，。？！；：") if name == "modern" else (".?!", ",.?!:")
    letters = r"[一-鿿，。？！；：“”]+" if name == "modern" else r"[A-Za-z',.?!: ]+"
    for text in texts:
        assert text[-1] in end and re.fullmatch(letters, text), text
        assert not re.search(rf"[{sign}]{{2}}|^[{sign}]|  | [{sign}]|^ | $", text), text
        assert text.count("“") == text.count("”")
        assert 1 <= len(re.findall(rf"[{end}]", text)) <= 10 and len(text) < 240, text
        if name == "english":
            assert not re.search(r"(?:^|[.?!] )[a-z]|\b[Aa] [aeiou]|\b[Aa]n [^aeiou]", text), text
            assert re.search("[^'s] ", text)


def test_it_covers_the_article_and_the_exhibits(named: tuple[str, list[str]]):
    name, texts = named
    seen = set("".join(texts))
    assert set(ARTICLE[name]) <= seen
    for definition in all_exhibits():
        own = [text for text in definition.texts if set(text) - {" "} <= seen]
        assert own, f"{definition.name} has no text for a model of {name}"


def test_it_refers_to_the_first_named(named: tuple[str, list[str]]):
    """它 and it: what is said of it fits the one that it stands for, not the other one."""
    name, texts = named
    if name == "modern":
        found = [
            re.search("没有过(.+?)，因为它太(.)了。(这.(.+?)(?:上|有|刚|没|水|下|木)|它在)", t)
            for t in texts
        ]
        rows = [match for match in found if match]
        assert len(rows) > 1000
        for row in rows:
            assert (row[2] in "累饿老小怕困") == row[3].startswith("它在"), row[0]
    else:
        found = [
            re.search(
                r"cross the (\w+) because it was too (\w+)\. It (rest|slept|lay|sat|took|went)",
                t,
            )
            for t in texts
        ]
        rows = [match for match in found if match]
        assert len(rows) > 1000
        assert not {row[2] for row in rows} & {"wide", "deep", "narrow", "high", "busy"}


def test_who_bites_whom(named: tuple[str, list[str]]):
    """Both orders are said of the same two, and the bitten one is hurt."""
    name, texts = named
    pattern = (
        "^([^，。]+)咬([^，。没]+)，([^，。也]+)(很疼|受伤了|哭了)"
        if name == "modern"
        else (r"^(\w+) bites (\w+)\. (\w+) (cries|is hurt|bleeds)")
    )
    rows = [match.groups() for text in texts if (match := re.search(pattern, text))]
    pairs = {(a.lower(), b.lower()) for a, b, _, _ in rows}
    assert len(pairs) > 100
    assert sum((b, a) in pairs for a, b in pairs) > 30
    assert all(b.lower() == hurt.lower() for _, b, hurt, _ in rows)


def _texts(dataset: Dataset, tokens: Tokens) -> set[str]:
    ids = tokens.slice(0, tokens.n_tokens)
    ends = np.flatnonzero(ids == dataset.tokenizer.end_id)
    decode = dataset.tokenizer.decode
    return {
        decode(part[part != dataset.tokenizer.end_id].tolist()) for part in np.split(ids, ends)
    } - {""}


@pytest.mark.parametrize("name", WORLDS)
def test_held_out_texts_are_not_in_training(name: str, tmp_path: Path):
    corpus = open_corpus(name)
    dataset = prepare(corpus, folder=tmp_path / "prepared")
    training, held_out = (_texts(dataset, tokens) for tokens in (dataset.train, dataset.val))
    assert len(held_out) > 500
    assert len(training) + len(held_out) == world.TEXTS
    sentences = Counter(s for text in training for s in re.split("[。.？?！!；;]", text))
    for text in held_out:
        long = [s for s in re.split("[。.？?！!；;]", text) if len(re.findall(r"\w", s)) >= 5]
        assert not long or 2 * sum(s in sentences for s in set(long)) < len(set(long)), text
    assert not held_out & training


def test_the_report_says_what_they_are():
    corpus = open_corpus("modern")
    assert isinstance(next(iter(corpus)), Document)
    assert any("not for writing well" in line for line in corpus.report.lines())
