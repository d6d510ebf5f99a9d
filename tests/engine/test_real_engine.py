"""The Python engine on the real native one, with a tiny random model: nothing is faked here."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engine import metrics, trace
from engine.bench import Bench, BenchPlan
from engine.bench_models.make_model import make_model
from engine.cache_size import CacheSize
from engine.cli.replies import Replies, Reply
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.model_info import inspect_model
from engine.options import STORES, EngineOptions, Store
from engine.request import Request
from engine.runlog.reader import RunLog
from engine.sampling import SamplingParams
from engine.trace import Event

PROMPTS = ("Once upon a time", "def main():", "The sea is")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    make_model(path, like="tiny")
    return path


def replies(engine: Engine, prompts: Sequence[str] = PROMPTS, **params: float) -> list[Reply]:
    asked = [
        Reply(
            engine.submit_prompt(
                prompt,
                SamplingParams(seed=n, max_tokens=24, ignore_end=True, temperature=1, **params),  # type: ignore[arg-type]
            ),
            prompt,
        )
        for n, prompt in enumerate(prompts)
    ]
    Replies(engine, asked).run()
    return asked


def settle(engine: Engine) -> None:
    """Until the engine's thread has put its last request away."""
    deadline = time.monotonic() + 30
    while engine.stats().active_requests:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def options(**fields: object) -> EngineOptions:
    return EngineOptions(n_threads=1, context=256, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("store", STORES)
def test_text_is_the_same_from_every_store_and_cache(tiny: Path, store: Store) -> None:
    texts = []
    for cache in (CacheSize(), CacheSize(fraction=0.5)):
        with Engine.open(tiny, options(store=store, cache=cache)) as engine:
            assert engine.info.store == store
            texts.append([reply.tokens for reply in replies(engine)])
    assert texts[0] == texts[1]
    assert [len(tokens) for tokens in texts[0]] == [24, 24, 24]
    assert len({tuple(tokens) for tokens in texts[0]}) == 3


def test_the_trace_accounts_for_every_step(tiny: Path) -> None:
    with Engine.open(tiny, options(cache=CacheSize(fraction=0.5))) as engine:
        replies(engine)
        settle(engine)
        records = engine.drain_events()
        stats = engine.stats()
        info = engine.info
        folder = engine.run_log_folder
    steps = metrics.step_table(records)
    assert len(steps) == stats.steps
    needed = steps["hits"] + steps["misses"] + steps["joined"]
    assert np.all(needed == steps["requests"] * info.n_layer * info.n_expert_used)
    assert np.all(steps["fetched"] == steps["misses"])  # however many readers shared a record
    assert np.all(steps["jobs"] == steps["requests"] * info.n_layer)
    busy = steps["compute_busy_ms"] + steps["link_busy_ms"] - steps["both_busy_ms"]
    assert np.all(busy <= steps["step_ms"] + 1e-6)
    assert np.all(steps["compute_busy_ms"] > 0)
    assert stats.dropped_records == 0
    assert folder is not None
    assert len(RunLog(folder).records()) == len(records)


def test_counters_and_trace_agree_on_which_prefetches_were_needed(tiny: Path) -> None:
    asked = options(cache=CacheSize(fraction=0.5), policy="specmd", run_log=False)
    with Engine.open(tiny, asked) as engine:
        replies(engine, PROMPTS[:1])
        settle(engine)
        stats = engine.stats()
        records = engine.drain_events()
        while len(trace.of(records, Event.PREFETCH)) < stats.prefetched:  # reads on their way
            time.sleep(0.01)
            records = np.concatenate([records, engine.drain_events()])
    steps = metrics.step_table(records)
    assert steps["prefetched"].sum() == stats.prefetched > 0
    assert steps["wasted"].sum() == stats.wasted > 0
    assert stats.prefetch_used == stats.prefetched - stats.wasted > 0


def test_policies_see_the_same_routing_in_a_benchmark(tiny: Path) -> None:
    plan = BenchPlan(
        policies=("bevy", "lockstep-lfu", "llama.cpp"),
        requests=(2,),
        caches=(CacheSize(fraction=0.5),),
        links=(LinkSpeed(2_000_000_000),),
        steps=8,
        rounds=1,
        prompt_tokens=8,
    )
    with Engine.open(tiny, options(run_log=False)) as engine:
        report = Bench(engine, plan).run()
    assert report.streams_agree, report.differences
    assert [run.steps > 0 for run in report.runs] == [True] * 3


def test_a_session_reads_a_shared_beginning_once(tiny: Path) -> None:
    read: list[int] = []
    with Engine.open(tiny, options(store="memory")) as engine:
        session = engine.open_session()
        prompt = engine.tokenize("A story that both requests begin with. ")
        for end in ("First", "Second"):
            tokens = (*prompt, *engine.tokenize(end, add_special=False))
            params = SamplingParams(max_tokens=2, ignore_end=True)
            request = Request(tokens=tokens, session=session, params=params)
            Replies(engine, [Reply(engine.submit(request), end)]).run()
            read.append(int(trace.of(engine.drain_events(), Event.PREFILL)["a"].sum()))
        engine.close_session(session)
    assert read[0] == len(prompt) + len("First")
    assert read[1] <= len("Second") + 1


def test_without_options_a_model_opens_with_the_context_it_was_trained_for(tiny: Path) -> None:
    with Engine.open(tiny) as engine:
        assert engine.info.context == min(4096, engine.model.context_length)
    trained = msgspec.structs.replace(inspect_model(tiny), context_length=100)
    with Engine.open(trained) as engine:
        assert engine.info.context == 100


def test_inspect_agrees_with_what_was_made(tiny: Path) -> None:
    info = inspect_model(tiny)
    assert info.supported
    assert (info.n_layer, info.n_expert, info.n_expert_used) == (4, 16, 4)
    assert sum(part.bytes for part in info.files) == tiny.stat().st_size


@pytest.fixture
def runahead(home: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Starts the command line as a process of its own."""

    def start(*args: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "engine", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUNAHEAD_HOME": str(home)},
            cwd=Path(__file__).parents[2],
            # Shells start background jobs with Ctrl-C ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    return start


def test_generate_prints_json(tiny: Path, runahead: Callable[..., "subprocess.Popen[str]"]) -> None:
    args = ("--json", "--threads", 1, "--max-tokens", 8, "-p", "a", "-p", "b")
    out, err = runahead("generate", tiny, *args).communicate(timeout=120)
    report = json.loads(out)
    assert len(report["replies"]) == 2, err
    assert report["summary"]["steps"] > 0


def test_ctrl_c_while_replying_exits_with_130_and_a_finished_log(
    tiny: Path, home: Path, runahead: Callable[..., "subprocess.Popen[str]"]
) -> None:
    args = ("--threads", 1, "--max-tokens", 3000, "--link", "1MB/s", "-p", "a")
    process = runahead("generate", tiny, *args)
    deadline = time.monotonic() + 60
    while not list((home / "runs").glob("*/events-*.bin")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.rstrip().endswith("runahead: stopped")
    assert "Traceback" not in err
    (folder,) = (home / "runs").iterdir()
    assert RunLog(folder).meta.ended
    assert [path.suffix for path in (home / "packs").iterdir()] == [".pack"]
