"""The text that a run was trained on, found again for ``eval``."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset

Progress = Callable[[str, float], None]


def own_text(about: Mapping[str, Any], folder: str, progress: Progress) -> "Dataset":
    """The text that a run was trained on, divided as it was then.

    Raises:
        UserError: the run does not say, the text is not there any more, or it has changed.
    """
    from mingyue.training.config import DataConfig
    from mingyue.training.reading import read, tokenise

    try:
        source = str(about["recipe"]["source"])
        how = DataConfig.checked(**about["recipe"]["data"])
        fingerprint = about["data"]["fingerprint"]
    except (KeyError, TypeError):
        raise UserError(
            tr("{folder}: does not say what it was trained on; name a text by --on", folder=folder)
        ) from None
    try:
        dataset = tokenise(read(source, how), how, progress)
    except UserError as error:
        raise UserError(tr("{why} (name another text by --on)", why=error)) from error
    if dataset.fingerprint != fingerprint:
        raise UserError(
            tr(
                "{source}: has changed since {folder} was trained on it, so what was held out is "
                "not known any more; name a text by --on",
                source=source if how.held_out is None else f"{source}, {how.held_out}",
                folder=folder,
            )
        )
    return dataset
