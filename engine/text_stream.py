"""TextStream: bytes of tokens in, whole characters out, nothing of a stop string ever."""

import codecs
from collections.abc import Sequence


class TextStream:
    """The text of one reply.

    A token may end inside a UTF-8 character, and a stop string may be spread over tokens: what
    could still belong to either is held back. The first stop string that is complete ends the text,
    however the bytes were cut into pieces.
    """

    def __init__(self, stop: Sequence[str] = ()):
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self.stopped = False

    def push(self, data: bytes) -> str:
        """Text that may be shown now; "" once stopped."""
        return "" if self.stopped else self._take(self._decoder.decode(data))

    def finish(self) -> str:
        """The rest, at the end of the reply; an incomplete character becomes U+FFFD."""
        if self.stopped:
            return ""
        text = self._take(self._decoder.decode(b"", final=True))
        if not self.stopped:
            text, self._held = text + self._held, ""
        return text

    def _take(self, text: str) -> str:
        text = self._held + text
        found = [(at + len(stop), at) for stop in self._stop if (at := text.find(stop)) >= 0]
        if found:
            self.stopped = True
            self._held = ""
            return text[: min(found)[1]]
        n_held = max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - n_held :]
        return text[: len(text) - n_held]


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`."""
    for n in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:n]):
            return n
    return 0
