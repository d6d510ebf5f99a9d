"""simulate() is the engine's scheduler and cache in virtual time; machines are what they claim."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from engine import errors, metrics
from engine.native import presets
from engine.options import PRESETS
from engine.simulation import paper_fit
from engine.simulation.fitting import fit_costs
from engine.simulation.machine import MachineModel, machine_names
from engine.simulation.routing_trace import RoutingTrace
from engine.simulation.simulate import SimulatedRun, simulate, slots_for
from tests.helpers.made_up_routing import made_up_trace


def machine(**costs: Any) -> MachineModel:
    """A read takes 1 ms, one after the other; a group 1 ms."""
    defaults = {
        "name": "test",
        "title": "",
        "source": "",
        "front_ms": 0.0,
        "group_ms": 1.0,
        "expert_ms": 0.0,
        "job_ms": 0.0,
        "head_ms": 0.0,
        "link_bytes_per_s": 1e9,
        "link_latency_ms": 0.0,
        "n_readers": 1,
        "interference": 0.0,
    }
    return MachineModel(**{**defaults, **costs})


TWO = RoutingTrace(np.array([[[[0]], [[1]]]]), None, None, "two requests", 1_000_000, 4)


def test_a_step_worked_out_by_hand() -> None:
    # Reads end at 1 and 2; the groups run from 1 to 2 and from 2 to 3.
    run = simulate(TWO, machine=machine(), policy="bevy", cache_fraction=1)
    assert run.steps[0].item() == (3.0, 2.0, 2.0, 1.0, 2, 2, 0, 0, 0, 0, 2)
    assert run.group_sizes.tolist() == [[0, 2, 0]]
    run = simulate(TWO, machine=machine(), policy="lockstep-lfu", cache_fraction=1)
    assert run.steps[0].item() == (3.0, 1.0, 2.0, 0.0, 2, 2, 0, 0, 0, 0, 1)
    assert run.group_sizes.tolist() == [[0, 0, 1]]


def test_interference_slows_compute_exactly_while_bytes_flow() -> None:
    run = simulate(TWO, machine=machine(interference=0.5), policy="bevy", cache_fraction=1)
    assert run.steps["step_ms"][0] == pytest.approx(3 + 1 / 3, rel=1e-12)
    assert run.steps["compute_ms"][0] == pytest.approx(2 + 1 / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("cost", "step_ms"),
    [
        ({"front_ms": 10.0}, 13.0),
        ({"front_request_ms": 10.0}, 23.0),
        ({"head_ms": 10.0}, 13.0),
        ({"head_request_ms": 10.0}, 23.0),
        ({"expert_ms": 10.0}, 1 + 2 * 11),
        ({"job_ms": 10.0}, 1 + 2 * 11),
        ({"link_latency_ms": 10.0}, 23.0),
        ({"n_readers": 2, "link_latency_ms": 10.0}, 13.0),
        ({"link_bytes_per_s": 1e8}, 21.0),
        ({"n_readers": 2}, 3.0),  # both end at 2, and run as one group
        ({"n_readers": 2, "link_in_order": True, "group_ms": 3.0}, 7.0),
        ({"n_readers": 2, "link_in_order": False, "group_ms": 3.0}, 5.0),
    ],
)
def test_every_cost_counts(cost: dict[str, float], step_ms: float) -> None:
    run = simulate(TWO, machine=machine(**cost), policy="bevy", cache_fraction=1)
    assert run.steps["step_ms"][0] == pytest.approx(step_ms)


def test_the_same_input_gives_the_same_output_to_the_last_bit() -> None:
    trace = made_up_trace(n_lookahead=3)
    costs = machine(expert_ms=0.1, job_ms=0.03, link_latency_ms=0.07, n_readers=3, interference=0.2)
    for policy, _ in presets():
        one, other = (
            simulate(trace, machine=costs, policy=policy, cache_fraction=0.3, timeline=True)
            for _ in range(2)
        )
        assert one.steps.tobytes() == other.steps.tobytes()
        assert one.records.tobytes() == other.records.tobytes()


def test_every_preset_runs_and_counts_what_it_was_asked_for() -> None:
    trace = made_up_trace(n_lookahead=3)
    names = [name for name, _ in presets()]
    assert names == list(PRESETS)
    for policy in names:
        steps = simulate(trace, machine=machine(), policy=policy, cache_fraction=0.3).steps
        asked = trace.n_request * trace.n_layer * trace.n_used
        missed = steps["fetched"] - steps["prefetched"]
        assert (steps["hit"] + steps["joined"] + missed == asked).all()
        longest = np.maximum(steps["compute_ms"], steps["link_ms"])
        assert (steps["step_ms"] >= longest - 1e-9).all()
        if policy in ("bevy", "lockstep-lfu", "llama.cpp"):
            assert not steps["prefetched"].any()


def test_prefetching_reads_in_the_time_that_lockstep_leaves_idle() -> None:
    trace = made_up_trace(n_step=40, n_request=2, n_lookahead=1, skew=0.3)
    costs = machine(group_ms=10.0)  # far more than a read takes
    alone = simulate(trace, machine=costs, policy="lockstep////none", cache_fraction=0.4)
    ahead = simulate(trace, machine=costs, policy="lockstep////next-router", cache_fraction=0.4)
    assert ahead.mean("prefetched") > 1
    assert ahead.mean("both_ms") > 0
    assert alone.mean("both_ms") == 0
    assert ahead.mean("wasted") > 0
    assert ahead.mean("step_ms") < alone.mean("step_ms")
    assert ahead.mean("fetched") > alone.mean("fetched")


def test_a_prefetcher_needs_a_trace_with_scores() -> None:
    with pytest.raises(errors.InvalidRequestError, match="looks 1 layers ahead, the trace only 0"):
        simulate(made_up_trace(), machine=machine(), policy="////next-router", cache_fraction=0.5)


def test_an_optimal_eviction_is_for_simulations_only() -> None:
    trace = made_up_trace(n_step=60, skew=0.5)
    fetched = {
        eviction: simulate(
            trace,
            machine=machine(),
            policy=f"lockstep///{eviction}/none",
            cache_fraction=0.3,
        ).mean("fetched")
        for eviction in ("belady", "lfu", "lru")
    }
    assert fetched["belady"] < min(fetched["lfu"], fetched["lru"])


def test_fewer_requests_are_the_first_ones() -> None:
    trace = made_up_trace()
    some = simulate(trace, machine=machine(), policy="bevy", cache_fraction=0.5, n_request=2)
    same = simulate(trace.first(2), machine=machine(), policy="bevy", cache_fraction=0.5)
    assert some.steps.tobytes() == same.steps.tobytes()
    assert set(some.steps["requests"]) == {2}


def test_the_timeline_gives_the_same_figures_as_the_steps(tmp_path: Path) -> None:
    trace = made_up_trace(n_step=6)
    costs = machine(expert_ms=0.1, head_ms=0.5, front_ms=0.25, n_readers=2)
    run = simulate(trace, machine=costs, policy="bevy", cache_fraction=0.3, timeline=True)
    table = metrics.step_table(run.records)
    assert len(table) == 6
    for theirs, ours in (
        ("step_ms", "step_ms"),
        ("compute_busy_ms", "compute_ms"),
        ("link_busy_ms", "link_ms"),
        ("both_busy_ms", "both_ms"),
        ("requests", "requests"),
        ("groups", "groups"),
        ("hits", "hit"),
        ("joined", "joined"),
        ("fetched", "fetched"),
    ):
        np.testing.assert_allclose(table[theirs], run.steps[ours], atol=1e-4, err_msg=ours)
    from engine.runlog.timeline import write_timeline

    assert write_timeline(run.records, tmp_path / "t.png", title="simulated") == 2
    assert len(simulate(TWO, machine=machine(), policy="bevy", cache_fraction=1).records) == 0


def test_means_leave_the_warm_up_out() -> None:
    run = simulate(made_up_trace(), machine=machine(), policy="bevy", cache_fraction=1)
    assert run.mean("fetched", 0) > run.mean("fetched")
    assert run.mean("fetched") == pytest.approx(run.steps["fetched"][12:].mean())
    assert run.mean("step_ms", 23) == run.steps["step_ms"][23]
    assert run.tokens_per_s(23) == pytest.approx(4e3 / run.steps["step_ms"][23])
    assert 0 < run.hit_rate(0) < run.hit_rate() <= 1
    with pytest.raises(errors.InvalidRequestError, match="left out as warm-up"):
        run.mean("step_ms", 24)


def test_what_does_not_fit_is_refused() -> None:
    trace = made_up_trace()
    for policy, cache, n, match in (
        ("nonsense", 0.5, None, "unknown policy"),
        ("bevy", 0.05, None, "give more slots or fewer requests"),
        ("bevy", 0.0, None, "A cache of 0.0"),
        ("bevy", 1.5, None, "A cache of 1.5"),
        ("bevy", 0.5, 9, "has 4 requests, not 9"),
    ):
        with pytest.raises(errors.InvalidRequestError, match=match):
            simulate(trace, machine=machine(), policy=policy, cache_fraction=cache, n_request=n)


def test_a_cache_has_as_many_slots_as_the_engine_would_take() -> None:
    assert slots_for(made_up_trace(), 0.3) == round(0.3 * 64)


# Machines.


def test_the_papers_machines_are_those_that_its_figures_give() -> None:
    assert machine_names() == ["m6", "thor"]
    assert MachineModel.load("m6") == paper_fit.m6()
    assert MachineModel.load("thor") == paper_fit.thor()
    for name in machine_names():
        found = MachineModel.load(name)
        assert "simulated" in found.title.lower()
        assert "Simulated" in found.source and "2611.04794" in found.source


def test_m6_computes_six_requests_as_fast_as_in_the_paper() -> None:
    """Fig. 4(a), by the costs alone and by a simulation in which every expert is resident."""
    m6 = MachineModel.load("m6")
    for n_group, given in paper_fit.SIX_REQUESTS_MS.items():
        n_job = 6 / n_group
        cost = m6.group_cost_ms(paper_fit.distinct_experts(n_job), n_job)
        ms = m6.front_ms + paper_fit.N_LAYER * n_group * cost + m6.head_ms
        assert ms == pytest.approx(given, rel=0.02)
    assert [each.given for each in m6.residuals] == [56.5, 74.6, 90.1, 126.8]
    assert all(abs(each.error) < 0.02 for each in m6.residuals)


def test_m6_computes_as_fast_in_simulation_when_six_requests_share_as_assumed() -> None:
    n_distinct = {n: round(paper_fit.distinct_experts(6 / n)) for n in (1, 6)}
    experts = np.zeros((2, 6, paper_fit.N_LAYER, paper_fit.N_USED), dtype=np.int16)
    places = np.linspace(0, n_distinct[1] - paper_fit.N_USED, 6).round().astype(int)
    experts += (places[:, None] + np.arange(paper_fit.N_USED))[None, :, None]
    trace = RoutingTrace(experts, None, None, "", paper_fit.RECORD_BYTES, 128)
    assert len(np.unique(experts)) == n_distinct[1]
    m6 = MachineModel.load("m6")
    for policy, n_group in (("lockstep-lfu", 1), ("static:1/lowest-layer///", 6)):
        run = simulate(trace, machine=m6, policy=policy, cache_fraction=1)
        assert run.steps["fetched"][1] == 0
        given = paper_fit.SIX_REQUESTS_MS[n_group]
        assert run.steps["compute_ms"][1] == pytest.approx(given, rel=0.02)


def test_m6_fetches_as_fast_as_in_the_paper() -> None:
    m6 = MachineModel.load("m6")
    per_expert_ms = 1e3 * paper_fit.RECORD_BYTES / m6.link_bytes_per_s
    assert per_expert_ms * 235 == pytest.approx(0.87 * 139.8, rel=0.02)
    # Fig. 4(b) and 11: 55.7 to 160.1 ms of fetching, in which steps miss from a hundred to three.
    assert 100 < 55.7 / per_expert_ms < 160.1 / per_expert_ms < 320


@pytest.fixture(scope="module")
def gemma() -> RoutingTrace:
    """Eight requests with as many misses at 30 % cached as in the paper: 235 a step."""
    return made_up_trace(
        48, 8, 30, 128, 8, skew=1.02, topic=0.2, record_bytes=paper_fit.RECORD_BYTES
    )


def test_m6_does_what_the_paper_says_beyond_what_it_was_fitted_to(gemma: RoutingTrace) -> None:
    """Sections 5.3 and 5.4.2 (Fig. 10 and 12)."""
    m6 = MachineModel.load("m6")

    def run(policy: str) -> SimulatedRun:
        return simulate(gemma, machine=m6, policy=policy, cache_fraction=0.3)

    bevy, lockstep = run("bevy"), run("lockstep-lfu")
    step_ms = bevy.mean("step_ms")
    assert bevy.mean("fetched") == pytest.approx(235, rel=0.08)
    assert bevy.mean("fetched") == pytest.approx(lockstep.mean("fetched"), rel=0.03)
    assert step_ms == pytest.approx(paper_fit.EIGHT_STEP_MS, rel=0.08)
    assert bevy.mean("both_ms") / step_ms == pytest.approx(0.77, abs=0.04)
    assert bevy.mean("link_ms") / step_ms == pytest.approx(0.87, abs=0.05)
    idle = 1 - bevy.mean("compute_ms") / step_ms
    assert idle == pytest.approx(0.10, abs=0.03)
    # In lockstep the device idles for 60 % of a step; runahead computes 1.6 to 1.7 times as long.
    assert lockstep.mean("compute_ms") / lockstep.mean("step_ms") == pytest.approx(0.4, abs=0.04)
    assert bevy.mean("compute_ms") / lockstep.mean("compute_ms") == pytest.approx(1.65, abs=0.12)
    # FIFO compute makes smaller groups, computes longer and idles less.
    fifo = run("runahead/fifo///")
    assert fifo.mean("compute_ms") > bevy.mean("compute_ms") + 5
    assert fifo.mean("step_ms") > step_ms * 1.02
    assert share_of_singles(fifo) - share_of_singles(bevy) == pytest.approx(0.11, abs=0.05)
    assert run("//global-srtf//").mean("step_ms") > step_ms


def share_of_singles(run: SimulatedRun) -> float:
    sizes = run.group_sizes[len(run.group_sizes) // 2 :].sum(axis=0)
    return float(sizes[1] / sizes.sum())


def test_thor_is_bound_by_its_link_up_to_two_fifths_cached(gemma: RoutingTrace) -> None:
    """Section 5.2.2: steps then exceed the link's busy time by 4 to 9 ms only."""
    thor = MachineModel.load("thor")
    for fraction in (0.1, 0.2, 0.3, 0.4):
        run = simulate(gemma, machine=thor, policy="bevy", cache_fraction=fraction)
        assert run.mean("step_ms") - run.mean("link_ms") < 9
    run = simulate(gemma, machine=thor, policy="bevy", cache_fraction=0.5)
    assert run.mean("step_ms") - run.mean("link_ms") > 9


