"""An exhibit with every kind of panel in it, for the tests of the renderers."""

import numpy as np

from mingyue.explain.exhibit import Exhibit, Verdict
from mingyue.explain.panels import (
    Bars,
    Curves,
    Matrix,
    Panel,
    Scatter,
    Step,
    Steps,
    Strip,
    Table,
)

TOKENS = [*"▷床前明月光", "↵"]
NASTY = "</script><b>&amp; $x_1$"


def attention(layers: int = 2, heads: int = 3, n: int = len(TOKENS)) -> np.ndarray:
    """Rows that sum to 1, the future 0; [L, H, T, T]."""
    raw = np.random.default_rng(3).random((layers, heads, n, n)) * np.tril(np.ones((n, n)))
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32)


def gallery(chinese: bool = False) -> Exhibit:
    """All seven kinds; with -inf, nan, one page and many, negative numbers, and nasty words."""
    random = np.random.default_rng(4)
    scores = np.where(np.tri(len(TOKENS)) > 0, random.normal(size=(len(TOKENS),) * 2), -np.inf)
    pages = {"layer": ["0", "1"], "head": ["0", "1", "2"]}
    panels: list[Panel] = [
        Matrix(
            title="注意力" if chinese else "attention",
            values=attention(),
            rows=TOKENS,
            columns=TOKENS,
            row_label="asks",
            column_label="is looked at",
            scale="share",
            pages=pages,
            page=(1, 2),
        ),
        Matrix(title="scores", values=scores, rows=TOKENS, columns=TOKENS, scale="signed"),
        Curves(
            title="loss by position",
            x=np.array([1.0, 10.0, 100.0]),
            lines={"rope": np.array([3.0, 2.0, 1.5]), "learned": np.array([3.0, 2.5, np.nan])},
            x_label="position",
            y_label="nats",
            log_x=True,
            marks={"training length": 10.0},
        ),
        Bars(
            title="switched off",
            names=["head 0", "head 1"],
            values=np.array([0.25, -0.125]),
            unit="nats",
            beside={"other": np.array([0.5, 0.0])},
        ),
        Scatter(
            title="a plane",
            points=np.array([[0.0, 1.0], [2.0, -3.0]]),
            names=["月", "日"],
            groups=["sky", "day"],
        ),
        Strip(
            title="what came",
            tokens=TOKENS,
            values=np.linspace(0, 1, len(TOKENS)),
            below=[f"p{i}" for i in range(len(TOKENS))],
            scale="share",
        ),
        Table(title="answers", columns=["x", "p"], rows=[["月", 0.5], ["光", 1e-6]]),
        Steps(title="shapes", steps=[Step("scores", (1, 4, 6, 6), "[B, H, T, T]", "q @ k", NASTY)]),
    ]
    return Exhibit(
        name="gallery",
        title="陈列室" if chinese else "A gallery",
        see="看它。" if chinese else "Look at it.",
        verdicts=[
            Verdict("rows sum to 1", "max 0", True),
            Verdict("heads differ", "0.1", False),
            Verdict("a pair is seen", "no pair", None),
        ],
        panels=panels,
        notes=[NASTY],
    )
