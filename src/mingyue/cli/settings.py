"""The options of ``mingyue train``: one for each setting that a person may want to turn.

Names are those of ``ModelConfig``, ``DataConfig`` and ``TrainConfig``; a test holds names and
defaults equal to theirs. They are written out here because reading them there would load
pydantic, and help must come at once.
"""

from mingyue.cli.flags import SWITCH, Flag, Panel, choice, real, text, whole
from mingyue.language import tr


def length() -> Panel:
    """How long to train."""
    return Panel(
        tr("How long"),
        [
            Flag("minutes", real(above=0, most=100_000), tr("train so long, all told"), "5"),
            Flag("steps", whole(), tr("or exactly so many steps")),
            Flag(
                "epochs",
                real(above=0, most=1_000_000),
                tr("read the text no more often than this"),
                tr("chosen"),
            ),
        ],
    )


def output() -> Panel:
    """Where it goes, and what is said meanwhile."""
    return Panel(
        tr("Output"),
        [
            Flag("out", text("RUN"), tr("the run folder"), "runs/SOURCE"),
            Flag("resume", SWITCH, tr("go on with an interrupted run"), option="--resume"),
            Flag("log", choice("tensorboard"), tr("also write a log for TensorBoard")),
            Flag(
                "sample_prompt",
                text("TEXT"),
                tr("what the samples between go on from"),
                tr("nothing: new texts"),
            ),
            Flag("keep", whole(most=10_000), tr("checkpoints kept besides the best"), "2"),
            Flag(
                "snapshots",
                whole(0, 10_000),
                tr("weights kept along the way, to look at how it learned"),
                "0",
            ),
        ],
    )


def model() -> Panel:
    """The shape of the model."""
    schemes = choice("learned", "sinusoidal", "rope", "alibi", "none")
    return Panel(
        tr("Model"),
        [
            Flag(
                "kind",
                choice("gpt", "lstm", "gru", "ngram", "word2vec"),
                tr("what kind of model; all but gpt are for comparison"),
                "gpt",
                "--model",
            ),
            Flag("n_layer", whole(0, 1000), tr("blocks on top of each other"), "4"),
            Flag("n_head", whole(), tr("attention heads in a block"), "4"),
            Flag(
                "n_kv_head",
                whole(),
                tr("heads of keys and values, shared among the others"),
                tr("as many"),
            ),
            Flag("d_model", whole(), tr("numbers in the vector of a token"), "256"),
            Flag("d_head", whole(), tr("width of a head"), "d_model / n_head"),
            Flag("d_ff", whole(), tr("width of the feed-forward layer"), tr("by activation")),
            Flag("block_size", whole(), tr("tokens the model sees at once"), "128"),
            Flag("position", schemes, tr("how it knows where a token stands"), "rope"),
            Flag(
                "activation",
                choice("gelu", "gelu_tanh", "swiglu", "relu2"),
                tr("what bends in the feed-forward layer"),
                "swiglu",
            ),
            Flag(
                "norm",
                choice("rmsnorm", "layernorm"),
                tr("how vectors are kept in size"),
                "rmsnorm",
            ),
            Flag(
                "qk_norm",
                SWITCH,
                tr("norm queries and keys, or not"),
                tr("on"),
                "--qk-norm/--no-qk-norm",
            ),
            Flag(
                "bias",
                SWITCH,
                tr("add biases in linear layers, or not"),
                tr("off"),
                "--bias/--no-bias",
            ),
            Flag(
                "tie_embeddings",
                SWITCH,
                tr("one table for reading and writing, or two"),
                tr("two"),
                "--tie/--untie",
            ),
            Flag(
                "causal",
                SWITCH,
                tr("see only what came before, or both sides and guess masked tokens"),
                tr("before"),
                "--causal/--bidirectional",
            ),
            Flag("dropout", real(least=0, below=1), tr("share of numbers dropped at random"), "0"),
            Flag("order", whole(1, 9), tr("of ngram: tokens, the guessed one included"), "4"),
            Flag("window", whole(1, 100), tr("of word2vec: company on either side"), "5"),
            Flag("negatives", whole(1, 1000), tr("of word2vec: random tokens for a pair"), "5"),
        ],
    )


