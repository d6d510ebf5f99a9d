"""`runahead record` writes what the real engine's routers said."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine import errors, trace, workloads
from engine.bench_decode import decode
from engine.bench_models.engine_routing import record_routing
from engine.cache_size import CacheSize
from engine.cli.main import main
from engine.engine import Engine
from engine.options import EngineOptions
from engine.simulation.decoded import Decoded
from engine.simulation.observed import observe
from engine.simulation.record import Routed, record_rows, record_trace, trace_of
from engine.simulation.routing_trace import RoutingTrace
from engine.simulation.simulate import simulate
from tests.helpers.models import tiny_model


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


@pytest.fixture
def engine(model: Path) -> Iterator[Engine]:
    options = EngineOptions(store="memory", run_log=False, n_threads=1, context=128)
    with Engine.open(model, options) as engine:
        yield engine


def routed(*rows: tuple[int, int, int, int], n_lookahead: int = 1) -> Routed:
    """Rows of step, request, layer, expert; of 4 experts."""
    array = np.array(rows, dtype=np.int32).reshape(-1, 4)
    one_hot = np.eye(4, dtype=np.float32)[array[:, 3]]
    return {
        "step": array[:, 0],
        "request": array[:, 1],
        "layer": array[:, 2],
        "experts": array[:, 3:],
        "probabilities": one_hot,
        "lookahead": np.repeat(one_hot[:, None], n_lookahead, axis=1),
    }


def test_rows_become_arrays_whatever_their_order() -> None:
    rows = [
        (step, request, layer, (step + request + layer) % 4)
        for step in (5, 6)
        for request in (11, 12)
        for layer in (0, 1)
    ]
    rows.append((7, 11, 0, 3))  # a step that only one request began
    rows.append((8, 12, 0, 3))
    shuffled = [rows[n] for n in np.random.default_rng(0).permutation(len(rows))]
    trace = trace_of(routed(*shuffled), 2, model="m", record_bytes=9)
    assert trace is not None
    assert trace.experts[..., 0].tolist() == [[[0, 1], [1, 2]], [[1, 2], [2, 3]]]
    assert trace.probabilities is not None and trace.lookahead is not None
    np.testing.assert_array_equal(trace.probabilities.argmax(axis=3), trace.experts[..., 0])
    np.testing.assert_array_equal(trace.lookahead[:, :, :, 0], trace.probabilities)
    assert (trace.n_expert, trace.record_bytes) == (4, 9)


def test_no_whole_step_is_no_trace() -> None:
    assert trace_of(routed(), 1, model="", record_bytes=1) is None
    assert trace_of(routed((0, 0, 0, 0)), 2, model="", record_bytes=1) is None


def test_without_lookahead_a_trace_has_none() -> None:
    trace = trace_of(routed((0, 0, 0, 1), n_lookahead=0), 1, model="", record_bytes=1)
    assert trace is not None and trace.lookahead is None


def test_the_trace_is_what_the_caches_were_asked_for(engine: Engine) -> None:
    expected = record_routing(engine, 3, 16, prompt_tokens=8)
    done: list[int] = []
    trace = record_trace(engine, 3, 16, n_lookahead=2, prompt_tokens=8, stepped=done.append)
    info = engine.info
    n = min(len(expected), trace.n_step)
    np.testing.assert_array_equal(trace.experts[-n:], expected[-n:])
    assert trace.experts.shape[1:] == (3, info.n_layer, info.n_expert_used)
    assert trace.n_expert == info.n_expert
    assert trace.record_bytes == info.record_bytes
    assert trace.n_lookahead == 2
    assert done[-1] == 16
    # The likeliest experts were chosen; half precision may make some equally likely.
    assert trace.probabilities is not None and trace.lookahead is not None
    chosen = np.take_along_axis(trace.probabilities, trace.experts.astype(np.int64), axis=3)
    others = trace.probabilities.copy()
    np.put_along_axis(others, trace.experts.astype(np.int64), 0, axis=3)
    assert (chosen.min(axis=3) >= others.max(axis=3)).all()
    assert not trace.lookahead[:, :, -1].any()
    assert not trace.lookahead[:, :, -2, 1].any()
    assert trace.lookahead[:, :, 0, 0].any()
    # Recording has ended.
    assert len(engine.take_routing()["step"]) == 0


def test_one_recording_serves_other_steps_of_the_same_requests(engine: Engine) -> None:
    prompts = workloads.prompts("short", 3, 8, engine.tokenize)
    decoded = Decoded(record_rows(engine, prompts, 12, 0, 1))
    engine.drain_events()
    came: list[trace.Records] = []
    decode(engine, prompts[:2], 12, 0, lambda tokens: None, traced=came.append)
    records = np.concatenate(came)
    run = observe(records, 2, lockstep=False)
    found = decoded.trace(run.tokens, model="", record_bytes=1)
    np.testing.assert_array_equal(found.experts, run.experts)
    assert found.probabilities is not None
    chosen = np.take_along_axis(found.probabilities, found.experts.astype(np.int64), axis=3)
    assert (chosen[..., 0] == found.probabilities.max(axis=3)).all()
    with pytest.raises(IndexError):
        decoded.trace(run.tokens + 12, model="", record_bytes=1)


def test_a_recorded_trace_can_be_simulated_with_every_prefetcher(engine: Engine) -> None:
    from engine.native import presets
    from engine.simulation.machine import MachineModel

    trace = record_trace(engine, 2, 16, n_lookahead=3, prompt_tokens=8)
    machine = MachineModel.load("m6")
    prefetched = {
        policy: simulate(trace, machine=machine, policy=policy, cache_fraction=0.5)
        .steps["prefetched"]
        .sum()
        for policy, _ in presets()
    }
    assert prefetched["bevy"] == 0
    assert max(prefetched.values()) > 0


def test_a_cache_too_small_to_route_by_request_is_told(model: Path) -> None:
    options = EngineOptions(
        store="memory", run_log=False, n_threads=1, cache=CacheSize(fraction=0.1)
    )
    with (
        Engine.open(model, options) as engine,
        pytest.raises(errors.EngineError, match=r"Only 0 of 8 steps .* room"),
    ):
        record_trace(engine, 4, 8)


def test_the_command_writes_a_trace(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.npz"
    args = ["--requests", "2", "--steps", "12", "--threads", "1", "--store", "memory"]
    args += ["--lookahead", "1", "--prompt-tokens", "8", "--cache", "60%"]
    assert main(["record", *args, str(model), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    trace = RoutingTrace.load(out)
    assert f"{trace.n_step} steps of 2 requests" in said
    assert trace.n_lookahead == 1
    assert main(["simulate", str(out), "--machine", "m6", "--policies", "bevy,llama.cpp"]) == 0


def test_the_command_records_the_workload_that_is_asked_for(model: Path, tmp_path: Path) -> None:
    args = ["--requests", "2", "--steps", "4", "--threads", "1", "--store", "memory"]
    args += ["--prompt-tokens", "24", "--cache", "60%"]
    first = []
    for workload in ("short", "agent"):
        out = tmp_path / f"{workload}.npz"
        assert main(["record", *args, "--workload", workload, str(model), "-o", str(out)]) == 0
        first.append(RoutingTrace.load(out).experts[0])
    assert not np.array_equal(*first)


def test_a_trace_with_nowhere_to_go_is_refused_before_the_run(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", str(model), "-o", str(tmp_path / "no" / "t.npz")]) == 1
    assert "its folder does not exist" in capsys.readouterr().err
