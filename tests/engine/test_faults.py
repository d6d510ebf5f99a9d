"""What is wrong outside ends in a sentence that names it; others go on, nothing half-done stays.

On the real engine, with tiny models.
"""

import re
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import errors, native, trace
from engine.bench_models.gguf_writer import GgufWriter, Metadata, string, u32
from engine.cache_size import CacheSize
from engine.cli.replies import Replies, Reply
from engine.engine import Engine
from engine.events import Finished, Notice, Piece, PrefillProgress
from engine.link_speed import LinkSpeed
from engine.model_info import inspect_model
from engine.options import EngineOptions
from engine.request import Request
from engine.sampling import SamplingParams
from engine.trace import Event
from tests.helpers.models import tiny_model

PROMPTS = ("Once upon a time", "def main():", "The sea is", "12 + 30 =")


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


def options(**fields: object) -> EngineOptions:
    given = {"n_threads": 1, "context": 256, "run_log": False, **fields}
    return EngineOptions(**given)  # type: ignore[arg-type]


def submit(engine: Engine, prompt: str, max_tokens: int = 24) -> Reply:
    params = SamplingParams(seed=1, max_tokens=max_tokens, ignore_end=True, temperature=1)
    return Reply(engine.submit_prompt(prompt, params), prompt)


def run_all(engine: Engine) -> tuple[list[Reply], list[str]]:
    """Replies to all prompts, and what the engine told meanwhile."""
    notices: list[str] = []
    replies = [submit(engine, prompt) for prompt in PROMPTS]
    Replies(
        engine, replies, lambda event: isinstance(event, Notice) and notices.append(event.text)
    ).run()
    return replies, notices


def end_of(reply: Reply) -> Finished:
    assert reply.end is not None
    return reply.end


@pytest.fixture(scope="module")
def undisturbed(model: Path) -> list[list[int]]:
    with Engine.open(model, options(store="memory", cache=CacheSize())) as engine:
        return [reply.tokens for reply in run_all(engine)[0]]


def default_pack(home: Path) -> Path:
    (pack,) = (home / "packs").iterdir()
    return pack


def flip(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0xFF]))


# A disk that fails.


def test_a_failed_read_ends_those_who_need_the_expert_and_no_one_else(
    model: Path, undisturbed: list[list[int]]
) -> None:
    ended = {"length": 0, "error": 0}
    for seed in range(1, 9):
        with Engine.open(model, options(cache=CacheSize(), fault_seed=seed)) as engine:
            replies, _ = run_all(engine)
            faults = trace.of(engine.drain_events(), Event.FAULT)
            assert engine.stats().failed == len(faults)
        named = {f"layer {row['layer']} expert {row['expert']}:" for row in faults}
        for reply, expected in zip(replies, undisturbed, strict=True):
            ended[end_of(reply).reason] += 1
            if end_of(reply).reason == "length":
                assert reply.tokens == expected
            else:
                assert reply.tokens == expected[: len(reply.tokens)]
                assert any(expert in end_of(reply).detail for expert in named), end_of(reply).detail
    assert ended["length"] > 0 and ended["error"] > 0


@pytest.mark.parametrize("store", ["pack", "gguf"])
def test_a_file_cut_short_while_it_is_open_is_named_with_the_expert(
    tmp_path: Path, home: Path, model: Path, store: str
) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(model.read_bytes())
    with Engine.open(own, options(store=store)) as engine:
        file = default_pack(home) if store == "pack" else own
        with file.open("r+b") as opened:
            opened.truncate(8192)
        replies, _ = run_all(engine)
        for reply in replies:
            assert end_of(reply).reason == "error"
            assert re.search(rf"{re.escape(file.name)}.*layer \d+ expert \d+", end_of(reply).detail)
        assert engine.stats().active_requests == 0


def test_a_damaged_record_is_found_when_reads_are_verified(
    home: Path, model: Path, undisturbed: list[list[int]]
) -> None:
    Engine.open(model, options()).close()
    pack = default_pack(home)
    flip(pack, pack.stat().st_size - 5000)  # in the last record
    with Engine.open(model, options(cache=CacheSize(), verify_reads=True)) as engine:
        replies, notices = run_all(engine)
    assert notices == []
    for reply, expected in zip(replies, undisturbed, strict=True):
        assert reply.tokens == expected[: len(reply.tokens)]
    (detail,) = {end_of(reply).detail for reply in replies if end_of(reply).reason == "error"}
    assert f"{pack}: the record of layer 3 expert 15 is damaged" in detail
    assert detail.endswith("rebuild the pack")


