"""The benchmark: what is measured, how it is compared, and what its report says."""

import json
import types
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from engine import errors
from engine.bench import Bench, BenchPlan
from engine.bench_prompts import TEXTS, bench_prompts
from engine.bench_report import BenchReport, BenchRun, ratios_of
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from tests.helpers import fake_native
from tests.helpers.fake_engine import _Run

PLAN = BenchPlan(
    policies=("bevy", "lockstep-lfu"),
    requests=(1, 2),
    caches=(CacheSize(fraction=0.3), CacheSize()),
    links=(LinkSpeed(), LinkSpeed(2_000_000_000)),
    steps=8,
    rounds=2,
    prompt_tokens=10,
)


@pytest.fixture
def engine(fake: types.ModuleType, model: Path) -> Iterator[Engine]:
    with Engine.open(model, EngineOptions(store="memory", run_log=False, context=64)) as engine:
        yield engine


@pytest.fixture
def report(engine: Engine) -> BenchReport:
    return Bench(engine, PLAN).run()


def run(policy: str, round_: int, speed: float) -> BenchRun:
    return BenchRun(policy, 2, 0.3, 0, round_, speed, 1, 1, 1, 1, 0.5, 1, 0, 0.1, 1, 1, 8)


def test_every_policy_is_measured_in_every_case_and_round(report: BenchReport) -> None:
    found = [(r.policy, r.case, r.round) for r in report.runs]
    assert len(found) == len(set(found)) == 2 * 2 * 2 * 2 * 2
    assert {r.steps for r in report.runs} == {4}  # half of eight is warm-up
    assert {r.cache_fraction for r in report.runs} == {0.3, 1.0}
    assert all(r.tokens_per_s > 0 and r.step_ms > 0 for r in report.runs)


def test_rounds_are_interleaved_and_begin_with_another_policy(report: BenchReport) -> None:
    assert [(r.round, r.policy) for r in report.runs[:4]] == [
        (0, "bevy"),
        (0, "lockstep-lfu"),
        (1, "lockstep-lfu"),
        (1, "bevy"),
    ]


def test_a_larger_cache_fetches_less(report: BenchReport) -> None:
    full = [r for r in report.runs if r.cache_fraction == 1]
    part = [r for r in report.runs if r.cache_fraction == 0.3]
    assert max(r.fetched for r in full) < min(r.fetched for r in part)
    assert min(r.hit_rate for r in full) > max(r.hit_rate for r in part)


def test_the_report_has_the_names_that_others_read(report: BenchReport) -> None:
    written = json.loads(msgspec.json.encode(report))
    assert {
        *("policy", "requests", "cache_fraction", "link_bytes_per_s", "round", "tokens_per_s"),
        *("step_ms", "compute_busy_ms", "link_busy_ms", "both_busy_ms", "hit_rate", "fetched"),
        *("wasted", "scheduler_ms"),
    } <= set(written["runs"][0])
    assert set(written["ratios"][0]) == {
        *("a", "b", "requests", "cache_fraction", "link_bytes_per_s", "median", "min", "max")
    }
    assert written["link_emulated"] is True


def test_ratios_are_medians_of_ratios_within_rounds() -> None:
    runs = [run("a", n, speed) for n, speed in enumerate((10, 20, 90))]
    runs += [run("b", n, speed) for n, speed in enumerate((5, 20, 30))]
    (ratio,) = ratios_of(runs, ["a", "b"])
    assert (ratio.a, ratio.b) == ("a", "b")
    assert (ratio.min, ratio.median, ratio.max) == (1, 2, 3)


def test_policies_that_disagree_about_a_token_are_reported(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Bench(engine, PLAN).run().streams_agree
    own = engine._native
    assert isinstance(own, fake_native.Engine)
    next_token = _Run.next_token

    def other(self: _Run) -> int:
        wrong = own.policy.startswith("lockstep") and self.made == 5
        return 0 if wrong else next_token(self)

    monkeypatch.setattr(_Run, "next_token", other)
    report = Bench(engine, PLAN).run()
    assert not report.streams_agree
    assert "from token 5 on: lockstep-lfu" in report.differences[0]


def test_a_failing_request_ends_the_benchmark_with_its_reason(
    fake: types.ModuleType, tmp_path: Path
) -> None:
    path = fake_native.write_model(tmp_path / "m", fails="expert 1 of layer 0 cannot be read")
    options = EngineOptions(store="memory", run_log=False)
    with Engine.open(path, options) as engine, pytest.raises(errors.EngineError, match="expert 1"):
        Bench(engine, PLAN).run()


def test_requests_that_never_decode_together_are_no_measurement(
    fake: types.ModuleType, model: Path
) -> None:
    options = EngineOptions(store="memory", run_log=False, max_requests=1)
    with Engine.open(model, options) as engine, pytest.raises(errors.EngineError, match="too few"):
        Bench(engine, PLAN).run()


def test_progress_ends_at_all_steps(engine: Engine) -> None:
    seen: list[tuple[int, int]] = []
    Bench(engine, PLAN, lambda done, total, label: seen.append((done, total))).run()
    assert seen == sorted(seen)
    assert seen[-1] == (PLAN.total_steps, PLAN.total_steps)


def test_prompts_are_distinct_and_of_the_asked_length() -> None:
    prompts = bench_prompts(lambda text: list(text.encode()), len(TEXTS) + 5, 700)
    assert {len(prompt) for prompt in prompts} == {700}
    assert len({prompt[:40] for prompt in prompts}) == len(prompts)


@pytest.mark.parametrize(("field", "value"), [("steps", 3), ("rounds", 0), ("policies", ())])
def test_a_plan_that_measures_nothing_is_refused(field: str, value: object) -> None:
    with pytest.raises(errors.InvalidRequestError):
        BenchPlan(**{"policies": ("bevy",), field: value})  # type: ignore[arg-type]
