"""A study's runs: each once, in a sensible order, kept through any end; and its command."""

import itertools
import types
from pathlib import Path

import msgspec
import pytest

from engine import errors
from engine.bench_plan import BenchCase
from engine.cli.main import main
from engine.link_speed import LinkSpeed
from engine.study import scope as scopes
from engine.study.estimate import ModelSize, TimeLeft, guessed_seconds, in_words
from engine.study.figures import FIGURES, MOST_TELLING
from engine.study.plan import StudyPlan, chosen_figures, make_plan
from engine.study.results import StudyResults
from engine.study.runner import Progress, run_study
from engine.study.scope import FULL, QUICK
from tests.helpers.fake_source import FakeSource, fake_origin, fake_result, fake_routing


@pytest.fixture
def source() -> FakeSource:
    return FakeSource(QUICK)


@pytest.fixture
def plan(source: FakeSource) -> StudyPlan:
    return make_plan(FIGURES, QUICK, source)


@pytest.fixture
def results(tmp_path: Path) -> StudyResults:
    return StudyResults.open(tmp_path / "results.jsonl", fake_origin("measured"))


def test_a_run_that_figures_share_is_planned_once(source: FakeSource, plan: StudyPlan) -> None:
    wanted = [case for figure in FIGURES for case in figure.cases(QUICK)]
    assert len(set(plan.cases)) == len(plan.cases) < len(wanted)
    assert set(plan.cases) == set(wanted)


def test_a_round_is_whole_before_the_next_and_begins_with_another_policy() -> None:
    plan = make_plan(FIGURES, FULL, FakeSource(FULL))
    rounds = [case.round for case in plan.cases]
    assert rounds == sorted(rounds) and set(rounds) == {0, 1, 2}
    first = next(case for case in plan.cases if case.round == 0)
    second = next(case for case in plan.cases if case.round == 1)
    assert (first.requests, first.link) == (second.requests, second.link)
    assert first.policy != second.policy
    keys = [(c.round, c.requests, c.cache, c.link) for c in plan.cases]
    assert sum(a != b for a, b in itertools.pairwise(keys)) == len(set(keys)) - 1


def test_what_the_source_does_not_know_is_left_out_with_its_reason() -> None:
    known = {"bevy", "llama.cpp", "lockstep-lfu"}
    plan = make_plan(FIGURES, QUICK, FakeSource(QUICK, known, max_requests=4))
    assert {case.policy for case in plan.cases} == known
    assert max(case.requests for case in plan.cases) == 4
    assert any('unknown policy "specmd"' in sentence for sentence in plan.left_out)
    assert sum("specmd:" in sentence for sentence in plan.left_out) == 1
    assert any("6, 8 requests: there are at most 4" in sentence for sentence in plan.left_out)


def test_what_has_no_room_to_run_ahead_is_left_out_before_anything_runs() -> None:
    source = FakeSource(QUICK)  # 384 experts, of which 8 requests choose 32 at a layer
    scope = msgspec.structs.replace(QUICK, caches=(0.05, 0.3))
    plan = make_plan(FIGURES, scope, source)
    tight = {case.requests for case in plan.cases if case.cache.fraction == 0.05}
    assert tight == {n for n in tight if n * 4 <= 0.05 * 384}
    assert any(
        "8 requests with 5% of the experts cached" in sentence and "need 9%" in sentence
        for sentence in plan.left_out
    )


def test_figures_are_chosen_by_name() -> None:
    assert [figure.NAME for figure in chosen_figures(["link", "fig8"])] == ["fig8", "link"]
    assert chosen_figures(None) == list(FIGURES)
    with pytest.raises(errors.InvalidRequestError, match=r"no figure 'fig7'.*fig2, fig4"):
        chosen_figures(["fig7"])


def test_names_are_unique_and_every_figure_with_runs_has_a_rank() -> None:
    assert len({figure.NAME for figure in FIGURES}) == len(FIGURES)
    assert set(MOST_TELLING) == {figure.NAME for figure in FIGURES if figure.cases(QUICK)}


def test_a_study_that_was_killed_goes_on_and_makes_no_run_twice(
    source: FakeSource, plan: StudyPlan, results: StudyResults
) -> None:
    source.stops_after = 5
    with pytest.raises(KeyboardInterrupt):
        run_study(plan, source, results, QUICK)
    source.stops_after = None
    again = StudyResults.open(results.path, source.origin)
    assert [run.case for run in again.runs] == plan.cases[:5]
    outcome = run_study(plan, source, again, QUICK)
    assert outcome.n_made == len(plan.cases) - 5
    assert source.made == plan.cases
    whole = StudyResults.load(results.path)
    assert [run.case for run in whole.runs] == plan.cases
    assert whole.runs[7] == fake_result(plan.cases[7], QUICK)
    assert run_study(plan, source, whole, QUICK).n_made == 0


