"""Every dial of training in one place, with its default and its range.

The defaults are the recipe of ``mingyue train`` with no further words: five minutes on the Tang
poems. ``MODEL`` holds the shape of the model that goes with them; sizes not named there are the
defaults of ``ModelConfig``.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.settings import Settings

MINUTES = 5.0
"""How long to train when neither steps nor minutes are given."""

MODEL: dict[str, Any] = {"block_size": 128, "n_layer": 4, "n_head": 4, "d_model": 256}
"""The default model, as settings of ``ModelConfig``."""

MODELS: dict[str, dict[str, Any]] = {
    "lstm": {"block_size": 128, "n_layer": 2, "d_model": 256},
    "gru": {"block_size": 128, "n_layer": 2, "d_model": 256},
    "ngram": {"block_size": 128},
    "word2vec": {"block_size": 128, "d_model": 128},
}
"""The same for the models that a GPT is compared with."""

Rate = Annotated[float, Field(gt=0, le=10)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]


class TrainConfig(Settings):
    """How to train. Exactly one of ``steps`` and ``minutes`` says for how long."""

    # How long
    steps: Count | None = None
    minutes: Annotated[float, Field(gt=0, le=100_000)] | None = None
    epochs: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """The text is read no more often than this, however long there is time; None: no limit."""

    # How much text at once
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 16
    """Rows of ``block_size`` tokens in one step."""
    micro_batch: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Rows in memory at once; their gradients add up to those of the whole batch."""

    # Step sizes
    optimizer: Literal["muon", "adamw"] = "muon"
    """``muon``: Muon for the matrices inside the blocks, AdamW for all else. ``adamw``: AdamW."""
    learning_rate: Rate = 4e-3
    """Of AdamW."""
    matrix_rate: Rate = 0.01
    """Of Muon: the size of an update as a share of an orthogonal matrix."""
    embedding_rate: Rate | None = 0.03
    """Of the embedding and position tables, whose rows are seldom looked up and so take large
    steps; None: ``learning_rate``."""
    head_rate: Rate | None = None
    """Of the output head; None: ``learning_rate``."""
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.95
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.95
    """Of Muon."""
    weight_decay: Annotated[float, Field(ge=0, le=10)] = 0.1
    """Decoupled, of matrices in the blocks and the head; never of tables, norms and biases."""
    clip: Annotated[float, Field(gt=0)] | None = 1.0
    """Largest norm of the whole gradient; None: no limit."""

    # Step sizes over time
    schedule: Literal["wsd", "cosine"] = "wsd"
    warmup: Annotated[int, Field(ge=0, le=1_000_000)] = 20
    """Steps until the full rate is reached; never more than half of all."""
    decay_fraction: Fraction = 0.5
    """Of all steps, the last part over which ``wsd`` lowers the rate."""
    final_rate: Fraction = 0.0
    """What is left of the rate at the end, as a share."""

    # Machine
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Of a CPU; None: torch's own choice."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    compile: bool | Literal["auto"] = "auto"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    # Looking at unseen text
    eval_every: Count | None = None
    """Steps between evaluations; None: a tenth of all steps."""
    eval_tokens: Count | None = 10_000
    """Held-out tokens per evaluation, the first ones; None: all of them. Always the same ones, so
    even few of them tell better from worse."""
    patience: Count | None = None
    """Stop after so many evaluations without a new best; None: never."""
    ema: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Keep a moving average of the weights with this decay, and evaluate and export that."""
    sample_prompt: str | None = ""
    """What to continue at each evaluation; empty: a new text; None: no samples."""
    sample_tokens: Annotated[int, Field(ge=1, le=100_000)] = 64

    # Keeping
    log_every: Count = 10
    keep: Annotated[int, Field(ge=1, le=10_000)] = 2
    """Checkpoints kept besides the best one."""
    snapshots: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Weights kept along the way, to look later at how something was learned; 0: none."""

    # Given vectors for the characters (SPEC A1)
    embeddings: str | None = None
    """A file of vectors to start the embedding table from."""
    freeze_embeddings: bool = False
    """Leave the given vectors as they are."""

    @model_validator(mode="before")
    @classmethod
    def _how_long(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        steps, minutes = values.get("steps"), values.get("minutes")
        if steps is None and minutes is None:
            return {**values, "minutes": MINUTES}
        if steps is not None and minutes is not None:
            raise UserError(tr("give either steps or minutes, not both"))
        return values

    @model_validator(mode="after")
    def _fits_together(self) -> "TrainConfig":
        if self.micro_batch is not None and self.micro_batch > self.batch_size:
            raise UserError(
                tr(
                    "micro_batch {micro} is larger than batch_size {batch}; it is a part of it",
                    micro=self.micro_batch,
                    batch=self.batch_size,
                )
            )
        if self.freeze_embeddings and self.embeddings is None:
            raise UserError(
                tr(
                    "freeze_embeddings keeps given vectors as they are, but none are given; name "
                    "them with --embeddings"
                )
            )
        return self


class DataConfig(Settings):
    """How to read and cut the text: what ``open_corpus`` and ``prepare`` are asked for."""

    script: Literal["as-is", "traditional", "simplified"] = "as-is"
    encoding: str | None = None
    documents: Literal["auto", "file", "line", "blank"] = "auto"
    text_field: str | None = None
    tokenizer: Literal["char", "byte", "bpe"] = "char"
    vocab_size: Annotated[int, Field(ge=257, le=1_000_000)] = 8192
    """Of BPE only."""
    min_count: Count = 1
    """Characters seen less often become the unknown token."""
    val_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.05
    split_seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Decides which documents are held out; apart from the training's seed, so that runs with
    different seeds can be compared."""
    headings: bool | None = None
    """About a quarter of the training documents begin with form, author and title; None: none do,
    until a run begins, which settles it by its text and model (``recipe``)."""
    held_out: str | None = None
    """Another text to hold out, whole, and read like the first; then no share of that is."""

    @model_validator(mode="before")
    @classmethod
    def _one_way_to_hold_out(cls, values: Any) -> Any:
        if not isinstance(values, dict) or values.get("held_out") is None:
            return values
        if values.get("val_fraction", 0) != 0:
            raise UserError(
                tr("--held-out and --val-fraction both say what to validate on; give one of them")
            )
        return {**values, "val_fraction": 0.0}
