"""The benchmark: what is measured, how it is compared, and what its report says."""

import json
import types
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from engine import bench_file, errors
from engine.bench import Bench, BenchPlan
from engine.bench_report import BenchReport, BenchRun, ratios_of
from engine.cache_size import CacheSize
from engine.cli.bench_table import bench_table, slow_links
from engine.cli.main import main
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.workloads import prompts
from engine.workloads.short import TEXTS
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
    return BenchRun(policy, 2, 0.3, 0, round_, speed, 1, 1, 1, 1, 0.5, 1, 0, 0, 1, 0.1, 1, 1, 8)


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
        *("prefetched", "wasted", "link_gbps", "scheduler_ms"),
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
    found = prompts("short", len(TEXTS) + 5, 700, lambda text: list(text.encode()))
    assert {len(prompt) for prompt in found} == {700}
    assert len({prompt[:40] for prompt in found}) == len(found)


@pytest.mark.parametrize(("field", "value"), [("steps", 3), ("rounds", 0), ("policies", ())])
def test_a_plan_that_measures_nothing_is_refused(field: str, value: object) -> None:
    with pytest.raises(errors.InvalidRequestError):
        BenchPlan(**{"policies": ("bevy",), field: value})  # type: ignore[arg-type]


def interrupted(engine: Engine, plan: BenchPlan, path: Path, n_run: int) -> None:
    """Run until `n_run` runs are saved, and end in the middle of the next."""

    def on_progress(done: int, total: int, label: str) -> None:
        if done > n_run * plan.steps:
            raise KeyboardInterrupt

    bench = Bench(
        engine, plan, on_progress, on_run=lambda report: bench_file.save_report(report, path)
    )
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    assert engine.stats().active_requests == 0


def test_an_interrupted_benchmark_goes_on_and_makes_no_run_twice(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "bench.json"
    assert bench_file.load_report(path) is None
    interrupted(engine, PLAN, path, 5)
    earlier = bench_file.load_report(path)
    assert earlier and len(earlier.runs) == 5 and not earlier.complete
    made: list[int] = []
    later = Bench(engine, PLAN, earlier=earlier, on_run=lambda r: made.append(len(r.runs))).run()
    assert made == list(range(6, 33))
    assert later.complete and later.runs[:5] == earlier.runs
    keys = [run.key for run in later.runs]
    assert len(set(keys)) == len(keys) == 32
    assert later.streams_agree and len(later.first_streams) == 2
    again = Bench(engine, PLAN, earlier=later, on_run=lambda _: pytest.fail("made again")).run()
    assert again.runs == later.runs


def test_streams_are_compared_with_those_of_before_the_interruption(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "bench.json"
    interrupted(engine, PLAN, path, 1)
    earlier = bench_file.load_report(path)
    assert earlier
    ((label, tokens),) = earlier.first_streams
    changed = msgspec.structs.replace(earlier, first_streams=[(label, (*tokens[:3], 0))])
    report = Bench(engine, PLAN, earlier=changed).run()
    assert "request 0 differs from token 3 on" in report.differences[0]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("steps", 12, "its steps: 8; now: 12"),
        ("requests", (1,), "its requests: 1, 2; now: 1"),
        ("links", (LinkSpeed(10**9),), "its links: full, 2 GB/s; now: 1 GB/s"),
    ],
)
def test_a_report_of_another_plan_is_refused(
    report: BenchReport, field: str, value: object, words: str
) -> None:
    bench_file.check_plan(report, PLAN, Path("b.json"))
    other = msgspec.structs.replace(PLAN, **{field: value})
    with pytest.raises(errors.InvalidRequestError, match=words):
        bench_file.check_plan(report, other, Path("b.json"))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("fingerprint", "00", "model's fingerprint: 00"),
        ("n_threads", 64, "number of threads: 64; now: 2"),
        ("versions", {"runahead": "0.0"}, "versions: runahead 0.0; now"),
    ],
)
def test_a_report_of_another_model_or_machine_is_refused(
    engine: Engine, report: BenchReport, field: str, value: object, words: str
) -> None:
    bench_file.check_engine(report, engine, Path("b.json"))
    other = msgspec.structs.replace(report, **{field: value})
    with pytest.raises(errors.InvalidRequestError, match=words):
        bench_file.check_engine(other, engine, Path("b.json"))


def test_a_file_that_is_no_report_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("{}")
    with pytest.raises(errors.InvalidRequestError, match="no benchmark report"):
        bench_file.load_report(path)


def test_a_policy_that_the_engine_refuses_is_told_before_anything_runs(engine: Engine) -> None:
    plan = msgspec.structs.replace(PLAN, policies=("bevy", "best"))
    bench = Bench(engine, plan, on_run=lambda _: pytest.fail("ran"))
    with pytest.raises(errors.InvalidRequestError, match="does not take the policy best"):
        bench.run()


def test_a_link_that_the_disk_could_not_deliver_is_told(report: BenchReport) -> None:
    assert slow_links(report) == []  # the fake's link keeps its pace
    paced = [r for r in report.runs if r.link_bytes_per_s and r.fetched]
    assert paced and all(r.link_gbps == pytest.approx(2, rel=0.01) for r in paced)
    runs = [msgspec.structs.replace(paced[0], link_gbps=1.4), *paced[1:]]
    (sentence,) = slow_links(msgspec.structs.replace(report, runs=runs))
    assert "paced to 2 GB/s, but the disk gave 1.4 GB/s" in sentence
    assert "1 of the runs had under 90% of it" in sentence


def test_the_table_shows_prefetches_and_the_links_speed(report: BenchReport) -> None:
    table = bench_table(report, report.runs[0].case)
    headers = [str(column.header) for column in table.columns]
    assert {"GB/s", "fetched", "ahead", "wasted", "bevy is"} <= set(headers)
    assert len({len(list(column.cells)) for column in table.columns}) == 1


def test_ctrl_c_keeps_and_shows_what_was_measured_and_the_same_command_goes_on(
    fake: types.ModuleType,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "b.json"
    command = ["bench", str(model), "--requests", "2", "--steps", "8", "--json", str(path)]
    save = bench_file.save_report

    def save_then_stop(report: BenchReport, to: Path) -> None:
        save(report, to)
        if len(report.runs) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(bench_file, "save_report", save_then_stop)
    assert main(command) == 130
    out, err = capsys.readouterr()
    assert "2 requests, cache 30%" in out and "bevy is" in out
    assert "Ended after 4 of 9 runs" in err and f"goes on from {path}" in err
    monkeypatch.setattr(bench_file, "save_report", save)
    assert main(command) == 0
    assert "has 4 of 9 runs already" in capsys.readouterr().err
    assert len(json.loads(path.read_text())["runs"]) == 9
    assert main([*command, "--rounds", "2"]) == 1
    assert "its rounds: 3; now: 2" in capsys.readouterr().err
    assert main([*command, "--rounds", "2", "--no-resume"]) == 0
    assert len(json.loads(path.read_text())["runs"]) == 6
