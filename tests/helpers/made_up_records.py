"""Trace records of steps that never happened, with the shape of real ones."""

import numpy as np

from engine import trace
from engine.trace import Event, Records

N_LAYER = 12
N_EXPERT = 128
N_USED = 8
RECORD_BYTES = 2_654_208
STEP_NS = 60_000_000  # of one request; more with several


class MadeUpRecords:
    """Makes one step at a time; the same seed gives the same records.

    Requests run ahead of each other in two groups per layer; about 70 of 100 experts hit.
    """

    def __init__(self, seed: int = 0, n_layer: int = N_LAYER, n_readers: int = 4) -> None:
        self.now_ns = 1_000_000_000
        self.step = 0
        self.hits = self.misses = self.joined = self.fetched_bytes = 0
        self._random = np.random.default_rng(seed)
        self._n_layer = n_layer
        self._n_readers = n_readers
        self._rows: list[tuple[int, ...]] = []

    def next_step(self, requests: list[int]) -> Records:
        """The records of one step that gives each of `requests` a token."""
        self._rows = []
        begin = self.now_ns
        clock = begin + 200_000
        reader_free = [begin] * self._n_readers
        self._add(begin, clock, Event.FRONT, a=len(requests))
        cut = max(1, len(requests) // 2)
        n_groups = 0
        for layer in range(self._n_layer):
            for group in (requests[:cut], requests[cut:]):
                if not group:
                    continue
                arrived = self._route(layer, group, clock, reader_free)
                clock = max(clock + 50_000, min(arrived, clock + 3_000_000))
                end = clock + 500_000 + 350_000 * len(group)
                mask = sum({1 << (r % 32) for r in group})
                self._add(clock, end, Event.GROUP, layer=layer, a=len(group), b=mask)
                clock = end
                n_groups += 1
        self._add(clock, clock + 900_000, Event.HEAD, a=len(requests))
        clock += 900_000
        self._add(clock, clock + 100_000, Event.SAMPLE, a=len(requests))
        clock += 100_000
        self._add(begin, begin + 150_000, Event.SCHEDULER)
        self._add(begin, clock, Event.STEP, a=len(requests), b=n_groups)
        self.now_ns = clock + 300_000
        self.step += 1
        return np.array(self._rows, dtype=trace.RECORD_DTYPE)

    def end_request(self, request: int, begin_ns: int, prompt: int, made: int) -> Records:
        """The record of a request's end."""
        self._rows = []
        self._add(begin_ns, self.now_ns, Event.REQUEST, request=request, a=prompt, b=made)
        return np.array(self._rows, dtype=trace.RECORD_DTYPE)

    def _route(self, layer: int, group: list[int], at: int, reader_free: list[int]) -> int:
        """Hits, misses and fetches of a group; when the last of its experts has arrived."""
        arrived = at
        fetching: set[int] = set()
        for request in group:
            chances = self._random.random(N_USED)
            # Few experts are used much, as routers do.
            experts = (N_EXPERT * self._random.beta(0.6, 2.0, N_USED)).astype(int)
            for expert, chance in zip(experts.tolist(), chances.tolist(), strict=True):
                kind = Event.HIT if chance < 0.7 else Event.MISS
                if kind is Event.MISS and expert in fetching:
                    kind = Event.JOIN
                self._add(at, at, kind, layer=layer, expert=expert, request=request, b=-1)
                self.hits += kind is Event.HIT
                self.joined += kind is Event.JOIN
                if kind is Event.MISS:
                    self.misses += 1
                    fetching.add(expert)
                    lane = int(np.argmin(reader_free))
                    begin = max(at, reader_free[lane])
                    end = begin + int(self._random.uniform(500_000, 1_400_000))
                    reader_free[lane] = end
                    self.fetched_bytes += RECORD_BYTES
                    self._add(
                        *(begin, end, Event.FETCH),
                        layer=layer,
                        expert=expert,
                        request=request,
                        a=RECORD_BYTES,
                        lane=lane + 1,
                    )
                    arrived = max(arrived, end)
        return arrived

    def _add(
        self,
        begin: int,
        end: int,
        event: Event,
        *,
        layer: int = -1,
        expert: int = -1,
        request: int = -1,
        a: int = 0,
        b: int = 0,
        lane: int = 0,
    ) -> None:
        step = -1 if event is Event.REQUEST else self.step
        row = (begin, end, step, request, layer, expert, a, b, int(event), lane, 0, 0)
        self._rows.append(row)
