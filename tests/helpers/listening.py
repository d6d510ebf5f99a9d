"""An engine in another process, for tests: what is asked of it, and listening to what comes.

Listening polls, keeps what came, and waits with an end.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np

from engine import trace
from engine.client import ClientEvent, EngineClient, StateChanged, Traced, Used
from engine.engine_state import EngineState
from engine.events import Finished, Piece
from engine.options import EngineOptions
from engine.request import Request, RequestId
from engine.sampling import SamplingParams

PATIENCE_S = 60.0

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Polled(Protocol[T_co]):
    def poll(self) -> list[T_co]: ...


class Listener(Generic[T]):
    def __init__(self, source: Polled[T]):
        self._source = source
        self.events: list[T] = []

    def listen(self) -> None:
        self.events += self._source.poll()

    def until(self, done: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + patience_s
        self.listen()
        while not done():
            assert time.monotonic() < deadline, self.events[-5:]
            time.sleep(0.002)
            self.listen()


class Ear(Listener[ClientEvent]):
    """Listens to an engine."""

    def __init__(self, client: EngineClient):
        super().__init__(client)
        self.client = client

    def phase(self, *phases: str) -> EngineState:
        """Wait until the engine is in one of these."""
        self.until(lambda: self.client.state.phase in phases)
        return self.client.state

    def end(self, request: RequestId) -> Finished:
        """Wait for a request's end."""
        self.until(lambda: any(each.request == request for each in self.of(Finished)))
        (end,) = (each for each in self.of(Finished) if each.request == request)
        return end

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def tokens(self, request: RequestId) -> list[int]:
        return [t for piece in self.of(Piece) if piece.request == request for t in piece.tokens]

    def text(self, request: RequestId) -> str:
        return "".join(piece.text for piece in self.of(Piece) if piece.request == request)

    def used(self, request: RequestId) -> Used:
        (used,) = (used for used in self.of(Used) if used.request == request)
        return used

    def states(self) -> list[EngineState]:
        return [event.state for event in self.of(StateChanged)]

    def records(self) -> trace.Records:
        return np.concatenate([trace.empty(), *(each.records for each in self.of(Traced))])


def options(**fields: object) -> EngineOptions:
    """Of a small engine that keeps nothing; `fields` replace them."""
    given = {"n_threads": 1, "context": 512, "store": "gguf", "run_log": False, **fields}
    return EngineOptions(**given)  # type: ignore[arg-type]


def asked(prompt: str, max_tokens: int = 24, **fields: object) -> Request:
    """A request for exactly so many tokens, always the same ones."""
    params = SamplingParams(seed=1, max_tokens=max_tokens, ignore_end=True, temperature=1)
    return Request(prompt=prompt, params=params, **fields)  # type: ignore[arg-type]


def opened(ear: Ear, model: Path, **fields: object) -> EngineClient:
    """The client, once its engine has the model open."""
    ear.client.load(model, options(**fields))
    state = ear.phase("ready", "failed")
    assert state.phase == "ready", state.reason
    return ear.client


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def wait_until_gone(pid: int, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} lives on"
        time.sleep(0.005)
