"""What a window and its child processes say to each other: msgpack in frames, one struct each.

Commands go to the child, reports come back. Both ends decode by these types, so that nothing else
is ever taken in. Requests and sessions have the client's numbers everywhere.
"""

import msgspec

from engine.cache_size import CacheSize
from engine.client_events import (
    Applied,
    CacheChanged,
    PolicyRefused,
    StatsArrived,
    TokensCounted,
    Used,
)
from engine.engine_info import EngineInfo
from engine.engine_state import ModelSummary
from engine.events import Finished, Notice, Piece, PrefillProgress
from engine.link_speed import LinkSpeed
from engine.model_info import ModelInfo
from engine.options import EngineOptions
from engine.pack import PackFile
from engine.request import Message, Request, RequestId, SessionId


class Stop(msgspec.Struct, frozen=True, tag=True):
    """To any child: end soon, and put away what is half done."""


# To an engine's host.


class Load(msgspec.Struct, frozen=True, tag=True):
    """Open a model; the first command, and never a second time."""

    path: str
    options: EngineOptions


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Queue a request under this number."""

    number: RequestId
    request: Request


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Stop a request."""

    request: RequestId


class CloseSession(msgspec.Struct, frozen=True, tag=True):
    """Give a session's memory back, if it has any."""

    session: SessionId


class CountTokens(msgspec.Struct, frozen=True, tag=True):
    """Answer with TokensCounted."""

    query: int
    messages: tuple[Message, ...]


class SetCacheSize(msgspec.Struct, frozen=True, tag=True):
    """Answer with CacheChanged."""

    size: CacheSize


class SetPolicy(msgspec.Struct, frozen=True, tag=True):
    """Answer with Applied; or with PolicyRefused and a Notice that says why."""

    policy: str
    cold: bool


class SetLink(msgspec.Struct, frozen=True, tag=True):
    """Answer with Applied."""

    speed: LinkSpeed


class Watch(msgspec.Struct, frozen=True, tag=True):
    """Whether Trace is wanted."""

    on: bool


EngineCommand = (
    Submit | Cancel | CloseSession | CountTokens | SetCacheSize | SetPolicy | SetLink | Watch
)
HostCommand = Stop | Load | EngineCommand


# To a job.


class Inspect(msgspec.Struct, frozen=True, tag=True):
    """Answer with Inspected."""

    path: str


class Pack(msgspec.Struct, frozen=True, tag=True):
    """Answer with Packed; `pack_path` "" is the usual place."""

    path: str
    pack_path: str


Job = Inspect | Pack
JobCommand = Stop | Job


# From both.


class Progress(msgspec.Struct, frozen=True, tag=True):
    """How far a stage is; total is 0 where nobody knows."""

    stage: str
    done: int
    total: int


class Failed(msgspec.Struct, frozen=True, tag=True):
    """What was asked for cannot be done; the child ends. An EngineError's message and hint."""

    message: str
    hint: str
    cancelled: bool = False


# From an engine's host.


class Found(msgspec.Struct, frozen=True, tag=True):
    """The file was read and is a model; loading goes on."""

    model: ModelSummary


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The model is open."""

    info: EngineInfo


class Trace(msgspec.Struct, frozen=True, tag=True):
    """Trace records as bytes of engine.trace.RECORD_DTYPE; how many were lost since the opening."""

    data: bytes
    dropped: int


EngineEvent = (
    Piece | PrefillProgress | Finished | Notice | Used | CacheChanged | StatsArrived | TokensCounted
)
HostReport = Progress | Failed | Found | Ready | Applied | PolicyRefused | Trace | EngineEvent


# From a job.


class Inspected(msgspec.Struct, frozen=True, tag=True):
    """What the file holds."""

    model: ModelInfo


class Packed(msgspec.Struct, frozen=True, tag=True):
    """The pack is whole."""

    pack: PackFile


JobReport = Progress | Failed | Inspected | Packed
