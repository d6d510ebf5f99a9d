"""What EngineClient.poll() reports besides the engine's own events."""

import msgspec

from engine import events
from engine.engine_info import CacheChange, EngineStats
from engine.engine_state import EngineState
from engine.link_speed import LinkSpeed
from engine.request import RequestId
from engine.trace import Records


class StateChanged(msgspec.Struct, frozen=True):
    """The engine's process went on to another state."""

    state: EngineState


class CacheChanged(msgspec.Struct, frozen=True, tag=True):
    """The cache after a resize that was asked for."""

    change: CacheChange


class Applied(msgspec.Struct, frozen=True, tag=True):
    """Policy and link are these now, since one of them was set."""

    policy: str
    link: LinkSpeed


class PolicyRefused(msgspec.Struct, frozen=True, tag=True):
    """There is no such policy: the one before goes on. A Notice says why."""

    policy: str


class StatsArrived(msgspec.Struct, frozen=True, tag=True):
    """Counters since the model was opened: about 4 times a second while something runs."""

    stats: EngineStats


class Traced(msgspec.Struct, frozen=True, eq=False):
    """Trace records, while they are watched.

    Attributes:
        records: Read-only; requests have the client's numbers.
        dropped: How many were lost since the model was opened, because nobody took them.
    """

    records: Records
    dropped: int = 0


class Used(msgspec.Struct, frozen=True, tag=True):
    """What a request needed; just before its Finished, where the engine saw it to its end.

    Attributes:
        prompt_tokens: Tokens of its prompt, the chat template's included.
        reused_tokens: Of these, how many its session held already.
        hits, joined, misses: How often an expert that its decode steps needed was resident, was
            being read already, had to be read.
    """

    request: RequestId
    prompt_tokens: int
    reused_tokens: int
    hits: int
    joined: int
    misses: int


class TokensCounted(msgspec.Struct, frozen=True, tag=True):
    """The answer to count_tokens; -1 when it could not be counted."""

    query: int
    n_tokens: int


ClientEvent = (
    events.Event
    | StateChanged
    | CacheChanged
    | Applied
    | PolicyRefused
    | StatsArrived
    | Traced
    | Used
    | TokensCounted
)
