"""What this process has cost so far: pages it waited for, and bytes it had read from disk."""

import resource
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    """Of all threads since the process began."""

    major_faults: int
    read_bytes: int

    @classmethod
    def now(cls) -> "Usage":
        """Read the counters; read_bytes is 0 where Linux does not keep it."""
        read = 0
        io = Path("/proc/self/io")
        if io.exists():
            fields = dict(line.split(": ") for line in io.read_text().splitlines())
            read = int(fields["read_bytes"])
        return cls(resource.getrusage(resource.RUSAGE_SELF).ru_majflt, read)
