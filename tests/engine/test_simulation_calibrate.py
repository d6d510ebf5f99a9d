"""Calibrating finds the costs of a machine again, from what that machine did."""

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engine import errors, trace
from engine.cache_size import CacheSize
from engine.cli.main import main
from engine.simulation.calibrate import CalibrationPlan, check, fit_machine
from engine.simulation.machine import MachineModel
from engine.simulation.observed import Observed, observe
from engine.simulation.simulate import simulate
from engine.trace import Event
from tests.helpers.made_up_routing import made_up_trace
from tests.helpers.models import tiny_model

TRUE = MachineModel(
    name="true",
    title="",
    source="",
    front_ms=0.4,
    front_request_ms=0.2,
    group_ms=0.5,
    expert_ms=0.06,
    job_ms=0.11,
    head_ms=1.5,
    head_request_ms=0.3,
    link_bytes_per_s=2e9,
    link_latency_ms=0.08,
    n_readers=4,
    interference=0.3,
)
TRACE = made_up_trace(n_step=40, n_request=8, n_layer=5, n_expert=24, n_used=4)
FRACTION = 0.4


def observed(policy: str, n_request: int, machine: MachineModel = TRUE) -> Observed:
    run = simulate(
        TRACE,
        machine=machine,
        policy=policy,
        cache_fraction=FRACTION,
        n_request=n_request,
        timeline=True,
    )
    return observe(run.records, n_request, lockstep=policy.startswith("lockstep"))


def fitted(machine: MachineModel) -> MachineModel:
    return fit_machine(
        [observed("lockstep-lfu", n, machine) for n in (1, 2, 4, 8)],
        [observed("bevy", n, machine) for n in (1, 2, 4, 8)],
        record_bytes=TRACE.record_bytes,
        n_readers=machine.n_readers,
    )


def test_a_step_is_cut_into_parts_that_add_up() -> None:
    run = observed("lockstep-lfu", 4)
    parts = run.front_ms.sum() + run.head_ms.sum() + run.groups[:, 2].sum() + run.waits[:, 1].sum()
    assert parts == pytest.approx(run.step_ms.sum(), rel=1e-6)
    assert run.front_ms == pytest.approx(0.4 + 4 * 0.2)
    assert run.head_ms == pytest.approx(1.5 + 4 * 0.3)
    np.testing.assert_array_equal(run.experts, TRACE.experts[:, :4])
    assert len(run.groups) == 40 * 5
    assert (run.groups[:, 1] == 4).all()
    assert (run.groups[:, 3] == 0).all()  # nothing is read beside a group
    distinct = [len(np.unique(row)) for step in TRACE.experts[:, :4] for row in step.swapaxes(0, 1)]
    assert run.groups[:, 0].tolist() == distinct


def test_groups_of_runahead_are_cut_by_their_own_requests() -> None:
    run = observed("bevy", 8)
    assert run.groups[:, 1].sum() == 40 * 5 * 8
    assert len(run.waits) == 0
    assert run.groups[:, 3].max() > 0
    work = 0.5 + 0.06 * run.groups[:, 0] + 0.11 * run.groups[:, 1]
    assert (run.groups[:, 2] >= work - 1e-5).all()
    assert (run.groups[:, 2] <= work * 1.3 + 1e-5).all()


def test_costs_are_found_again() -> None:
    found = fitted(msgspec.structs.replace(TRUE, interference=0.0))
    for name in (
        *("front_ms", "front_request_ms", "group_ms", "expert_ms", "job_ms"),
        *("head_ms", "head_request_ms", "link_bytes_per_s", "link_latency_ms"),
    ):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.01), name
    assert found.interference == 0
    assert found.n_readers == 4


def test_interference_is_found_again() -> None:
    # A read's latency counts as reading, so the figure comes out somewhat smaller.
    assert fitted(TRUE).interference == pytest.approx(0.3, abs=0.05)
    swift = msgspec.structs.replace(TRUE, link_latency_ms=0.0, interference=0.75)
    assert fitted(swift).interference == pytest.approx(0.75, abs=0.026)


