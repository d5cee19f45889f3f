"""How well real poems keep the rules of verse: the figures beside which a model's poems stand.

    python benchmarks/verse_reference.py [SOURCE]

Beside each form of the collection, the same endings drawn at random, and the same characters
shuffled within each poem: what rhyme and metre are worth, and what chance alone would give.
"""

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable

from mingyue.text.corpus import open_corpus
from mingyue.text.verse import REGULATED, classes, form_of, judge, lines_of, tones

DRAWS = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", nargs="?", default="tang")
    asked = parser.parse_args()

    tokens: Counter[str] = Counter()
    poems: dict[str, list[list[str]]] = defaultdict(list)
    for document in open_corpus(asked.source, script="traditional"):
        lines = lines_of(document.text)
        tokens.update("".join(lines))
        form = form_of(document.text)
        if form in REGULATED:
            poems[form].append(lines)

    total = tokens.total()
    known = sum(n for char, n in tokens.items() if classes(char))
    both = sum(n for char, n in tokens.items() if len(tones(char)) == 2)
    print(f"{total} characters, {len(tokens)} types")
    print(f"rhyme class known {known / total:.2%}   read in both tones {both / total:.2%}")

    print(f"{'':16}{'poems':>7}{'rhyme':>8}{'level':>8}{'loose':>8}{'strict':>8}{'licence':>8}")
    begun = time.perf_counter()
    chance = random.Random(0)
    for name in poems:
        _line(name, poems[name])
        _line(f"{name} shuffled", [_shuffled(poem, chance) for poem in poems[name][:2000]])
        endings = [poem[i][-1] for poem in poems[name] for i in REGULATED[name].rhyming]
        count = len(REGULATED[name].rhyming)
        together = sum(
            bool(frozenset.intersection(*map(classes, chance.sample(endings, count))))
            for _ in range(DRAWS)
        )
        print(f"{name} endings at random{together / DRAWS:>10.1%}")
    print(f"{time.perf_counter() - begun:.1f} s")


def _line(name: str, poems: Iterable[list[str]]) -> None:
    judged = [judge("\n".join(poem)) for poem in poems]
    rhymes = [j.rhyme for j in judged if j.rhyme]
    counts = [
        sum(r.holds is True for r in rhymes),
        sum(r.holds is True and r.level for r in rhymes),
        sum(j.loose is not None and j.loose.holds for j in judged),
        sum(j.strict is not None and j.strict.holds for j in judged),
        sum(j.strict is not None and j.strict.holds and any(j.strict.licences) for j in judged),
    ]
    shares = "".join(f"{count / len(judged):>8.1%}" for count in counts)
    print(f"{name:14}{len(judged):>7}{shares}")


def _shuffled(poem: list[str], chance: random.Random) -> list[str]:
    characters = list("".join(poem))
    chance.shuffle(characters)
    width = len(poem[0])
    return ["".join(characters[i : i + width]) for i in range(0, len(characters), width)]


if __name__ == "__main__":
    main()
