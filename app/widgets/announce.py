"""announce(): says something to people who hear the window instead of seeing it."""

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, text: str) -> None:
    """Let a screen reader say the text now, and again when it describes the widget.

    For what is painted, which a screen reader cannot find by itself.
    """
    widget.setAccessibleDescription(text)
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, text))
