"""Channel: the window's end of the line to a child process. Nothing here ever waits.

What cannot be sent at once is kept, up to a bound, and goes out with later calls. No thread works
on it: whoever owns it calls receive() again and again.
"""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from engine.process.frames import FrameReader, MalformedError, UnsendableError, framed

MAX_UNSENT_BYTES = 96 << 20  # one frame of the largest size always fits
# Most bytes that one call takes in: decoding them must not be felt in a window.
MAX_RECEIVED_BYTES = 2 << 20
_READ_BYTES = 256 << 10

T = TypeVar("T")


class Channel(Generic[T]):
    """Sends any message, receives those of one type.

    Attributes:
        ended: The other side is gone, or was cut off because of `fault`.
        fault: Why what it sent could not be understood; "" while all is well.
    """

    def __init__(self, sock: socket.socket, decoder: msgspec.msgpack.Decoder[T]):
        sock.setblocking(False)
        self._socket = sock
        self._frames = FrameReader(decoder)
        self._unsent = bytearray()
        self.ended = False
        self.fault = ""

    def send(self, message: msgspec.Struct) -> None:
        """Send, now or later; nothing once the line has ended. Raises UnsendableError."""
        frame = framed(message)
        if len(self._unsent) + len(frame) > MAX_UNSENT_BYTES:
            raise UnsendableError("waits behind too much that the engine has not read yet")
        if not self.ended:
            self._unsent += frame
            self.flush()

    def flush(self) -> None:
        """Send what is left, as far as that goes without waiting."""
        while self._unsent and not self.ended:
            try:
                n_sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            except OSError:  # what it has still sent can be read until its end
                self._unsent.clear()
                return
            del self._unsent[:n_sent]

    def receive(self) -> Iterator[T]:
        """What has arrived, a bounded part of it at a time."""
        self.flush()
        n_bytes = 0
        while not self.ended and n_bytes < MAX_RECEIVED_BYTES:
            try:
                data = self._socket.recv(_READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            n_bytes += len(data)
            try:
                yield from self._frames.feed(data)
            except MalformedError as error:
                self.fault = str(error)
                self.close()

    def close(self) -> None:
        """Hang up; safe to call twice."""
        self.ended = True
        self._unsent.clear()
        with contextlib.suppress(OSError):
            self._socket.close()


def pair(reports: Any) -> tuple["Channel[Any]", socket.socket]:
    """A channel that receives `reports` (a type), and the other end of its line."""
    ours, theirs = socket.socketpair()
    return Channel(ours, msgspec.msgpack.Decoder(reports)), theirs
