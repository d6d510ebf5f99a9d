"""Engine: one open model in this process.

The life of a request:
1. submit() renders messages by the model's chat template, tokenizes and queues them.
2. The native engine admits it between two steps and prefills it (PrefillProgress).
3. Each step gives it one token; poll() turns bytes into text (Piece).
4. A stop string, the end token, max_tokens, a cancel or an error ends it (Finished).
"""

import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np

from engine import errors, native, sizes, trace
from engine.cache_size import CacheSize
from engine.chat_template import ChatTemplate
from engine.engine_info import CacheChange, EngineInfo, EngineStats, JobRow
from engine.events import Event, Finished, Notice, Piece, PrefillProgress, Reason
from engine.link_speed import LinkSpeed
from engine.model_info import ModelInfo, inspect_model
from engine.open_store import choose_store
from engine.options import EngineOptions, usual_context
from engine.request import Message, Prompt, Request, RequestId, SessionId
from engine.runlog.start import start_run_log
from engine.runlog.writer import RunLogWriter
from engine.sampling import SamplingParams
from engine.text_stream import TextStream
from engine.thinking_markers import hidden_markers

# Records kept for drain_events(); when nobody drains them, the oldest go.
MAX_KEPT_RECORDS = 1 << 18


class Engine:
    """Runs several requests at once on one model. Thread-safe; open it with `Engine.open`.

    Attributes:
        model: What the model file holds.
        info: What the open engine is; constant.
    """

    def __init__(
        self, engine: "native.Engine", model: ModelInfo, options: EngineOptions, notices: list[str]
    ):
        self.model = model
        self.options = options
        self.info = msgspec.convert(engine.info(), EngineInfo)
        self._native = engine
        self._lock = threading.Lock()  # guards everything below
        self._replies: dict[int, TextStream] = {}  # of requests that have not ended
        self._notices = notices
        self._told: set[str] = set()
        self._records: deque[trace.Records] = deque()
        self._n_records = 0
        self._dropped = 0
        self._closed = False
        self._template = ChatTemplate(
            self.info.chat_template,
            bos=self._special_text(self.info.bos_token),
            eos=self._special_text(self.info.eos_token),
        )
        self._markers = hidden_markers(engine)
        wanted = options.cache.bytes_of(model.experts_total_bytes)
        if wanted < self.info.min_cache_bytes:
            notices.append(
                f"The expert cache takes {sizes.show(self.info.cache_bytes)} instead of"
                f" {sizes.show(wanted)}: with less, not even one request could run."
            )
        self._log: RunLogWriter | None = None
        if options.run_log:
            self._log, failure = start_run_log(model, options, self.info)
            if failure:
                notices.append(f"This run has no run log: {failure}.")

    @classmethod
    def open(
        cls,
        model: Path | str | ModelInfo,
        options: EngineOptions | None = None,
        progress: native.Progress | None = None,
    ) -> "Engine":
        """Open a model, building its expert pack first where the options ask for one.

        `model` is its file, or what inspect_model() found there. Without `options` all have their
        defaults, but for the context of a model that was trained for less.
        Raises ModelFileError, UnsupportedModelError, StorageError, OutOfMemoryError,
        InvalidRequestError, or Cancelled when `progress` returned False.
        """
        found = model if isinstance(model, ModelInfo) else inspect_model(model)
        options = options or EngineOptions(context=usual_context(found.context_length))
        if not found.supported:
            raise errors.UnsupportedModelError(f"{found.title} cannot be run: {found.reason}")
        with native.translated():
            native.parse_policy(native.utf8(options.policy, "The policy"))  # before packing
        if 0 < found.context_length < options.context:
            raise errors.InvalidRequestError(
                f"context {options.context} is more than the {found.context_length} tokens"
                f" that {found.title} was trained for"
            )
        notices: list[str] = []
        store, pack = choose_store(found, options, notices, progress)
        cache_bytes = options.cache.bytes_of(found.experts_total_bytes)
        watched = native.Watched(progress)
        with native.translated(watched):
            opened = native.Engine(
                found.path,
                store=store,
                pack_path=pack,
                cache_bytes=0 if cache_bytes >= found.experts_total_bytes else cache_bytes,
                policy=options.policy,
                n_threads=options.n_threads,
                n_readers=options.n_readers,
                link_bytes_per_s=options.link.bytes_per_s,
                max_requests=options.max_requests,
                context=options.context,
                prefill_chunk=options.prefill_chunk,
                verify_reads=options.verify_reads,
                staged=options.staged,
                fault_seed=options.fault_seed,
                progress=watched,
            )
        try:
            return cls(opened, found, options, notices)
        except BaseException:
            opened.close()
            raise

    # Requests.

    def submit(self, request: Request, prompt: Prompt | None = None) -> RequestId:
        """Queue a request; `prompt` is what prompt_of() gave for it, where that was asked before.

        Raises InvalidRequestError when prompt and reply exceed the context.
        """
        prompt = prompt or self.prompt_of(request)
        params = request.params
        with native.translated(), self._lock:
            number = self._native.submit(
                prompt.tokens,
                session=request.session,
                max_tokens=params.max_tokens,
                seed=params.seed,
                temperature=params.temperature,
                top_k=params.top_k,
                top_p=params.top_p,
                min_p=params.min_p,
                repeat_penalty=params.repeat_penalty,
                grammar=params.grammar,
                ignore_end=params.ignore_end,
            )
            self._replies[number] = TextStream((*params.stop, *prompt.stop))
        return RequestId(number)

    def submit_chat(
        self, messages: Sequence[Message], params: SamplingParams | None = None
    ) -> RequestId:
        """Queue the reply to a chat."""
        return self.submit(Request(messages=tuple(messages), params=params or SamplingParams()))

    def submit_prompt(self, prompt: str, params: SamplingParams | None = None) -> RequestId:
        """Queue the continuation of a text."""
        return self.submit(Request(prompt=prompt, params=params or SamplingParams()))

    def prompt_of(self, request: Request) -> Prompt:
        """What the model reads of a request; a chat goes through the model's template."""
        if request.tokens:
            return Prompt(list(request.tokens))
        if request.prompt:
            return Prompt(self.tokenize(request.prompt))
        prompt = self._template.render(request.messages)
        with self._lock:
            if prompt.notice and prompt.notice not in self._told:
                self._told.add(prompt.notice)
                self._notices.append(prompt.notice)
        # A template that spells out the first token must not get it twice.
        first = self._special_text(self.info.bos_token)
        spelled = bool(first) and prompt.text.startswith(first)
        return Prompt(self.tokenize(prompt.text, add_special=not spelled), prompt.stop)

    def tokenize(self, text: str, *, add_special: bool = True) -> list[int]:
        """Token ids of a text, in which special tokens may be spelled out."""
        with native.translated():
            return self._native.tokenize(native.utf8(text, "The prompt"), add_special, True)

    def cancel(self, request: RequestId) -> None:
        """Stop a request soon; its Finished event follows. Unknown and ended ones are ignored."""
        with native.translated():
            self._native.cancel(request)

    def open_session(self) -> SessionId:
        """A KV cache that outlives one request."""
        with native.translated():
            return SessionId(self._native.open_session())

    def close_session(self, session: SessionId) -> None:
        """Give the session's memory back."""
        with native.translated():
            self._native.close_session(session)

    # Events.

    def wait(self, timeout_s: float) -> bool:
        """Block until poll() has something or the time is over; True when it has."""
        if self._notices:
            return True
        with native.translated():
            return self._native.wait(timeout_s)

    def poll(self) -> list[Event]:
        """Everything since the last call; one Piece per request at most, unless it ended."""
        events: list[Event] = []
        at: dict[int, int] = {}  # request -> where its Piece is
        with native.translated(), self._lock:
            arrived = self._native.poll()
            self._keep_records()
            events += [Notice(text) for text in self._notices]
            self._notices.clear()
            for number, kind, *rest in arrived:
                if kind == "notice":
                    events.append(Notice(rest[0]))
                elif (reply := self._replies.get(number)) is None:
                    continue  # tokens of one that was already reported as ended
                elif kind == "prefill":
                    events.append(PrefillProgress(RequestId(number), rest[0], rest[1]))
                elif kind == "token":
                    self._take_token(reply, number, rest[0], rest[1], events, at)
                else:
                    self._take_end(reply, number, rest[0], rest[1], events, at)
        return events

    def _take_token(
        self,
        reply: TextStream,
        number: int,
        token: int,
        piece: bytes,
        events: list[Event],
        at: dict[int, int],
    ) -> None:
        if reply.stopped:
            return  # made before the cancel reached the engine
        text = reply.push(piece or self._markers.get(token, b""))
        self._add_piece(number, text, (token,), events, at)
        if reply.stopped:
            self._native.cancel(number)

    def _take_end(
        self,
        reply: TextStream,
        number: int,
        reason: Reason,
        detail: str,
        events: list[Event],
        at: dict[int, int],
    ) -> None:
        if rest := reply.finish():
            self._add_piece(number, rest, (), events, at)
        if reply.stopped and reason != "error":
            reason = "stop"
        del self._replies[number]
        events.append(Finished(RequestId(number), reason, detail))

    @staticmethod
    def _add_piece(
        number: int,
        text: str,
        tokens: tuple[int, ...],
        events: list[Event],
        at: dict[int, int],
    ) -> None:
        before = events[at[number]] if number in at else None
        if isinstance(before, Piece):
            events[at[number]] = Piece(before.request, before.text + text, before.tokens + tokens)
        else:
            at[number] = len(events)
            events.append(Piece(RequestId(number), text, tokens))

    # Settings that work while requests run.

    def set_cache_size(self, size: CacheSize) -> CacheChange:
        """Resize the expert cache; the result says what it became and why."""
        with native.translated():
            changed = self._native.set_cache(size.bytes_of(self.info.experts_total_bytes))
        self._mark(f"cache {size}")
        return msgspec.convert(changed, CacheChange)

    def set_policy(self, policy: str, *, cold: bool = False) -> None:
        """Change the policy from the next step on; `cold` empties the cache as well."""
        with native.translated():
            self._native.set_policy(policy, cold)
        self._mark(f"policy {policy}" + (", cold cache" if cold else ""))

    def set_link(self, speed: LinkSpeed) -> None:
        """Emulate another link speed, or stop to."""
        with native.translated():
            self._native.set_link(speed.bytes_per_s)
        self._mark(f"link {speed.labelled}")

    # Looking inside.

    def stats(self) -> EngineStats:
        """Counters since opening."""
        with native.translated():
            return msgspec.convert(self._native.stats(), EngineStats)

    def progress_table(self) -> list[JobRow]:
        """Where every request is in the current step."""
        with native.translated():
            return [JobRow(*row) for row in self._native.progress_table()]

    def drain_events(self) -> trace.Records:
        """Trace records since the last call; the oldest are missing when that was long ago."""
        with native.translated(), self._lock:
            self._keep_records()
            records = list(self._records)
            self._records.clear()
            self._n_records = 0
        return np.concatenate(records) if records else trace.empty()

    @property
    def dropped_records(self) -> int:
        """How many records were lost since opening, because the rings were full."""
        return self._dropped

    def record_routing(self, n_lookahead: int | None) -> None:
        """Keep what routers say, with those of so many later layers; None: no longer.

        What was kept and not taken is forgotten.
        """
        with native.translated():
            self._native.record_routing(-1 if n_lookahead is None else n_lookahead)

    def take_routing(self) -> dict[str, Any]:
        """What was kept since the last call, as `_native.Engine.take_routing` describes it."""
        with native.translated():
            return self._native.take_routing()

    @property
    def run_log_folder(self) -> Path | None:
        """Where this run's log is written; None when there is none."""
        return self._log.folder if self._log else None

    # The end.

    def close(self) -> None:
        """End all requests, free everything, finish the run log; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                with native.translated():
                    self._keep_records()
            finally:
                if self._log:  # first: on a slow link the rest may take longer than there is time
                    self._log.close()
                self._native.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _special_text(self, token: int) -> str:
        if token < 0:
            return ""
        return self._native.token_piece(token, True).decode("utf-8", errors="replace")

    def _keep_records(self) -> None:
        """REQUIRES: the lock is held."""
        data, self._dropped = self._native.drain()
        records = trace.from_bytes(data)
        if self._log:
            failed_before = self._log.failure
            self._log.append(records, self._dropped)
            if self._log.failure and not failed_before:
                self._notices.append(f"The run log ends here: {self._log.failure}.")
        if len(records):
            self._records.append(records)
            self._n_records += len(records)
        while self._n_records > MAX_KEPT_RECORDS and len(self._records) > 1:
            self._n_records -= len(self._records.popleft())

    def _mark(self, text: str) -> None:
        if self._log:
            step = self.stats().steps
            with self._lock:
                self._log.mark(step, text)
