"""Another run that an exhibit is told to look at beside its own."""

import shlex
from collections.abc import Collection

from mingyue.errors import UserError
from mingyue.explain.subject import Subject
from mingyue.interop.run_folder import load_model
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel


def command(subject: Subject, kind: str, folder: str) -> str:
    """What trains such a run on the same text."""
    recipe = subject.writer.about.get("recipe", {})
    source = shlex.quote(str(recipe["source"])) if "source" in recipe else "TEXT"
    return f"mingyue train {source} --model {kind} --minutes 5 --out {folder}"


def other_run(subject: Subject, folder: str, kinds: Collection[str]) -> LanguageModel:
    """The model in ``folder``, which must be of one of ``kinds`` and know the same tokens.

    Raises:
        UserError: it cannot be read, is of another kind, or numbers other tokens.
    """
    model, tokenizer, _ = load_model(folder, subject.model.device)
    if model.config.kind not in kinds:
        raise UserError(
            tr(
                "{folder}: is a model of the kind {kind}; train one by --model {kinds}",
                folder=folder,
                kind=model.config.kind,
                kinds="|".join(kinds),
            )
        )
    if tokenizer.fingerprint() != subject.tokenizer.fingerprint():
        raise UserError(
            tr(
                "{folder}: has another vocabulary than this run; train it on the same text with "
                "the same tokenizer",
                folder=folder,
            )
        )
    return model
