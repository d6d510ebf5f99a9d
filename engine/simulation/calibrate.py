"""calibrate(): a MachineModel of this computer from a short run, checked against the same run."""

from collections.abc import Callable, Sequence
from datetime import date

import msgspec
import numpy as np

from engine import errors, native
from engine.bench_decode import decode, steps_done
from engine.cache_size import CacheSize
from engine.engine import Engine
from engine.link_speed import LinkSpeed
from engine.simulation.decoded import Decoded
from engine.simulation.fitting import fit_typical
from engine.simulation.machine import MachineModel, Residual
from engine.simulation.observed import Numbers, Observed, observe
from engine.simulation.record import record_rows
from engine.simulation.routing_trace import RoutingTrace
from engine.simulation.simulate import simulate
from engine.trace import Records
from engine.versions import machine
from engine.workloads import prompts

# Waits of lockstep tell the link's speed, groups of runahead how reading disturbs computing.
FITTED = ("lockstep-lfu", "bevy")
# The share of groups that interference is judged by: those nearest to the fit.
_TYPICAL = 0.9
# What reading may at most cost the compute beside it.
_MOST_INTERFERENCE = 2.0
# Layers of lookahead that prefetchers are simulated with.
_LOOKAHEAD = 3
# So many requests share a bit of the mask in GROUP records.
_MOST_REQUESTS = 31

OnProgress = Callable[[int, int, str], None]


class CalibrationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is run: FITTED and `policies`, with each number of requests. Raises
    InvalidRequestError."""

    policies: tuple[str, ...] = ("llama.cpp", "mixtral-offloading", "bevy+prefetch")
    requests: tuple[int, ...] = (1, 2, 4, 8)
    cache: CacheSize = CacheSize(fraction=0.3)
    link: LinkSpeed = LinkSpeed()
    steps: int = 48
    prompt_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.requests) < 2 or not 1 <= min(self.requests) <= max(self.requests):
            raise errors.InvalidRequestError("Calibrating needs two numbers of requests or more")
        if max(self.requests) > _MOST_REQUESTS:
            raise errors.InvalidRequestError(f"Calibrate with at most {_MOST_REQUESTS} requests")
        if self.steps < 16:
            raise errors.InvalidRequestError(f"{self.steps} steps are under 16")

    @property
    def all_policies(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(dict.fromkeys((*FITTED, *self.policies)))

    @property
    def total_steps(self) -> int:
        """Decode steps of all runs."""
        return self.steps * len(self.requests) * len(self.all_policies)


def calibrate(
    engine: Engine, plan: CalibrationPlan, on_progress: OnProgress = lambda *_: None
) -> MachineModel:
    """Run, fit, and compare: `residuals` has a step time, measured and predicted, of every run.

    The engine must have been opened with the plan's cache, and nobody else may use it meanwhile.
    Raises EngineError when steps are too few to fit anything.
    """
    runs: dict[tuple[str, int], Observed] = {}
    asked = prompts("short", max(plan.requests), plan.prompt_tokens, engine.tokenize)
    done = 0
    for n in plan.requests:
        for policy in plan.all_policies:
            label = f"{policy}, {n} requests"
            at = done

            def polled(tokens: list[list[int]], label: str = label, at: int = at) -> None:
                on_progress(at + steps_done(tokens), plan.total_steps, label)

            engine.set_link(plan.link)
            engine.set_policy(policy, cold=True)
            records: list[Records] = []
            decode(engine, asked[:n], plan.steps, plan.seed, polled, traced=records.append)
            observed = observe(np.concatenate(records), n, lockstep=policy == FITTED[0])
            if len(observed.step_ms) < plan.steps // 2:
                raise errors.EngineError(
                    f"{label}: only {len(observed.step_ms)} of {plan.steps} steps had all requests"
                    " active and room for the experts of each, which is too few",
                    "Choose more --steps, fewer --requests or a larger --cache.",
                )
            runs[policy, n] = observed
            done += plan.steps
    decoded = None
    if any(_needs_scores(policy) for policy in plan.all_policies):
        on_progress(done, plan.total_steps, "recording what routers say")
        decoded = Decoded(record_rows(engine, asked, plan.steps, plan.seed, _LOOKAHEAD))
    info = engine.info
    fitted = fit_machine(
        [runs[FITTED[0], n] for n in plan.requests],
        [runs[FITTED[1], n] for n in plan.requests],
        record_bytes=round(info.experts_total_bytes / info.n_experts_total),
        n_readers=engine.options.n_readers,
        link_in_order=plan.link.emulated,
    )
    residuals = [
        check(
            fitted,
            observed,
            policy,
            plan.cache,
            n_expert=info.n_expert,
            decoded=decoded if _needs_scores(policy) else None,
        )
        for (policy, _), observed in runs.items()
    ]
    speed = f"link held to {plan.link} (emulated)" if plan.link.emulated else "full link speed"
    return msgspec.structs.replace(
        fitted,
        title=f"{machine().cpu}, {info.n_threads} threads",
        source=f"Fitted on {date.today()} to runs of {engine.model.title} on this computer:"
        f" {', '.join(FITTED)} with {', '.join(map(str, plan.requests))} requests,"
        f" {plan.cache} of the experts cached, {info.store} store, {speed}; residuals also of"
        " policies that nothing was fitted to.",
        model=engine.model.title,
        residuals=tuple(residuals),
    )


def fit_machine(
    lockstep: Sequence[Observed],
    runahead: Sequence[Observed],
    *,
    record_bytes: int,
    n_readers: int,
    link_in_order: bool = False,
) -> MachineModel:
    """The costs that fit what is typical of runs of these two schedules, by least squares."""
    every = [*lockstep, *runahead]
    interference, group = _fit_groups(np.concatenate([run.groups for run in every]))
    front = _fit_per_request(every, [run.front_ms for run in every])
    head = _fit_per_request(every, [run.head_ms for run in every])
    waits = np.concatenate([run.waits for run in lockstep])
    if not len(waits):
        raise errors.EngineError(
            "Nothing was read, so the link cannot be measured", "Choose a smaller --cache."
        )
    # Readers begin together and, as records are equal, end together: one latency per round.
    rounds = np.ceil(waits[:, 0] / n_readers)
    latency, per_byte = fit_typical(
        np.stack([rounds, waits[:, 0] * record_bytes], axis=1), waits[:, 1]
    )
    if per_byte <= 0:
        raise errors.EngineError(
            "Reading more took no longer, so the link cannot be measured",
            "Choose more --steps, or close other programs.",
        )
    return MachineModel(
        name="calibrated",
        title="",
        source="",
        front_ms=float(front[0]),
        front_request_ms=float(front[1]),
        group_ms=float(group[0]),
        expert_ms=float(group[1]),
        job_ms=float(group[2]),
        head_ms=float(head[0]),
        head_request_ms=float(head[1]),
        link_bytes_per_s=float(1e3 / per_byte),
        link_latency_ms=float(latency),
        n_readers=n_readers,
        link_in_order=link_in_order,
        interference=interference,
        record_bytes=record_bytes,
    )


def check(
    model: MachineModel,
    run: Observed,
    policy: str,
    cache: CacheSize,
    *,
    n_expert: int,
    decoded: Decoded | None = None,
) -> Residual:
    """The median step of the second half of a run, measured and simulated over its own routing.

    `decoded` has the scores of the same requests, for a policy that prefetches.
    """
    if decoded is None:
        experts = run.experts.astype(np.int16)
        trace = RoutingTrace(experts, None, None, "", model.record_bytes, n_expert)
    else:
        trace = decoded.trace(run.tokens, model="", record_bytes=model.record_bytes)
        if not np.array_equal(trace.experts, run.experts):  # some steps were in waves
            raise errors.EngineError(
                f"{policy}: the recording has other steps than the run",
                "Choose fewer --requests or a larger --cache.",
            )
    total = trace.experts_total_bytes
    fraction = cache.fraction or cache.bytes_of(total) / total
    simulated = simulate(trace, machine=model, policy=policy, cache_fraction=fraction)
    skip = len(run.step_ms) // 2
    return Residual(
        what=f"median step, {policy}, {run.n_request} requests",
        unit="ms",
        given=float(np.median(run.step_ms[skip:])),
        predicted=float(np.median(simulated.steps["step_ms"][skip:])),
    )


def _needs_scores(policy: str) -> bool:
    with native.translated():
        return not native.parse_policy(policy).endswith("/none")


def _fit_groups(groups: Numbers) -> tuple[float, Numbers]:
    """Interference, and the cost of a group: fixed, per distinct expert, per job."""
    distinct, jobs, duration, beside_reads = groups.T
    columns = np.stack([np.ones_like(jobs), distinct, jobs], axis=1)

    def fit(interference: float) -> tuple[float, Numbers]:
        # The work that was done, in undisturbed time.
        work = duration - beside_reads * interference / (1 + interference)
        cost = fit_typical(columns, work)
        # Compared as durations, so that a larger interference does not win by shrinking all.
        share = np.divide(beside_reads, duration, out=np.zeros_like(duration), where=duration > 0)
        predicted = columns @ cost / (1 - share * interference / (1 + interference))
        off = np.sort((predicted - duration) ** 2)
        return float(off[: round(_TYPICAL * len(off))].sum()), cost

    tried = [(*fit(x), float(x)) for x in np.linspace(0, _MOST_INTERFERENCE, 81)]
    _, cost, interference = min(tried, key=lambda found: found[0])
    return interference, cost


def _fit_per_request(runs: Sequence[Observed], times: Sequence[Numbers]) -> Numbers:
    requests = np.concatenate(
        [
            np.full(len(ms), run.n_request, dtype=np.float64)
            for run, ms in zip(runs, times, strict=True)
        ]
    )
    columns = np.stack([np.ones_like(requests), requests], axis=1)
    return fit_typical(columns, np.concatenate(times))
