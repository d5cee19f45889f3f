"""Why a file cannot be read as text, in one line each."""

from pathlib import Path

from mingyue.errors import UserError
from mingyue.language import tr

SAMPLE = 1 << 18
"""Bytes on which the encoding of a file is judged."""


class BinaryFile(UserError):
    """The file is not text at all; a folder passes over it, alone it is refused."""


def zero_byte(path: Path, at: int) -> UserError:
    """The error for a zero byte in a file that is read as text.

    A file that has one early was never text, and a folder passes over it. One that begins as text
    is more likely damaged: to pass over it would lose that text without a word.
    """
    if at < SAMPLE:
        return BinaryFile(tr("{path}: byte {at} is zero, so it is no text", path=path, at=at))
    return UserError(
        tr(
            "{path}: begins as text, but byte {at} is zero; repair the file, or take it away",
            path=path,
            at=at,
        )
    )


def undecodable(path: Path, encoding: str, at: int, byte: int) -> UserError:
    """The error for a byte that does not fit, at an offset counted from the start of the file."""
    return UserError(
        tr(
            "{path}: byte {at} (0x{byte}) is not valid {encoding}; repair the file, or name its "
            "encoding with --encoding",
            path=path,
            at=at,
            byte=f"{byte:02x}",
            encoding=encoding,
        )
    )


def unreadable(path: Path, error: OSError) -> UserError:
    """The error for a file that the system does not let us read."""
    return UserError(tr("{path}: cannot be read: {why}", path=path, why=error.strerror or error))
