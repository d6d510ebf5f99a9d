"""The engine's promises, over the fake native engine."""

import fcntl
import shutil
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine import errors, pack
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.events import Event, Finished, Notice, Piece, PrefillProgress
from engine.link_speed import LinkSpeed
from engine.model_info import inspect_model
from engine.options import EngineOptions
from engine.pack_leftovers import remove_leftovers
from engine.request import Message, Request
from engine.sampling import SamplingParams
from tests.helpers import fake_native

GREEDY = SamplingParams(temperature=0)


@pytest.fixture
def opened(fake: types.ModuleType) -> Iterator[ExitStack]:
    """Engines entered here are closed at the end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def engine(opened: ExitStack, model: Path) -> Engine:
    return opened.enter_context(Engine.open(model, EngineOptions(cache=CacheSize(fraction=0.5))))


@pytest.fixture
def engine_for(opened: ExitStack, tmp_path: Path) -> Callable[..., Engine]:
    """Opens a model with these fields."""

    def open_it(**fields: object) -> Engine:
        path = fake_native.write_model(tmp_path / "own.gguf", **fields)
        return opened.enter_context(Engine.open(path))

    return open_it


def finish(engine: Engine) -> list[Event]:
    """All events until every request has ended."""
    events: list[Event] = []
    for _ in range(10_000):
        events += engine.poll()
        stats = engine.stats()
        if not stats.active_requests + stats.queued_requests and not engine.wait(0):
            return events
    raise AssertionError("requests do not end")


def text_of(events: list[Event], request: int) -> str:
    return "".join(e.text for e in events if isinstance(e, Piece) and e.request == request)


def end_of(events: list[Event], request: int) -> Finished:
    (end,) = [e for e in events if isinstance(e, Finished) and e.request == request]
    return end


def notices_of(events: list[Event]) -> list[str]:
    return [e.text for e in events if isinstance(e, Notice)]


def test_two_requests_stream_and_end_by_length(engine: Engine) -> None:
    first = engine.submit_prompt("one", SamplingParams(temperature=0, max_tokens=5))
    second = engine.submit_prompt("two", SamplingParams(temperature=0, max_tokens=7))
    events = finish(engine)
    assert end_of(events, first).reason == end_of(events, second).reason == "length"
    counts = {
        request: sum(len(e.tokens) for e in events if isinstance(e, Piece) and e.request == request)
        for request in (first, second)
    }
    assert counts == {first: 5, second: 7}
    prefills = [e for e in events if isinstance(e, PrefillProgress) and e.request == first]
    assert prefills[-1].done == prefills[-1].total == 4  # the first token and three bytes


def test_pieces_hold_whole_characters_only(engine_for: Callable[..., Engine]) -> None:
    engine = engine_for(reply="aé🌍z")
    request = engine.submit_prompt("x", GREEDY)
    events = finish(engine)
    assert [e.text for e in events if isinstance(e, Piece)] == ["a", "", "é", "", "", "", "🌍", "z"]
    assert end_of(events, request) == Finished(request, "stop")


def test_a_character_cut_by_max_tokens_is_shown_as_replaced(
    engine_for: Callable[..., Engine],
) -> None:
    engine = engine_for(reply="a🌍")
    request = engine.submit_prompt("x", SamplingParams(temperature=0, max_tokens=3))
    assert text_of(finish(engine), request) == "a\N{REPLACEMENT CHARACTER}"


def test_a_stop_string_over_several_tokens_never_leaks(engine_for: Callable[..., Engine]) -> None:
    engine = engine_for(reply="Hello END of it")
    request = engine.submit_prompt("x", SamplingParams(temperature=0, stop=("END",)))
    other = engine.submit_prompt("y", GREEDY)
    events = finish(engine)
    assert text_of(events, request) == "Hello "
    assert end_of(events, request) == Finished(request, "stop")
    assert text_of(events, other) == "Hello END of it"


def test_text_held_back_for_a_stop_string_is_shown_at_the_end(
    engine_for: Callable[..., Engine],
) -> None:
    engine = engine_for(reply="an EN")
    request = engine.submit_prompt("x", SamplingParams(temperature=0, stop=("END",)))
    assert text_of(finish(engine), request) == "an EN"


def test_cancel_ends_one_request_and_leaves_the_others(engine: Engine) -> None:
    first = engine.submit_prompt("one", SamplingParams(max_tokens=1000))
    second = engine.submit_prompt("two", SamplingParams(max_tokens=20))
    for _ in range(5):
        engine.poll()
    engine.cancel(first)
    events = finish(engine)
    assert end_of(events, first).reason == "cancelled"
    assert end_of(events, second).reason == "length"


def test_a_failing_request_says_why(engine_for: Callable[..., Engine]) -> None:
    engine = engine_for(fails="expert 3 of layer 1 cannot be read: Input/output error")
    request = engine.submit_prompt("x", GREEDY)
    end = end_of(finish(engine), request)
    assert end.reason == "error"
    assert "expert 3 of layer 1" in end.detail


def test_a_prompt_beyond_the_context_is_refused_before_it_runs(engine: Engine) -> None:
    with pytest.raises(errors.InvalidRequestError, match="exceed the context"):
        engine.submit_prompt("x", SamplingParams(max_tokens=5000))


def test_a_chat_uses_the_models_template_and_its_first_token_once(
    engine_for: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    submit = fake_native.Engine.submit
    monkeypatch.setattr(
        fake_native.Engine,
        "submit",
        lambda self, tokens, **rest: seen.append(tokens) or submit(self, tokens, **rest),
    )
    template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"
    engine = engine_for(chat_template=template)
    engine.submit_chat([Message("user", "hi")])
    assert seen == [[fake_native.BOS, *b"[user] hi"]]


def test_a_bad_template_gives_way_once_with_a_notice(engine_for: Callable[..., Engine]) -> None:
    engine = engine_for(chat_template="{{ ''.__class__.__mro__ }}", reply="Hi.\nUser: more")
    first = engine.submit_chat([Message("user", "hi")], GREEDY)
    engine.submit_chat([Message("user", "hi")], GREEDY)
    events = finish(engine)
    told = [text for text in notices_of(events) if "template" in text]
    assert len(told) == 1 and "not allowed" in told[0]
    assert text_of(events, first) == "Hi."  # the plain template's next turn ends the reply


def test_the_same_seed_gives_the_same_text_under_every_policy(engine: Engine) -> None:
    texts = set()
    for policy in ("bevy", "lockstep-lfu"):
        engine.set_policy(policy, cold=True)
        request = engine.submit_prompt("x", SamplingParams(seed=3, max_tokens=30))
        texts.add(text_of(finish(engine), request))
    assert len(texts) == 1


def test_the_pack_is_built_once_and_found_again(
    fake: types.ModuleType, model: Path, home: Path
) -> None:
    stages = []

    def progress(stage: str, done: int, total: int) -> bool:
        stages.append(stage)
        return True

    with Engine.open(model, progress=progress) as engine:
        assert engine.info.store == "pack"
    (path,) = (home / "packs").iterdir()
    assert path.name == "fake-1b-0000000000001234.pack"
    assert "pack" in stages
    stages.clear()
    Engine.open(model, progress=progress).close()
    assert "pack" not in stages


def test_a_damaged_pack_is_built_again_and_said_so(
    opened: ExitStack, model: Path, home: Path
) -> None:
    Engine.open(model).close()
    path = pack.pack_path(inspect_model(model))
    path.write_text("damaged")
    engine = opened.enter_context(Engine.open(model))
    assert notices_of(engine.poll()) == ["The expert pack is built again: its header is damaged."]
    assert pack.why_unusable(path, inspect_model(model)) == ""


def test_a_pack_that_the_caller_named_is_never_overwritten(
    fake: types.ModuleType, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.pack"
    path.write_text('{"fingerprint": 99}')
    with pytest.raises(errors.ModelFileError, match="belongs to another model file"):
        Engine.open(model, EngineOptions(pack_path=str(path)))
    assert path.read_text() == '{"fingerprint": 99}'


def test_a_short_disk_means_the_model_file_in_place_and_a_notice(
    opened: ExitStack, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "SPARE_BYTES", 1 << 60)
    engine = opened.enter_context(Engine.open(model))
    assert engine.info.store == "gguf"
    (notice,) = notices_of(engine.poll())
    assert "read in place" in notice and "50.3 MB" in notice


@pytest.mark.parametrize("alive", [False, True])
def test_what_a_killed_packing_left_does_not_take_the_room_of_the_pack(
    opened: ExitStack, model: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    left = pack.pack_path(inspect_model(model))
    left = left.with_name(f"{left.name}.tmp-123-0")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x")
    usage = shutil.disk_usage

    def free(folder: Path) -> object:
        return usage(folder)._replace(free=(1 << 40) * (not left.exists()))

    monkeypatch.setattr(shutil, "disk_usage", free)
    with left.open("rb") as file:
        if alive:
            fcntl.flock(file, fcntl.LOCK_EX)  # as its writer holds it
        engine = opened.enter_context(Engine.open(model))
    assert (engine.info.store, left.exists()) == (("gguf", True) if alive else ("pack", False))


def test_a_file_that_a_writer_has_just_made_is_its_own_or_gone_before_it_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "a.pack.tmp-1-0"
    made.touch()
    unlink = Path.unlink

    def checked(path: Path) -> None:
        with path.open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as its writer does
        unlink(path)

    monkeypatch.setattr(Path, "unlink", checked)
    remove_leftovers(tmp_path / "a.pack")
    assert not made.exists()


def test_a_disk_that_fills_while_packing_means_in_place_too(
    opened: ExitStack, model: Path, home: Path
) -> None:
    fake_native.faults["write_pack"] = ("no_space", "x.pack: cannot be written: No space left")
    engine = opened.enter_context(Engine.open(model))
    assert engine.info.store == "gguf"
    (notice,) = notices_of(engine.poll())
    assert "read in place" in notice and notice.endswith("cannot be written: No space left.")
    assert list((home / "packs").iterdir()) == []


def test_stopping_while_packing_leaves_nothing(
    fake: types.ModuleType, model: Path, home: Path
) -> None:
    with pytest.raises(errors.Cancelled):
        Engine.open(model, progress=lambda stage, done, total: done < 2)
    assert list((home / "packs").iterdir()) == []


def test_ctrl_c_in_a_progress_callback_arrives_as_itself(
    fake: types.ModuleType, model: Path
) -> None:
    def progress(stage: str, done: int, total: int) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Engine.open(model, progress=progress)


def test_an_unsupported_model_says_what_it_is(engine_for: Callable[..., Engine]) -> None:
    with pytest.raises(errors.UnsupportedModelError, match="dense"):
        engine_for(supported=False, reason="llama is a dense family; supported: qwen3moe")


def test_a_file_that_is_no_model_is_named(fake: types.ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(errors.ModelFileError, match=r"notes\.txt: magic is not GGUF"):
        Engine.open(path)


def test_the_cache_is_resized_while_running_and_clamps_with_a_reason(engine: Engine) -> None:
    request = engine.submit_prompt("x", SamplingParams(max_tokens=50))
    engine.poll()
    assert engine.set_cache_size(CacheSize.parse("all")).cache_slots == 48
    small = engine.set_cache_size(CacheSize(n_bytes=1))
    assert small.cache_slots == 4 and small.reason
    assert end_of(finish(engine), request).reason == "length"


def test_a_cache_too_small_at_opening_is_raised_and_said_so(opened: ExitStack, model: Path) -> None:
    engine = opened.enter_context(Engine.open(model, EngineOptions(cache=CacheSize(n_bytes=1000))))
    (notice,) = notices_of(engine.poll())
    assert "takes 4.19 MB instead of 1 kB" in notice


def test_settings_reach_the_native_engine(engine: Engine) -> None:
    native_engine = engine._native
    engine.set_link(LinkSpeed.parse("2GB/s"))
    engine.set_policy("lockstep-lfu")
    assert isinstance(native_engine, fake_native.Engine)
    assert native_engine.link == 2_000_000_000
    assert native_engine.policy.startswith("lockstep/")
    with pytest.raises(errors.InvalidRequestError, match="unknown"):
        engine.set_policy("no-such-policy")


def test_events_are_drained_once(engine: Engine) -> None:
    engine.submit_prompt("x", SamplingParams(max_tokens=5))
    finish(engine)
    assert len(engine.drain_events()) > 0
    assert len(engine.drain_events()) == 0


def test_closing_twice_is_harmless(engine: Engine) -> None:
    engine.close()
    engine.close()


def test_a_session_is_opened_and_closed(engine: Engine) -> None:
    session = engine.open_session()
    request = engine.submit(Request(prompt="x", params=GREEDY, session=session))
    assert end_of(finish(engine), request).reason == "stop"
    engine.close_session(session)
    with pytest.raises(errors.InvalidRequestError):
        engine.close_session(type(session)(99))


def test_the_progress_table_names_every_active_request(engine: Engine) -> None:
    request = engine.submit_prompt("x")
    assert [row.request for row in engine.progress_table()] == [request]
