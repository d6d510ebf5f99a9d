"""Which policies the figures compare."""

OURS = "bevy"
WITH_PREFETCH = "bevy+prefetch"
PREFETCHERS = ("specmd", "finemoe", "promoe", "prescope", "mixtral-offloading")
PLAIN = ("llama.cpp", "lockstep-lfu")
RIVALS = (*PLAIN, *PREFETCHERS)
# Where time is short: the paper's baselines, and ProMoE, which is the fastest of all here.
MAIN_RIVALS = (*PLAIN, "specmd", "finemoe", "promoe", "prescope")
# Eviction that knows the future. In lockstep, where the order of uses is known, no cache can miss
# less. The simulator's alone.
BELADY = "lockstep/lowest-layer/layer-srtf/belady/none"


def static(*sizes: int) -> str:
    """Groups fixed for the whole step, each scheduled as one unit; else as bevy."""
    return f"static:{':'.join(map(str, sizes))}/lowest-layer/layer-srtf/lfu/none"


def with_lfu(prefetcher: str) -> str:
    """A prefetching rival with bevy's eviction."""
    return f"lockstep/lowest-layer/layer-srtf/lfu/{prefetcher}"


def ordered(compute_order: str, fetch_order: str) -> str:
    """Bevy with other orders."""
    return f"runahead/{compute_order}/{fetch_order}/lfu/none"


def rivals(quick: bool) -> tuple[str, ...]:
    """The baselines of the figure over concurrency."""
    return (*PLAIN, "specmd", "promoe") if quick else RIVALS
