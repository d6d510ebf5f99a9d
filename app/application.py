"""make_application(): the one QApplication, with its names and icon."""

import sys

from PySide6.QtWidgets import QApplication

from app.theme.app_icon import app_icon


def make_application() -> QApplication:
    """REQUIRES: there is none yet."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName("runahead")
    app.setApplicationDisplayName("Runahead")
    app.setDesktopFileName("runahead")
    app.setWindowIcon(app_icon())
    return app
