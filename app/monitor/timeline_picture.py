"""Pictures of the timeline's lanes, made with numpy.

For every column of pixels the newest record that overlaps it is looked up, and drawn as opaque as
the column is covered; so a short read is still seen when much time is shown, and a wait is a gap.
All lanes are looked up at once, and the cost depends on the width, not on how many records there
are.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from app.monitor.lane import Lane
from app.monitor.step_rows import N_COLOURS
from engine.trace import Event, Records

Pixels = NDArray[np.uint32]
Numbers = NDArray[np.int64]

_LEAST_ALPHA = 90  # of a column that holds anything
_PARTED = 6.0  # pixels; wider records are parted by a dark line
_LINE_ALPHA = 0.35
_PALE = 0.38  # between the hatches of a prefetch


class Shades(msgspec.Struct, frozen=True):
    """Colours as 0xRRGGBB.

    Attributes:
        requests: [N_COLOURS].
        front, head, sample: Device work for all requests together.
        all_requests: A group that does not say whose it is.
    """

    requests: Pixels
    front: int
    head: int
    sample: int
    all_requests: int


class Columns(msgspec.Struct, frozen=True):
    """Which record each column of pixels shows.

    Attributes:
        records: Those of all lanes that are in view.
        at: [n_lanes, width], places in `records`; any where alpha is 0.
        alpha: [n_lanes, width], 0 to 255.
    """

    records: Records
    at: Numbers
    alpha: Numbers


def columns(lanes: Sequence[Lane], begin: int, end: int, width: int) -> Columns | None:
    """Look up what `width` columns over [begin, end) show; None: nothing."""
    windows = [lane.window(begin, end) for lane in lanes]
    counts = [window.stop - window.start for window in windows]
    if not sum(counts):
        return None
    # One search for all: each lane has its own stretch of a common axis.
    length = end - begin
    lane_of = np.repeat(np.arange(len(lanes)), counts)
    shift = lane_of * (2 * length) - begin
    found = list(zip(lanes, windows, strict=True))
    raw_begins = np.concatenate([lane.begins[window] for lane, window in found])
    raw_ends = np.concatenate([lane.ends[window] for lane, window in found])
    begins = np.maximum(raw_begins, begin) + shift
    ends = np.minimum(raw_ends, end) + shift
    within = (np.arange(width + 1) * (length / width)).astype(np.int64)
    edges = np.arange(len(lanes))[:, None] * (2 * length) + within[None, :]

    at = np.searchsorted(begins, edges[:, 1:].ravel(), side="left").reshape(-1, width) - 1
    covered = (at >= 0) & (ends[at] > edges[:, :-1])
    share = _coverage(begins, ends, edges)
    opaque: Numbers = (share * (255 - _LEAST_ALPHA)).astype(np.int64) + _LEAST_ALPHA
    alpha = np.where(covered, opaque, 0)
    # A line where a wide record begins, so that neighbours of one colour are two.
    parted = ((raw_ends - raw_begins) * (width / length) >= _PARTED) & (raw_begins >= begin)
    place = ((raw_begins[parted] - begin) * (width / length)).astype(np.int64)
    rows = lane_of[parted]
    alpha[rows, place] = (alpha[rows, place] * _LINE_ALPHA).astype(np.int64)
    records = np.concatenate([lane.records[window] for lane, window in found])
    return Columns(records, at, alpha)


def _coverage(begins: Numbers, ends: Numbers, edges: Numbers) -> NDArray[np.float64]:
    """How much of each column is covered, 0 to 1."""
    before = np.concatenate(([0], np.cumsum(ends - begins)))
    at = np.searchsorted(begins, edges.ravel(), side="right").reshape(edges.shape) - 1
    safe = np.maximum(at, 0)
    until = before[safe] + np.minimum(edges, ends[safe]) - begins[safe]
    busy = np.diff(np.where(at < 0, 0, until), axis=1)
    share: NDArray[np.float64] = (busy / np.maximum(1, np.diff(edges, axis=1))).clip(0, 1)
    return share


def device_pixels(shown: Columns, lane: int, height: int, shades: Shades) -> Pixels:
    """[height, width] as 0xAARRGGBB: groups as stacked bands of their requests' colours."""
    used, inverse = np.unique(shown.at[lane], return_inverse=True)
    records = shown.records[np.maximum(used, 0)]
    pixels: Pixels = np.take(_stacks(records, height, shades), inverse, axis=1)
    pixels |= shown.alpha[lane].astype(np.uint32) << np.uint32(24)
    waves = (records["event"] == int(Event.WAVE))[inverse]
    if waves.any():  # striped, unlike groups
        alpha = (shown.alpha[lane, waves] * _PALE).astype(np.uint32) << np.uint32(24)
        pixels[1::3, waves] = pixels[1::3, waves] & 0x00FFFFFF | alpha
    return pixels


def reader_pixels(shown: Columns, rows: Numbers, shades: Shades) -> Pixels:
    """[len(rows), width] as 0xAARRGGBB; rows: which lane each row of pixels shows, -1: none.

    Reads have the colour of who needs them; prefetches are hatched.
    """
    at, alpha = shown.at, shown.alpha.astype(np.uint32)
    requests = shown.records["request"]
    of_record = np.where(requests >= 0, shades.requests[requests % N_COLOURS], shades.all_requests)
    colours = of_record.astype(np.uint32)[at]
    full = colours | alpha << np.uint32(24)
    blank = np.zeros((1, at.shape[1]), dtype=np.uint32)
    pixels: Pixels = np.concatenate((full, blank))[rows]  # row -1 is the blank one
    guessed = (shown.records["event"] == int(Event.PREFETCH))[at] & (alpha > 0)
    if guessed.any():
        pale = colours | (alpha * _PALE).astype(np.uint32) << np.uint32(24)
        pale = np.concatenate((np.where(guessed, pale, full), blank))[rows]
        hatch = np.arange(len(rows))[:, None] + np.arange(at.shape[1])[None, :]
        pixels = np.where(hatch // 2 % 3 == 0, pixels, pale)
    return pixels


def _stacks(records: Records, height: int, shades: Shades) -> Pixels:
    """[height, len(records)]: the colours of each record from top to bottom."""
    events = records["event"]
    # Bits are numbers modulo 32, colours modulo 16.
    masks = (records["b"] | records["b"] >> N_COLOURS) & (1 << N_COLOURS) - 1
    members = (masks[:, None] >> np.arange(N_COLOURS) & 1).astype(np.int8)
    order = np.argsort(1 - members, axis=1, kind="stable")  # members first
    counts = members.sum(axis=1, dtype=np.int64)
    bands = np.arange(height)[:, None] * counts[None, :] // height
    bands += np.arange(len(records)) * N_COLOURS
    pixels: Pixels = np.take(shades.requests[order], bands)

    requests = records["request"]
    plain = np.full(len(records), shades.sample, dtype=np.uint32)
    plain[events == int(Event.FRONT)] = shades.front
    plain[events == int(Event.HEAD)] = shades.head
    plain[(events == int(Event.GROUP)) | (events == int(Event.WAVE))] = shades.all_requests
    own = (events == int(Event.WAVE)) & (requests >= 0)
    plain[own] = shades.requests[requests[own] % N_COLOURS]
    alone = (events != int(Event.GROUP)) | (counts == 0)
    pixels[:, alone] = plain[alone]
    return pixels
