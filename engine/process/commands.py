"""Commands: a child's end of the line, for reading."""

import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from engine.process import guard
from engine.process.frames import FrameReader, MalformedError
from engine.protocol import Stop

MALFORMED_EXIT = 3
_READ_BYTES = 256 << 10
_STOP_S = 0.8  # the parent kills after a second

T = TypeVar("T")


class Commands(Generic[T]):
    """Reads commands on a thread of its own, until Stop, or until the parent hangs up or dies.

    The process then has _STOP_S to end. What cannot be understood ends it at once: whoever sent
    that is not our parent.

    Args:
        take: Called on that thread for every command but the first and Stop.

    Attributes:
        stopping: Set when the process shall end.
    """

    def __init__(
        self,
        sock: socket.socket,
        decoder: msgspec.msgpack.Decoder[T | Stop],
        take: Callable[[T], None] = lambda command: None,
    ):
        self.stopping = threading.Event()
        self._socket = sock
        self._frames = FrameReader(decoder)
        self._take = take
        self._first: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="commands", daemon=True).start()

    def first(self) -> T | None:
        """Wait for the first command; None when there will be none."""
        return self._first.get()

    def _run(self) -> None:
        try:
            arriving = self._read()
            first = next(arriving, None)
            if first is not None:
                self._first.put(first)
                for command in arriving:
                    self._take(command)
        except BaseException:  # nobody would hear the parent any more
            traceback.print_exc()
            os._exit(1)
        guard.end_within(_STOP_S)
        self.stopping.set()
        self._first.put(None)

    def _read(self) -> Iterator[T]:
        while True:
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError:
                return
            if not data:
                return
            try:
                for command in self._frames.feed(data):
                    if isinstance(command, Stop):
                        return
                    yield command
            except MalformedError as error:
                print(f"A command could not be understood: {error}", file=sys.stderr, flush=True)
                os._exit(MALFORMED_EXIT)
