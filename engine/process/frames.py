"""Frames: a length of four bytes (little-endian), then so many bytes of msgpack.

Both sides refuse a frame that is longer than MAX_FRAME_BYTES, before they take memory for it.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from engine.errors import EngineError

MAX_FRAME_BYTES = 64 << 20
_LENGTH_BYTES = 4
_encoder = msgspec.msgpack.Encoder()

T = TypeVar("T")


class UnsendableError(ValueError):
    """A message that no frame can hold; a sentence that goes on from "it"."""


class MalformedError(ValueError):
    """What arrived is no message; a sentence without its end."""


def framed(message: msgspec.Struct) -> bytes:
    """The frame of a message. Raises UnsendableError."""
    try:
        payload = _encoder.encode(message)
    except UnicodeEncodeError as error:
        raise UnsendableError(f"holds what is no character ({error.reason})") from error
    except OverflowError as error:
        raise UnsendableError("holds a number that is too large") from error
    if len(payload) > MAX_FRAME_BYTES:
        raise UnsendableError(
            f"takes {len(payload)} bytes, more than the {MAX_FRAME_BYTES} of one message"
        )
    return len(payload).to_bytes(_LENGTH_BYTES, "little") + payload


class FrameReader(Generic[T]):
    """Bytes in, however they were cut; whole messages out.

    Args:
        decoder: Of the messages that may come; what is none of them is malformed.
    """

    def __init__(self, decoder: msgspec.msgpack.Decoder[T]):
        self._decoder = decoder
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[T]:
        """The messages that are whole now. Raises MalformedError; nothing can follow that."""
        self._bytes += data
        at = 0
        try:
            while len(self._bytes) - at >= _LENGTH_BYTES:
                begin = at + _LENGTH_BYTES
                n_bytes = int.from_bytes(self._bytes[at:begin], "little")
                if n_bytes > MAX_FRAME_BYTES:
                    raise MalformedError(f"a message of {n_bytes} bytes was announced")
                at = begin + n_bytes
                if at > len(self._bytes):
                    at = begin - _LENGTH_BYTES
                    return
                yield self._decode(begin, at)
        finally:
            del self._bytes[:at]

    def _decode(self, begin: int, end: int) -> T:
        with memoryview(self._bytes) as view, view[begin:end] as payload:
            try:
                return self._decoder.decode(payload)
            except (msgspec.DecodeError, ValueError, RecursionError, EngineError) as error:
                raise MalformedError(f"a message cannot be read: {error}") from None
