"""Keeps None, True and False alive under Python 3.11.

PySide6 6.12 takes them for immortal, as they are from Python 3.12 on: each Signal.emit() gives back
a reference to True that it never took, each call without a result one to None. Python 3.11 counts
these, and aborts the process when a count reaches zero, which a window does within minutes.
"""

import ctypes
import sys

_PLENTY = 1 << 48  # a billion signals a second for three days


def make_constants_last() -> None:
    """Give the three more references than anyone can lose. Once per process is enough."""
    if sys.version_info >= (3, 12) or sys.getrefcount(None) > _PLENTY:
        return
    for constant in (None, True, False):
        # CPython's object begins with its reference count.
        ctypes.c_ssize_t.from_address(id(constant)).value += _PLENTY
