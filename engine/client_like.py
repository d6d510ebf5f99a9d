"""EngineClientLike: what an engine elsewhere can do; EngineClient and fakes in tests have it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from engine.cache_size import CacheSize
from engine.client_events import ClientEvent
from engine.engine_state import EngineState
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Message, Request, RequestId, SessionId


class EngineClientLike(Protocol):
    """One engine at a time; used from one thread; no call but close() waits for anything."""

    @property
    def state(self) -> EngineState:
        """As of the last call."""

    def load(self, model: Path, options: EngineOptions) -> None:
        """Open a model; what is open ends first. What comes of it arrives as StateChanged."""

    def unload(self) -> None:
        """Close the model, or stop loading it: within a second, or its process is killed."""

    def restart(self) -> None:
        """The last load again."""

    def submit(self, request: Request) -> RequestId:
        """Queue a request; what is wrong with it arrives as its Finished(reason="error")."""

    def cancel(self, request: RequestId) -> None:
        """Stop a request soon; its Finished follows. Unknown and ended ones are ignored."""

    def open_session(self) -> SessionId:
        """A number for requests that share a KV cache; stays good across loads and restarts."""

    def close_session(self, session: SessionId) -> None:
        """Give the session's memory back; a request that runs in it is cancelled."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Ask how long a chat is; the query's number, for its TokensCounted."""

    def set_cache_size(self, size: CacheSize) -> None:
        """Resize the expert cache, also while requests run; CacheChanged follows."""

    def set_policy(self, policy: str, *, cold: bool = False) -> None:
        """Use a policy from the next step on; Applied or PolicyRefused follows.

        `cold` empties the cache.
        """

    def set_link(self, speed: LinkSpeed) -> None:
        """Emulate a slower link; Applied follows."""

    def watch(self, on: bool) -> None:
        """Whether trace records are wanted, as Traced."""

    def poll(self) -> list[ClientEvent]:
        """Everything since the last call, in order; costs next to nothing when that is nothing."""

    def close(self) -> None:
        """End everything, and wait until the process is gone: a second at most; safe twice."""