def test_hiccups_are_not_taken_for_costs() -> None:
    rng = np.random.default_rng(1)

    def disturbed(run: Observed) -> Observed:
        groups, waits = run.groups.copy(), run.waits.copy()
        for times in (groups[:, 2], waits[:, 1]):
            times[rng.random(len(times)) < 0.05] += 50.0
        return dataclasses.replace(run, groups=groups, waits=waits)

    calm = msgspec.structs.replace(TRUE, interference=0.0)
    found = fit_machine(
        [disturbed(observed("lockstep-lfu", n, calm)) for n in (1, 2, 4, 8)],
        [disturbed(observed("bevy", n, calm)) for n in (1, 2, 4, 8)],
        record_bytes=TRACE.record_bytes,
        n_readers=calm.n_readers,
    )
    for name in ("group_ms", "expert_ms", "job_ms", "link_bytes_per_s", "link_latency_ms"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.02), name
    assert found.interference < 0.05


def test_a_fit_to_simulated_runs_predicts_simulated_steps() -> None:
    found = fitted(TRUE)
    for policy in ("lockstep-lfu", "bevy", "llama.cpp", "runahead/fifo/global-srtf/lru/none"):
        for n in (1, 4, 8):
            residual = check(
                found, observed(policy, n), policy, CacheSize(fraction=FRACTION), n_expert=24
            )
            assert abs(residual.error) < 0.03
            assert residual.what == f"median step, {policy}, {n} requests"
    wrong = msgspec.structs.replace(found, group_ms=2.0)
    assert (
        check(wrong, observed("bevy", 4), "bevy", CacheSize(fraction=FRACTION), n_expert=24).error
        > 0.5
    )


def test_a_link_that_nothing_was_read_over_cannot_be_measured() -> None:
    records = simulate(
        TRACE, machine=TRUE, policy="lockstep-lfu", cache_fraction=1, timeline=True
    ).records
    warm = observe(records[records["step"] > 38], 8, lockstep=True)
    assert len(warm.waits) == 0
    with pytest.raises(errors.EngineError, match=r"cannot be measured.*smaller --cache"):
        fit_machine([warm], [warm], record_bytes=1, n_readers=8)


def test_steps_in_waves_and_steps_of_fewer_requests_are_left_out() -> None:
    records = simulate(
        TRACE, machine=TRUE, policy="bevy", cache_fraction=0.5, timeline=True
    ).records.copy()
    wave = trace.of(records, Event.GROUP)[:1].copy()
    wave["event"], wave["step"] = int(Event.WAVE), 7
    step = (records["event"] == int(Event.STEP)) & (records["step"] == 9)
    records["a"][step] = 5
    found = observe(np.concatenate([records, wave]), 8, lockstep=False)
    assert len(found.step_ms) == len(found.experts) == 38


@pytest.mark.parametrize(
    ("plan", "match"),
    [
        ({"requests": (4,)}, "two numbers"),
        ({"requests": (1, 32)}, "at most 31"),
        ({"steps": 3}, "under 16"),
    ],
)
def test_plans_that_cannot_be_fitted_are_refused(plan: dict[str, int], match: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=match):
        CalibrationPlan(**plan)  # type: ignore[arg-type]


def test_the_command_writes_a_machine_that_simulate_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "here.json"
    args = ["--requests", "1,3", "--steps", "16", "--threads", "1", "--cache", "50%"]
    args += ["--store", "memory", "--link", "300MB/s", "--policies", "mixtral-offloading"]
    model = tiny_model("q4_0")
    assert main(["calibrate", *args, str(model), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    found = MachineModel.load(out)
    assert found.name == "here"
    assert "300 MB/s (emulated)" in found.source
    assert found.group_ms + found.expert_ms + found.job_ms > 0
    assert [each.what for each in found.residuals] == [
        f"median step, {policy}, {n} requests"
        for n in (1, 3)
        for policy in ("lockstep-lfu", "bevy", "mixtral-offloading")
    ]
    assert all(each.given > 0 and each.predicted > 0 for each in found.residuals)
    assert said.count("step,") == 6
    # The link was held to its speed, whatever else this machine does.
    assert found.link_bytes_per_s < 330e6
    trace_path = tmp_path / "trace.npz"
    TRACE.save(trace_path)
    assert main(["simulate", str(trace_path), "--machine", str(out)]) == 0
