"""Highlight: the colours of one block of code, found in small steps.

A lexer reads a long file in a second or more, so it is advanced a few milliseconds at a time; until
it has come to a line, that line is plain. While code grows under a stream, finished lines keep
their colours and the lexer starts over when it has caught up.
"""

import time
from collections.abc import Iterator
from typing import Any

from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

# More is shown plain: it would cost seconds of a processor, and nobody reads it by colour.
MOST_CHARACTERS = 200_000
# Of one line: some lexers look through all of it again at each of its characters, in one step.
MOST_IN_LINE = 5_000
CHECK_EVERY = 64  # tokens between looks at the clock

Run = tuple[int, int, str]  # first character in the line, length, kind of token


class Highlight:
    """Colours per line, as kinds of tokens.

    Attributes:
        code: What to colour.
        lines: Runs of each line that is known.
        version: Grows with each change of `lines`.
    """

    def __init__(self, language: str):
        self.lines: list[list[Run]] = []
        self.version = 0
        self.language = language
        self.code = ""
        self._is_too_long = False
        self._lexed = ""  # what the running or last pass reads
        self._tokens: Iterator[tuple[int, Any, str]] | None = None
        self._at = 0  # line of the running pass
        self._column = 0
        self._new: list[Run] = []

    def set_code(self, code: str) -> None:
        """What to colour; a longer text than before, or another."""
        if code != self.code:
            if not code.startswith(self._lexed):
                self._tokens = None
                self._lexed = ""
            self.code = code
            lines = code.split("\n") if len(code) <= MOST_CHARACTERS else []
            self._is_too_long = not lines or max(map(len, lines)) > MOST_IN_LINE

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return (self._tokens is None and self._lexed == self.code) or not self._is_wanted()

    def advance(self, deadline: float) -> bool:
        """Go on until `time.perf_counter()` passes `deadline`; whether any line has changed."""
        if self.is_done:
            return False
        if self._tokens is None:
            self._begin()
        before = self.version
        assert self._tokens is not None
        for n, (_, kind, text) in enumerate(self._tokens, 1):
            self._take(str(kind).removeprefix("Token").lstrip("."), text)
            if n % CHECK_EVERY == 0 and time.perf_counter() > deadline:
                return self.version != before
        self._end_line()
        self._tokens = None
        return True

    def _is_wanted(self) -> bool:
        return bool(self.language) and not self._is_too_long

    def _begin(self) -> None:
        try:
            lexer = get_lexer_by_name(self.language.lower())
        except ClassNotFound:
            self.language = ""
            self._tokens = iter(())
            return
        self._lexed = self.code
        self._tokens = iter(lexer.get_tokens_unprocessed(self._lexed))
        self._at, self._column, self._new = 0, 0, []

    def _take(self, kind: str, text: str) -> None:
        for index, part in enumerate(text.split("\n")):
            if index:
                self._end_line()
            if part and kind and kind != "Text":
                self._new.append((self._column, len(part), kind))
            self._column += len(part)

    def _end_line(self) -> None:
        if self._at == len(self.lines):
            self.lines.append([])
        if self.lines[self._at] != self._new:
            self.lines[self._at] = self._new
            self.version += 1
        self._at, self._column, self._new = self._at + 1, 0, []
