"""Reading a file as a stream of characters, so that it may be larger than memory.

The bytes arrive in chunks that end anywhere: in the middle of a character, between the two halves
of a Windows line end. An incremental decoder keeps what is incomplete until the next chunk.
"""

import codecs
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from mingyue.text.encoding import Encoding
from mingyue.text.refusals import undecodable, unreadable, zero_byte

CHUNK = 1 << 20  # bytes read at a time: pieces have at most about a million characters


def decode(path: Path, encoding: Encoding) -> Iterator[str]:
    """The characters of a file, in pieces of at most about a million, all of it decoded strictly.

    Line ends become ``\\n``. Pieces end at line ends where there are any, and never inside a
    character, a line end, or a letter with its accents.

    Raises:
        BinaryFile: a zero byte near the beginning.
        UserError: a later one, or a byte that does not fit the encoding; says which.
    """
    bytes_decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
    newlines = io.IncrementalNewlineDecoder(bytes_decoder, translate=True)
    wide = encoding.codec.startswith(("utf-16", "utf-32"))
    done, held = 0, ""
    try:
        with path.open("rb") as file:
            chunk = file.read(CHUNK)
            while chunk:
                following = file.read(CHUNK)
                if not wide and (zero := chunk.find(0)) >= 0:
                    raise zero_byte(path, done + zero)
                waiting = len(bytes_decoder.getstate()[0])
                try:
                    held += newlines.decode(chunk, final=not following)
                except UnicodeDecodeError as error:
                    raise undecodable(
                        path, encoding.name, done - waiting + error.start, error.object[error.start]
                    ) from None
                if following and (cut := _safe_cut(held)):
                    yield held[:cut]
                    held = held[cut:]
                done += len(chunk)
                chunk = following
    except OSError as error:
        raise unreadable(path, error) from error
    if held:
        yield held


def lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a text that comes in pieces, without their line ends.

    Only ``\\n`` ends a line; ``str.splitlines`` would also split at U+2028 and the like, which may
    stand inside a JSON string.
    """
    held: list[str] = []
    for piece in pieces:
        first, *rest = piece.split("\n")
        held.append(first)
        for line in rest:
            yield "".join(held)
            held = [line]
    if last := "".join(held):
        yield last


def whole_lines(pieces: Iterable[str]) -> Iterator[str]:
    """The same text in pieces that end with a line end, all but perhaps the last."""
    held: list[str] = []
    for piece in pieces:
        cut = piece.rfind("\n") + 1
        if cut:
            yield "".join([*held, piece[:cut]])
            held = []
        if cut < len(piece):
            held.append(piece[cut:])
    if held:
        yield "".join(held)


def _safe_cut(text: str) -> int:
    """Where ``text`` may be cut so that both halves normalise as the whole would.

    After the last line end; else before the last character that never joins with the one before
    it (ASCII and Han do not; an accent does). 0 if there is no such place.
    """
    line_end = text.rfind("\n") + 1
    if line_end:
        return line_end
    for at in range(len(text) - 1, max(0, len(text) - 4096), -1):
        if text[at] < "\x7f" or "\u4e00" <= text[at] <= "\u9fff":
            return at
    return 0
