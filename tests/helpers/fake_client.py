"""FakeClient and FakeJobs: what the window talks to, without an engine, a process or a thread.

Time passes in poll() only: each call takes loading one stage further and gives every request the
next word of its reply. So a test decides what happens, and the app's own timer drives it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from engine import trace
from engine.cache_size import CacheSize
from engine.client import (
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
from engine.engine_info import CacheChange, EngineInfo, EngineStats
from engine.engine_state import EngineState, ModelSummary
from engine.events import Finished, Notice, Piece, PrefillProgress, Reason
from engine.link_speed import LinkSpeed
from engine.options import PRESETS, EngineOptions
from engine.recommended_sampling import RecommendedSampling
from engine.request import Message, Request, RequestId, SessionId
from tests.helpers.made_up_records import N_EXPERT, N_LAYER, N_USED, RECORD_BYTES, MadeUpRecords

EXPERTS_BYTES = N_LAYER * N_EXPERT * RECORD_BYTES
MIN_CACHE_BYTES = 2 * N_USED * N_LAYER * RECORD_BYTES
REPLY = "Runahead lets **ready** requests run on, so that the disk never waits for the device."


class _Run:
    """A request inside the fake."""

    def __init__(self, number: RequestId, request: Request, text: str, now_ns: int) -> None:
        self.number = number
        self.request = request
        self.words = [part + " " for part in text.split(" ")]
        self.words[-1] = self.words[-1][:-1]
        self.made = 0
        self.prefilled = False
        self.begin_ns = now_ns


class FakeClient:
    """EngineClient's interface.

    Attributes:
        reply: Gives the text of a request's reply; REPLY by default.
        held: While True, requests get no words (and loading no further).
        load_error: (reason, hint) with which loading fails; None: it works.
        n_stages: Calls of poll() that loading takes.
        calls: What was called, as (name, arguments...).
        requests: What was submitted, by number.
        watched: Whether records are made.
    """

    def __init__(self) -> None:
        self.state = EngineState()
        self.reply: Callable[[Request], str] = lambda request: REPLY
        self.held = False
        self.load_error: tuple[str, str] | None = None
        self.n_stages = 3
        self.calls: list[tuple[object, ...]] = []
        self.requests: dict[RequestId, Request] = {}
        self.watched = False
        self.closed = False
        self._events: list[ClientEvent] = []
        self._runs: dict[RequestId, _Run] = {}
        self._n_requests = self._n_sessions = self._n_queries = self._n_polls = 0
        self._stage = 0
        self._made_up = MadeUpRecords()
        self._cache_bytes = 0

    # EngineClient.

    def load(self, model: Path, options: EngineOptions) -> None:
        self.calls.append(("load", model, options))
        self._end_all("cancelled", "")
        self._stage = 0
        self._become(EngineState(phase="starting", model=summary_of(model), options=options))

    def unload(self) -> None:
        self.calls.append(("unload",))
        self._end_all("cancelled", "")
        self._become(EngineState())

    def restart(self) -> None:
        self.calls.append(("restart",))
        assert self.state.model and self.state.options, "nothing was loaded before"
        self.load(Path(self.state.model.path), self.state.options)

    def submit(self, request: Request) -> RequestId:
        number = RequestId(self._n_requests)
        self._n_requests += 1
        self.requests[number] = request
        if self.state.phase != "ready":
            self._events.append(Finished(number, "error", "No model is loaded. Load one first."))
        else:
            self._runs[number] = _Run(number, request, self.reply(request), self._made_up.now_ns)
        return number

    def cancel(self, request: RequestId) -> None:
        self.calls.append(("cancel", request))
        if run := self._runs.pop(request, None):
            self._finish(run, "cancelled", "")

    def open_session(self) -> SessionId:
        self._n_sessions += 1
        return SessionId(self._n_sessions)

    def close_session(self, session: SessionId) -> None:
        self.calls.append(("close_session", session))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        self._n_queries += 1
        n_tokens = sum(4 + len(message.content.split()) for message in messages)
        ready = self.state.phase == "ready"
        self._events.append(TokensCounted(self._n_queries, n_tokens if ready else -1))
        return self._n_queries

    def set_cache_size(self, size: CacheSize) -> None:
        self.calls.append(("set_cache_size", size))
        wanted = size.bytes_of(EXPERTS_BYTES)
        self._cache_bytes = max(MIN_CACHE_BYTES, wanted) // RECORD_BYTES * RECORD_BYTES
        reason = "raised to what one step needs" if wanted < MIN_CACHE_BYTES else ""
        change = CacheChange(self._cache_bytes, self._cache_bytes // RECORD_BYTES, reason)
        self._events.append(CacheChanged(change))

    def set_policy(self, policy: str, *, cold: bool = False) -> None:
        self.calls.append(("set_policy", policy, cold))
        if policy in PRESETS or "/" in policy:
            self._events.append(Applied(policy, self._options.link))
        else:
            self._events += [PolicyRefused(policy), Notice(f"There is no policy {policy!r}.")]

    def set_link(self, speed: LinkSpeed) -> None:
        self.calls.append(("set_link", speed))

    def watch(self, on: bool) -> None:
        self.watched = on

    def poll(self) -> list[ClientEvent]:
        self._n_polls += 1
        if not self.held:
            self._load_further()
            self._step()
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        self.closed = True
        self._runs.clear()

    # What tests make happen.

    def become_ready(self, model: Path | str = "/models/qwen3-30b-a3b.gguf") -> None:
        """A model is loaded, at once."""
        self.load(Path(model), EngineOptions(context=8192))
        self._become(ready_state(self.state))
        self._cache_bytes = self._options.cache.bytes_of(EXPERTS_BYTES)

    def recommend(self, sampling: RecommendedSampling) -> None:
        """A model that recommends this takes the place of the one that is loaded."""
        assert self.state.model is not None
        model = msgspec.structs.replace(self.state.model, sampling=sampling)
        self._become(msgspec.structs.replace(self.state, model=model))

    def crash(self) -> None:
        """The engine's process dies."""
        self._end_all("error", "The engine stopped while this reply was being written.")
        self._become(
            EngineState(
                phase="failed",
                model=self.state.model,
                options=self.state.options,
                reason="The engine stopped: it ran out of memory.",
                hint="Choose a smaller cache, then restart it.",
                crashed=True,
            )
        )

    def notice(self, text: str) -> None:
        """The engine says something."""
        self._events.append(Notice(text))

    @property
    def active(self) -> list[RequestId]:
        """Requests that have not ended."""
        return list(self._runs)

    @property
    def _options(self) -> EngineOptions:
        return self.state.options or EngineOptions()

    def _become(self, state: EngineState) -> None:
        self.state = state
        self._events.append(StateChanged(state))

    def _load_further(self) -> None:
        if self.state.phase not in ("starting", "loading"):
            return
        if self.load_error:
            reason, hint = self.load_error
            model, options = self.state.model, self.state.options
            self._become(
                EngineState(phase="failed", model=model, options=options, reason=reason, hint=hint)
            )
        elif self._stage < self.n_stages:
            self._become(
                EngineState(
                    phase="loading",
                    model=self.state.model,
                    options=self.state.options,
                    stage="weights",
                    done=self._stage,
                    total=self.n_stages,
                )
            )
            self._stage += 1
        else:
            self._become(ready_state(self.state))
            self._cache_bytes = self._options.cache.bytes_of(EXPERTS_BYTES)

    def _step(self) -> None:
        if self.state.phase != "ready":
            return
        records: list[trace.Records] = []
        decoding = [run.number for run in self._runs.values() if run.prefilled]
        if decoding:
            records.append(self._made_up.next_step([int(number) for number in decoding]))
        for run in list(self._runs.values()):
            if not run.prefilled:
                run.prefilled = True
                self._events.append(PrefillProgress(run.number, 24, 24))
                continue
            self._events.append(Piece(run.number, run.words[run.made], (run.made,)))
            run.made += 1
            whole = run.made == len(run.words)
            if whole or run.made == run.request.params.max_tokens:
                del self._runs[run.number]
                self._finish(run, "stop" if whole else "length", "")
                end = (int(run.number), run.begin_ns, 24, run.made)
                records.append(self._made_up.end_request(*end))
        if self.watched and records:
            self._events.append(Traced(np.concatenate(records)))
        if self._n_polls % 8 == 1:
            self._events.append(StatsArrived(self.stats()))

    def stats(self) -> EngineStats:
        """Counters so far."""
        made_up = self._made_up
        slots = self._cache_bytes // RECORD_BYTES
        return EngineStats(
            steps=made_up.step,
            hits=made_up.hits,
            misses=made_up.misses,
            joined=made_up.joined,
            evicted=0,
            prefetched=0,
            prefetch_used=0,
            wasted=0,
            failed=0,
            fetched_bytes=made_up.fetched_bytes,
            cache_slots=slots,
            cache_in_use=min(slots, made_up.misses),
            cache_bytes=self._cache_bytes,
            active_requests=len(self._runs),
            queued_requests=0,
            dropped_records=0,
            peak_bytes=3 << 30,
        )

    def _finish(self, run: _Run, reason: Reason, detail: str) -> None:
        used = Used(
            request=run.number,
            prompt_tokens=24,
            reused_tokens=8,
            hits=70 * run.made,
            joined=5 * run.made,
            misses=25 * run.made,
        )
        self._events += [used, Finished(run.number, reason, detail)]

    def _end_all(self, reason: Reason, detail: str) -> None:
        for run in self._runs.values():
            self._finish(run, reason, detail)
        self._runs.clear()


