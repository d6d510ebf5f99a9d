"""EngineClient: an engine in a process of its own, one model at a time.

The life of a load:
1. load() asks the process that is open to end, and says "starting".
2. When that is gone (poll() sees it, and kills it after a second), a new one is started.
3. It says how loading goes on, then that it is ready, or why not.
4. unload(), another load() or close() end it; a crash does, too: then all its requests end with an
   error, the state says what happened, and restart() begins again at 1.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_never

import msgspec

from engine import trace
from engine.cache_size import CacheSize
from engine.client_events import (
    Applied,
    CacheChanged,
    ClientEvent,
    PolicyRefused,
    StateChanged,
    StatsArrived,
    TokensCounted,
    Traced,
    Used,
)
from engine.client_like import EngineClientLike
from engine.engine_state import EngineState, ModelSummary
from engine.events import Finished, Notice, Piece, PrefillProgress, Reason
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.process.child import Child, wait_until_gone
from engine.process.frames import UnsendableError
from engine.protocol import (
    Cancel,
    CloseSession,
    CountTokens,
    EngineCommand,
    Failed,
    Found,
    HostReport,
    Load,
    Progress,
    Ready,
    SetCacheSize,
    SetLink,
    SetPolicy,
    Submit,
    Trace,
    Watch,
)
from engine.request import NO_SESSION, Message, Request, RequestId, SessionId

__all__ = [
    "Applied",
    "CacheChanged",
    "ClientEvent",
    "EngineClient",
    "EngineClientLike",
    "PolicyRefused",
    "StateChanged",
    "StatsArrived",
    "TokensCounted",
    "Traced",
    "Used",
]

HOST = "engine.host"
MAX_IN_FLIGHT = 2048
_MEMORY_HINT = "Choose a smaller cache or a shorter context, or close other programs; then restart."


class EngineClient:
    """Has no thread: whatever happens, happens in a call, so poll() has to be called often.

    To be used from one thread, which must live as long as what it loads: Linux ends the process
    when the thread that started it ends.

    Attributes:
        state: As of the last call; every change is also an event.
    """

    def __init__(self) -> None:
        self.state = EngineState()
        self._child: Child | None = None
        self._ending: list[Child] = []
        self._last: tuple[Path, EngineOptions] | None = None  # what was loaded last
        self._starts = False  # it is to be started as soon as nothing is ending
        self._events: list[ClientEvent] = []
        self._in_flight: set[RequestId] = set()
        self._counting: set[int] = set()
        self._sessions: set[SessionId] = set()
        self._watched = False
        self._requests = itertools.count()
        self._session_numbers = itertools.count()
        self._queries = itertools.count()

    @property
    def pid(self) -> int | None:
        """The process that holds the model, or is about to; None when there is none."""
        return self._child.pid if self._child else None

    # The model.

    def load(self, model: Path, options: EngineOptions) -> None:
        """Open a model; what is open ends first. What comes of it arrives as StateChanged."""
        self._end()
        self._last = (Path(model), options)
        self._starts = True
        summary = ModelSummary.unread(Path(model))
        self._say(EngineState(phase="starting", model=summary, options=options))
        self._start_when_free()

    def unload(self) -> None:
        """Close the model, or stop loading it: within a second, or its process is killed."""
        self._end()
        if self.state.phase != "stopped":
            self._say(EngineState())

    def restart(self) -> None:
        """The last load again, with the policy and the link that were set since.

        Not the cache size: a larger cache may be what ended the engine.
        """
        if self._last is not None:
            self.load(*self._last)

    def close(self) -> None:
        """End everything, and wait until the process is gone: a second at most; safe twice."""
        self.unload()
        wait_until_gone(self._ending)
        self._ending.clear()

    # Requests.

    def submit(self, request: Request) -> RequestId:
        """Queue a request; what is wrong with it arrives as its Finished(reason="error")."""
        number = RequestId(next(self._requests))
        refusal = self._refusal(request) or self._tell(Submit(number, request))
        if refusal:
            self._events.append(Finished(number, "error", refusal))
        else:
            self._in_flight.add(number)
        return number

    def cancel(self, request: RequestId) -> None:
        """Stop a request soon; its Finished follows. Unknown and ended ones are ignored."""
        if request in self._in_flight:
            self._tell(Cancel(request))

    def open_session(self) -> SessionId:
        """A number for requests that share a KV cache; stays good across loads and restarts.

        An engine opens the session when a request first names it, and computes the whole prompt
        then, also of a chat that an earlier engine knew.
        """
        session = SessionId(next(self._session_numbers))
        self._sessions.add(session)
        return session

    def close_session(self, session: SessionId) -> None:
        """Give the session's memory back; a request that runs in it is cancelled."""
        if session in self._sessions:
            self._sessions.remove(session)
            self._tell(CloseSession(session))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Ask how long a chat is; the query's number, for its TokensCounted."""
        query = next(self._queries)
        if self._tell(CountTokens(query, tuple(messages))):
            self._events.append(TokensCounted(query, -1))
        else:
            self._counting.add(query)
        return query

    # Settings of the open model; without one they do nothing.

    def set_cache_size(self, size: CacheSize) -> None:
        """Resize the expert cache, also while requests run; CacheChanged follows."""
        self._tell(SetCacheSize(size))

    def set_policy(self, policy: str, *, cold: bool = False) -> None:
        """Use a policy from the next step on; `cold` empties the cache.

        Applied follows; or, where there is no such policy, PolicyRefused and a Notice.
        """
        self._tell(SetPolicy(policy, cold))

    def set_link(self, speed: LinkSpeed) -> None:
        """Emulate a slower link; Applied follows."""
        self._tell(SetLink(speed))

    # What happened.

    def watch(self, on: bool) -> None:
        """Whether trace records are wanted, as Traced; holds across loads."""
        if on != self._watched:
            self._watched = on
            self._tell(Watch(on))

    def poll(self) -> list[ClientEvent]:
        """Everything since the last call, in order; costs next to nothing when that is nothing."""
        if self._ending or self._starts:
            self._start_when_free()
        if self._child is not None:
            self._listen(self._child)
        events, self._events = self._events, []
        return events

    def _listen(self, child: Child) -> None:
        for report in child.channel.receive():
            self._take(report)
            if self._child is not child:
                return
        if child.died():
            self._died(child)

    def _take(self, report: HostReport) -> None:
        match report:
            case Piece() | PrefillProgress() | Used():
                if report.request in self._in_flight:
                    self._events.append(report)
            case Finished():
                if report.request in self._in_flight:
                    self._in_flight.remove(report.request)
                    self._events.append(report)
            case Trace():
                if self._watched:
                    self._events.append(Traced(trace.from_bytes(report.data), report.dropped))
            case TokensCounted():
                self._counting.discard(report.query)
                self._events.append(report)
            case StatsArrived() | CacheChanged() | PolicyRefused() | Notice():
                self._events.append(report)
            case Progress():
                stage = {"stage": report.stage, "done": report.done, "total": report.total}
                self._change(phase="loading", **stage)
            case Found():
                self._change(model=report.model)
            case Ready():
                self._change(phase="ready", info=report.info, stage="", done=0, total=0)
                if self._watched:
                    self._tell(Watch(True))
            case Applied():
                if self._last is not None:
                    changed = {"policy": report.policy, "link": report.link}
                    self._last = (
                        self._last[0],
                        msgspec.structs.replace(self._last[1], **changed),
                    )
                self._events.append(report)
            case Failed():
                self._fail(report.message, report.hint, crashed=False)
            case _:
                assert_never(report)

    # The process.

    def _start_when_free(self) -> None:
        self._tend()
        if not self._starts or self._ending or self._last is None:
            return
        self._starts = False
        model, options = self._last
        try:
            self._child = Child(HOST, HostReport)
            self._child.channel.send(Load(str(model), options))
        except OSError as error:
            reason = f"The engine's process could not be started: {error.strerror or error}"
            self._fail(reason, "Close other programs, and try again.", crashed=False)
        except UnsendableError as error:
            reason = f"The path or an option could not be handed to the engine: it {error}"
            self._fail(reason, "Rename the file, or change the options.", crashed=False)

    def _tend(self) -> None:
        self._ending = [child for child in self._ending if not child.gone()]

    def _end(self) -> None:
        """What is open, or about to be."""
        if self._child is not None:
            self._listen(self._child)  # what it has said counts
        self._starts = False
        self._let_go("cancelled", "")

    def _died(self, child: Child) -> None:
        hint = _MEMORY_HINT if child.ran_out_of_memory else "Restart it."
        if child.log.last_words():
            hint += f" If that happens again, please report it with {child.log.path}."
        self._fail(f"The engine stopped: {child.why_it_died()}.", hint, crashed=True)

    def _fail(self, reason: str, hint: str, *, crashed: bool) -> None:
        self._let_go("error", reason)
        self._change(phase="failed", info=None, reason=reason, hint=hint, crashed=crashed)

    def _let_go(self, reason: Reason, detail: str) -> None:
        """Part from the process; all that was asked of it ends so."""
        if self._child is not None:
            self._child.stop()
            self._ending.append(self._child)
            self._child = None
        self._events += [Finished(each, reason, detail) for each in sorted(self._in_flight)]
        self._events += [TokensCounted(each, -1) for each in sorted(self._counting)]
        self._in_flight.clear()
        self._counting.clear()

    def _tell(self, command: EngineCommand) -> str:
        """Why the engine cannot be told; "" when it is."""
        if self._child is None or self.state.phase != "ready":
            loading = self.state.phase in ("starting", "loading")
            return "The model is still being loaded." if loading else "No model is open."
        try:
            self._child.channel.send(command)
        except UnsendableError as error:
            return f"The engine could not be told: this {error}."
        return ""

    def _refusal(self, request: Request) -> str:
        if request.session != NO_SESSION and request.session not in self._sessions:
            return f"Session {request.session} is not open."
        if len(self._in_flight) >= MAX_IN_FLIGHT:
            return f"{MAX_IN_FLIGHT} requests are in flight already; wait for some to end."
        return ""

    def _change(self, **fields: Any) -> None:
        self._say(msgspec.structs.replace(self.state, **fields))

    def _say(self, state: EngineState) -> None:
        self.state = state
        self._events.append(StateChanged(state))
