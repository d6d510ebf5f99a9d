"""The fake native Engine: deterministic, no model and no threads.

Work happens inside wait() and poll(): each call that finds no event runs one step on a virtual
clock. Tokens are bytes (0..255), 256 begins a text, 257 ends a reply. Text and routing depend on a
request's prompt and seed only, never on policy or cache.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import trace
from engine.trace import Event
from tests.helpers.fake_model import (
    BOS,
    EOS,
    N_EXPERT,
    N_LAYER,
    N_USED,
    N_VOCAB,
    RECORD_BYTES,
    NativeError,
    fail,
    read_model,
)

Progress = Callable[[str, int, int], bool]
PRESETS = {
    "bevy": "runahead/lowest-layer/layer-srtf/lfu/none",
    "llama.cpp": "lockstep/lowest-layer/layer-srtf/lru/none",
    "lockstep-lfu": "lockstep/lowest-layer/layer-srtf/lfu/none",
}
REPLY = "Grüße an alle: 🌍 und mehr. "  # characters of one to four bytes


def parse_policy(text: str) -> str:
    if text in PRESETS:
        return PRESETS[text]
    if text.count("/") == 4:
        return text
    raise NativeError("invalid", f"policy {text!r} is unknown; known are {', '.join(PRESETS)}")


class _Run:
    """A request inside the fake."""

    def __init__(
        self, number: int, tokens: list[int], asked: dict[str, Any], model: dict[str, Any]
    ):
        self.number = number
        self.tokens = tokens
        self.asked = asked
        self.prefilled = 0
        self.made = 0
        self.cancelled = False
        self.begin_ns = 0
        self.fails = str(model.get("fails", ""))
        key = f"{tokens} {asked['seed'] if asked['temperature'] > 0 else ''}"
        self.key = hashlib.sha256(key.encode()).digest()
        text = model.get("reply")
        if text is None:
            text = REPLY[self.key[0] % len(REPLY) :] + REPLY * 4
        self.reply = text.encode()

    def next_token(self) -> int:
        if self.made < len(self.reply):
            return self.reply[self.made]
        return self.reply[self.made % len(self.reply)] if self.asked["ignore_end"] else EOS

    def experts(self, layer: int) -> list[int]:
        seed = hashlib.sha256(self.key + bytes([layer, self.made & 255])).digest()
        order = sorted(range(N_EXPERT), key=lambda e: seed[e] if seed[e] > 60 else e)
        return order[:N_USED]


class Engine:
    def __init__(
        self,
        model_path: str,
        *,
        store: str = "pack",
        pack_path: str = "",
        cache_bytes: int = 0,
        policy: str = "bevy",
        n_threads: int = 0,
        n_readers: int = 8,
        link_bytes_per_s: int = 0,
        max_requests: int = 16,
        context: int = 4096,
        prefill_chunk: int = 512,
        verify_reads: bool = False,
        staged: bool = False,
        fault_seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        fail("Engine")
        if progress is not None and not progress("weights", 0, 1):
            raise NativeError("cancelled", "loading was cancelled")
        self.model = read_model(model_path)
        self.store = store
        self.context = context
        self.chunk = prefill_chunk
        self.max_requests = max_requests
        self.policy = parse_policy(policy)
        self.link = link_bytes_per_s
        self.cached: OrderedDict[tuple[int, int], int] = OrderedDict()
        self.slots = 0
        self.set_cache(cache_bytes or N_LAYER * N_EXPERT * RECORD_BYTES)
        self.now_ns = 1_000_000
        self.step = 0
        self.queue: list[_Run] = []
        self.n_requests = 0
        self.n_sessions = 0
        self.events: list[tuple[Any, ...]] = []
        self.records: list[dict[str, int]] = []
        self.counts = dict.fromkeys(("hits", "misses", "joined", "evicted", "fetched_bytes"), 0)
        self.closed = False

    def info(self) -> dict[str, Any]:
        return {
            "n_layer": N_LAYER,
            "n_embd": 64,
            "n_expert": N_EXPERT,
            "n_expert_used": N_USED,
            "n_vocab": N_VOCAB,
            "context": self.context,
            "record_bytes": RECORD_BYTES,
            "n_experts_total": N_LAYER * N_EXPERT,
            "experts_total_bytes": N_LAYER * N_EXPERT * RECORD_BYTES,
            "resident_bytes": 1000,
            "store": self.store,
            "weight_layout": "plain",
            "device": "Fake",
            "n_threads": 2,
            "chat_template": self.model.get("chat_template"),
            "bos_token": BOS,
            "eos_token": EOS,
            "add_bos": True,
            "cache_slots": self.slots,
            "cache_bytes": self.slots * RECORD_BYTES,
            "min_cache_bytes": 2 * N_USED * RECORD_BYTES,
        }

    def tokenize(
        self, text: str, add_special: bool = True, parse_special: bool = True
    ) -> list[int]:
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise TypeError("incompatible function arguments")  # as the real one
        tokens = [BOS] if add_special else []
        for n, part in enumerate(text.split("<s>")):
            tokens += ([BOS] if n else []) + list(part.encode())
        return tokens

    def token_piece(self, token: int, special: bool = False) -> bytes:
        if token in (BOS, EOS):
            return (b"<s>" if token == BOS else b"</s>") if special else b""
        return bytes([token])

    def is_end(self, token: int) -> bool:
        return token == EOS

    def submit(
        self,
        tokens: list[int],
        *,
        session: int = -1,
        max_tokens: int = 128,
        seed: int = 0,
        temperature: float = 0.0,
        top_k: int = 40,
        top_p: float = 0.95,
        min_p: float = 0.05,
        repeat_penalty: float = 1.0,
        grammar: str = "",
        ignore_end: bool = False,
        forced: list[int] = [],  # noqa: B006, as in the stub
        keep_logits: bool = False,
    ) -> int:
        needed = len(tokens) + max_tokens
        if needed > self.context:
            raise NativeError(
                "invalid",
                f"prompt ({len(tokens)} tokens) and max_tokens ({max_tokens}) exceed the context"
                f" ({self.context})",
            )
        asked = {
            "seed": seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "ignore_end": ignore_end,
        }
        run = _Run(self.n_requests, list(tokens), asked, self.model)
        run.begin_ns = self.now_ns
        self.n_requests += 1
        self.queue.append(run)
        return run.number

    def open_session(self) -> int:
        self.n_sessions += 1
        return self.n_sessions

    def close_session(self, session: int) -> None:
        if not 1 <= session <= self.n_sessions:
            raise NativeError("invalid", f"session {session} is not open")

    def cancel(self, request: int) -> None:
        for run in self.queue:
            run.cancelled = run.cancelled or run.number == request

    def wait(self, timeout_s: float) -> bool:
        if not self.events:
            self._work()
        return bool(self.events)

    def poll(self) -> list[tuple[Any, ...]]:
        fail("poll")
        if not self.events:
            self._work()
        events, self.events = self.events, []
        return events

    def take_logits(self, request: int) -> Any:
        raise NotImplementedError

    def set_cache(self, bytes: int) -> dict[str, Any]:
        wanted = bytes // RECORD_BYTES
        self.slots = min(max(wanted, 2 * N_USED), N_LAYER * N_EXPERT)
        while len(self.cached) > self.slots:
            self.cached.popitem(last=False)
        reason = "raised to what one step needs" if wanted < self.slots else ""
        return {
            "cache_bytes": self.slots * RECORD_BYTES,
            "cache_slots": self.slots,
            "reason": reason,
        }

    def set_policy(self, policy: str, cold: bool = False) -> None:
        self.policy = parse_policy(policy)
        if cold:
            self.cached.clear()

    def set_link(self, bytes_per_s: int) -> None:
        self.link = bytes_per_s

    def stats(self) -> dict[str, Any]:
        return {
            "steps": self.step,
            **self.counts,
            "prefetched": 0,
            "prefetch_used": 0,
            "wasted": 0,
            "failed": 0,
            "cache_slots": self.slots,
            "cache_in_use": len(self.cached),
            "cache_bytes": self.slots * RECORD_BYTES,
            "active_requests": min(len(self.queue), self.max_requests),
            "queued_requests": max(0, len(self.queue) - self.max_requests),
            "dropped_records": 0,
            "peak_bytes": 1 << 20,
        }

    def drain(self) -> tuple[bytes, int]:
        found = np.zeros(len(self.records), dtype=trace.RECORD_DTYPE)
        for name in ("step", "request", "layer", "expert"):
            found[name] = -1
        for at, row in enumerate(self.records):
            for name, value in row.items():
                found[at][name] = value
        self.records.clear()
        return found.tobytes(), 0

    def record_routing(self, n_lookahead: int) -> None:
        self.n_lookahead = n_lookahead

    def take_routing(self) -> dict[str, Any]:
        raise NotImplementedError("a test that needs routing uses the real engine")

    def progress_table(self) -> list[tuple[int, int, str, int]]:
        return [(run.number, 0, "routing", 0) for run in self.queue[: self.max_requests]]

    def close(self) -> None:
        self.closed = True

    # What happens inside.

    def _work(self) -> None:
        for run in [run for run in self.queue if run.cancelled]:
            self._end(run, "cancelled", "")
        active = self.queue[: self.max_requests]
        for run in active:
            if run.prefilled < len(run.tokens):
                begin, n = self.now_ns, min(self.chunk, len(run.tokens) - run.prefilled)
                run.prefilled += n
                self.now_ns += n * 100_000
                self._record(Event.PREFILL, begin, self.now_ns, request=run.number, a=n, b=1)
                self.events.append((run.number, "prefill", run.prefilled, len(run.tokens)))
                if run.prefilled == len(run.tokens):
                    self._give_token(run)
                return
        if active:
            self._decode(active)

    def _give_token(self, run: _Run) -> None:
        token = run.next_token()
        if run.fails and run.made == 3:
            self._end(run, "error", run.fails)
        elif token == EOS:
            self._end(run, "stop", "")
        else:
            run.made += 1
            self.events.append((run.number, "token", token, bytes([token])))
            if run.made >= run.asked["max_tokens"]:
                self._end(run, "length", "")

    def _end(self, run: _Run, reason: str, detail: str) -> None:
        self.queue.remove(run)
        self._record(
            Event.REQUEST,
            run.begin_ns,
            self.now_ns,
            request=run.number,
            a=len(run.tokens),
            b=run.made,
        )
        self.events.append((run.number, "end", reason, detail))

    def _record(self, event: Event, begin: int, end: int, **fields: int) -> None:
        self.records.append({"event": event, "begin_ns": begin, "end_ns": end, **fields})

    def _decode(self, active: list[_Run]) -> None:
        """One step: lockstep adds fetch and compute time, runahead overlaps them."""
        step, begin = self.step, self.now_ns
        ahead = self.policy.startswith("runahead")
        read_ns = RECORD_BYTES * 10**9 // (self.link or 4 * 10**9)
        t = begin + 50_000
        link_t = t
        self._record(Event.FRONT, begin, t, step=step, a=len(active))
        for layer in range(N_LAYER):
            pending: set[int] = set()
            for run in active:
                for expert in run.experts(layer):
                    known = {"step": step, "request": run.number, "layer": layer, "expert": expert}
                    if expert in pending:
                        self.counts["joined"] += 1
                        self._record(Event.JOIN, t, t, **known)
                    elif (layer, expert) in self.cached:
                        self.counts["hits"] += 1
                        self.cached.move_to_end((layer, expert))
                        self._record(Event.HIT, t, t, **known)
                    else:
                        self.counts["misses"] += 1
                        self.counts["fetched_bytes"] += RECORD_BYTES
                        pending.add(expert)
                        self._record(Event.MISS, t, t, **known, b=-1)
                        at = max(link_t, t if not ahead else begin)
                        link_t = at + read_ns
                        lane = 1 + len(pending) % 2
                        self._record(
                            Event.FETCH, at, link_t, **known, lane=lane, a=RECORD_BYTES, b=0
                        )
            for expert in pending:
                while len(self.cached) >= self.slots:
                    self.cached.popitem(last=False)
                self.cached[layer, expert] = 1
            groups = [[n] for n in range(len(active))] if ahead else [list(range(len(active)))]
            if not ahead:
                t = max(t, link_t)
            for group in groups:
                end = t + 100_000 * len(group)
                mask = sum(1 << active[n].number % 32 for n in group)
                self._record(Event.GROUP, t, end, step=step, layer=layer, a=len(group), b=mask)
                t = end
        t = max(t, link_t)
        self._record(Event.HEAD, t, t + 50_000, step=step, a=len(active))
        self._record(Event.SAMPLE, t + 50_000, t + 60_000, step=step, a=len(active))
        self._record(Event.SCHEDULER, begin, begin + 5_000, step=step)
        self.now_ns = t + 60_000
        self._record(
            Event.STEP, begin, self.now_ns, step=step, a=len(active), b=N_LAYER * len(groups)
        )
        self.step += 1
        for run in active:
            self._give_token(run)