def summary_of(model: Path) -> ModelSummary:
    """What is known of a model in the fake's world."""
    return ModelSummary(
        path=str(model),
        title=model.stem,
        architecture="qwen3moe",
        experts_total_bytes=EXPERTS_BYTES,
        n_layer=N_LAYER,
        n_expert=N_EXPERT,
        n_expert_used=N_USED,
    )


def ready_state(loading: EngineState) -> EngineState:
    """The state that loading ends in."""
    options = loading.options or EngineOptions()
    cache_bytes = options.cache.bytes_of(EXPERTS_BYTES)
    info = EngineInfo(
        n_layer=N_LAYER,
        n_embd=2048,
        n_expert=N_EXPERT,
        n_expert_used=N_USED,
        n_vocab=151_936,
        context=options.context,
        record_bytes=RECORD_BYTES,
        n_experts_total=N_LAYER * N_EXPERT,
        experts_total_bytes=EXPERTS_BYTES,
        resident_bytes=900 << 20,
        store=options.store,
        weight_layout="repacked",
        device="CPU",
        n_threads=2,
        chat_template=None,
        bos_token=1,
        eos_token=2,
        add_bos=False,
        cache_slots=cache_bytes // RECORD_BYTES,
        cache_bytes=cache_bytes,
        min_cache_bytes=MIN_CACHE_BYTES,
    )
    return EngineState(phase="ready", model=loading.model, options=options, info=info)
