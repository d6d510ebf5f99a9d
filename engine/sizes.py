"""Byte sizes as people write and read them."""

import re
from decimal import Decimal

_END = 2**63  # of the numbers that the native engine counts bytes with
_UNITS = {
    "": 1,
    "B": 1,
    "BYTES": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([A-Za-z]*)")


def parse(text: str) -> int | None:
    """Bytes of "4GB", "512MiB", "1.5 GiB" or "1000"; None when it is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].upper() not in _UNITS:
        return None
    n_bytes = round(Decimal(match[1]) * _UNITS[match[2].upper()])
    return n_bytes if n_bytes < _END else None


def show(n_bytes: float, digits: int = 3) -> str:
    """For example "4.32 GB", "512 MB", "3 bytes"."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= 0.9995 * size:  # else three digits would round up to "1e+03"
            return f"{n_bytes / size:.{digits}g} {unit}"
    return f"{n_bytes:.0f} bytes"


def show_exactly(n_bytes: int) -> str:
    """As show(), with as many digits as parse() needs to read the same number."""
    texts = (show(n_bytes, digits) for digits in range(3, 18))
    return next((text for text in texts if parse(text) == n_bytes), f"{n_bytes} bytes")
