"""What headings cost, and how much they steer.

    mingyue train tang --headings    --steps 1000 … --seed 1 --out runs/with-1     (and seed 2)
    mingyue train tang --no-headings --steps 1000 … --seed 1 --out runs/without-1
    python benchmarks/headings.py --plain runs/without-* --headed runs/with-* [--samples 60]

The cost is in nats per token over all held-out poems, which are the same ones and plain for every
run. The rest is asked of each run with headings. *Losses*: of the held-out poems that fit into the
context behind a heading, without one, with their own, and with that of another poem. *Form*: the
share of samples that have the form asked for. *Author*: the share of a sample's 汉字 that are
among the author's hundred most characteristic ones, with the heading of that author and without
one, beside the author's own poems. *Title*: the share of a title's 汉字 that occur in the poem.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log
from statistics import fmean

import numpy as np
import torch

import mingyue
from mingyue.data import prepare
from mingyue.evaluation.loss import evaluate
from mingyue.generation.writer import Writer
from mingyue.model.loss import IGNORED
from mingyue.text.cleaning import is_han
from mingyue.text.corpus import open_corpus
from mingyue.text.document import Document
from mingyue.text.verse import REGULATED, form_of
from mingyue.text.verse.heading import OPEN, author_of, heading, spelt, title_of

AUTHORS = ("李白", "白居易", "寒山")
TITLES = ("春夜", "秋江", "邊塞", "落花", "送友人")
CHARACTERISTIC = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plain", nargs="*", default=[], help="runs without headings")
    parser.add_argument("--headed", nargs="+", required=True, help="runs with headings")
    parser.add_argument("--samples", type=int, default=60, help="for each heading")
    asked = parser.parse_args()

    for kind, folders in (("without", asked.plain), ("with", asked.headed)):
        losses = [_plain_loss(mingyue.load(folder)) for folder in folders]
        for folder, loss in zip(folders, losses, strict=True):
            print(f"{kind:8} headings  {loss:.4f}  {folder}", flush=True)
        if losses:
            print(f"{kind:8} headings  {fmean(losses):.4f}  mean")
    for folder in asked.headed:
        print(f"\n{folder}")
        writer = mingyue.load(folder)
        train, held_out = _poems(writer)
        _losses(writer, held_out)
        _beginning(writer)
        _forms(writer, held_out, asked.samples)
        _authors(writer, train, asked.samples)
        _titles(writer, held_out, asked.samples)


def _plain_loss(writer: Writer) -> float:
    data = prepare(open_corpus("tang"), writer.tokenizer)
    return evaluate(writer.model, data.val, end_id=data.tokenizer.end_id).nats_per_token


def _poems(writer: Writer) -> tuple[list[Document], list[Document]]:
    """The training and the held-out poems, with what is known about them."""
    data = prepare(open_corpus("tang"), writer.tokenizer)
    held = {
        data.tokenizer.decode(data.val.document(i).tolist()) for i in range(data.val.n_documents)
    }
    sides: tuple[list[Document], list[Document]] = ([], [])
    for poem in open_corpus("tang"):
        sides[poem.text in held].append(poem)
    return sides


# ---- losses of real poems ----------------------------------------------------------------------


def _losses(writer: Writer, poems: list[Document]) -> None:
    """Of poems without, behind their own heading, and behind another poem's."""
    known = writer.tokenizer.knows
    parts: dict[str, Callable[[Document], str]] = {
        "form": lambda poem: heading(form=spelt(form_of(poem.text) or "", known)),
        "author": lambda poem: heading(author=author_of(poem.author)),
        "title": lambda poem: heading(title=title_of(poem.title)),
        "all three": lambda poem: heading(
            spelt(form_of(poem.text) or "", known), author_of(poem.author), title_of(poem.title)
        ),
    }
    print("nats per token       none     own   other  poems")
    for name, of in parts.items():
        some = [p for p in poems if of(p) and all(map(known, of(p)))]
        some = [p for p in some if len(of(p)) + len(p.text) < writer.model.config.block_size - 12]
        random.seed(1)
        others = [_another(of(poem), some, of) for poem in some]
        _row(writer, name, some, list(map(of, some)), others)
    for author in AUTHORS:
        some = [p for p in poems if p.author == author]
        some = [p for p in some if len(p.text) < writer.model.config.block_size - 12]
        other = AUTHORS[(AUTHORS.index(author) + 1) % len(AUTHORS)]
        own, others = heading(author=author), heading(author=other)
        _row(writer, author, some, [own] * len(some), [others] * len(some))


def _row(
    writer: Writer, name: str, poems: list[Document], own: list[str], others: list[str]
) -> None:
    if not poems:
        return
    texts = [poem.text for poem in poems]
    losses = (_nats(writer, heads, texts) for heads in ([""] * len(texts), own, others))
    print(f"  {name:16}", *(f"{loss:7.3f}" for loss in losses), f"{len(texts):6,}", flush=True)