def test_a_last_line_that_was_cut_off_is_made_again(
    source: FakeSource, plan: StudyPlan, results: StudyResults
) -> None:
    source.stops_after = 3
    with pytest.raises(KeyboardInterrupt):
        run_study(plan, source, results, QUICK)
    data = results.path.read_bytes()
    results.path.write_bytes(data[:-20])
    again = StudyResults.open(results.path, source.origin)
    assert plan.missing(again)[0] == plan.cases[2]
    again.add(fake_result(plan.cases[2], QUICK))
    assert len(StudyResults.load(results.path).runs) == 3


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("fingerprint", "99", "its fingerprint: 1234; now: 99"),
        ("machine", "another", "its machine: Intel"),
        ("settings", {"store": "gguf", "measured steps": "8"}, "its store: pack; now: gguf"),
        (
            "settings",
            {"store": "pack", "measured steps": "8", "policies": "revision 2"},
            "its policies: not said; now: revision 2",
        ),
    ],
)
def test_a_folder_with_another_study_is_refused(
    results: StudyResults, field: str, value: object, words: str
) -> None:
    other = msgspec.structs.replace(fake_origin("measured"), **{field: value})
    with pytest.raises(errors.InvalidRequestError, match=words):
        StudyResults.open(results.path, other)


def test_a_file_that_is_no_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(errors.InvalidRequestError, match="holds no study"):
        StudyResults.open(path, fake_origin("measured"))


def test_a_run_that_fails_is_told_and_the_others_are_made(
    source: FakeSource, plan: StudyPlan, results: StudyResults
) -> None:
    source.fails = {"specmd"}
    outcome = run_study(plan, source, results, QUICK)
    failing = [case for case in plan.cases if case.policy == "specmd"]
    assert len(outcome.failures) == len(failing)
    assert all("expert 3 of layer 1" in sentence for sentence in outcome.failures)
    assert plan.missing(results) == failing


def test_progress_grows_to_the_end_and_time_left_falls_to_nothing(
    source: FakeSource, plan: StudyPlan, results: StudyResults
) -> None:
    seen: list[Progress] = []
    run_study(plan, source, results, QUICK, seen.append)
    assert seen[0].n_done == 0 and seen[0].share == 0
    assert seen[-1] == Progress(len(plan.cases), len(plan.cases), 1.0, 0.0, "")
    assert [p.n_done for p in seen] == sorted(p.n_done for p in seen)
    assert all(0 <= p.share <= 1 for p in seen)
    assert seen[-2].left_s < seen[0].left_s


def test_estimates_follow_what_runs_took(source: FakeSource) -> None:
    case = QUICK.case("bevy")
    guess = guessed_seconds(case, QUICK, source.size)
    left = TimeLeft(QUICK, source.size, [])
    assert left.seconds(case) == guess
    left.add(msgspec.structs.replace(fake_result(case, QUICK), seconds=3 * guess))
    assert left.seconds(case) == pytest.approx(3 * guess)
    other = QUICK.case("llama.cpp", requests=2, link=LinkSpeed(10**9))
    assert left.seconds(other) == pytest.approx(3 * guessed_seconds(other, QUICK, source.size))
    slow = QUICK.case("bevy", link=LinkSpeed(500_000_000))
    assert guessed_seconds(slow, QUICK, source.size) > guess


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(40, "40 s"), (420, "7 min"), (7200, "2 h"), (12000, "3 h 20 min")],
)
def test_times_are_told_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_the_quick_study_fits_ten_minutes_by_the_rough_estimate() -> None:
    source = FakeSource(QUICK)
    size = ModelSize(n_layer=12, n_expert=128, n_used=8, record_bytes=2_650_000)
    plan = make_plan(FIGURES, QUICK, source)
    assert TimeLeft(QUICK, size, []).total(plan.cases) < 540


# The command line, with the fake engine.


def quick(model: Path, out: Path, *more: str) -> list[str]:
    steps = ["--warm-up", "2", "--steps", "6", "--requests", "1,2", "--cache", "30%,70%"]
    return ["figures", str(model), "--quick", "--out", str(out), "--store", "memory", *steps, *more]


