"""Draw: the same choices for the same number, on every machine and in every version of Python."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A sequence of choices that depends on one number only."""

    def __init__(self, number: int):
        self._number = number
        self._taken = 0

    def below(self, n: int) -> int:
        """From 0 to n - 1."""
        self._taken += 1
        digest = hashlib.sha256(f"{self._number} {self._taken}".encode()).digest()
        return int.from_bytes(digest[:8], "little") % n

    def of(self, items: Sequence[T]) -> T:
        """One of them."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], n: int) -> list[T]:
        """`n` different ones, in a drawn order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(n)]
