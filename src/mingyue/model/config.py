"""Every number that shapes a model, in one place.

The defaults are today's common decoder (RoPE, RMSNorm, SwiGLU, QK-norm: the Qwen3 layout).
``preset("gpt2")`` gives the model of the article: a learned position table, LayerNorm, GELU.
Any word may be changed by itself; what cannot work is refused in one line.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.settings import Settings

Position = Literal["learned", "sinusoidal", "rope", "alibi", "none"]
Activation = Literal["gelu", "gelu_tanh", "swiglu", "relu2"]
Norm = Literal["rmsnorm", "layernorm"]
Kind = Literal["gpt", "lstm", "gru", "ngram", "word2vec"]

IGNORED = -100
"""A target that counts for nothing in the loss; here, since targets are made without torch."""

Count = Annotated[int, Field(ge=1, le=1_000_000)]


class RopeConfig(Settings):
    """Rotary positions: ``base`` sets the slowest wave, ``fraction`` how much of a head turns.

    ``scaling`` stretches a model to ``factor`` times the length it was trained on
    (``original_block_size``): ``linear`` (Chen et al. 2023), ``ntk`` (a larger base), ``yarn``
    (Peng et al. 2023, which keeps the fast waves and slows only the slow ones) or ``llama3``
    (Grattafiori et al. 2024: the same idea, with ``low_turns`` and ``high_turns`` within that
    length as the limits of slow and fast). ``dynamic`` is NTK for texts longer than the block;
    no text here is, so it changes nothing, and is kept for other programs.
    """

    base: float = Field(default=10_000.0, gt=1)
    fraction: float = Field(default=1.0, gt=0, le=1)
    scaling: Literal["none", "linear", "ntk", "yarn", "llama3", "dynamic"] = "none"
    factor: float = Field(default=1.0, ge=1)
    original_block_size: Count | None = None
    low_turns: float = Field(default=1.0, gt=0)
    high_turns: float = Field(default=4.0, gt=0)

    @model_validator(mode="after")
    def _slow_is_below_fast(self) -> Self:
        if self.low_turns >= self.high_turns:
            raise UserError(
                tr(
                    "RoPE: low_turns {low} must be below high_turns {high}",
                    low=self.low_turns,
                    high=self.high_turns,
                )
            )
        return self


class ModelConfig(Settings):
    """The shape of a GPT. Widths left at ``None`` follow from the others.

    ``kind`` may also be one of the models that a GPT is compared with; each takes those few of
    the settings that ``ASKED_OF`` names.

    Raises:
        UserError: when the numbers contradict each other, saying which and how.
    """

    kind: Kind = "gpt"
    vocab_size: Count
    block_size: Count = 256
    n_layer: Annotated[int, Field(ge=0, le=1000)] = 4
    n_head: Count = 4
    n_kv_head: Count | None = None
    d_model: Count = 256
    d_head: Count | None = None
    d_ff: Count | None = None
    activation: Activation = "swiglu"
    norm: Norm = "rmsnorm"
    norm_eps: float = Field(default=1e-6, gt=0, lt=1)
    position: Position = "rope"
    rope: RopeConfig = RopeConfig()
    qk_norm: bool = True
    bias: bool = False
    attention_bias: Literal["qkv", "all"] | None = None
    """Without ``bias``: in attention alone, for Q, K and V (Qwen2, GLM) or its output too."""
    post_norm: bool = False
    """A norm also on what attention and feed-forward found, before the stream takes it (GLM-4)."""
    tie_embeddings: bool = False
    dropout: float = Field(default=0.0, ge=0, lt=1)
    causal: bool = True
    order: Annotated[int, Field(ge=1, le=9)] = 4
    """n-gram: how many tokens, the guessed one included."""
    entries: tuple[Annotated[int, Field(ge=0, le=10**12)], ...] = ()
    """n-gram: how many different ones of each length were counted."""
    window: Annotated[int, Field(ge=1, le=100)] = 5
    """Word2Vec: so many tokens on either side are company."""
    negatives: Annotated[int, Field(ge=1, le=1000)] = 5
    """Word2Vec: random tokens for each pair."""

    @property
    def head_width(self) -> int:
        """``D``, the width of one head: ``d_model / n_head`` unless given."""
        return self.d_head or self.d_model // self.n_head

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values: as many as of queries unless fewer share them."""
        return self.n_kv_head or self.n_head

    @property
    def qkv_bias(self) -> bool:
        """Whether queries, keys and values have biases."""
        return self.bias or self.attention_bias is not None

    @property
    def out_bias(self) -> bool:
        """Whether attention's output has one."""
        return self.bias or self.attention_bias == "all"

    @property
    def ffn_width(self) -> int:
        """``F``: 4 × d_model, or two thirds of that for SwiGLU, whose three matrices then
        hold as many numbers as the two of the others (Shazeer 2020), in steps of 32."""
        if self.d_ff is not None:
            return self.d_ff
        if self.activation == "swiglu":
            return max(32, round(8 * self.d_model / 3 / 32) * 32)
        return 4 * self.d_model

    @property
    def rotary_width(self) -> int:
        """How many of a head's ``D`` dimensions RoPE turns; always even."""
        return int(self.head_width * self.rope.fraction) // 2 * 2

    @property
    def rotary_base(self) -> float:
        """RoPE's base; NTK scaling is nothing but a larger one."""
        if self.rope.scaling != "ntk":
            return self.rope.base
        width = self.rotary_width
        return self.rope.base * self.rope.factor ** (width / max(width - 2, 1))

    @property
    def rotary_length(self) -> int:
        """The length that RoPE scaling stretches: the one given, or a ``factor`` of the block."""
        return self.rope.original_block_size or max(1, round(self.block_size / self.rope.factor))

    @property
    def products(self) -> int:
        """Weights that are multiplied with for each token: all matrices, the head included."""
        if self.kind != "gpt":
            gates = {"lstm": 4, "gru": 3}.get(self.kind, 0)
            scored = self.vocab_size if gates else 2 * self.window * (1 + self.negatives)
            return gates * 2 * self.n_layer * self.d_model**2 + scored * self.d_model
        C, H, Hkv, D, F = (
            self.d_model,
            self.n_head,
            self.kv_heads,
            self.head_width,
            self.ffn_width,
        )
        attention = (H + 2 * Hkv) * D * C + H * D * C
        ffn = (3 if self.activation == "swiglu" else 2) * C * F
        return self.n_layer * (attention + ffn) + self.vocab_size * C

    def flops_per_token(self, T: int) -> int:
        """Floating-point operations of a training step per token in rows of ``T`` tokens.

        Every multiply–add of every matrix product counts as two operations; the backward pass
        makes two such products for each of the forward pass. Attention counts all T columns of
        the square, as computed, not the half the mask leaves.
        """
        attention = 0
        if self.kind == "gpt":
            attention = 2 * self.n_layer * T * self.n_head * self.head_width
        return 3 * 2 * (self.products + attention)

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        if self.kind == "ngram" and len(self.entries) not in (0, self.order):
            raise UserError(
                tr(
                    "entries: {n} numbers, but an n-gram model of order {order} has {order}",
                    n=len(self.entries),
                    order=self.order,
                )
            )
        if self.kind in ("lstm", "gru") and self.n_layer == 0:
            raise UserError(tr("an RNN needs at least one layer; n_layer is 0"))
        if self.kind != "gpt":
            return self
        if self.d_head is None and self.d_model % self.n_head:
            raise UserError(
                tr(
                    "d_model {d_model} cannot be cut into n_head {n_head} equal heads; "
                    "choose a multiple of {n_head}",
                    d_model=self.d_model,
                    n_head=self.n_head,
                )
            )
        if self.n_head % self.kv_heads:
            raise UserError(
                tr(
                    "n_kv_head {n_kv_head} must divide n_head {n_head}",
                    n_kv_head=self.kv_heads,
                    n_head=self.n_head,
                )
            )
        if self.position == "rope" and self.rotary_width < 2:
            raise UserError(
                tr(
                    "RoPE turns pairs of dimensions, but only {width} of a head would turn; "
                    "use wider heads or a larger rope fraction",
                    width=self.rotary_width,
                )
            )
        if self.position == "sinusoidal" and self.d_model % 2:
            raise UserError(
                tr(
                    "sinusoidal positions need an even d_model, not {d_model}",
                    d_model=self.d_model,
                )
            )
        return self


