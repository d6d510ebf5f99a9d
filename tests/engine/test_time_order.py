"""Which threads came late is told from the trace alone, before anything is compared."""

import numpy as np

from engine import trace
from engine.trace import Event, Records
from tests.helpers.time_order import first_late

# (event, begin, end, request or bits of a group, layer, expert)
Row = tuple[Event, int, int, int, int, int]

# Two requests, each alone: both want an expert of layer 0, the first is computed as soon as its is
# there, and wants one of layer 1, which is read last.
PROMPT: list[Row] = [
    (Event.MISS, 10, 10, 0, 0, 5),
    (Event.MISS, 10, 10, 1, 0, 6),
    (Event.FETCH, 11, 100, 0, 0, 5),
    (Event.FETCH, 101, 200, 1, 0, 6),
    (Event.GROUP, 110, 120, 0b01, 0, -1),
    (Event.MISS, 121, 121, 0, 1, 7),
    (Event.FETCH, 201, 300, 0, 1, 7),
    (Event.GROUP, 210, 220, 0b10, 0, -1),
    (Event.HIT, 221, 221, 1, 1, 8),
    (Event.GROUP, 222, 230, 0b10, 1, -1),
    (Event.GROUP, 310, 320, 0b01, 1, -1),
]


def records_of(rows: list[Row]) -> Records:
    records = np.zeros(len(rows), dtype=trace.RECORD_DTYPE)
    for record, (event, begin, end, who, layer, expert) in zip(records, rows, strict=True):
        record["event"], record["begin_ns"], record["end_ns"] = event, begin, end
        record["layer"], record["expert"] = layer, expert
        record["b" if event is Event.GROUP else "request"] = who
    return records


def late_with(*changed: tuple[int, Row]) -> float:
    rows = list(PROMPT)
    for at, row in changed:
        rows[at] = row
    return first_late(records_of(rows), lambda request: request)


def test_a_run_in_which_each_thread_came_at_once_has_no_late_one() -> None:
    assert late_with() == np.inf


def test_a_group_that_began_after_the_next_read_had_ended_came_late() -> None:
    rows = ((4, (Event.GROUP, 205, 207, 0b01, 0, -1)), (5, (Event.MISS, 208, 208, 0, 1, 7)))
    assert late_with(*rows, (6, (Event.FETCH, 209, 300, 0, 1, 7))) == 100


def test_a_read_that_began_after_more_had_been_routed_came_late() -> None:
    assert late_with((3, (Event.FETCH, 122, 200, 1, 0, 6))) == 100


def test_a_group_waits_for_all_that_it_is_computed_with() -> None:
    rows = list(PROMPT)
    rows[4] = (Event.GROUP, 210, 220, 0b11, 0, -1)
    rows[5] = (Event.MISS, 221, 221, 0, 1, 7)
    rows[6] = (Event.FETCH, 222, 300, 0, 1, 7)
    del rows[7]
    together = first_late(records_of(rows), lambda _: 0)
    alone = first_late(records_of(rows), lambda request: request)
    assert (together, alone) == (np.inf, 100)
