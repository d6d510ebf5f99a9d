"""Outbox: what a child has to say, kept small while its parent does not listen.

Nothing waits for the parent. While it reads, everything goes out at once. While it does not, what
is kept shrinks to what still matters: text of one reply becomes one piece, progress and counters
their latest value; of trace records the oldest go, and are counted. What cannot shrink is bounded
because commands are: none is taken while there is no room.
"""

import itertools
import select
import socket
import threading
from collections import deque
from collections.abc import Hashable

import msgspec

from engine import trace
from engine.client_events import CacheChanged, StatsArrived
from engine.events import Piece, PrefillProgress
from engine.process.frames import framed
from engine.protocol import Progress, Trace

MAX_RECORDS = 1 << 17
MAX_ITEMS = 1 << 13
_BATCH_BYTES = 128 << 10  # encoded at a time; what is encoded can shrink no more
_TRACE_RECORDS = (1 << 20) // trace.RECORD_DTYPE.itemsize  # of one message
_PIECE_TOKENS = 1 << 16  # of one message


class _Pieces:
    """Pieces of one reply, joined only when they are sent."""

    def __init__(self, first: Piece):
        self._request = first.request
        self._texts = [first.text]
        self._tokens = list(first.tokens)

    def add(self, piece: Piece) -> bool:
        """False when one message should hold no more."""
        if len(self._tokens) + len(piece.tokens) > _PIECE_TOKENS:
            return False
        self._texts.append(piece.text)
        self._tokens += piece.tokens
        return True

    def joined(self) -> Piece:
        return Piece(self._request, "".join(self._texts), tuple(self._tokens))


class Outbox:
    """Thread-safe. REQUIRES: `sock` is in blocking mode, and only this writes to it."""

    def __init__(self, sock: socket.socket):
        self._socket = sock
        self._room = threading.Condition()  # its lock guards everything below
        # In order. What may be replaced or added to is found by its key.
        self._items: dict[Hashable, msgspec.Struct | _Pieces] = {}
        self._keys = itertools.count()
        self._records: deque[trace.Records] = deque()
        self._n_records = 0
        self._dropped = 0  # here
        self._dropped_before = 0
        self._encoded = memoryview(b"")
        self._broken = False

    def put(self, message: msgspec.Struct) -> None:
        """Say this after all that was said before."""
        key: Hashable
        with self._room:
            if isinstance(message, Piece):
                self._put_piece(message)
                return
            if isinstance(message, Progress | StatsArrived | CacheChanged):
                key = type(message)
            elif isinstance(message, PrefillProgress):
                key = (PrefillProgress, message.request)
            else:
                key = next(self._keys)
            self._items[key] = message

    def put_records(self, records: trace.Records, dropped: int) -> None:
        """Trace records; `dropped` is how many were lost before they came here."""
        with self._room:
            self._dropped_before = dropped
            for at in range(0, len(records), _TRACE_RECORDS):
                self._records.append(records[at : at + _TRACE_RECORDS])
            self._n_records += len(records)
            while self._n_records > MAX_RECORDS:
                n = len(self._records.popleft())
                self._n_records -= n
                self._dropped += n

    def forget_records(self) -> None:
        """Nobody wants those that have not been sent."""
        with self._room:
            self._records.clear()
            self._n_records = 0

    def flush(self) -> bool:
        """Send what goes without waiting; True when nothing is left (or nobody there to read)."""
        with self._room:
            while not self._broken:
                if not self._encoded:
                    self._encoded = memoryview(self._next_batch())
                    if not self._encoded:
                        return True
                try:
                    n_sent = self._socket.send(self._encoded, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    return False
                except OSError:
                    self._broken = True
                    break
                self._encoded = self._encoded[n_sent:]
            self._items.clear()
            self._records.clear()
            self._n_records = 0
            self._room.notify_all()
            return True

    def finish(self) -> None:
        """Send everything; waits for as long as the parent lives."""
        while not self.flush():
            select.select([], [self._socket], [], 1.0)

    def wait_for_room(self) -> None:
        """Until more may be put that cannot shrink; another thread has to flush."""
        with self._room:
            self._room.wait_for(lambda: self._broken or len(self._items) < MAX_ITEMS)

    def _put_piece(self, piece: Piece) -> None:
        key = (Piece, piece.request)
        kept = self._items.get(key)
        if isinstance(kept, _Pieces):
            if kept.add(piece):
                return
            self._items[next(self._keys)] = kept.joined()
            del self._items[key]
        self._items[key] = _Pieces(piece)

    def _next_batch(self) -> bytes:
        """Frames of what is first in line."""
        batch = bytearray()
        while self._items and len(batch) < _BATCH_BYTES:
            key = next(iter(self._items))
            item = self._items.pop(key)
            batch += framed(item.joined() if isinstance(item, _Pieces) else item)
        if self._records and len(batch) < _BATCH_BYTES:
            records = self._records.popleft()
            self._n_records -= len(records)
            batch += framed(Trace(records.tobytes(), self._dropped_before + self._dropped))
        self._room.notify_all()
        return bytes(batch)
