"""HostRequests: the requests of one engine, by their numbers there and at the client."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine import events
from engine.client_events import Used
from engine.request import NO_SESSION, RequestId, SessionId
from engine.trace import Event, Records

_DECISIONS = {Event.HIT: "hits", Event.JOIN: "joined", Event.MISS: "misses"}
_MASK_BITS = 32  # of a group's record: one per request % 32


@dataclass
class _Running:
    number: RequestId  # the client's
    session: SessionId
    prompt_tokens: int
    prefilled: int = 0  # tokens of the prompt in the KV cache
    computed: int = 0  # of these, by this request
    hits: int = 0
    joined: int = 0
    misses: int = 0


class HostRequests:
    """Numbers and counts. Not thread-safe.

    The engine numbers from 0 whenever it is opened, a client goes on counting: so all that leaves
    the host is renumbered here, and what it says of itself to the engine on its way in.
    """

    def __init__(self) -> None:
        self._running: dict[RequestId, _Running] = {}  # by the engine's number
        self._engines: dict[RequestId, RequestId] = {}  # the client's number -> the engine's
        # The client's number by the engine's, for all that ever were: records come late.
        self._numbers: NDArray[np.int32] = np.full(1024, -1, dtype=np.int32)

    def add(
        self, engines: RequestId, running: RequestId, session: SessionId, n_prompt: int
    ) -> None:
        """The engine took a request."""
        self._running[engines] = _Running(running, session, n_prompt)
        self._engines[running] = engines
        if engines >= len(self._numbers):
            more = np.full(len(self._numbers), -1, dtype=np.int32)
            self._numbers = np.concatenate([self._numbers, more])
        self._numbers[engines] = running

    def engines_number(self, number: RequestId) -> RequestId | None:
        """What the engine calls a request of the client; None when it has ended."""
        return self._engines.get(number)

    def busy(self, session: SessionId) -> bool:
        """Whether a request runs in the session."""
        return session != NO_SESSION and any(
            running.session == session for running in self._running.values()
        )

    def count(self, records: Records) -> None:
        """Take note of what records say about requests that run."""
        kinds = records["event"]
        prefills = np.flatnonzero(kinds == Event.PREFILL)
        for record in records[prefills] if len(prefills) else ():
            if running := self._running.get(RequestId(int(record["request"]))):
                running.computed += int(record["a"])
        # As in engine.metrics, what prompts need between steps does not count.
        first = min(self._running, default=0)
        requests = records["request"]
        for event, name in _DECISIONS.items():
            counted = (kinds == event) & (records["step"] >= 0) & (requests >= first)
            counts = np.bincount(requests[counted] - first)
            for at in np.flatnonzero(counts):
                if running := self._running.get(RequestId(first + int(at))):
                    setattr(running, name, getattr(running, name) + int(counts[at]))

    def renumbered(self, records: Records) -> Records:
        """Records with the client's numbers."""
        records = records.copy()
        requests = records["request"]
        known = (requests >= 0) & (requests < len(self._numbers))
        requests[known] = self._numbers[requests[known]]
        requests[~known] = -1
        self._renumber_groups(records)
        return records

    def events(self, arrived: list[events.Event]) -> Iterator[events.Event | Used]:
        """Events with the client's numbers; each Finished comes with its Used."""
        for event in arrived:
            if isinstance(event, events.Notice):
                yield event
                continue
            running = self._running.get(event.request)
            if running is None:
                continue
            if isinstance(event, events.PrefillProgress):
                running.prefilled = event.done
            elif isinstance(event, events.Finished):
                yield _used(running)
                del self._running[event.request]
                del self._engines[running.number]
            yield msgspec.structs.replace(event, request=running.number)

    def _renumber_groups(self, records: Records) -> None:
        bits = {e % _MASK_BITS: r.number % _MASK_BITS for e, r in self._running.items()}
        if all(one == other for one, other in bits.items()):
            return
        groups = records["event"] == Event.GROUP
        masks = records["b"][groups]
        renumbered = np.zeros_like(masks)
        for bit in range(_MASK_BITS):
            renumbered |= ((masks >> bit) & 1) << bits.get(bit, bit)
        records["b"][groups] = renumbered


def _used(running: _Running) -> Used:
    return Used(
        request=running.number,
        prompt_tokens=running.prompt_tokens,
        reused_tokens=max(0, running.prefilled - running.computed),
        hits=running.hits,
        joined=running.joined,
        misses=running.misses,
    )
