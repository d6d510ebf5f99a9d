"""BenchPlan: what a benchmark measures."""

import msgspec

from engine import errors
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed


class BenchCase(msgspec.Struct, frozen=True):
    """One run: a policy in one round of one case."""

    policy: str
    requests: int
    cache: CacheSize
    link: LinkSpeed
    round: int = 0

    @property
    def label(self) -> str:
        """For people."""
        return (
            f"{self.policy}, {self.requests} requests, cache {self.cache}, round {self.round + 1}"
        )


class BenchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured: every policy in every case of requests, cache and link.

    The first policy is the one that the others are compared with. Raises InvalidRequestError.
    """

    policies: tuple[str, ...]
    requests: tuple[int, ...] = (2, 4, 8)
    caches: tuple[CacheSize, ...] = (CacheSize(fraction=0.3),)
    links: tuple[LinkSpeed, ...] = (LinkSpeed(),)
    steps: int = 96
    rounds: int = 3
    prompt_tokens: int = 64
    seed: int = 0
    workload: str = "short"

    def __post_init__(self) -> None:
        for name, low in (("steps", 4), ("rounds", 1), ("prompt_tokens", 1)):
            if getattr(self, name) < low:
                raise errors.InvalidRequestError(f"{name} is {getattr(self, name)}, under {low}")
        if not (self.policies and self.requests and self.caches and self.links):
            raise errors.InvalidRequestError("Nothing to measure: a list is empty")

    @property
    def context(self) -> int:
        """Tokens that each request needs."""
        return self.prompt_tokens + self.steps + 1

    @property
    def total_steps(self) -> int:
        """Decode steps of all runs."""
        return len(self.cases()) * self.steps

    def cases(self) -> list[BenchCase]:
        """All runs, in the order in which they are made: interleaved rounds, one case at a time."""
        return [
            BenchCase(policy, n, cache, link, round_)
            for cache in self.caches
            for link in self.links
            for n in self.requests
            for round_ in range(self.rounds)
            for policy in _rotated(self.policies, round_)
        ]


def _rotated(policies: tuple[str, ...], n: int) -> tuple[str, ...]:
    """Another policy begins each round."""
    at = n % len(policies)
    return (*policies[at:], *policies[:at])
