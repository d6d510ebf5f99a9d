"""LinkSpeed: how fast experts may arrive: "full" is what the disk gives, the rest is emulated."""

import re

import msgspec

from engine import sizes
from engine.errors import InvalidRequestError

ACCEPTED = 'a speed such as "2GB/s" or "800MB/s", or "full"'


class LinkSpeed(msgspec.Struct, frozen=True):
    """Bytes per second that reads are paced to; 0: not paced."""

    bytes_per_s: int = 0

    @classmethod
    def parse(cls, text: str) -> "LinkSpeed":
        """Read "2GB/s" or "full". Raises InvalidRequestError that says what is accepted."""
        word = text.strip()
        if word.lower() == "full":
            return cls()
        match = re.fullmatch(r"(.*[A-Za-z]) ?/ ?s", word)
        speed = sizes.parse(match[1]) if match else None
        if not speed:
            raise InvalidRequestError(f"Link speed {text!r} is not understood: give {ACCEPTED}")
        return cls(speed)

    @property
    def emulated(self) -> bool:
        """True when reads are slowed down; say so beside every figure."""
        return self.bytes_per_s > 0

    @property
    def labelled(self) -> str:
        """As text, saying so when it is emulated."""
        return f"{self} (emulated)" if self.emulated else str(self)

    def __str__(self) -> str:
        return f"{sizes.show_exactly(self.bytes_per_s)}/s" if self.emulated else "full"