# Packs that cannot serve.


def cut(pack: Path, other: Path) -> None:
    pack.write_bytes(pack.read_bytes()[:-4096])


def empty(pack: Path, other: Path) -> None:
    pack.write_bytes(b"")


def damage_header(pack: Path, other: Path) -> None:
    flip(pack, 100)


def exchange(pack: Path, other: Path) -> None:
    """Put another model's pack in its place."""
    info = inspect_model(other)
    native.write_pack(info.path, str(pack))


BROKEN = (cut, empty, damage_header, exchange)


@pytest.mark.parametrize("break_", BROKEN)
def test_a_pack_that_cannot_serve_is_built_again_in_its_usual_place(
    home: Path,
    model: Path,
    undisturbed: list[list[int]],
    break_: Callable[[Path, Path], None],
) -> None:
    Engine.open(model, options()).close()
    pack = default_pack(home)
    whole = pack.read_bytes()
    break_(pack, tiny_model("q4_0", seed=1))
    with Engine.open(model, options()) as engine:
        replies, notices = run_all(engine)
    assert [reply.tokens for reply in replies] == undisturbed
    (notice,) = [text for text in notices if "built again" in text]
    assert str(pack) in notice
    assert default_pack(home).read_bytes() == whole


@pytest.mark.parametrize("break_", BROKEN)
def test_a_pack_that_was_named_is_refused_and_kept(
    tmp_path: Path, model: Path, break_: Callable[[Path, Path], None]
) -> None:
    pack = tmp_path / "mine.pack"
    native.write_pack(str(model), str(pack))
    break_(pack, tiny_model("q4_0", seed=1))
    broken = pack.read_bytes()
    with pytest.raises(errors.ModelFileError, match=r"mine\.pack.*rebuild the pack"):
        Engine.open(model, options(pack_path=str(pack)))
    assert pack.read_bytes() == broken


