"""Scope: how much a study runs."""

import msgspec

from engine import errors
from engine.bench_plan import BenchCase
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.study.results import Kind

# The paper's cache size, of which most figures are drawn.
CACHE = 0.3


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What figures may ask for.

    Attributes:
        requests: Of the figures over concurrency.
        caches: Shares of all experts, of the figure over cache sizes.
        links: Of the main figures; the first is that of all others.
        sweep: Of the figure over link speeds.
        rounds: Runs of each case; warm_up, steps: of each run, the second are measured.
    """

    kind: Kind = "measured"
    quick: bool = False
    requests: tuple[int, ...]
    caches: tuple[float, ...]
    links: tuple[LinkSpeed, ...]
    sweep: tuple[LinkSpeed, ...]
    rounds: int
    warm_up: int
    steps: int
    prompt_tokens: int
    workload: str = "short"

    def __post_init__(self) -> None:
        for name in ("requests", "caches", "links", "rounds", "steps", "prompt_tokens"):
            if not getattr(self, name):
                raise errors.InvalidRequestError(f"{name} of the study is empty")

    def case(
        self,
        policy: str,
        *,
        requests: int = 8,
        cache: float = CACHE,
        link: LinkSpeed | None = None,
    ) -> BenchCase:
        """A case of round 0 on the first link."""
        size = CacheSize(fraction=cache) if cache < 1 else CacheSize()
        return BenchCase(policy, requests, size, self.links[0] if link is None else link)

    def total_steps(self, requests: int) -> int:
        """Decode steps of a run: requests begin one after the other."""
        return self.warm_up + self.steps + requests - 1


_FULL_LINK = LinkSpeed()


def _links(*texts: str) -> tuple[LinkSpeed, ...]:
    return tuple(LinkSpeed.parse(text) for text in texts)


FULL = Scope(
    requests=(1, 2, 4, 8, 12, 16),
    caches=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    links=_links("2GB/s", "full"),
    sweep=_links("500MB/s", "1GB/s", "1.5GB/s", "2GB/s", "3GB/s", "full"),
    rounds=3,
    warm_up=32,
    steps=32,
    prompt_tokens=32,
)
QUICK = Scope(
    quick=True,
    requests=(2, 4, 8),
    caches=(0.1, 0.3, 0.6),
    links=_links("2GB/s"),
    sweep=_links("1GB/s", "2GB/s", "full"),
    rounds=1,
    warm_up=6,
    steps=6,
    prompt_tokens=8,
)


def simulated(scope: Scope) -> Scope:
    """The same for data that repeats itself exactly, on a machine whose link needs no pacing."""
    return msgspec.structs.replace(scope, kind="simulated", links=(_FULL_LINK,), rounds=1)
