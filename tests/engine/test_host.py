"""The parts that a child process and its line are made of, each by itself."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import events, trace
from engine.client_events import Used
from engine.events import Finished, Notice, Piece, PrefillProgress
from engine.host_requests import HostRequests
from engine.link_speed import LinkSpeed
from engine.process import channel, child, child_log, frames, outbox
from engine.process.child_log import ChildLog, keep_small
from engine.process.frames import FrameReader, MalformedError, UnsendableError, framed
from engine.process.outbox import Outbox
from engine.protocol import HostReport, Inspect, Inspected, Job, Progress, SetLink, Submit, Trace
from engine.request import NO_SESSION, Request, RequestId, SessionId
from engine.trace import Event

DECODER = msgspec.msgpack.Decoder(HostReport)
HOSTS = ("engine.host", "engine.job_host")


def piece(request: int, text: str, *tokens: int) -> Piece:
    return Piece(RequestId(request), text, tokens)


def records(n: int, **fields: int) -> trace.Records:
    made = np.zeros(n, dtype=trace.RECORD_DTYPE)
    for name, value in {"request": -1, "step": -1, **fields}.items():
        made[name] = value
    return made


# Frames.


@given(st.lists(st.text(max_size=40), max_size=8), st.lists(st.integers(1, 30), min_size=1))
def test_messages_arrive_whole_however_their_bytes_were_cut(
    texts: list[str], cuts: list[int]
) -> None:
    data = b"".join(framed(Notice(text)) for text in texts)
    reader, heard, at = FrameReader(DECODER), [], 0
    while at < len(data):
        n = cuts[at % len(cuts)]
        heard += list(reader.feed(data[at : at + n]))
        at += n
    assert heard == [Notice(text) for text in texts]


@given(st.binary(min_size=4, max_size=200))
def test_no_bytes_do_worse_than_be_malformed(data: bytes) -> None:
    reader = FrameReader(DECODER)
    try:
        for message in reader.feed(data):
            assert isinstance(message, msgspec.Struct)
    except MalformedError as error:
        assert str(error)


def test_deep_nesting_is_malformed() -> None:
    payload = b"\x91" * 100_000
    reader = FrameReader(DECODER)
    with pytest.raises(MalformedError):
        list(reader.feed(len(payload).to_bytes(4, "little") + payload))


def test_values_out_of_range_are_malformed() -> None:
    # As a stranger would send it: our own structs cannot even be made so.
    data = msgspec.msgpack.decode(framed(Submit(RequestId(0), Request(prompt="x")))[4:])
    data["request"]["params"]["temperature"] = -1.0
    payload = msgspec.msgpack.encode(data)
    reader = FrameReader(msgspec.msgpack.Decoder(Submit))
    with pytest.raises(MalformedError, match="temperature"):
        list(reader.feed(len(payload).to_bytes(4, "little") + payload))


def test_a_message_that_is_too_long_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 1000)
    with pytest.raises(UnsendableError, match="1000"):
        framed(Notice("x" * 1000))


def test_a_number_that_no_message_holds_is_not_sent() -> None:
    with pytest.raises(UnsendableError, match="number"):
        framed(SetLink(LinkSpeed(1 << 64)))


# The window's end.


@pytest.fixture
def line() -> Iterator[tuple["channel.Channel[HostReport]", socket.socket]]:
    ours, theirs = channel.pair(HostReport)
    with theirs:
        yield ours, theirs
    ours.close()


def test_what_cannot_be_sent_at_once_goes_out_later_in_order(
    line: tuple["channel.Channel[HostReport]", socket.socket],
) -> None:
    ours, theirs = line
    for n in range(200):
        ours.send(Notice(f"{n}" + "x" * 10_000))
    reader, heard = FrameReader(DECODER), []
    while len(heard) < 200:
        heard += list(reader.feed(theirs.recv(1 << 20)))
        ours.flush()
    assert [str(notice.text).rstrip("x") for notice in heard] == [str(n) for n in range(200)]  # type: ignore[union-attr]


def test_a_line_that_nobody_reads_takes_only_so_much(
    line: tuple["channel.Channel[HostReport]", socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "MAX_UNSENT_BYTES", 1 << 20)
    ours, _ = line
    with pytest.raises(UnsendableError, match="not read"):
        for _ in range(200):
            ours.send(Notice("x" * 10_000))


def test_one_call_takes_in_a_bounded_part(
    line: tuple["channel.Channel[HostReport]", socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "MAX_RECEIVED_BYTES", 1)
    monkeypatch.setattr(channel, "_READ_BYTES", 4000)
    ours, theirs = line
    theirs.sendall(framed(Notice("x" * 900)) * 20)
    calls = [len(list(ours.receive())) for _ in range(8)]
    assert sum(calls) == 20 and max(calls) <= 5


def test_what_was_said_before_hanging_up_is_heard(
    line: tuple["channel.Channel[HostReport]", socket.socket],
) -> None:
    ours, theirs = line
    theirs.sendall(framed(Notice("last words")) + b"\x10\x00")
    theirs.close()
    assert list(ours.receive()) == [Notice("last words")]
    assert ours.ended and not ours.fault
    ours.send(Notice("to nobody"))
    assert list(ours.receive()) == []


# The child's end.


@pytest.fixture
def ends() -> Iterator[tuple[Outbox, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Outbox(ours), theirs


def read_all(box: Outbox, theirs: socket.socket) -> list[HostReport]:
    reader: FrameReader[HostReport] = FrameReader(DECODER)
    heard: list[HostReport] = []
    theirs.setblocking(False)
    while True:
        done = box.flush()
        try:
            heard += reader.feed(theirs.recv(1 << 20))
        except BlockingIOError:
            if done:
                return heard


def test_text_that_nobody_reads_is_kept_whole_in_few_messages(
    ends: tuple[Outbox, socket.socket],
) -> None:
    box, theirs = ends
    for n in range(100_000):
        box.put(piece(n % 3, f"{n} ", n))
        if n % 100 == 0:
            box.flush()
    for n in range(3):
        box.put(Finished(RequestId(n), "length"))
    heard = read_all(box, theirs)
    for request in range(3):
        own = [each for each in heard if isinstance(each, Piece) and each.request == request]
        expected = range(request, 100_000, 3)
        assert "".join(each.text for each in own) == "".join(f"{n} " for n in expected)
        assert [token for each in own for token in each.tokens] == list(expected)
    assert len(heard) < 5000
    assert heard[-3:] == [Finished(RequestId(n), "length") for n in range(3)]


def test_progress_and_counters_shrink_to_their_latest(ends: tuple[Outbox, socket.socket]) -> None:
    box, theirs = ends
    for n in range(1000):
        box.put(Progress("pack", n, 1000))
        box.put(PrefillProgress(RequestId(1), n, 1000))
        box.put(PrefillProgress(RequestId(2), n, 1000))
    box.put(piece(1, "x"))
    assert read_all(box, theirs) == [
        Progress("pack", 999, 1000),
        PrefillProgress(RequestId(1), 999, 1000),
        PrefillProgress(RequestId(2), 999, 1000),
        piece(1, "x"),
    ]


def test_the_oldest_records_go_first_and_are_counted(
    ends: tuple[Outbox, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_RECORDS", 50_000)
    box, theirs = ends
    for n in range(100):
        box.put_records(records(1000, step=n), dropped=5)
    box.put(piece(0, "text goes first"))
    heard = read_all(box, theirs)
    assert heard[0] == piece(0, "text goes first")
    traces = [each for each in heard if isinstance(each, Trace)]
    assert {each.dropped for each in traces} == {50_005}
    steps = np.concatenate([trace.from_bytes(each.data)["step"] for each in traces])
    assert list(np.unique(steps)) == list(range(50, 100)) and len(steps) == 50_000
    assert all(len(each.data) <= 1 << 20 for each in traces)
    box.put_records(records(1000), dropped=5)
    box.forget_records()
    assert read_all(box, theirs) == []


def test_a_parent_that_is_gone_is_nothing_to_wait_for(ends: tuple[Outbox, socket.socket]) -> None:
    box, theirs = ends
    for _ in range(1000):
        box.put(Notice("x" * 1000))
    assert not box.flush()
    theirs.close()
    box.finish()
    box.wait_for_room()


# Numbers and counts.


def test_numbers_are_the_clients_and_counts_are_each_requests_own() -> None:
    requests = HostRequests()
    for engines, clients in ((0, 7), (1, 9)):
        requests.add(RequestId(engines), RequestId(clients), SessionId(clients), 20)
    assert requests.busy(SessionId(7)) and not requests.busy(SessionId(8))
    assert not requests.busy(NO_SESSION)
    seen = np.concatenate(
        [
            records(1, event=Event.PREFILL, request=0, a=15),
            records(9, event=Event.MISS, request=0),  # of the prompt: does not count
            records(3, event=Event.HIT, request=0, step=0),
            records(2, event=Event.JOIN, request=1, step=0),
            records(4, event=Event.MISS, request=1, step=0),
            records(1, event=Event.GROUP, step=0, b=0b11),
            records(1, event=Event.HIT, request=5, step=0),  # of one that is not ours
        ]
    )
    requests.count(seen)
    renumbered = requests.renumbered(seen)
    assert sorted(set(renumbered["request"])) == [-1, 7, 9]
    assert trace.of(renumbered, Event.GROUP)["b"] == [1 << 7 | 1 << 9]
    arrived: list[events.Event] = [
        PrefillProgress(RequestId(0), 20, 20),
        piece(1, "x"),
        Finished(RequestId(0), "stop"),
        Finished(RequestId(1), "cancelled"),
    ]
    assert list(requests.events(arrived)) == [
        PrefillProgress(RequestId(7), 20, 20),
        piece(9, "x"),
        Used(RequestId(7), 20, 5, 3, 0, 0),
        Finished(RequestId(7), "stop"),
        Used(RequestId(9), 20, 0, 0, 2, 4),
        Finished(RequestId(9), "cancelled"),
    ]
    assert not requests.busy(SessionId(7)) and requests.engines_number(RequestId(7)) is None
    assert set(requests.renumbered(seen)["request"]) == {-1, 7, 9}  # records come late


def test_numbers_hold_for_as_many_requests_as_come() -> None:
    requests = HostRequests()
    for n in range(5000):
        requests.add(RequestId(n), RequestId(n + 100), NO_SESSION, 1)
        assert len(list(requests.events([Finished(RequestId(n), "stop")]))) == 2
    assert list(requests.renumbered(records(1, request=4999))["request"]) == [5099]


# Whole processes.


def started(module: str) -> tuple["subprocess.Popen[str]", socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            child.command_line(module, theirs.fileno()),
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
            text=True,
            env=child.environment(),
        )
    return process, ours


@pytest.mark.parametrize("module", HOSTS)
def test_a_host_ends_when_its_line_does(module: str) -> None:
    process, line = started(module)
    line.close()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize("module", HOSTS)
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x03\x00\x00\x00abc", "cannot be read"),
        (b"\xff\xff\xff\xff", "4294967295 bytes"),
        (framed(Notice("not a command")), "Notice"),
    ],
)
def test_a_host_that_hears_nonsense_ends_with_a_sentence(
    module: str, data: bytes, said: str
) -> None:
    process, line = started(module)
    with line:
        line.sendall(data)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 3
    assert error.startswith("A command could not be understood") and said in error
    assert "Traceback" not in error


def test_a_job_tells_its_whole_result_before_it_leaves(tmp_path: Path) -> None:
    from tests.helpers.models import tiny_model

    process, line = started("engine.job_host")
    job: Job = Inspect(str(tiny_model("q4_0")))
    with line, line.makefile("rb") as reading:
        line.sendall(framed(job))
        assert process.wait(60) == 0
        payload = reading.read()[4:]
    process.communicate()
    assert isinstance(msgspec.msgpack.decode(payload, type=Inspected), Inspected)


# Logs.


def test_a_log_keeps_its_end_and_stays_small(home: Path) -> None:
    log = ChildLog("test")
    for n in range(5000):
        os.write(log.handle, b"line %d\n" % n)
        if n % 50 == 0:
            keep_small(log.handle, 10_000)
            assert os.fstat(log.handle).st_size <= 10_000
    assert log.last_words() == "line 4997 / line 4998 / line 4999"
    log.handed_over()
    log.remove_if_empty()
    assert log.path.exists()


def test_only_so_many_logs_are_kept_and_no_empty_ones(home: Path) -> None:
    for n in range(child_log.KEPT_FILES + 5):
        log = ChildLog("test")
        os.write(log.handle, b"%d" % n)
        log.handed_over()
    kept = sorted((home / "logs").iterdir())
    assert len(kept) == child_log.KEPT_FILES
    empty = ChildLog("other")
    empty.handed_over()
    empty.remove_if_empty()
    assert not list((home / "logs").glob("other*"))


def test_a_folder_that_cannot_be_written_means_no_log(home: Path) -> None:
    home.write_text("in the way")
    log = ChildLog("test")
    os.write(log.handle, b"heard by nobody")
    log.handed_over()
    assert log.last_words() == ""
