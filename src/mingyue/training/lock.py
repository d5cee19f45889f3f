"""One training at a time in a run folder.

Two processes that write the same checkpoints would each remove what the other counts on. So a
session holds a lock on a file in its folder from before its first write to its end. The lock is
the operating system's and belongs to the process: it is gone with the process, however that
ended, so a file left by ``kill -9`` bars nobody.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mingyue.errors import UserError
from mingyue.language import tr

LOCK = "training.lock"

_TAKEN = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Make ``folder`` if need be and keep it to this process while the block runs.

    If the block fails before anything was put into it, a folder made here is removed again.

    Raises:
        UserError: another training holds it, or it cannot be written.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    path = folder / LOCK
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = _open(path)
        except OSError as error:
            why = error.strerror or error
            raise UserError(tr("{path}: cannot be written: {why}", path=folder, why=why)) from error
        try:
            yield
        finally:
            _release(path, handle)
    finally:
        for empty in made:  # only what is empty goes
            with suppress(OSError):
                empty.rmdir()


def _open(path: Path) -> int:
    """The locked file, as a handle of the operating system."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            if error.errno in _TAKEN:
                os.close(handle)
                raise UserError(
                    tr("{folder}: another training is at work in it", folder=path.parent)
                ) from None
            # Some network file systems know no locks; a run there is as safe as it can be.
            return handle
        # Whoever held it may have removed the file between the two calls; then this is the lock
        # on a file that nobody else will find.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _release(path: Path, handle: int) -> None:
    if os.name == "nt":  # Windows removes no open file
        os.close(handle)
    with suppress(OSError):  # in use by the next one, or gone
        path.unlink()
    if os.name != "nt":  # elsewhere the name goes first, while it is surely ours
        os.close(handle)
