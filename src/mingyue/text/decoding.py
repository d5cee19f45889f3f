"""Text that appears while it is being written.

A token need not be a whole character: 明 is three bytes, and in a byte-level vocabulary its
tokens come one by one. Showing each at once would print � three times. The decoder here holds
back what is incomplete and gives it out when the rest has come.
"""

import codecs
from collections.abc import Callable, Mapping, Sequence

from mingyue.text.char import REPLACEMENT


class StreamDecoder:
    """Ids in, one by one; text out, as soon as it is certain.

    All that ``push`` and the final ``flush`` return, joined, is ``decode`` of all the ids. (With
    one exception: where single bytes are tokens beside others, as in Llama 2, a byte that fits
    nowhere makes ``decode`` give up the characters before it too, which are already out.)
    """

    def __init__(
        self,
        decode: Callable[[Sequence[int]], str],
        table: Mapping[int, bytes] | None,
        after: Sequence[int] = (),
    ) -> None:
        """``table`` gives the bytes of each token where tokens are bytes; else ``decode`` is
        asked again for the whole sequence, because a token's text may depend on the one before.
        ``after`` are ids that stand before and whose text is known: a blank between words shows
        only where there is a word in front of it.
        """
        self._decode = decode
        self._table = table
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._ids = [] if table is not None else list(after)
        self._given = len(decode(self._ids)) if self._ids else 0  # characters known so far

    def push(self, id: int) -> str:
        """The text that the next id completes, often one character, sometimes nothing."""
        if self._table is not None:
            return self._utf8.decode(self._table.get(id, b""))
        self._ids.append(id)
        text = self._decode(self._ids)
        complete = len(text.rstrip(REPLACEMENT))  # a torn character at the end may yet be mended
        return self._give(text, complete)

    def flush(self) -> str:
        """What was still held back; torn bytes come out as U+FFFD."""
        if self._table is not None:
            return self._utf8.decode(b"", final=True)
        text = self._decode(self._ids)
        return self._give(text, len(text))

    def _give(self, text: str, until: int) -> str:
        new = text[self._given : until]
        self._given = max(self._given, until)
        return new
