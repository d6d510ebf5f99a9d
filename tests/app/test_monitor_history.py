"""What the monitor keeps of a run: true sums, whatever the batches, in bounded memory."""

import sys

import numpy as np
import pytest

from app.monitor.history import History, summarise
from app.monitor.lane import Lane
from app.monitor.lanes import KEPT_NS, Lanes
from app.monitor.step_rows import MOST_ROWS, ROW_DTYPE, StepRows
from app.monitor.stretches import stretches
from engine import metrics, trace
from engine.trace import Event
from tests.helpers.made_up_records import MadeUpRecords
from tests.helpers.monitor_records import MS, joined, record, split


def made_up(n_steps: int, requests: int = 3, seed: int = 0) -> trace.Records:
    maker = MadeUpRecords(seed)
    steps = [maker.next_step(list(range(requests))) for _ in range(n_steps)]
    return np.concatenate(steps)


def fed(records: trace.Records, n_each: int) -> History:
    history = History(12, 128)
    for batch in split(records, n_each):
        history.add(batch)
        history.update_steps()
    history.update_steps()
    return history


@pytest.mark.parametrize("n_each", [7, 100, 1000, 100_000])
def test_rows_are_the_step_table_however_records_are_batched(n_each: int) -> None:
    records = made_up(6)
    rows = fed(records, n_each).steps.rows
    table = metrics.step_table(records)
    assert len(rows) == len(table) == 6
    for name in ("begin_ns", "requests", "groups", "jobs", "hits", "misses", "joined", "fetched"):
        assert rows[name].tolist() == table[name].tolist(), name
    for name in ("step_ms", "compute_busy_ms", "link_busy_ms", "both_busy_ms", "link_bytes"):
        np.testing.assert_allclose(rows[name], table[name], err_msg=name)


def test_a_read_that_comes_a_batch_after_the_end_of_its_step_is_counted() -> None:
    step = record(Event.STEP, 0, 10, step=0, a=1)
    miss = record(Event.MISS, 1, step=0, layer=0, expert=5, request=0, b=-1)
    fetch = record(Event.FETCH, 1, 4, step=0, layer=0, expert=5, request=0, a=1000, lane=1)
    history = History(2, 8)
    history.add(joined(miss, step))
    assert not history.update_steps()
    history.add(fetch)
    assert history.update_steps()
    row = history.steps.rows[0]
    assert row["fetched"] == 1
    assert row["link_busy_ms"] == pytest.approx(3)


def test_a_step_without_successors_is_shown_all_the_same() -> None:
    history = History(12, 128)
    history.add(made_up(1))
    assert not history.update_steps()
    assert history.update_steps()
    assert len(history.steps) == 1


def test_tokens_are_counted_by_the_colour_of_their_request() -> None:
    maker = MadeUpRecords()
    history = fed(np.concatenate([maker.next_step([1, 18]), maker.next_step([18])]), 10_000)
    tokens = history.steps.rows["tokens"].sum(axis=0)
    assert tokens[1] == 1
    assert tokens[2] == 2  # 18 modulo 16
    assert tokens.sum() == 3


def test_the_summary_is_that_of_the_metrics() -> None:
    records = made_up(5)
    ours = summarise(fed(records, 500).steps.rows)
    theirs = metrics.summarise(metrics.step_table(records))
    for name in ("steps", "tokens", "tokens_per_s", "step_ms", "hit_rate", "fetched", "group_size"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), name


