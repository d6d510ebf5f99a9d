"""Metrics from hand-made records, and against a count of every nanosecond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import metrics, trace
from engine.intervals import Intervals
from engine.steps_so_far import StepsSoFar
from engine.trace import Event
from tests.helpers.made_up_records import MadeUpRecords


def records(*rows: dict[str, int]) -> trace.Records:
    found = np.zeros(len(rows), dtype=trace.RECORD_DTYPE)
    for name in ("step", "request", "layer", "expert"):
        found[name] = -1
    for at, row in enumerate(rows):
        for name, value in row.items():
            found[at][name] = value
    return found


def row(event: Event, begin_ms: float, end_ms: float, **fields: int) -> dict[str, int]:
    return {"event": event, "begin_ns": int(begin_ms * 1e6), "end_ns": int(end_ms * 1e6), **fields}


def test_busy_times_are_unions_clipped_to_the_step() -> None:
    table = metrics.step_table(
        records(
            row(Event.STEP, 10, 20, step=7, a=2, b=2),
            row(Event.FRONT, 8, 11, step=7, a=2),  # 2 ms of it lie before the step
            row(Event.GROUP, 12, 14, step=7, layer=0, a=2, b=3),
            row(Event.GROUP, 13, 15, step=7, layer=1, a=1, b=1),  # overlaps: counted once
            row(Event.FETCH, 11, 13, step=7, lane=1),
            row(Event.FETCH, 12, 16, step=7, lane=2),
            row(Event.PREFETCH, 19, 25, step=7, lane=1),
        )
    )
    assert len(table) == 1
    step = table[0]
    assert step["step_ms"] == 10
    assert step["compute_busy_ms"] == 4  # 10-11, 12-15
    assert step["link_busy_ms"] == 6  # 11-16, 19-20
    assert step["both_busy_ms"] == 3  # 12-15
    assert step["neither_ms"] == 3  # 16-19
    assert (step["groups"], step["jobs"], step["fetched"], step["prefetched"]) == (2, 3, 3, 1)


def test_cache_decisions_count_for_their_own_step() -> None:
    table = metrics.step_table(
        records(
            row(Event.STEP, 10, 20, step=4, a=1),
            row(Event.STEP, 0, 10, step=3, a=1),  # the order of arrival does not matter
            row(Event.HIT, 5, 5, step=3, request=1, layer=0, expert=1),
            row(Event.HIT, 15, 15, step=4, request=1, layer=0, expert=1),
            row(Event.HIT, 15, 15, step=4, request=1, layer=0, expert=2),
            row(Event.MISS, 15, 15, step=4, request=1, layer=0, expert=3),
            row(Event.JOIN, 15, 15, step=4, request=2, layer=0, expert=3),
            row(Event.SCHEDULER, 11, 11.5, step=4),
            row(Event.HIT, 30, 30, step=99, request=1, layer=0, expert=1),  # a step still running
            row(Event.HIT, 30, 30, step=-1, request=1, layer=0, expert=1),  # prefill
        )
    )
    assert list(table["step"]) == [3, 4]
    assert list(table["hits"]) == [1, 2]
    assert list(table["misses"]) == [0, 1]
    assert list(table["joined"]) == [0, 1]
    assert list(table["scheduler_ms"]) == [0, 0.5]
    summary = metrics.summarise(table)
    assert summary.hit_rate == 3 / 5
    assert summary.tokens_per_s == pytest.approx(2 / 0.020)


def test_a_prefetch_is_wasted_when_no_job_of_its_step_finds_the_expert() -> None:
    table = metrics.step_table(
        records(
            row(Event.STEP, 0, 10, step=0, a=1),
            row(Event.STEP, 10, 20, step=1, a=1),
            row(Event.PREFETCH, 1, 2, step=0, layer=1, expert=1),
            row(Event.HIT, 3, 3, step=0, layer=1, expert=1),  # used
            row(Event.PREFETCH, 6, 7, step=0, layer=1, expert=1),  # wasted: read anew, for nobody
            row(Event.PREFETCH, 1, 2, step=0, layer=1, expert=2),
            row(Event.MISS, 5, 5, step=0, layer=1, expert=2),  # wasted: gone when it was needed
            row(Event.PREFETCH, 1, 4, step=0, layer=1, expert=3),
            row(Event.JOIN, 2, 2, step=0, layer=1, expert=3),  # used while on its way
            row(Event.PREFETCH, 1, 2, step=0, layer=1, expert=4),  # wasted: nobody needs it,
            row(Event.HIT, 12, 12, step=1, layer=1, expert=4),  # but for the next step
            row(Event.HIT, 0, 0, step=0, layer=1, expert=5),
            row(Event.PREFETCH, 1, 2, step=0, layer=1, expert=5),  # wasted: the use was before
            row(Event.HIT, 5, 5, step=0, layer=2, expert=5),  # another layer's expert
            row(Event.JOIN, 1, 1, step=0, layer=1, expert=6),  # used before its read began
            row(Event.PREFETCH, 2, 3, step=0, layer=1, expert=6),
        )
    )
    assert list(table["prefetched"]) == [7, 0]
    assert list(table["wasted"]) == [4, 0]


def test_nothing_recorded_gives_no_steps_and_a_summary_of_zeros() -> None:
    table = metrics.step_table(trace.empty())
    assert len(table) == 0
    assert metrics.summarise(table) == metrics.Summary()
    assert metrics.request_speeds(trace.empty()) == {}
    assert len(metrics.group_sizes(trace.empty())) == 0


def test_each_request_is_timed_over_its_own_steps() -> None:
    found = records(
        row(Event.STEP, 0, 10, step=0, a=1),
        row(Event.STEP, 10, 30, step=1, a=2),
        row(Event.HIT, 1, 1, step=0, request=5, layer=0, expert=0),
        row(Event.HIT, 11, 11, step=1, request=5, layer=0, expert=0),
        row(Event.MISS, 11, 11, step=1, request=6, layer=0, expert=1),
    )
    assert metrics.request_speeds(found) == {
        5: pytest.approx(2 / 0.030),
        6: pytest.approx(1 / 0.020),
    }


def test_group_sizes_are_counted_by_size() -> None:
    found = records(*[row(Event.GROUP, 0, 1, a=n) for n in (1, 1, 3)])
    assert list(metrics.group_sizes(found)) == [0, 2, 0, 1]


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(-3, 20)), max_size=12)


@given(compute=spans, link=spans, lengths=st.lists(st.integers(0, 25), max_size=4))
def test_busy_times_equal_a_count_of_every_nanosecond(
    compute: list[tuple[int, int]], link: list[tuple[int, int]], lengths: list[int]
) -> None:
    rows, begin = [], 3
    steps = []
    for n, length in enumerate(lengths):
        steps.append((begin, begin + length))
        rows.append({"event": Event.STEP, "begin_ns": begin, "end_ns": begin + length, "step": n})
        begin += length + n
    for event, found in ((Event.GROUP, compute), (Event.FETCH, link)):
        rows += [{"event": event, "begin_ns": at, "end_ns": at + n} for at, n in found]
    table = metrics.step_table(records(*rows))
    in_compute = {t for at, n in compute for t in range(at, at + n)}
    in_link = {t for at, n in link for t in range(at, at + n)}
    for row_, (low, high) in zip(table, steps, strict=True):
        span = set(range(low, high))
        assert round(row_["step_ms"] * 1e6) == len(span)
        assert round(row_["compute_busy_ms"] * 1e6) == len(span & in_compute)
        assert round(row_["link_busy_ms"] * 1e6) == len(span & in_link)
        assert round(row_["both_busy_ms"] * 1e6) == len(span & in_compute & in_link)
        assert round(row_["neither_ms"] * 1e6) == len(span - in_compute - in_link)


@given(found=spans)
def test_intervals_are_sorted_and_disjoint(found: list[tuple[int, int]]) -> None:
    begins = np.array([at for at, _ in found], dtype=np.int64)
    ends = np.array([at + n for at, n in found], dtype=np.int64)
    union = Intervals(begins, ends)
    assert np.all(union.begins < union.ends)
    assert np.all(union.ends[:-1] < union.begins[1:])


def test_steps_are_the_same_when_measured_as_they_come_and_little_is_kept_of_them() -> None:
    made = MadeUpRecords()
    pieces = [made.next_step([0, 1, 2]) for _ in range(60)]
    so_far = StepsSoFar(piece_records=2000)
    for n, piece in enumerate(pieces):
        # The readers' records come a little late.
        is_read = np.isin(piece["event"], [int(Event.FETCH), int(Event.PREFETCH)])
        before = pieces[n - 1]
        late = np.isin(before["event"], [int(Event.FETCH), int(Event.PREFETCH)]) & (n > 0)
        so_far.take(np.concatenate([before[late], piece[~is_read]]))
        assert so_far._n_open < 4000
    last = pieces[-1]
    so_far.take(last[np.isin(last["event"], [int(Event.FETCH), int(Event.PREFETCH)])])
    whole = metrics.step_table(np.concatenate(pieces))
    np.testing.assert_array_equal(so_far.steps(), whole)
    assert len(StepsSoFar().steps()) == 0
