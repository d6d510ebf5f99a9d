"""CacheSize: how much memory experts may take: a share of all experts, bytes, or all of them."""

import re

import msgspec

from engine import sizes
from engine.errors import InvalidRequestError

ACCEPTED = 'a share of the experts such as "30%", a size such as "4GB" or "512MiB", or "all"'


class CacheSize(msgspec.Struct, frozen=True):
    """Exactly one of the two is set; neither means all experts.

    Attributes:
        fraction: Of the bytes of all experts, over 0 and up to 1.
        n_bytes: Bytes, over 0.
    """

    fraction: float | None = None
    n_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> "CacheSize":
        """Read "30%", "4GB", "512MiB" or "all". Raises InvalidRequestError for anything else."""
        word = text.strip()
        if word.lower() == "all":
            return cls()
        if match := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", word):
            percent = float(match[1])
            if not 0 < percent <= 100:
                raise InvalidRequestError(
                    f"Cache size {text!r} is out of range: a share lies over 0% and up to 100%"
                )
            return cls() if percent == 100 else cls(fraction=percent / 100)
        n_bytes = sizes.parse(word) if not word.isdigit() else None  # "4" could mean anything
        if not n_bytes:
            raise InvalidRequestError(f"Cache size {text!r} is not understood: give {ACCEPTED}")
        return cls(n_bytes=n_bytes)

    def bytes_of(self, experts_total_bytes: int) -> int:
        """The bytes this means for a model; never more than all its experts."""
        if self.fraction is not None:
            return max(1, round(self.fraction * experts_total_bytes))
        return min(self.n_bytes or experts_total_bytes, experts_total_bytes)

    def share_of(self, experts_total_bytes: int) -> float:
        """The share of all experts' bytes this means, over 0 and up to 1."""
        return self.fraction or self.bytes_of(experts_total_bytes) / max(1, experts_total_bytes)

    def __str__(self) -> str:
        if self.fraction is not None:
            return f"{self.fraction * 100:g}%"
        return "all" if self.n_bytes is None else sizes.show(self.n_bytes)