def _another(own: str, poems: list[Document], of: Callable[[Document], str]) -> str:
    """The heading of a poem drawn at random that has another one."""
    while (other := of(random.choice(poems))) == own:
        pass
    return other


@torch.no_grad()
def _nats(writer: Writer, heads: Sequence[str], texts: Sequence[str]) -> float:
    """Mean nats per token of the texts, ends included, each behind its heading."""
    encode, end = writer.tokenizer.encode, writer.tokenizer.end_id
    total = count = 0
    for start in range(0, len(texts), 64):
        rows = [
            ([end, *encode(head)], [*encode(text), end])
            for head, text in zip(heads[start : start + 64], texts[start : start + 64], strict=True)
        ]
        T = max(len(before) + len(after) for before, after in rows) - 1
        x = np.full((len(rows), T), end, np.int64)
        y = np.full((len(rows), T), IGNORED, np.int64)
        for i, (before, after) in enumerate(rows):
            n = len(before) + len(after) - 1
            x[i, :n] = [*before, *after][:-1]
            y[i, len(before) - 1 : n] = after
        total += float(writer.model.nats(torch.from_numpy(x), torch.from_numpy(y)))
        count += sum(len(after) for _, after in rows)
    return total / count


# ---- samples -----------------------------------------------------------------------------------


@torch.no_grad()
def _beginning(writer: Writer) -> None:
    """How likely a text that begins of its own begins with a heading."""
    ids = torch.tensor([[writer.tokenizer.end_id]])
    chances = writer.model(ids).logits[0, -1].softmax(-1)
    share = float(chances[writer.tokenizer.encode(OPEN)[0]])
    print(f"probability of {OPEN} as the first character: {share:.1e}")


def _samples(writer: Writer, n: int, **parts: str) -> list[str]:
    done = writer.generate(heading(**parts), n=n, seed=1, temperature=0.8, max_tokens=160)
    return [one.text for one in done]


def _forms(writer: Writer, poems: list[Document], n: int) -> None:
    free = Counter(form_of(text) for text in _samples(writer, 4 * n))
    real = Counter(form_of(poem.text) for poem in poems)
    print("form                asked  unasked  held-out poems")
    for form in REGULATED:
        found = _samples(writer, n, form=spelt(form, writer.tokenizer.knows))
        share = fmean(form_of(text) == form for text in found)
        print(
            f"  {form:15}{share:7.0%}{free[form] / (4 * n):9.0%}{real[form] / len(poems):16.0%}",
            flush=True,
        )


def _authors(writer: Writer, poems: list[Document], n: int) -> None:
    everybody = _han(poem.text for poem in poems)
    plain = _samples(writer, 4 * n)
    print("characteristic 汉字   asked  unasked  own poems   others'")
    for author in AUTHORS:
        own = _han(poem.text for poem in poems if poem.author == author)
        marked = _characteristic(own, everybody)
        found = _samples(writer, n, author=author)
        shares = [_share(_han(found), marked), _share(_han(plain), marked)]
        shares += [_share(own, marked), _share(everybody, marked)]
        print(f"  {author:12}" + "".join(f"{share:10.1%}" for share in shares), flush=True)


def _characteristic(own: Counter[str], everybody: Counter[str]) -> set[str]:
    """Those that add most to the divergence of the author's distribution from everybody's."""
    n, m = own.total(), everybody.total()
    weight = {c: k / n * log((k / n) / (everybody[c] / m)) for c, k in own.items()}
    return set(sorted(weight, key=weight.__getitem__)[-CHARACTERISTIC:])


def _han(texts: Iterable[str]) -> Counter[str]:
    return Counter(filter(is_han, "".join(texts)))


def _share(counts: Counter[str], marked: set[str]) -> float:
    return sum(counts[c] for c in marked) / max(1, counts.total())


def _titles(writer: Writer, poems: list[Document], n: int) -> None:
    plain = _samples(writer, 4 * n)
    print("title's 汉字 in poem    asked  unasked")
    for title in TITLES:
        found = _samples(writer, n, title=title)
        print(f"  {title:14}{_within(title, found):12.0%}{_within(title, plain):9.0%}", flush=True)
    real = [(title_of(poem.title), poem.text) for poem in poems if title_of(poem.title)]
    shuffled = [text for _, text in real[1:]] + [real[0][1]]
    own = fmean(_within(title, [text]) for title, text in real)
    other = fmean(_within(t, [text]) for (t, _), text in zip(real, shuffled, strict=True))
    print(f"  held-out poems, their own title {own:.0%}, another one's {other:.0%}")


def _within(title: str, texts: list[str]) -> float:
    return fmean(fmean(c in text for c in title) for text in texts)


if __name__ == "__main__":
    main()
