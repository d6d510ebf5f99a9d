"""Writer: the thread that owns the writing connection.

Everything that is put reaches the disk in order, many writes in one transaction. What could not be
written stays and is tried again until it can be, so a full disk loses nothing while the app runs.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Sequence

import msgspec

from app.data.database import transaction

SOON_S = 0.25  # texts that stream are written this often at most
RETRY_S = 1.0

# What no later attempt could write either.
_REFUSED = (
    *(sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError),
    *(ValueError, TypeError, OverflowError),
)

_log = logging.getLogger(__name__)


class Write(msgspec.Struct):
    """One statement.

    Attributes:
        key: A later write with the same key replaces this one while it waits; None: all are done.
        token: Who is told about the outcome; 0: nobody.
    """

    sql: str
    values: Sequence[object]
    key: Hashable = None
    token: int = 0


Outcome = tuple[int, Exception | None]  # token, and why it is not on disk


class Writer:
    """Writes in a thread of its own; `put` never waits.

    `notify` is called from that thread after each attempt. `take_outcomes` then gives the outcomes:
    (token, None) once on disk, (token, error) after a failed attempt, which is tried again. Token 0
    speaks of the attempt as a whole.
    """

    def __init__(self, connection: sqlite3.Connection, notify: Callable[[], None]):
        self.connection = connection
        self._notify = notify
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, Write] = {}
        self._busy = False
        self._urgent = False
        self._closing = False
        self._next_at = 0.0  # time.monotonic() from which what is not urgent is written
        self._n_put = 0
        self._n_tried = 0
        self._outcomes: list[Outcome] = []
        self._told: set[int] = set()
        self._thread = threading.Thread(target=self._run, name="conversations writer", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether everything that was put is on disk."""
        with self._changed:
            return not self._waiting and not self._busy

    def put(self, writes: Sequence[Write], *, soon: bool = False) -> None:
        """Write these together, in order; `soon` lets them wait up to SOON_S for others."""
        with self._changed:
            for write in writes:
                self._n_put += 1
                # A replaced write keeps its place: what it names was made before it.
                self._waiting[self._n_put if write.key is None else write.key] = write
            self._urgent = self._urgent or not soon
            self._changed.notify_all()

    def flush(self) -> None:
        """Return once all was tried: it is on disk, or its failure is among the outcomes."""
        with self._changed:
            self._n_put += 1
            target = self._n_put
            self._urgent = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: not self._busy and (not self._waiting or self._n_tried >= target)
            )

    def close(self) -> None:
        """Try once more what waits, and end the thread and the connection."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self.connection.close()

    def take_outcomes(self) -> list[Outcome]:
        """What happened since the last call."""
        with self._changed:
            outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._due() and not self._closing:
                    self._changed.wait(self._patience())
                batch, self._waiting = self._waiting, {}
                n_tried = self._n_put
                self._urgent = False
                self._busy = True
                closing = self._closing
            outcomes, left = self._attempt(batch)
            with self._changed:
                self._waiting = {**left, **self._waiting}
                self._outcomes += outcomes
                self._next_at = time.monotonic() + (RETRY_S if left else SOON_S)
                self._n_tried = n_tried
                self._busy = False
                self._changed.notify_all()
            if outcomes:
                self._notify()
            if closing:
                return

    def _due(self) -> bool:
        return bool(self._waiting) and (self._urgent or time.monotonic() >= self._next_at)

    def _patience(self) -> float | None:
        return max(0.0, self._next_at - time.monotonic()) if self._waiting else None

    def _attempt(self, batch: dict[Hashable, Write]) -> tuple[list[Outcome], dict[Hashable, Write]]:
        """(what happened, what is still to be written)."""
        if not batch:
            return [], {}
        try:
            self._write(list(batch.values()))
        except _REFUSED:
            return self._one_by_one(list(batch.values()))
        except Exception as error:  # also of no memory: this thread must not end before it is told
            tokens = {write.token for write in batch.values()} - self._told - {0}
            self._told |= tokens
            return [(0, error), *((token, error) for token in sorted(tokens))], batch
        return self._saved(list(batch.values())), {}

    def _write(self, writes: Sequence[Write]) -> None:
        with transaction(self.connection):
            for write in writes:
                self.connection.execute(write.sql, write.values)

    def _one_by_one(self, writes: list[Write]) -> tuple[list[Outcome], dict[Hashable, Write]]:
        """Find what the schema does not allow, so that it takes nothing else with it."""
        outcomes: list[Outcome] = []
        for last in (False, True):  # what names a later row comes true in the second round
            refused: list[Write] = []
            for place, write in enumerate(writes):
                try:
                    self._write([write])
                    outcomes += self._saved([write])
                except _REFUSED as error:
                    refused.append(write)
                    if last:
                        _log.error("The database refused %r: %s", write.sql, error)
                        outcomes.append((write.token, error))
                except Exception as error:
                    left = [*refused, *writes[place:]]
                    return [*outcomes, (0, error)], {(id(w), w.key): w for w in left}
            writes = refused
        return outcomes, {}

    def _saved(self, writes: list[Write]) -> list[Outcome]:
        tokens = {write.token for write in writes} - {0}
        self._told -= tokens
        return [(0, None), *((token, None) for token in sorted(tokens))]
