"""``mingyue compare``: several models side by side, all on the same held-out documents."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mingyue.cli import poems, settings
from mingyue.cli.flags import SWITCH, Flag, Panel, Place, text
from mingyue.cli.reading import refuse_unread
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.cli.compared import Run
    from mingyue.evaluation.verse import Verse
    from mingyue.text.verse import Form

EXAMPLES = """
mingyue compare runs/tang runs/lstm runs/ngram
mingyue compare runs/tang runs/lstm --figure compared.png
mingyue compare runs/tang runs/lstm --verse --form 七绝
mingyue compare runs/tang runs/songci --on poems.txt --documents blank --json
"""


def brief() -> str:
    return tr("put several models side by side")


def what() -> str:
    return tr(
        "Put several models side by side: size, time, and the loss on the documents that all of "
        "them held out. By the character it compares models with different tokens, and a GPT with "
        "what came before it."
    )


def places() -> list[Place]:
    return [Place("folders", "RUN …", tr("run folders, two or more"), many=True)]


def panels() -> list[Panel]:
    return [_which(), poems.panel(), _form(), settings.reading()]


def _which() -> Panel:
    return Panel(
        tr("Evaluation"),
        [Flag("on", text("SOURCE"), tr("all of this text instead"), tr("their held-out text"))],
    )


def _form() -> Panel:
    return Panel(
        tr("Form"),
        [
            Flag("figure", text("FILE"), tr("draw into this .svg, .png or .html too")),
            Flag("dark", SWITCH, tr("light on dark, in .svg and .png"), option="--dark"),
            Flag("json", SWITCH, tr("as a JSON object"), option="--json"),
        ],
    )


def run(given: dict[str, Any]) -> int:
    """Print the table, and draw it if so asked; on Ctrl-C of the models that were ready."""
    on, reading = _which().said(given).get("on"), settings.reading().said(given)
    wanted, form = poems.asked(poems.panel().said(given)), _form().said(given)
    refuse_unread(reading, on)
    folders = given["folders"]
    if len(set(folders)) < max(2, len(folders)):
        raise UserError(tr("name two runs or more, each of them once"))

    from mingyue.cli import figures
    from mingyue.cli.compared import judge, measured, opened
    from mingyue.cli.comparison import to_json
    from mingyue.cli.main import INTERRUPTED
    from mingyue.cli.waiting import Waiting

    path, as_json = figures.target(form, whole=False), form.get("json", False)
    with Waiting() as waiting:
        runs, notes = opened(folders, on, reading, waiting.phase)
        runs = measured(runs, wanted, waiting.phase)
        real = judge(runs, wanted, waiting.phase) if wanted else None
    kind = wanted.form if wanted else None
    if as_json:
        print(json.dumps(to_json(runs, real, notes), ensure_ascii=False))
    else:
        _print(runs, real, kind, notes)
    if path is not None:
        _draw(path, runs, real, kind, notes, dark=form.get("dark", False))
        figures.say_written(path, errors=as_json)
    stopped = len(runs) < len(folders) or (wanted and any(len(r.texts) < wanted.n for r in runs))
    return INTERRUPTED if stopped else 0


def _print(
    runs: "Sequence[Run]", real: "Verse | None", form: "Form | None", notes: "Sequence[str]"
) -> None:
    from mingyue.cli.columns import print_columns
    from mingyue.cli.comparison import rows, sample, titles
    from mingyue.cli.screen import console, number, print_pairs, visible

    out, first = console(), runs[0].held_out
    print_columns(out, titles(runs, real), rows(runs, real, form))
    out.print()
    print_pairs(out, [(run.name, sample(run)) for run in runs])
    counted = tr(
        "on {documents} documents, {characters} characters",
        documents=number(first.n_documents),
        characters=number(first.n_characters),
    )
    of_verse = poems.notes(runs[0].verse, form, real) if real and runs[0].verse else ()
    for note in [counted, *notes, *of_verse]:
        out.print(visible(note), style="dim")


def _draw(
    path: str,
    runs: "Sequence[Run]",
    real: "Verse | None",
    form: "Form | None",
    notes: "Sequence[str]",
    *,
    dark: bool,
) -> None:
    """A page is in both languages."""
    from mingyue import language
    from mingyue.cli import figures
    from mingyue.cli.comparison import exhibit
    from mingyue.cli.looking import languages

    exhibits = {}
    for each in languages(path):
        with language.speaking(each):
            exhibits[each] = [exhibit(runs, real, form, notes)]
    figures.write(path, exhibits, dark=dark)
