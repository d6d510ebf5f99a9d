"""Routing recorded from the real engine's trace is what its cache was asked for."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine import errors, trace
from engine.bench_models.engine_routing import record_routing, routing_of
from engine.cache_size import CacheSize
from engine.cli.main import main
from engine.engine import Engine
from engine.options import EngineOptions
from engine.trace import Event
from tests.helpers.models import tiny_model


@pytest.fixture(scope="module")
def model() -> Path:
    return tiny_model("q4_0")


@pytest.fixture
def engine(model: Path) -> Iterator[Engine]:
    options = EngineOptions(store="memory", run_log=False, n_threads=1, context=128)
    with Engine.open(model, options) as engine:
        yield engine


def issued(*rows: tuple[Event, int, int, int, int]) -> trace.Records:
    records = np.zeros(len(rows), dtype=trace.RECORD_DTYPE)
    for record, (event, step, request, layer, expert) in zip(records, rows, strict=True):
        record["event"], record["step"], record["request"] = event, step, request
        record["layer"], record["expert"] = layer, expert
    return records


def test_routing_is_put_together_from_hits_joins_and_misses() -> None:
    rows = [
        (kind, step, request, layer, 10 * layer + request)
        for step, kind in enumerate((Event.MISS, Event.HIT, Event.JOIN))
        for request in (0, 1)
        for layer in (0, 1)
    ]
    rows += [(Event.MISS, -1, 0, 0, 99), (Event.EVICT, 1, -1, 0, 98), (Event.FETCH, 1, 0, 0, 97)]
    rows += [(Event.HIT, 3, 0, 0, 5), (Event.HIT, 3, 0, 1, 5)]  # a step of one request
    routing = routing_of(issued(*rows), 2)
    assert routing.tolist() == [[[[0], [10]], [[1], [11]]]] * 3


def test_records_of_nothing_give_no_routing() -> None:
    assert routing_of(trace.empty(), 2).shape[:2] == (0, 2)


def test_every_step_gives_the_experts_of_every_request(engine: Engine) -> None:
    done: list[int] = []
    routing = record_routing(engine, 3, 20, prompt_tokens=8, stepped=done.append)
    info = engine.info
    assert routing.shape[1:] == (3, info.n_layer, info.n_expert_used)
    assert 15 <= len(routing) <= 20  # the first steps may lack a request that still prefills
    assert all(len(set(job)) == info.n_expert_used for job in routing.reshape(-1, 4).tolist())
    assert done[-1] == 20


def test_a_request_routes_the_same_whatever_runs_beside_it(engine: Engine) -> None:
    alone = record_routing(engine, 1, 20, prompt_tokens=8)
    beside = record_routing(engine, 4, 20, prompt_tokens=8)
    np.testing.assert_array_equal(beside[:, 0], alone[-len(beside) :, 0])


def test_a_cache_too_small_to_route_by_request_is_told(model: Path) -> None:
    options = EngineOptions(
        store="memory", run_log=False, n_threads=1, cache=CacheSize(fraction=0.1)
    )
    with (
        Engine.open(model, options) as engine,
        pytest.raises(errors.EngineError, match=r"Only 0 steps .* room"),
    ):
        record_routing(engine, 4, 8)


def test_steps_too_few_to_say_anything_are_refused(engine: Engine) -> None:
    with pytest.raises(errors.EngineError, match="too few"):
        record_routing(engine, 3, 2, prompt_tokens=8)


def test_bench_shows_it_beside_the_papers_figures(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--requests", "2,3", "--cache", "60%,all", "--steps", "24", "--threads", "1"]
    assert main(["bench", "--routing", *args, str(model)]) == 0
    out = capsys.readouterr().out
    assert out.count("measured") == 4
    hits = [line.split()[4] for line in out.splitlines() if "measured" in line]
    assert all(0 < float(each.rstrip("%")) <= 100 for each in hits)
    assert float(hits[0].rstrip("%")) < float(hits[2].rstrip("%"))  # 60 %, then all
    assert "54%" in out and "51 to 64%" in out
