"""The dial's choices in words, each with its reason."""

from collections.abc import Collection, Sequence

from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.training import law
from mingyue.training.dial import Rung
from mingyue.training.observe import Choice
from mingyue.training.recipe import Asked, Recipe


def told(recipe: Recipe, asked: Asked, best: Rung, seen: Sequence[Rung]) -> list[Choice]:
    """A line for each thing that was chosen or asked for."""
    model, train = best.model, recipe.train
    steps = int(best.tokens / best.batch)
    rates = ("matrix_rate", "embedding_rate", "learning_rate")
    if model.kind == "word2vec" or train.optimizer == "adamw":  # nothing that Muon moves
        rates = rates[1:]

    def choice(name: str, value: str, settings: Collection[str], why: str) -> Choice:
        said = set(settings) & (set(asked.model) | set(asked.train))
        return Choice(name, value, tr("as asked for") if said == set(settings) else why)

    shape = {"gpt": ("d_model", "n_layer", "n_head"), "word2vec": ("d_model",)}
    return [
        choice(
            tr("model"),
            _shape(model),
            shape.get(model.kind, ("d_model", "n_layer")),
            tr("the usual one") if model.kind == "word2vec" else _best_of(best, seen),
        ),
        choice(
            tr("block_size"),
            str(model.block_size),
            ("block_size",),
            tr("as long as most documents, shorter while little can be read"),
        ),
        choice(
            tr("batch"),
            tr("{rows}, {tokens} tokens", rows=_rows(best.rows), tokens=f"{best.batch:,}"),
            ("batch_size",),
            tr(
                "steps: about {steps}; smaller ones teach more, larger ones go faster",
                steps=f"{steps:,}",
            ),
        ),
        choice(
            tr("rates"),
            " · ".join(f"{getattr(train, name) or train.learning_rate:g}" for name in rates),
            rates,
            tr("tables, the rest; for steps of this size")
            if "matrix_rate" not in rates
            else tr("matrices, tables, the rest; for steps of this size"),
        ),
        choice(
            tr("reading"),
            _times(best),
            ("epochs",),
            _reading(best),
        ),
        choice(
            tr("machine"),
            f"{best.way.precision}, " + _threads(best.way.threads),
            ("precision", "threads"),
            tr("the fastest here: {speed} tokens a second", speed=f"{best.speed:,.0f}"),
        ),
    ]


def _shape(model: ModelConfig) -> str:
    sizes = {"layers": model.n_layer, "width": model.d_model}
    match model.kind:
        case "gpt":
            return tr("{layers} × {width}, {heads} heads", heads=model.n_head, **sizes)
        case "word2vec":
            return str(model.d_model)
        case _:
            return tr("{kind} {layers} × {width}", kind=model.kind.upper(), **sizes)


def _best_of(best: Rung, seen: Sequence[Rung]) -> str:
    """How much worse its neighbours would do."""
    others = [
        tr(
            "{layers} × {width} {loss}",
            layers=rung.model.n_layer,
            width=rung.model.d_model,
            loss=f"+{max(0.0, rung.loss - min(r.loss for r in seen)):.2f}",
        )
        for rung in seen
        if (rung.model.n_layer, rung.model.d_model) != (best.model.n_layer, best.model.d_model)
    ]
    if not others:
        return tr("the smallest one; there is little time or little text")
    return tr("lowest expected loss; {others}", others=", ".join(others[-3:]))


def _times(best: Rung) -> str:
    return tr("{times} times", times=f"{best.tokens / best.unique:.2g}")


def _rows(count: int) -> str:
    return tr("1 row") if count == 1 else tr("{n} rows", n=count)


def _threads(count: int) -> str:
    return tr("1 thread") if count == 1 else tr("{n} threads", n=count)


def _reading(best: Rung) -> str:
    if best.capped:
        return tr(
            "more often, a model of this size learns so short a text by heart; ends early, more "
            "text would help"
        )
    if best.tokens > law.OFTEN * best.unique:
        return tr("the text is short: read so often, each time teaches less")
    return tr("how often the text is read in this time")
