"""``mingyue train``: from a text to a run folder."""

import sys
import time
from typing import Any

from mingyue.cli import settings
from mingyue.cli.flags import Panel, Place
from mingyue.language import tr

EXAMPLES = """
mingyue train
mingyue train songci --minutes 10 --out runs/ci
mingyue train novel.txt --steps 2000 --d-model 128
mingyue train poems.jsonl --position learned --norm layernorm --activation gelu
mingyue train tang --out runs/tang --resume
"""


def brief() -> str:
    return tr("train a model on a text")


def what() -> str:
    return tr(
        "Train a model on a text and write it into a run folder, which is also a model folder of "
        "transformers. Ctrl-C saves; --resume goes on."
    )


def places() -> list[Place]:
    return [
        Place(
            "source",
            "SOURCE",
            tr(
                "tang, songci, modern, english, a .txt .jsonl .csv .parquet file, a folder, or "
                "hf:NAME [tang]"
            ),
            required=False,
        )
    ]


def panels() -> list[Panel]:
    return [
        settings.length(),
        settings.output(),
        settings.model(),
        settings.reading(),
        settings.cutting(),
        settings.training(),
        settings.machine(),
    ]


def run(given: dict[str, Any]) -> int:
    """Train, showing what happens; 0, or 1 when it diverged, or 130 when it was interrupted."""
    started = time.monotonic()
    output = settings.output().said(given)
    config: dict[str, Any] = {}
    for panel in (settings.length(), settings.training(), settings.machine()):
        config |= panel.said(given)
    kept = ("sample_prompt", "keep", "snapshots")
    config |= {name: output[name] for name in kept if name in output}
    data = settings.reading().said(given) | settings.cutting().said(given)
    model = settings.model().said(given)

    from mingyue.cli.live import Live, with_log
    from mingyue.training.run import train

    log = output.get("log")
    with Live(given["source"]) as live:
        if log and model.get("kind") == "ngram":
            live.on_message(tr("--log has no effect on an n-gram model: it has no steps"))
            log = None
        result = train(
            given["source"],
            output.get("out"),
            model=model,
            config=config,
            data=data,
            resume=bool(output.get("resume")),
            observer=with_log(live, log),
            command=["mingyue", *sys.argv[1:]],
            started=started,
        )
    return {"interrupted": 130, "diverged": 1}.get(result.reason, 0)
