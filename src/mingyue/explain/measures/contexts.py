"""One word in many contexts: a text taken apart, and the word's vector in each context.

``行人，行路。一行，兩行，數行。`` has a sense in each sentence, a phrase in each clause, and the
word is what most phrases share. Where the model's own text is at hand, its lines with the phrase
are the contexts; else the phrases are. The word can be looked at in three ways:

- ``itself``  the context is read, and the word's own vector taken. In a causal model it has not
              seen what follows.
- ``later``   the context is read and a comma after it; the comma has seen all of the context.
- ``left``    the context, a comma, and the word once more, which now has its cue to the left.

The token looked at is the same in all contexts, so what differs in its vector came from them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.text.tokenizer import Tokenizer

Way = Literal["itself", "later", "left"]
MOST = 24
"""Contexts that are looked at; more would be unreadable."""
LONGEST, SCANNED = 24, 10_000_000
"""Tokens of a line that is taken from a text, and of the text that is looked through."""
RELABELLINGS = 999
SENTENCE, CLAUSE = r"[。.！!？?；;\n]+", r"[，,、：:]+"


@dataclass(frozen=True)
class Context:
    """A line with the word in it."""

    line: str
    end: int  # where the word ends in it
    phrase: int  # which phrase of the given text it is an example of
    sense: int  # in which sentence that stands


@dataclass(frozen=True)
class Contexts:
    """A word, and lines with it."""

    word: str
    phrases: Sequence[str]
    items: Sequence[Context]

    @property
    def lines(self) -> list[str]:
        return [item.line for item in self.items]


def take_apart(text: str, word: str = "") -> Contexts:
    """The clauses that have the word; without one, the word that most of them share.

    Raises:
        UserError: fewer than two clauses share a word.
    """
    found = [
        (clause.strip(), sense)
        for sense, sentence in enumerate(re.split(SENTENCE, text))
        for clause in re.split(CLAUSE, sentence)
        if clause.strip()
    ]
    if not word:
        counts = Counter(w for clause, _ in found for w in dict.fromkeys(_words(clause)))
        word = max(counts, key=lambda w: (counts[w], len(w)), default="")
    having = [(clause, sense) for clause, sense in found if word and word in clause][:MOST]
    if len(having) < 2:
        raise UserError(
            tr(
                "context: no two clauses of {text} share a word; give a sentence for each sense, "
                "a clause for each phrase with it, as {example}",
                text=repr(text[:20]),
                example="行人，獨行。一行，兩行。",
            )
        )
    number = {sense: i for i, sense in enumerate(dict.fromkeys(sense for _, sense in having))}
    items = [
        Context(clause, clause.index(word) + len(word), i, number[sense])
        for i, (clause, sense) in enumerate(having)
    ]
    return Contexts(word, [clause for clause, _ in having], items)


def _words(clause: str) -> list[str]:
    """Words between blanks; each Chinese character is one."""
    return re.findall(r"[\u3400-\u9fff\U00020000-\U0003ffff]|[^\W\d_\u3400-\u9fff]+", clause)


def in_text(contexts: Contexts, tokens: Tokens, tokenizer: Tokenizer, each: int) -> Contexts:
    """The same phrases as they stand in a text, up to ``each`` lines of it for each of them; a
    phrase that it does not have stays alone."""
    ids = np.asarray(tokens.slice(0, min(tokens.n_tokens, SCANNED)))
    items: list[Context] = []
    each = max(1, min(each, MOST // len(contexts.phrases)))
    for alone in contexts.items:
        phrase = contexts.phrases[alone.phrase]
        found = [
            Context(line, line.index(phrase) + alone.end, alone.phrase, alone.sense)
            for line in _lines(ids, tokenizer, phrase, each)
        ]
        items += found or [alone]
    return Contexts(contexts.word, contexts.phrases, items)


def _lines(ids: np.ndarray, tokenizer: Tokenizer, phrase: str, most: int) -> list[str]:
    """Different clauses with the phrase, from places spread over the text."""
    blanks = [""] if tokenizer.unknown(" ") else ["", " "]  # BPE has it as part of the word
    ways = {tuple(tokenizer.encode(blank + phrase)) for blank in blanks}
    places = np.sort(np.concatenate([_places(ids, way) for way in sorted(ways)]))
    if len(places) > 8 * most:
        places = places[np.linspace(0, len(places) - 1, 8 * most).round().astype(int)]
    found: dict[str, None] = {}
    for place in places[np.argsort(np.arange(len(places)) % 8, kind="stable")].tolist():
        before, after = ids[max(0, place - LONGEST) : place], ids[place : place + LONGEST]
        begin = re.split(f"{SENTENCE}|{CLAUSE}", _decoded(tokenizer, before, -1))[-1]
        rest = re.split(f"{SENTENCE}|{CLAUSE}", _decoded(tokenizer, after, 0))[0]
        if phrase in rest:
            found[(begin + rest).strip()] = None
        if len(found) == most:
            break
    return list(found)


def _places(ids: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Where these tokens stand in a row."""
    starts = np.ones(max(0, len(ids) - len(wanted) + 1), bool)
    for i, id in enumerate(wanted):
        starts &= ids[i : len(ids) - len(wanted) + 1 + i] == id
    return np.flatnonzero(starts)


