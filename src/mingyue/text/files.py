"""Files that are there whole or not at all.

A crash, a full disk or Ctrl-C in the middle of a write must never leave half a file under a
name that somebody will trust later. So everything is first written under a temporary name in
the same folder (a rename is atomic only within one file system), forced to the disk (``fsync``;
otherwise the new name may reach the disk before the bytes do), and only then renamed. Whoever
looks at the name sees the old file or the new one, never a mixture.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mingyue.errors import UserError
from mingyue.language import tr

# What a disk says while bytes are on their way to it; such an error carries no file name.
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def write_atomic(path: str | Path, content: bytes) -> None:
    """Put ``content`` under ``path``, replacing what was there, whole or not at all.

    Folders on the way are made.

    Raises:
        UserError: it cannot be written (disk full, no permission, a folder has that name).
    """
    with open_atomic(path) as file:
        file.write(content)


@contextmanager
def open_atomic(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write bytes into; it appears under ``path`` when the block ends without error.

        with open_atomic("tokens.bin") as file:
            for part in parts:
                file.write(part)

    Raises:
        UserError: as ``write_atomic``.
    """
    path = Path(path)
    temporary = _temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        if failure := _in_one_line(path, temporary, error):
            raise failure from error
        raise
    finally:
        _remove(temporary)


@contextmanager
def folder_atomic(path: str | Path) -> Iterator[Path]:
    """A new folder to fill; it appears under ``path`` when the block ends without error.

    A folder that was there is replaced as a whole. (Renaming onto a full folder is impossible,
    so between two renames there is a moment in which neither has the name.)

    Raises:
        UserError: it cannot be written, or ``path`` names a file.
    """
    path = Path(path)
    temporary, old = _temporary_beside(path), _temporary_beside(path)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for entry in temporary.rglob("*"):
            if entry.is_file():
                _sync(entry)
            else:
                _sync_folder(entry)
        _sync_folder(temporary)
        if path.is_dir():
            path.rename(old)
        temporary.rename(path)
        _sync_folder(path.parent)
    except OSError as error:
        if failure := _in_one_line(path, temporary, error):
            raise failure from error
        raise
    finally:
        if old.is_dir() and not path.exists():
            old.rename(path)
        _remove(temporary)
        _remove(old)


def _temporary_beside(path: Path) -> Path:
    """A fresh hidden name in the same folder; short, since names have a limit."""
    return path.absolute().parent / f".mingyue-{os.urandom(6).hex()}.tmp"


def _in_one_line(path: Path, temporary: Path, error: OSError) -> UserError | None:
    """The disk's error as a sentence; nothing if the error came from elsewhere.

    The caller's own code runs inside our blocks, and may fail on other files.
    """
    if error.filename is None:
        ours = error.errno in _DISK_ERRORS
    else:
        culprit = Path(os.fsdecode(error.filename))
        places = {path, *path.parents, temporary, *temporary.parents}
        ours = culprit in places or temporary in culprit.parents
    if not ours:
        return None
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return UserError(
            tr("{path}: the disk is full; make room or choose another place", path=path)
        )
    return UserError(tr("{path}: cannot be written: {why}", path=path, why=error.strerror or error))


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a rename last: a name lives in its folder, and the folder has to reach the disk too."""
    if os.name == "nt":  # Windows cannot open a folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EACCES}:  # odd file systems
            raise
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Clear away what is left of a failed write; failing at that too is no news."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
