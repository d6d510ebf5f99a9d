"""Runahead's engine with every expert in memory, asked for the same work."""

import time

import numpy as np
from work import CONTEXT, WARM_STEPS, Measure, Work

from engine import _native


class RunaheadSide:
    """One open model, timed by its trace: decode by step records, prefill by prefill records."""

    def __init__(self, model_path: str, policy: str, n_threads: int, n_sequences: int) -> None:
        self._engine = _native.Engine(
            model_path,
            store="memory",
            cache_bytes=0,
            policy=policy,
            n_threads=n_threads,
            max_requests=n_sequences,
            context=CONTEXT,
        )

    def measure(self, measure: Measure, work: Work) -> float:
        """Tokens per second."""
        self._engine.drain()
        if measure.n_sequences == 0:
            self._finish([self._engine.submit(work.prefill, max_tokens=1, ignore_end=True)])
            chunks = self._records("prefill")
            return int(chunks["a"].sum()) * 1e9 / _elapsed_ns(chunks)
        self._finish(
            [
                self._engine.submit(
                    sequence.prompt,
                    max_tokens=len(sequence.continuation),
                    forced=sequence.continuation,
                    ignore_end=True,
                )
                for sequence in work.sequences[: measure.n_sequences]
            ]
        )
        steps = self._records("step")
        n_steps = len(work.sequences[0].continuation) - WARM_STEPS
        together = steps[steps["a"] == measure.n_sequences][-n_steps:]
        if len(together) < n_steps:
            raise RuntimeError(f"only {len(together)} steps had {measure.n_sequences} requests")
        return n_steps * measure.n_sequences * 1e9 / _elapsed_ns(together)

    def _finish(self, requests: list[int]) -> None:
        left = set(requests)
        deadline = time.monotonic() + 600
        while left:
            if time.monotonic() > deadline:
                raise RuntimeError(f"requests {sorted(left)} did not end within ten minutes")
            self._engine.wait(1.0)
            for request, kind, *rest in self._engine.poll():
                if kind == "end":
                    if rest[0] != "length":
                        raise RuntimeError(f"request {request} ended by {rest[0]}: {rest[1]}")
                    left.discard(request)

    def _records(self, event: str) -> np.ndarray:
        data, dropped = self._engine.drain()
        if dropped:
            raise RuntimeError(f"the trace dropped {dropped} records: the times are incomplete")
        records = np.frombuffer(data, np.dtype(_native.RECORD_DTYPE))
        found = records[records["event"] == _native.EVENTS.index(event)]
        if len(found) == 0:
            raise RuntimeError(f"the trace has no {event} record")
        return found


def _elapsed_ns(records: np.ndarray) -> int:
    """From the first begin to the last end, so that what happens between two records counts too."""
    return int(records["end_ns"].max() - records["begin_ns"].min())
