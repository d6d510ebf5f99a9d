"""tell(): hands an outcome to one who asked for it."""

import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def tell(callback: Callable[[T], object], outcome: T) -> None:
    """A fault of whoever hears of it is reported, and costs nobody else theirs."""
    try:
        callback(outcome)
    except Exception:
        sys.excepthook(*sys.exc_info())