def reading() -> Panel:
    """How files are read; shared by ``train``, ``data`` and ``eval --on``."""
    return Panel(
        tr("Reading"),
        [
            Flag(
                "script",
                choice("as-is", "traditional", "simplified"),
                tr("convert Chinese characters"),
                "as-is",
            ),
            Flag("encoding", text("NAME"), tr("encoding of the files"), tr("found out")),
            Flag(
                "documents",
                choice("auto", "file", "line", "blank"),
                tr("what one document is: a file, a line, a block between blank lines"),
                "auto",
            ),
            Flag("text_field", text("NAME"), tr("column or key of the text in tables"), "text"),
        ],
    )


def cutting() -> Panel:
    """How the text becomes tokens and is divided."""
    return Panel(
        tr("Tokens"),
        [
            Flag("tokenizer", choice("char", "byte", "bpe"), tr("what a token is"), "char"),
            Flag("vocab_size", whole(257, 1_000_000), tr("tokens of bpe"), "8192"),
            Flag("min_count", whole(), tr("rarer characters become the unknown one"), "1"),
            Flag(
                "headings",
                SWITCH,
                tr("let a quarter of the texts begin with form, author and title, or none"),
                tr("for verse"),
                "--headings/--no-headings",
            ),
            Flag("val_fraction", real(least=0, most=0.5), tr("share of the text held out"), "0.05"),
            Flag("split_seed", whole(0, 2**63 - 1), tr("decides which documents are"), "0"),
            Flag("held_out", text("SOURCE"), tr("or hold out all of this text instead")),
        ],
    )


def training() -> Panel:
    """How it learns."""
    return Panel(
        tr("Training"),
        [
            Flag("batch_size", whole(most=1_000_000), tr("rows of text in a step"), "16"),
            Flag(
                "micro_batch",
                whole(most=1_000_000),
                tr("rows in memory at once"),
                tr("all of them"),
            ),
            Flag("optimizer", choice("muon", "adamw"), tr("how weights are moved"), "muon"),
            Flag("learning_rate", real(above=0, most=10), tr("step size of AdamW"), "0.004"),
            Flag("embedding_rate", real(above=0, most=10), tr("of AdamW for tables"), "0.03"),
            Flag("head_rate", real(above=0, most=10), tr("of AdamW for the head"), "0.004"),
            Flag("matrix_rate", real(above=0, most=10), tr("step size of Muon"), "0.01"),
            Flag("weight_decay", real(least=0, most=10), tr("pull of weights to zero"), "0.1"),
            Flag("clip", real(above=0), tr("longest gradient"), "1"),
            Flag("schedule", choice("wsd", "cosine"), tr("step size over time"), "wsd"),
            Flag("warmup", whole(0, 1_000_000), tr("steps to the full step size"), "20"),
            Flag(
                "decay_fraction",
                real(least=0, most=1),
                tr("last part, where wsd slows down"),
                "0.5",
            ),
            Flag("eval_every", whole(), tr("steps between looks at held-out text"), tr("a tenth")),
            Flag("eval_tokens", whole(), tr("held-out tokens in each look"), "10000"),
            Flag("patience", whole(), tr("stop after so many looks without a new best")),
            Flag("ema", real(above=0, below=1), tr("average the weights with this decay")),
            Flag("embeddings", text("FILE"), tr("start from these character vectors")),
            Flag(
                "freeze_embeddings",
                SWITCH,
                tr("and leave them as they are"),
                option="--freeze-embeddings",
            ),
            Flag("seed", whole(0, 2**63 - 1), tr("decides all that is random"), "0"),
        ],
    )


def machine() -> Panel:
    """Where and how it calculates."""
    return Panel(
        tr("Machine"),
        [
            Flag("device", choice("auto", "cpu", "cuda", "mps"), tr("where to calculate"), "auto"),
            Flag(
                "precision",
                choice("auto", "fp32", "bf16", "fp16"),
                tr("with how many bits"),
                "auto",
            ),
            Flag("threads", whole(most=4096), tr("threads of the processor"), tr("chosen")),
            Flag(
                "compile",
                SWITCH,
                tr("compile the model first, or not"),
                "auto",
                "--compile/--no-compile",
            ),
        ],
    )
