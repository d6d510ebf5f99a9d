"""EngineService: the only door between the window and the engine."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.outcome import tell
from app.reply import Reply
from engine import trace
from engine.cache_size import CacheSize
from engine.client import (
    Applied,
    CacheChanged,
    ClientEvent,
    EngineClientLike,
    PolicyRefused,
    StateChanged,
    StatsArrived,
    TokensCounted,
    Traced,
    Used,
)
from engine.engine_state import EngineState
from engine.events import Finished, Notice, Piece, PrefillProgress
from engine.jobs import JobDone, JobProgress, JobRunnerLike
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Message, Request, RequestId, SessionId

FRAME_MS = 33  # while there is work
IDLE_MS = 200  # else; a crash or a notice is seen this late at most


class EngineService(QObject):
    """Turns what client and jobs have produced into signals, once per frame.

    So no thread but the window's touches Qt, and the window never waits. Pieces of text and trace
    records are joined: one signal per frame and receiver.

    Signals:
        state_changed: Loading, ready, failed, stopped. arg: EngineState.
        records_arrived: What the engine did; only while somebody watches. arg: trace.Records.
        stats_changed: Counters, about 4 times a second while ready. arg: EngineStats.
        cache_changed: The expert cache has another size. arg: CacheChange.
        policy_refused: The engine knows no such policy; the one before goes on. arg: str.
        noticed: Something a person should know. arg: str.
        reply_started: A reply was asked for. arg: Reply.
        job_progressed: args: job, stage, done, total.
        job_done: args: job, ModelInfo, PackFile or path.
        job_failed: args: job, message, hint, cancelled.

    Attributes:
        n_tokens: All tokens that have arrived.
        policy: What the engine goes by, which is what was asked for last unless it refuses that.
        cache, link: What was asked for last of the engine that `state_changed` has told of.
    """

    state_changed = Signal(object)
    records_arrived = Signal(object)
    stats_changed = Signal(object)
    cache_changed = Signal(object)
    policy_refused = Signal(str)
    noticed = Signal(str)
    reply_started = Signal(object)
    # Bytes do not fit into Qt's int.
    job_progressed = Signal(int, str, object, object)
    job_done = Signal(int, object)
    job_failed = Signal(int, str, str, bool)

    def __init__(
        self, client: EngineClientLike, jobs: JobRunnerLike, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._client = client
        self._jobs = jobs
        self._running_jobs: set[int] = set()
        self._replies: dict[RequestId, Reply] = {}
        self._counting: dict[int, Callable[[int], None]] = {}
        self._watchers: set[int] = set()  # ids of objects
        self.policy: str
        self.cache: CacheSize
        self.link: LinkSpeed
        self._policy_asked: str
        self._take_options(client.state.options or EngineOptions())
        self.n_tokens = 0
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_frame)
        self._timer.start(IDLE_MS)

    @property
    def state(self) -> EngineState:
        """Loading, ready, failed or stopped; with the model."""
        return self._client.state

    @property
    def replies(self) -> list[Reply]:
        """Those that have not ended, oldest first."""
        return list(self._replies.values())

    # Replies.

    def generate(self, request: Request) -> Reply:
        """Ask for a reply; an engine that cannot give one ends it with the reason."""
        model = self.state.model.title if self.state.model else ""
        number = self._client.submit(request)
        reply = Reply(number, self._client.cancel, model, self.policy)
        self._replies[number] = reply
        self._pace()
        self.reply_started.emit(reply)
        return reply

    def open_session(self) -> SessionId:
        """A KV cache that several requests share, one after another."""
        return self._client.open_session()

    def close_session(self, session: SessionId) -> None:
        """Free a session's KV cache."""
        self._client.close_session(session)

    def count_tokens(self, messages: Sequence[Message], callback: Callable[[int], None]) -> None:
        """Tell `callback` how many tokens these messages make; -1 when nobody can say."""
        self._counting[self._client.count_tokens(messages)] = callback
        self._pace()

    # The model.

    def load(self, model: Path, options: EngineOptions) -> None:
        """Open a model; ends what is open first. `state_changed` tells how it goes."""
        self._client.load(model, options)
        self._pace()

    def unload(self) -> None:
        """Close the model, or stop loading it."""
        self._client.unload()
        self._pace()

    def restart(self) -> None:
        """Load again what was loaded last."""
        self._client.restart()
        self._pace()

    def set_cache_size(self, size: CacheSize) -> None:
        """Resize the expert cache, also while replies stream; `cache_changed` follows."""
        self.cache = size
        self._client.set_cache_size(size)

    def set_policy(self, policy: str, *, cold: bool = False) -> None:
        """Change the policy from the next step on; one that is on its way is not sent again."""
        if policy == self._policy_asked and not cold:
            return
        self._policy_asked = policy
        self._client.set_policy(policy, cold=cold)

    def set_link(self, speed: LinkSpeed) -> None:
        """Emulate another link speed, or stop to."""
        self.link = speed
        self._client.set_link(speed)

    def watch(self, watcher: object, on: bool) -> None:
        """Trace records flow while at least one watcher wants them."""
        before = bool(self._watchers)
        (self._watchers.add if on else self._watchers.discard)(id(watcher))
        if before != bool(self._watchers):
            self._client.watch(bool(self._watchers))
        self._pace()

    # Jobs on model files.

    def inspect(self, path: Path) -> int:
        """Read what a model file holds; the job's number."""
        return self._started(self._jobs.inspect(path))

    def pack(self, path: Path, pack_path: Path | None = None) -> int:
        """Build a model's expert pack; the job's number."""
        return self._started(self._jobs.pack(path, pack_path))

    def cancel_job(self, job: int) -> None:
        """Stop a job; `job_failed` follows with cancelled set."""
        self._jobs.cancel(job)  # type: ignore[arg-type]  # a JobId

    def close(self) -> None:
        """End replies as cancelled, then the engine and all jobs; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._timer.stop()
        self._take(self._client.poll())  # what had arrived is not lost
        for reply in self.replies:
            reply.end("cancelled", "", self.policy, self._link_shown)
        self._replies.clear()
        self._counting.clear()
        self._client.close()
        self._jobs.close()

    # The pump.

    def _on_frame(self) -> None:
        self._take(self._client.poll())
        for event in self._jobs.poll():
            if isinstance(event, JobProgress):
                self.job_progressed.emit(event.job, event.stage, event.done, event.total)
                continue
            self._running_jobs.discard(event.job)
            if isinstance(event, JobDone):
                self.job_done.emit(event.job, event.result)
            else:
                self.job_failed.emit(event.job, event.message, event.hint, event.cancelled)
        self._pace()

    def _take(self, events: Iterable[ClientEvent]) -> None:
        texts: dict[RequestId, tuple[list[str], int]] = {}  # this frame's pieces
        records: list[trace.Records] = []
        for event in events:
            if isinstance(event, Piece):
                parts, n_tokens = texts.setdefault(event.request, ([], 0))
                parts.append(event.text)
                texts[event.request] = (parts, n_tokens + len(event.tokens))
            elif isinstance(event, Traced):
                records.append(event.records)
            else:
                if isinstance(event, Finished):
                    self._show_text(event.request, texts)
                self._take_one(event)
        for request in list(texts):
            self._show_text(request, texts)
        if records:
            self.records_arrived.emit(records[0] if len(records) == 1 else np.concatenate(records))

    def _show_text(self, request: RequestId, texts: dict[RequestId, tuple[list[str], int]]) -> None:
        parts, n_tokens = texts.pop(request, ([], 0))
        self.n_tokens += n_tokens
        if reply := self._replies.get(request):
            reply.add("".join(parts), n_tokens)

    def _take_one(self, event: ClientEvent) -> None:
        if isinstance(event, PrefillProgress):
            if reply := self._replies.get(event.request):
                reply.prefilled.emit(event.done, event.total)
        elif isinstance(event, Used):
            needed = event.hits + event.joined + event.misses
            if reply := self._replies.get(event.request):
                rate = event.hits / needed if needed else 0.0
                reply.set_used(event.prompt_tokens, event.reused_tokens, rate)
        elif isinstance(event, Finished):
            if reply := self._replies.pop(event.request, None):
                reply.end(event.reason, event.detail, self.policy, self._link_shown)
        elif isinstance(event, StateChanged):
            self._take_state(event.state)
        elif isinstance(event, StatsArrived):
            self.stats_changed.emit(event.stats)
        elif isinstance(event, CacheChanged):
            self.cache_changed.emit(event.change)
        elif isinstance(event, Applied):
            self.policy = event.policy
        elif isinstance(event, PolicyRefused):
            if event.policy == self._policy_asked:
                self._policy_asked = self.policy
            self.policy_refused.emit(event.policy)
        elif isinstance(event, TokensCounted):
            if callback := self._counting.pop(event.query, None):
                tell(callback, event.n_tokens)
        elif isinstance(event, Notice):
            self.noticed.emit(event.text)

    @property
    def _link_shown(self) -> str:
        return str(self.link) if self.link.emulated else ""

    def _take_options(self, options: EngineOptions) -> None:
        self.policy = self._policy_asked = options.policy
        self.cache, self.link = options.cache, options.link

    def _take_state(self, state: EngineState) -> None:
        if state.phase == "starting" and state.options:
            self._take_options(state.options)  # only now: what an engine before it said is past
        if state.phase in ("stopped", "failed"):
            waiting, self._counting = self._counting, {}
            for callback in waiting.values():
                tell(callback, -1)
        self.state_changed.emit(state)

    def _started(self, job: int) -> int:
        self._running_jobs.add(job)
        self._pace()
        return job

    def _pace(self) -> None:
        busy = (
            self._replies
            or self._running_jobs
            or self._counting
            or self.state.phase in ("starting", "loading")
            or (self._watchers and self.state.phase == "ready")
        )
        interval = FRAME_MS if busy else IDLE_MS
        if not self._closed and self._timer.interval() != interval:
            self._timer.start(interval)