ASKED_OF: dict[str, frozenset[str]] = {
    "lstm": frozenset({"n_layer", "d_model", "block_size", "tie_embeddings", "dropout"}),
    "gru": frozenset({"n_layer", "d_model", "block_size", "tie_embeddings", "dropout"}),
    "ngram": frozenset({"order", "entries", "block_size"}),
    "word2vec": frozenset({"d_model", "window", "negatives", "block_size"}),
}
"""What settings mean something to each kind that is no GPT (a GPT takes all that are not
another kind's)."""


def out_of_place(kind: str, settings: Iterable[str]) -> list[str]:
    """Those of ``settings`` that a model of this kind has no use for."""
    others = frozenset({"order", "entries", "window", "negatives"})
    always = {"kind", "vocab_size"}
    if kind == "gpt":
        return [name for name in settings if name in others]
    return [name for name in settings if name not in ASKED_OF[kind] | always]


PRESETS: dict[str, dict[str, object]] = {
    "gpt2": {
        "position": "learned",
        "norm": "layernorm",
        "norm_eps": 1e-5,
        "activation": "gelu_tanh",
        "qk_norm": False,
        "bias": True,
        "tie_embeddings": True,
    },
    "llama": {"qk_norm": False},
    "qwen2": {"qk_norm": False, "attention_bias": "qkv"},
    "qwen3": {},
    "glm4": {
        "qk_norm": False,
        "attention_bias": "qkv",
        "post_norm": True,
        "rope": {"fraction": 0.5},
    },
}
"""Blocks by the name of the family that made them known; each a few words of the config."""


def preset(name: str) -> dict[str, object]:
    """The settings of a family, to be passed to ``ModelConfig`` with sizes added.

    Raises:
        UserError: for a name that is not there, listing those that are.
    """
    if name not in PRESETS:
        raise UserError(
            tr("{name}: no such preset; there are {known}", name=name, known=", ".join(PRESETS))
        )
    return dict(PRESETS[name])