def test_an_hour_of_steps_stays_under_a_bound_and_loses_no_token() -> None:
    rows = StepRows()
    n_steps, step_ns = 40 * 3600, 25 * MS
    made = np.zeros(n_steps, dtype=ROW_DTYPE)
    made["begin_ns"] = 10**9 + np.arange(n_steps) * step_ns
    made["end_ns"] = made["begin_ns"] + step_ns
    made["steps"], made["requests"] = 1, 16
    made["tokens"][:] = 1
    for batch in np.split(made, 1440):
        rows.append(batch)
        assert len(rows) <= MOST_ROWS
    assert rows.rows["steps"].sum() == n_steps
    assert rows.rows["tokens"].sum() == 16 * n_steps
    assert (np.diff(rows.rows["begin_ns"]) > 0).all()
    newest = rows.rows[-MOST_ROWS // 4 :]
    assert (newest["steps"] == 1).all()
    whole = int(made["begin_ns"][0]), int(made["end_ns"][-1])
    per_minute = rows.per_bin("requests", np.linspace(*whole, 61).astype(np.int64))
    np.testing.assert_allclose(per_minute, 16 * 40 * 60, rtol=0.02)


def test_a_long_run_takes_no_more_memory_than_a_short_one() -> None:
    history = History(12, 128)
    maker = MadeUpRecords()
    once = np.concatenate([maker.next_step(list(range(4))) for _ in range(20)])
    length, sizes = int(once["end_ns"].max()), []
    for n_round in range(60):  # 20 steps of 75 ms each: a minute and a half
        batch = once.copy()
        for name in ("begin_ns", "end_ns"):
            batch[name] += n_round * length
        batch["step"] += 20 * n_round
        history.add(batch)
        history.update_steps()
        kept = [history.lanes.device, history.lanes.steps, *history.lanes.readers.values()]
        sizes.append(sum(len(lane) for lane in kept))
    assert len(history.steps) > 1100
    assert max(sizes[-5:]) <= 1.02 * max(sizes[:-10]), "the detailed window no longer grows"
    oldest = history.latest_ns - history.lanes.earliest_ns
    assert oldest <= KEPT_NS + length
    waiting = sum(sys.getsizeof(batch) + batch.nbytes for batch in history._waiting)
    assert waiting < 2_000_000


def test_records_of_no_step_do_not_pile_up() -> None:
    history = History(2, 8)
    waves = np.concatenate(
        [record(Event.WAVE, t, t + 1, request=0, layer=0, a=4) for t in range(5000)]
    )
    for n_round in range(60):
        batch = waves.copy()
        for name in ("begin_ns", "end_ns"):
            batch[name] += n_round * 5000 * MS
        history.add(batch)
        history.update_steps()
    assert sum(len(batch) for batch in history._waiting) <= 1 << 17
    assert len(history.lanes.device) <= 1 << 16


def test_an_expert_is_resident_from_its_miss_until_it_is_evicted() -> None:
    history = History(2, 8)
    history.experts.add(
        joined(
            record(Event.MISS, 1, step=0, layer=0, expert=3, request=0, b=-1),
            record(Event.HIT, 2, step=0, layer=1, expert=5, request=0),
            record(Event.MISS, 3, step=0, layer=1, expert=6, request=0, b=3),  # evicts 0, 3
        )
    )
    resident = history.experts.resident
    assert [tuple(at) for at in np.argwhere(resident).tolist()] == [(1, 5), (1, 6)]
    assert history.experts.uses.sum() == 3
    history.experts.add(record(Event.EVICT, 4, layer=1, expert=5))
    assert not history.experts.resident[1, 5]
    assert history.experts.uses[1, 5] == 1


def test_an_expert_evicted_and_taken_again_in_one_batch_is_resident() -> None:
    history = History(1, 4)
    history.experts.add(
        joined(
            record(Event.MISS, 1, step=0, layer=0, expert=0, request=0, b=-1),
            record(Event.MISS, 2, step=0, layer=0, expert=1, request=0, b=0),
            record(Event.MISS, 3, step=0, layer=0, expert=0, request=0, b=1),
        )
    )
    assert history.experts.resident[0].tolist() == [True, False, False, False]


def test_requests_are_active_until_their_end_is_recorded() -> None:
    maker = MadeUpRecords()
    history = fed(maker.next_step([0, 1]), 10_000)
    assert history.active_requests() == [0, 1]
    history.add(maker.end_request(0, 0, 8, 1))
    history.add(maker.next_step([1]))
    history.update_steps()
    history.update_steps()
    assert history.active_requests() == [1]


def test_the_members_of_a_group_are_known_after_some_have_ended() -> None:
    maker = MadeUpRecords()
    first = maker.next_step([5, 33])
    history = fed(first, 10_000)
    assert history.requests_of(1 << 5 | 1 << 1, int(first["begin_ns"].min())) == [5, 33]
    history.add(np.concatenate([maker.end_request(5, 0, 8, 1), maker.next_step([33])]))
    history.update_steps()
    history.update_steps()
    assert history.requests_of(1 << 5 | 1 << 1, int(first["begin_ns"].min())) == [5, 33]
    assert history.requests_of(1 << 5 | 1 << 1, history.latest_ns) == [33]


def test_a_dragged_slider_leaves_one_marker() -> None:
    history = fed(made_up(1), 10_000)
    for size in ("cache 1 GB", "cache 2 GB", "cache 3 GB"):
        history.mark("cache", size)
    history.mark("policy", "Lockstep")
    assert [marker.text for marker in history.markers] == ["cache 3 GB", "Lockstep"]


def test_stretches_compare_what_was_before_and_after_a_change() -> None:
    maker = MadeUpRecords()
    history = History(12, 128)
    for _ in range(8):
        history.add(maker.next_step([0]))
    history.update_steps()
    history.update_steps()
    history.mark("policy", "Lockstep")
    for _ in range(8):
        history.add(maker.next_step([0, 1, 2]))
    history.update_steps()
    history.update_steps()
    found = stretches(history.steps, history.markers, history.first_setup)
    assert [(s.summary.steps, s.requests) for s in found] == [(8, 1.0), (8, 3.0)]


def test_a_lane_finds_what_overlaps_a_window_and_keeps_the_newest() -> None:
    lane = Lane(100)
    for begin in range(250):
        lane.append(record(Event.HEAD, 10 * begin, 10 * begin + 8, a=begin))
    assert len(lane) == 100
    window = lane.window(2005 * MS, 2021 * MS)
    assert lane.records["a"][window].tolist() == [200, 201, 202]
    assert lane.records["a"][lane.window(2008 * MS, 2010 * MS)].tolist() == []


def test_a_copy_of_the_lanes_stands_still() -> None:
    lanes = Lanes()
    lanes.add(made_up(2))
    copy = lanes.copy()
    n_device, latest = len(copy.device), copy.latest_ns
    more = made_up(3, seed=1)
    for name in ("begin_ns", "end_ns"):
        more[name] += lanes.latest_ns
    lanes.add(more)
    assert (len(copy.device), copy.latest_ns) == (n_device, latest)
    assert len(lanes.device) > n_device