def _decoded(tokenizer: Tokenizer, ids: np.ndarray, which: int) -> str:
    """The part before the first end token, or after the last."""
    cuts = np.flatnonzero(ids == tokenizer.end_id)
    if len(cuts):
        ids = ids[: cuts[0]] if which == 0 else ids[cuts[-1] + 1 :]
    return tokenizer.decode(ids.tolist())


def reading(subject: Subject, contexts: Contexts, item: Context, way: Way) -> tuple[Tensor, int]:
    """Ids [1, T] to be read, and the position to look at."""
    comma = next((c for c in "，,。." if subject.tokenizer.knows(c)), "")
    text, end = item.line, item.end
    if way != "itself":
        blank = " " if " " in text.strip() else ""
        text += comma + (blank + contexts.word if way == "left" else "")
        end = len(text)
    ids = subject.read(text)[:, : subject.model.config.block_size]
    for t in range(1, ids.shape[1]):
        if subject.tokenizer.decode(ids[0, 1 : t + 1].tolist()).startswith(text[:end]):
            return ids, t
    return ids, ids.shape[1] - 1


def vectors(subject: Subject, contexts: Contexts, way: Way) -> Tensor:
    """The vector looked at, [contexts, 1 + layers, C]: its row of the table, then the stream
    after each layer."""
    wanted = lambda name: name == "hook_embed" or name.endswith("hook_resid_post")
    found = []
    for item in contexts.items:
        ids, t = reading(subject, contexts, item, way)
        found.append(torch.stack([x[0, t].float() for x in subject.see(wanted, ids).values()]))
    return torch.stack(found)


def cosines(found: Tensor) -> np.ndarray:
    """Between the contexts, in each layer: [n, L, C] → [L, n, n]."""
    unit = torch.nn.functional.normalize(found.double(), dim=-1).transpose(0, 1)  # [L, n, C]
    return (unit @ unit.mT).numpy()


def within_and_between(
    cosine: np.ndarray, items: Sequence[Context]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean cosine of two contexts of one sense, and of two senses, [L] each; nan without such.

    Two contexts of one phrase are left out: they are alike for the phrase's sake.
    """
    pairs = _pairs(items)
    values = np.stack([cosine[:, i, j] for i, j in pairs], axis=1)  # [L, pairs]
    same = np.array([items[i].sense == items[j].sense for i, j in pairs])
    nothing = np.full(len(cosine), np.nan)
    within = values[:, same].mean(axis=1) if same.any() else nothing
    return within, values[:, ~same].mean(axis=1) if (~same).any() else nothing


def by_chance(cosine: np.ndarray, items: Sequence[Context]) -> float:
    """How often senses dealt out to the phrases anew part the contexts as well as the true ones
    do: by the mean over layers of within - between. ``cosine`` [L, n, n]."""
    mean = cosine.mean(axis=0)  # [n, n]; the difference is linear, so the layers' mean will do
    senses = [sense for _, sense in sorted({(item.phrase, item.sense) for item in items})]
    dealer = np.random.default_rng(0)
    dealt = np.stack([senses, *(dealer.permutation(senses) for _ in range(RELABELLINGS))])
    i, j = np.array(_pairs(items)).T  # [pairs]
    phrase = np.array([item.phrase for item in items])
    same = dealt[:, phrase[i]] == dealt[:, phrase[j]]  # [1 + 999, pairs]
    within = (same * mean[i, j]).sum(axis=1) / same.sum(axis=1)
    between = (~same * mean[i, j]).sum(axis=1) / (~same).sum(axis=1)
    parting = within - between  # [1 + 999], the true one first
    return float((parting >= parting[0] - 1e-12).mean())


def _pairs(items: Sequence[Context]) -> list[tuple[int, int]]:
    """Of contexts with different phrases."""
    pairs = combinations(range(len(items)), 2)
    return [(i, j) for i, j in pairs if items[i].phrase != items[j].phrase]


def seen_alike(subject: Subject, contexts: Contexts) -> list[tuple[int, int]]:
    """Pairs of contexts that are the same up to the word, and go on differently."""
    read = [reading(subject, contexts, item, "itself") for item in contexts.items]
    starts = [(ids[0, : t + 1].tolist(), ids[0].tolist()) for ids, t in read]
    return [
        (i, j)
        for i, j in combinations(range(len(starts)), 2)
        if starts[i][0] == starts[j][0] and starts[i][1] != starts[j][1]
    ]
