"""HostedEngine: an open engine as its client sees it: commands in, reports out.

Called by two threads: do() by the one that reads commands, run() by the one that hands on what the
engine produces. Nothing in do() waits for the engine's work, so that a cancel is never late.
"""

import threading
import time
import traceback
from typing import assert_never

import msgspec

from engine import errors
from engine.client_events import (
    Applied,
    CacheChanged,
    PolicyRefused,
    StatsArrived,
    TokensCounted,
)
from engine.engine import Engine
from engine.events import Finished, Notice
from engine.host_requests import HostRequests
from engine.process.outbox import Outbox
from engine.protocol import (
    Cancel,
    CloseSession,
    CountTokens,
    EngineCommand,
    SetCacheSize,
    SetLink,
    SetPolicy,
    Submit,
    Watch,
)
from engine.request import NO_SESSION, Request, RequestId, SessionId

# Text is handed on this often at most (the first of it at once): nobody reads faster, and every
# batch costs.
_BATCH_S = 0.02
_IDLE_S = 0.1
_STATS_S = 0.25


class HostedEngine:
    """Owns the engine from now on."""

    def __init__(self, engine: Engine, outbox: Outbox):
        self._engine = engine
        self._outbox = outbox
        self._policy = engine.options.policy
        self._link = engine.options.link
        # Taken around each call that begins or ends requests at the engine, so that nothing is
        # heard of one whose number is not known yet.
        self._lock = threading.Lock()
        self._requests = HostRequests()
        self._sessions: dict[SessionId, SessionId] = {}  # the client's -> the engine's
        self._watched = False
        self._stats_at = 0.0
        self._was_active = True  # so that the first counters are told

    def do(self, command: EngineCommand) -> None:
        """Do what the client wants; what comes of it goes to the outbox."""
        try:
            self._do(command)
        except errors.EngineError as error:
            self._outbox.put(Notice(str(error)))
        self._outbox.flush()

    def run(self, stopping: threading.Event) -> None:
        """Hand on what the engine produces, until told to stop."""
        taken = 0.0
        while not stopping.is_set():
            self._engine.wait(_IDLE_S if self._outbox.flush() else _BATCH_S)
            time.sleep(max(0.0, taken + _BATCH_S - time.monotonic()))
            taken = time.monotonic()
            self._take()
            if taken >= self._stats_at:
                self._stats_at = taken + _STATS_S
                self._tell_stats()

    def close(self) -> None:
        """End everything and finish the run log."""
        self._engine.close()

    def _do(self, command: EngineCommand) -> None:
        match command:
            case Submit():
                self._submit(command.number, command.request)
            case Cancel():
                with self._lock:
                    number = self._requests.engines_number(command.request)
                if number is not None:
                    self._engine.cancel(number)
            case CloseSession():
                if (session := self._sessions.pop(command.session, None)) is not None:
                    self._engine.close_session(session)
            case CountTokens():
                self._outbox.put(TokensCounted(command.query, self._n_tokens(command)))
            case SetCacheSize():
                self._outbox.put(CacheChanged(self._engine.set_cache_size(command.size)))
                self._was_active = True  # the counters changed
            case SetPolicy():
                try:
                    self._engine.set_policy(command.policy, cold=command.cold)
                except errors.EngineError:
                    self._outbox.put(PolicyRefused(command.policy))
                    raise
                self._policy = command.policy
                self._outbox.put(Applied(self._policy, self._link))
            case SetLink():
                self._engine.set_link(command.speed)
                self._link = command.speed
                self._outbox.put(Applied(self._policy, self._link))
            case Watch():
                self._watch(command.on)
            case _:
                assert_never(command)

    def _submit(self, number: RequestId, request: Request) -> None:
        try:
            prompt = self._engine.prompt_of(request)
            session = self._engines_session(request.session)
            asked = msgspec.structs.replace(request, session=session)
            with self._lock:
                if self._requests.busy(request.session):
                    raise errors.InvalidRequestError(
                        "The session already has a request in flight; stop it, or wait for its end"
                    )
                known = self._engine.submit(asked, prompt)
                self._requests.add(known, number, request.session, len(prompt.tokens))
        except errors.EngineError as error:
            self._outbox.put(Finished(number, "error", str(error)))
        except Exception as error:  # one request must not end all others
            traceback.print_exc()
            detail = f"Internal error ({type(error).__name__}: {error})"
            self._outbox.put(Finished(number, "error", detail))

    def _engines_session(self, session: SessionId) -> SessionId:
        """The engine's session for one of the client's, opened when it is first needed."""
        if session == NO_SESSION:
            return NO_SESSION
        if session not in self._sessions:
            self._sessions[session] = self._engine.open_session()
        return self._sessions[session]

    def _n_tokens(self, command: CountTokens) -> int:
        try:
            return len(self._engine.prompt_of(Request(messages=command.messages)).tokens)
        except errors.EngineError:
            return -1
        except Exception:  # nobody waits for a number; whoever submits the chat is told
            traceback.print_exc()
            return -1

    def _watch(self, on: bool) -> None:
        with self._lock:
            self._watched = on
            if not on:
                self._outbox.forget_records()

    def _take(self) -> None:
        with self._lock:
            arrived = self._engine.poll()
            records = self._engine.drain_events()
            if len(records):
                self._requests.count(records)
            if len(records) and self._watched:
                self._outbox.put_records(
                    self._requests.renumbered(records), self._engine.dropped_records
                )
            for event in self._requests.events(arrived):
                self._outbox.put(event)

    def _tell_stats(self) -> None:
        stats = self._engine.stats()
        active = stats.active_requests + stats.queued_requests > 0
        if active or self._was_active:
            self._outbox.put(StatsArrived(stats))
        self._was_active = active