@contextmanager
def files_up_to(n_bytes: int) -> Iterator[None]:
    """Writing beyond this size fails, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("n_bytes", [1 << 12, 1 << 20])
def test_a_pack_that_cannot_be_written_leaves_nothing(
    home: Path, model: Path, n_bytes: int
) -> None:
    with files_up_to(n_bytes), pytest.raises(errors.StorageError, match=r"\.pack"):
        Engine.open(model, options())
    assert list((home / "packs").iterdir()) == []
    Engine.open(model, options()).close()  # and the next time it works


# Stopping.


@pytest.mark.parametrize(
    ("store", "stage"), [("pack", "pack"), ("pack", "weights"), ("memory", "experts")]
)
def test_opening_can_be_stopped_at_every_stage(
    home: Path, model: Path, store: str, stage: str
) -> None:
    seen: list[str] = []

    def stop(now: str, done: int, total: int) -> bool:
        seen.append(now)
        return now != stage

    with pytest.raises(errors.Cancelled):
        Engine.open(model, options(store=store), stop)
    assert seen[-1] == stage
    left = list((home / "packs").iterdir()) if (home / "packs").exists() else []
    assert [path.suffix for path in left] == ([".pack"] if stage == "weights" else [])


def test_a_long_prompt_can_be_stopped(model: Path, undisturbed: list[list[int]]) -> None:
    # At this link speed the prompt alone would take minutes.
    slow = options(context=4096, link=LinkSpeed(3_000_000), prefill_chunk=16)
    with Engine.open(model, slow) as engine:
        long = submit(engine, "word " * 700)
        while not any(isinstance(event, PrefillProgress) for event in engine.poll()):
            assert engine.wait(60)
        engine.cancel(long.request)
        Replies(engine, [long]).run()
        assert end_of(long).reason == "cancelled"
        assert long.tokens == []
        engine.set_link(LinkSpeed())
        after = submit(engine, PROMPTS[0])
        Replies(engine, [after]).run()
    assert after.tokens == undisturbed[0]


def test_one_reply_can_be_stopped_and_the_others_go_on(
    model: Path, undisturbed: list[list[int]]
) -> None:
    with Engine.open(model, options(link=LinkSpeed(50_000_000))) as engine:
        first = submit(engine, PROMPTS[0], max_tokens=200)
        others = [submit(engine, prompt) for prompt in PROMPTS[1:]]

        def stop_first(event: object) -> None:
            if isinstance(event, Piece) and event.request == first.request:
                engine.cancel(first.request)

        Replies(engine, [first, *others], stop_first).run()
    assert end_of(first).reason == "cancelled"
    assert 0 < len(first.tokens) < 200
    assert [reply.tokens for reply in others] == undisturbed[1:]


def test_a_request_that_waits_can_be_stopped(model: Path) -> None:
    with Engine.open(model, options(max_requests=1, store="memory")) as engine:
        first, second = submit(engine, "a", max_tokens=100), submit(engine, "b")
        engine.cancel(second.request)
        Replies(engine, [first, second]).run()
    assert (end_of(first).reason, end_of(second).reason) == ("length", "cancelled")
    assert second.tokens == []


def test_closing_ends_what_runs(model: Path) -> None:
    engine = Engine.open(model, options(link=LinkSpeed(1_000_000)))
    for prompt in PROMPTS:
        submit(engine, prompt)
    engine.close()
    with pytest.raises(errors.InvalidRequestError, match="the engine is closed"):
        engine.stats()


# Sizes that do not fit.


def test_a_cache_too_small_is_raised_with_the_reason(
    model: Path, undisturbed: list[list[int]]
) -> None:
    with Engine.open(model, options(cache=CacheSize(n_bytes=1))) as engine:
        replies, notices = run_all(engine)
        assert engine.info.cache_bytes == engine.info.min_cache_bytes
        change = engine.set_cache_size(CacheSize(n_bytes=1))
    assert any("The expert cache takes" in text for text in notices)
    assert any("share waves of experts" in text for text in notices)
    assert change.cache_bytes == engine.info.min_cache_bytes
    assert "choose 4 experts each" in change.reason
    assert [reply.tokens for reply in replies] == undisturbed


def test_what_exceeds_the_context_is_refused_before_it_starts(model: Path) -> None:
    with Engine.open(model, options(store="memory", context=64)) as engine:
        params = SamplingParams(max_tokens=15)
        with pytest.raises(
            errors.InvalidRequestError, match=r"50 tokens .* 15 do not fit the context of 64"
        ):
            engine.submit(Request(tokens=(65,) * 50, params=params))
        assert engine.stats().queued_requests == engine.stats().active_requests == 0
        fits = Request(tokens=(65,) * 49, params=params)
        Replies(engine, [Reply(engine.submit(fits), "")]).run()


def test_a_context_beyond_the_models_is_refused(model: Path) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"context 5000 .* 4096"):
        Engine.open(model, options(store="memory", context=5000))


# Files that are no model for us.


def write_gguf(path: Path, **values: str | int) -> Path:
    metadata: Metadata = {
        key.replace("__", "."): string(value) if isinstance(value, str) else u32(value)
        for key, value in values.items()
    }
    with path.open("wb") as file:
        GgufWriter(file, metadata, [])
    return path


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    shard = write_gguf(
        tmp_path / "big-00001-of-00003.gguf",
        general__architecture="qwen3moe",
        split__no=0,
        split__count=3,
        split__tensors__count=0,
    )
    (tmp_path / "big-00003-of-00003.gguf").write_bytes(shard.read_bytes())
    with pytest.raises(errors.ModelFileError, match=r"big-00002-of-00003\.gguf") as caught:
        Engine.open(shard, options())
    assert "00003-of-00003.gguf" not in str(caught.value).replace("00002-of-00003", "")


def test_a_dense_model_says_that_it_has_no_experts(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "dense.gguf", general__architecture="llama")
    with pytest.raises(errors.UnsupportedModelError, match=r"'llama' is not a mixture of experts"):
        Engine.open(path, options())


def test_a_family_that_is_not_supported_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "other.gguf", general__architecture="grok", grok__expert_count=8)
    with pytest.raises(
        errors.UnsupportedModelError, match=r"'grok' is not supported; supported: .*qwen3moe"
    ):
        Engine.open(path, options())


def test_a_model_cut_short_is_named(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    with pytest.raises(errors.ModelFileError, match=r"half\.gguf.*download"):
        Engine.open(path, options())
