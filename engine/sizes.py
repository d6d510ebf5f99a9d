"""Byte sizes as people write and read them."""

import re

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)")


def parse(text: str) -> int | None:
    """Bytes of "4GB", "512MiB", "1.5 GiB" or "1000"; None when it is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].upper() not in _UNITS:
        return None
    return round(float(match[1]) * _UNITS[match[2].upper()])


def show(n_bytes: float) -> str:
    """For example "4.32 GB", "512 MB", "3 bytes"."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= 0.9995 * size:  # else three digits would round up to "1e+03"
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
