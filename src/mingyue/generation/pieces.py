"""From ids to text that can be shown.

Two things keep a new token from being shown at once. Its bytes may be the beginning of a
character (see ``text.decoding``). And its characters may be the beginning of a stop string: if
the stop is "\\n\\n", one newline has to wait for what comes next. Whatever can no longer change
is let go.
"""

from collections.abc import Sequence

from mingyue.text.char import REPLACEMENT
from mingyue.text.decoding import StreamDecoder


class Pieces:
    """Text in pieces, ending before the first stop string."""

    def __init__(self, decoder: StreamDecoder, stops: Sequence[str] = ()):
        self._decoder, self._stops = decoder, tuple(stops)
        self._held = ""
        self.stopped = False
        """Whether a stop string has come; nothing follows then."""

    def push(self, id: int) -> str:
        """The text that is certain after one more id, possibly none."""
        self._held += self._decoder.push(id)
        return self._release()

    def finish(self) -> str:
        """The rest. Bytes of a character that was never completed are dropped."""
        if not self.stopped:
            self._held += self._decoder.flush().rstrip(REPLACEMENT)
        text = self._release()
        if not self.stopped:
            text, self._held = text + self._held, ""
        return text

    def _release(self) -> str:
        found = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if found and not self.stopped:
            self.stopped = True
            text, self._held = self._held[: min(found)], ""
            return text
        if self.stopped:
            return ""
        certain = len(self._held) - self._undecided()
        text, self._held = self._held[:certain], self._held[certain:]
        return text

    def _undecided(self) -> int:
        """How many of the last characters may be the beginning of a stop string."""
        longest = max(map(len, self._stops), default=1) - 1
        for n in range(min(longest, len(self._held)), 0, -1):
            if any(stop.startswith(self._held[-n:]) for stop in self._stops):
                return n
        return 0
