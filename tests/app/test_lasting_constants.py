"""Constants outlive what PySide6 does to their reference counts."""

import sys

import pytest
from PySide6.QtCore import QObject, Signal


class Sender(QObject):
    sent = Signal(bool)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="constants are immortal")
def test_no_number_of_signals_uses_the_constants_up(qapp: object) -> None:
    sender = Sender()
    before = sys.getrefcount(True)
    for _ in range(5000):
        sender.sent.emit(True)
        sender.blockSignals(False)
    assert sys.getrefcount(True) > before - 100_000
    assert min(sys.getrefcount(c) for c in (None, True, False)) > 1 << 40
