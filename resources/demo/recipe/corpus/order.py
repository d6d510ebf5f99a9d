"""The one order in which things are told, so that none need be remembered as told."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def in_order(things: Sequence[T], count: int, rng: Random) -> list[T]:
    """`count` of `things`, or all, in their order; mostly early ones, so that some come later."""
    count = min(count, len(things))
    reach = rng.randint(count, len(things))
    return [things[i] for i in sorted(rng.sample(range(reach), count))]
