"""Starts the app as `runahead` does; a question is printed, and closed as Esc would."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtWidgets import QMessageBox

from app.start import open_window


def answer(box: QMessageBox) -> int:
    """What a person reads."""
    print(box.text(), box.informativeText(), flush=True)
    return int(QMessageBox.StandardButton.Close)


if __name__ == "__main__":
    QMessageBox.exec = answer  # type: ignore[method-assign,assignment]
    sys.exit(open_window())
