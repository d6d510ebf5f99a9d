"""Searching the texts of all messages, here or in a thread.

The index holds every three letters in a row, so a search finds any part of a word, in any script.
"""

import itertools
import re
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

from app.data.database import open_for_reading

_INDEXED_LETTERS = 3  # shorter words are not in the index
# Letters of a snippet around the first place: so few before it that a narrow list shows it too.
_BEFORE, _AFTER = 22, 140
_BY_INDEX = """
SELECT m.conversation, max(m.n) FROM message_search
JOIN message AS m ON m.n = message_search.rowid
WHERE message_search MATCH ? {and_short} GROUP BY m.conversation
"""
_LIKE = "m.text LIKE ? ESCAPE '\\'"
_BY_READING = "SELECT m.conversation, max(m.n) FROM message AS m WHERE {short} GROUP BY 1"
# What is damaged is looked for in pieces. This index names the rows without reading one of them.
_PLACES = "SELECT conversation, n FROM message INDEXED BY message_of_conversation"
_ROWS_BY_INDEX = "SELECT rowid FROM message_search WHERE message_search MATCH ?"
_BY_READING_ONE = "SELECT 1 FROM message AS m WHERE m.n = ? AND {short}"

Rows = Callable[[str, Sequence[object]], list[Any]]
Found = list[tuple[str, int]]  # (conversation id, row of its newest message with all words)
OnFound = Callable[[Found, str], None]  # with why not everything could be searched, or ""


def find(rows: Rows, text: str) -> Found:
    """Conversations with a message that has every word of `text`, in no particular order."""
    if not text.split():
        return []
    query, like, patterns = _asked_for(text)
    if not query:
        return rows(_BY_READING.format(short=like), patterns)
    sql = _BY_INDEX.format(and_short=f"AND {like}" if like else "")
    return rows(sql, [query, *patterns])


def find_readable(rows: Rows, text: str) -> Found:
    """As `find`, in a damaged file: what is in messages that cannot be read is not found."""
    query, like, patterns = _asked_for(text)
    indexed = {n for (n,) in rows(_ROWS_BY_INDEX, [query])} if query else set()
    found: dict[str, int] = {}
    for conversation, n in rows(_PLACES, []):
        if query and n not in indexed:
            continue
        try:
            if not like or rows(_BY_READING_ONE.format(short=like), [n, *patterns]):
                found[conversation] = max(n, found.get(conversation, n))
        except (sqlite3.Error, UnicodeDecodeError):
            continue
    return list(found.items())


def snippet(text: str, words: list[str]) -> str:
    """The text around the first place of a word, on one line."""
    found = (re.search(re.escape(word), text, re.IGNORECASE) for word in words)
    place = min((match.start() for match in found if match), default=0)
    start = max(0, place - _BEFORE)
    if start:
        start = text.find(" ", start, place) + 1 or start  # no half of a word
    end = start + _BEFORE + _AFTER
    cut = " ".join(text[start:end].split())
    return ("…" if start else "") + cut + ("…" if end < len(text) else "")


def _asked_for(text: str) -> tuple[str, str, list[str]]:
    """For the index, and for reading: a condition and its values. Each "" without such words."""
    words = text.split()
    long = [word for word in words if len(word) >= _INDEXED_LETTERS]
    spelt = [_spellings(word) for word in words if len(word) < _INDEXED_LETTERS]
    like = " AND ".join(f"({' OR '.join([_LIKE] * len(each))})" for each in spelt)
    patterns = [f"%{_escaped(spelling)}%" for each in spelt for spelling in each]
    return " AND ".join('"' + word.replace('"', '""') + '"' for word in long), like, patterns


def _spellings(word: str) -> list[str]:
    """A short word in whatever case: of LIKE only the letters from A to Z have one."""
    if word.isascii():
        return [word]
    cases = (sorted({letter, letter.lower(), letter.upper()}) for letter in word)
    return ["".join(letters) for letters in itertools.product(*cases)]


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


class _Overtaken(Exception):  # noqa: N818, no error
    """Nobody waits for it any more."""


class Searcher(QObject):
    """Searches in a thread of its own; only the newest search is answered."""

    _found = Signal(int, object, str)

    def __init__(self, path: Path, parent: QObject | None = None):
        super().__init__(parent)
        self._path = path
        self._changed = threading.Condition()
        self._asked: tuple[int, str] | None = None
        self._closing = False
        self._n_asked = 0
        self._callback: OnFound | None = None
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._found.connect(self._on_found, Qt.ConnectionType.QueuedConnection)

    def search(self, text: str, callback: OnFound) -> None:
        """Give what is found to `callback`, unless another search is asked for before."""
        self._callback = callback
        with self._changed:
            self._n_asked += 1
            self._asked = (self._n_asked, text)
            if self._connection is not None:
                self._connection.interrupt()
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="searcher", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread; nothing is answered any more."""
        self._callback = None
        with self._changed:
            self._closing = True
            if self._connection is not None:
                self._connection.interrupt()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with closing(open_for_reading(self._path)) as connection:
            while True:
                with self._changed:
                    self._connection = None
                    self._changed.wait_for(lambda: self._asked is not None or self._closing)
                    if self._closing or self._asked is None:
                        return
                    (number, text), self._asked = self._asked, None
                    self._connection = connection
                self._found.emit(number, *self._found_in(connection, text))

    def _found_in(self, connection: sqlite3.Connection, text: str) -> tuple[Found, str]:
        """What is found, and why not everything could be searched."""

        def rows(sql: str, values: Sequence[object]) -> list[Any]:
            if self._asked is not None or self._closing:  # an interrupt between two is not heard
                raise _Overtaken
            return connection.execute(sql, values).fetchall()

        why = ""
        for search in (find, find_readable):
            try:
                return search(rows, text), why
            except _Overtaken:
                break
            except (sqlite3.Error, UnicodeDecodeError) as error:
                why = str(error)
        return [], why

    def _on_found(self, number: int, found: Found, why: str) -> None:
        if number == self._n_asked and self._callback is not None:
            callback, self._callback = self._callback, None
            callback(found, why)