def test_a_machine_comes_back_from_its_file(tmp_path: Path) -> None:
    found = machine(expert_ms=0.25, interference=0.1)
    path = tmp_path / "mine.json"
    path.write_bytes(msgspec.json.encode(found))
    assert MachineModel.load(path) == found
    assert MachineModel.load(str(path)) == found


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no machine file"),
        ("[]", "no machine file"),
        ('{"name": "x"}', "title"),
        (None, "group_ms"),
    ],
)
def test_a_file_that_is_no_machine_is_refused(tmp_path: Path, text: str | None, match: str) -> None:
    fields = msgspec.to_builtins(machine())
    path = tmp_path / "mine.json"
    path.write_text(
        msgspec.json.encode({**fields, "group_ms": "1"}).decode() if text is None else text
    )
    with pytest.raises(errors.ModelFileError, match=match):
        MachineModel.load(path)
    path.write_bytes(msgspec.json.encode({**fields, "group_ms": -1.0}))
    with pytest.raises(errors.ModelFileError, match=r"group_ms is -1\.0"):
        MachineModel.load(path)
    path.write_bytes(msgspec.json.encode({**fields, "speed": 1}))
    with pytest.raises(errors.ModelFileError, match="speed"):
        MachineModel.load(path)
    with pytest.raises(errors.StorageError, match=r"no machine nowhere.*m6, thor"):
        MachineModel.load("nowhere")


def test_costs_are_fitted_and_never_negative() -> None:
    rng = np.random.default_rng(0)
    columns = rng.uniform(0, 10, size=(200, 3)) * [1, 100, 1e6]
    true = np.array([2.0, 0.5, 3e-6])
    np.testing.assert_allclose(fit_costs(columns, columns @ true), true, rtol=1e-9)
    # A column that would help only with a negative cost is left out.
    found = fit_costs(columns, columns @ np.array([2.0, -0.01, 3e-6]))
    assert found[1] == 0
    assert (found >= 0).all()
    np.testing.assert_array_equal(fit_costs(columns, -columns[:, 0]), 0)