def test_the_command_measures_draws_and_goes_on(
    fake: types.ModuleType,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fake, "N_USED", 1)  # so that eight requests have room
    out = tmp_path / "study"
    command = quick(model, out, "--only", "fig8,fig10")
    add, made = StudyResults.add, 0

    def add_then_stop(self: StudyResults, run: object) -> None:
        nonlocal made
        add(self, run)  # type: ignore[arg-type]
        made += 1
        if made == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(StudyResults, "add", add_then_stop)
    assert main(command) == 130
    _, err = capsys.readouterr()
    assert "Left out. The policy specmd" in err and "0 of 10 runs are there" in err
    assert "Stopped. Drawing what is there" in err
    assert "The study is not finished: 4 of 10 runs" in (out / "report.html").read_text()
    monkeypatch.setattr(StudyResults, "add", add)
    assert main(command) == 0
    text, err = capsys.readouterr()
    assert "4 of 10 runs are there" in err
    assert "fig8: With link paced to 2 GB/s (emulated), bevy is" in text
    for name in ("fig8.png", "fig8.csv", "fig10.png", "report.html", "benchmarks.md"):
        assert (out / name).stat().st_size > 200
    assert "not finished" not in (out / "report.html").read_text()
    before = (out / "results.jsonl").read_bytes()
    (out / "fig8.png").unlink()
    assert main(["figures", "--draw", "--out", str(out)]) == 0
    assert (out / "fig8.png").exists() and (out / "results.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["figures"], "Give one of MODEL"),
        (["figures", "--simulate", "m6"], "--simulate and --trace go together"),
        (["figures", "m.gguf", "--only", "fig99"], "no figure 'fig99'"),
        (["figures", "--draw", "--out", "/nowhere/at/all"], "cannot be read"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], args: list[str], words: str
) -> None:
    assert main(args) == 1
    assert words in capsys.readouterr().err


def test_a_model_that_is_missing_leaves_no_folder_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "study"
    assert main(["figures", str(tmp_path / "missing.gguf"), "--out", str(out)]) == 1
    assert "missing.gguf: cannot open" in capsys.readouterr().err
    assert not out.parent.exists()


def test_a_folder_that_cannot_be_made_is_told_before_the_model_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "study"
    assert main(["figures", str(tmp_path / "missing.gguf"), "--out", str(out)]) == 1
    assert f"{tmp_path / 'file'} is a file" in capsys.readouterr().err


def test_a_cache_of_bytes_is_no_share(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["figures", "m.gguf", "--cache", "4GB"])
    assert "no share of the experts" in capsys.readouterr().err


def test_simulated_scopes_use_the_machines_own_link() -> None:
    scope = scopes.simulated(FULL)
    assert scope.kind == "simulated" and scope.rounds == 1
    assert scope.links == (LinkSpeed(),)
    assert scope.case("bevy").link == LinkSpeed()


def test_a_real_engine_runs_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("engine._native")
    from tests.helpers.models import tiny_model

    model, out = tiny_model(n_layer=6), tmp_path / "study"
    command = quick(model, out, "--only", "fig8,fig5,fig2", "--link", "full")
    command[command.index("memory")] = "gguf"
    assert main(command) == 0
    results = StudyResults.load(out / "results.jsonl")
    (bevy,) = [run for run in results.runs if run.case == _case("bevy", 2)]
    assert len(bevy.steps.step_ms) >= 6 and min(bevy.steps.step_ms) > 0
    assert sum(bevy.groups_of_size[1:]) > 0 and bevy.groups_of_size[0] == 0
    (lockstep,) = [run for run in results.runs if run.case == _case("lockstep-lfu", 2)]
    assert set(lockstep.groups_of_size[:2]) <= {0} and lockstep.groups_of_size[2] > 0
    assert bevy.steps.fetched and abs(bevy.hit_rate - lockstep.hit_rate) < 0.2
    assert all((out / f"{name}.png").exists() for name in ("fig2", "fig5", "fig8"))
    recorded = (out / "routing.npz").stat().st_mtime_ns
    assert main(command) == 0
    assert (out / "routing.npz").stat().st_mtime_ns == recorded


def test_a_simulated_study_runs_on_a_trace_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("engine._native")
    trace, out = tmp_path / "t.npz", tmp_path / "study"
    fake_routing(20).save(trace)
    command = ["figures", "--simulate", "m6", "--trace", str(trace), "--quick", "--out", str(out)]
    assert main(command) == 0
    results = StudyResults.load(out / "results.jsonl")
    assert {run.case.link for run in results.runs} == {*QUICK.sweep}
    assert {len(run.steps.step_ms) for run in results.runs} == {20 - QUICK.warm_up}
    fetched = {
        policy: next(r for r in results.runs if r.case == _case(policy, 8)).mean("fetched")
        for policy in ("bevy", "lockstep-lfu", "llama.cpp")
    }
    assert fetched["bevy"] == pytest.approx(fetched["lockstep-lfu"], rel=0.05)
    assert fetched["llama.cpp"] > fetched["lockstep-lfu"]
    html = (out / "report.html").read_text()
    assert "Everything on this page is simulated" in html and "Apple M6" in html
    assert html.count("Not drawn") == 0
    _, err = capsys.readouterr()
    assert "Failed" not in err


def _case(policy: str, requests: int) -> BenchCase:
    return QUICK.case(policy, requests=requests, link=LinkSpeed())
