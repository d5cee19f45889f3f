"""What lies in a model folder: JSON and tensors, read with the care that strangers' files need.

Nothing is run (there is no pickle here), and no path in a file is followed out of its folder.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors
from torch import Tensor

from mingyue.errors import UserError
from mingyue.language import tr

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"

_PICKLED = {".bin", ".pt", ".pth", ".ckpt"}
_LARGEST_JSON = 64 * 2**20
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]*\.safetensors")


class Stored:
    """The tensors of some safetensors files, read one by one when they are asked for.

    Raises:
        UserError: a file is damaged or none, or two files have a tensor of the same name.
    """

    def __init__(self, files: Sequence[Path]):
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._where: dict[str, Path] = {}
        for path in files:
            try:
                file = safetensors.safe_open(path, framework="pt")
                shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 (not a dict)
            except (safetensors.SafetensorError, OSError, ValueError) as error:
                raise UserError(
                    tr("{path}: damaged or no safetensors file: {why}", path=path, why=error)
                ) from error
            if twice := sorted(shapes.keys() & self._shapes.keys()):
                raise UserError(
                    tr("{path}: {name} is in another file too", path=path, name=repr(twice[0]))
                )
            self._shapes |= shapes
            self._where |= dict.fromkeys(shapes, path)

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Of all tensors, read from the headers."""
        return self._shapes

    def tensor(self, name: str) -> Tensor:
        """One tensor in memory that is the file itself.

        Each time the file is opened anew: so the part of it that was read can leave memory
        together with the tensor, and the whole of a large file is never there at once.
        """
        with safetensors.safe_open(self._where[name], framework="pt") as file:
            return file.get_tensor(name)


def weight_files(folder: Path) -> list[Path]:
    """The files with the weights of a folder: one, or several named by an index.

    Raises:
        UserError: there are none, or only files that could run code.
    """
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not (folder / INDEX).is_file():
        pickled = [p.name for p in folder.glob("*") if p.suffix in _PICKLED]
        if pickled:
            raise UserError(
                tr(
                    "{path}: has only pickled weights ({file}), which can run code when opened; "
                    "get them as safetensors, or convert them where you trust them, with "
                    "save_pretrained of transformers",
                    path=folder,
                    file=repr(min(pickled)),
                )
            )
        raise UserError(tr("{path}: there is no {file}", path=folder, file=WEIGHTS))
    table = read_json(folder / INDEX).get("weight_map")
    files = sorted({str(f) for f in table.values()}) if isinstance(table, Mapping) else []
    for file in files:
        # A plain name, so that an index cannot point out of its folder.
        if not _PLAIN_NAME.fullmatch(file) or not (folder / file).is_file():
            raise UserError(
                tr(
                    "{path}: names {file}, which is no safetensors file of this folder",
                    path=folder / INDEX,
                    file=repr(file),
                )
            )
    if not files:
        raise UserError(tr("{path}: names no files", path=folder / INDEX))
    return [folder / file for file in files]


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        UserError: not there, not JSON, not an object, or larger than any real one.
    """
    if not path.is_file():
        raise UserError(tr("{path}: there is no {file}", path=path.parent, file=path.name))
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise ValueError(tr("larger than 64 MiB"))
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        why = str(error).splitlines()[0]
        raise UserError(tr("{path}: cannot be read as JSON: {why}", path=path, why=why)) from error
    if not isinstance(content, dict):
        raise UserError(tr("{path}: holds no JSON object", path=path))
    return content
