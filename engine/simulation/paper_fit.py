"""The Bevy paper's two machines (arXiv 2611.04794), fitted to the figures that its text gives.

`machines/m6.json` and `machines/thor.json` are what these functions return. The paper gives no cost
of a group, no bandwidth and no routing, so what it leaves open is assumed, and said in `source`.
"""

import msgspec
import numpy as np

from engine.simulation.fitting import fit_costs
from engine.simulation.machine import MachineModel, Residual

# Gemma4-26B-A4B in Q4_0: published sizes.
N_LAYER = 30
N_USED = 8
RECORD_BYTES = 3 * 2816 * 704 * 18 // 32

# Fig. 4(a): compute per step of six requests in so many groups, ms.
SIX_REQUESTS_MS = {1: 56.5, 2: 74.6, 3: 90.1, 6: 126.8}

# Sections 5.3 and 5.4.2, eight requests: FIFO compute adds 19.2 ms of busy and takes 2.0 ms of idle
# time, which makes the step 12.3 % longer; in 77 % + 10 % of a step the link is busy, and it then
# fetches 235 experts.
EIGHT_STEP_MS = (19.2 - 2.0) / 0.123
EIGHT_LINK_MS = (0.77 + 0.10) * EIGHT_STEP_MS
EIGHT_FETCHED = 235

# Assumed: m requests of a layer use N_USED * m ** SHARING distinct experts. The four figures above
# are met within 1 % by anything from 0.4 to 0.65.
SHARING = 0.6
HEAD_MS = 4.0
LATENCY_MS = 0.1
N_READERS = 8

# Assumed, see thor().
THOR_LINK_BYTES_PER_S = 10e9
THOR_COMPUTE = 0.4


def distinct_experts(n_request: float) -> float:
    """What so many requests together use of one layer, by assumption."""
    return float(N_USED * n_request**SHARING)


def m6() -> MachineModel:
    """Apple Mac mini, M6, 24 GB, 512 GB SSD."""
    n_group = np.array(list(SIX_REQUESTS_MS), dtype=np.float64)
    given = np.array(list(SIX_REQUESTS_MS.values()))
    n_distinct = n_group * np.array([distinct_experts(6 / n) for n in n_group])
    # The front costs what a group costs without its experts: about as much is read.
    columns = np.stack([N_LAYER * n_group + 1, N_LAYER * n_distinct, np.full(4, N_LAYER * 6.0)], 1)
    # Relative errors count, so that no grouping is met at the cost of another.
    group, expert, job = fit_costs(columns / given[:, None], (given - HEAD_MS) / given)
    predicted = columns @ np.array([group, expert, job]) + HEAD_MS
    residuals = [
        Residual(
            what=f"Fig. 4: compute of six requests in {n} groups",
            unit="ms",
            given=ms,
            predicted=round(float(found), 2),
        )
        for (n, ms), found in zip(SIX_REQUESTS_MS.items(), predicted, strict=True)
    ]
    return MachineModel(
        name="m6",
        title="Apple M6 Mac mini (simulated)",
        source="Simulated, after the Bevy paper (arXiv 2611.04794). Costs of a group are fitted to"
        " Fig. 4: Gemma4-26B-A4B in Q4_0, six requests in 1, 2, 3 and 6 groups take 56.5, 74.6,"
        " 90.1 and 126.8 ms of compute. The link is what fetches 235 experts of 3.35 MB in 87 % of"
        " a step of 139.8 ms (sections 5.3 and 5.4.2). Assumed, as the paper gives no figure: six"
        " requests use 8 * 6 ** 0.6 distinct experts of a layer, head 4 ms, latency 0.1 ms, no"
        " interference.",
        model="Gemma4-26B-A4B Q4_0",
        record_bytes=RECORD_BYTES,
        front_ms=round(float(group), 4),
        group_ms=round(float(group), 4),
        expert_ms=round(float(expert), 5),
        job_ms=round(float(job), 5),
        head_ms=HEAD_MS,
        link_bytes_per_s=round(EIGHT_FETCHED * RECORD_BYTES / EIGHT_LINK_MS * 1e3, -7),
        link_latency_ms=LATENCY_MS,
        n_readers=N_READERS,
        interference=0.0,
        residuals=tuple(residuals),
    )


def thor() -> MachineModel:
    """NVIDIA Jetson AGX Thor with a PCIe 5.0 SSD."""
    base = m6()
    costs = {
        name: round(getattr(base, name) * THOR_COMPUTE, 5)
        for name in ("front_ms", "group_ms", "expert_ms", "job_ms", "head_ms")
    }
    return msgspec.structs.replace(
        base,
        name="thor",
        title="NVIDIA Jetson AGX Thor (simulated)",
        source="Simulated, after the Bevy paper (arXiv 2611.04794), whose text gives no time of"
        " this machine; a rough sketch. Assumed: a link of 10 GB/s, two thirds of what the SSD"
        " (Samsung 9100 PRO) is sold with; compute costs 0.4 of those fitted for the M6, with which"
        " eight requests are bound by the link up to 40 % of the experts cached and their step is"
        " some ms longer than the link is busy, as in section 5.2.2; latency and readers as for the"
        " M6.",
        link_bytes_per_s=THOR_LINK_BYTES_PER_S,
        residuals=(),
        **costs,
    )
