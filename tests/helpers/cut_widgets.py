"""cut_widgets(): what of a window is shown smaller than its words need."""

from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QSplitter, QWidget

from app.widgets.labels import ElidedLabel


def cut_widgets(window: QWidget) -> list[str]:
    """Sentences; none when everything that should be read can be."""
    return [
        f"{_name(widget)}: {why}"
        for widget in window.findChildren(QWidget)
        if widget.isVisible() and widget.window() is window and (why := _why(widget))
    ]


def _why(widget: QWidget) -> str:
    parent, least = widget.parentWidget(), widget.minimumSizeHint()
    if isinstance(parent, QSplitter) and least.width() > widget.width() + 1:
        return f"{widget.width()} wide, needs {least.width()}"
    if isinstance(widget, QLabel) and widget.wordWrap():
        least.setHeight(widget.heightForWidth(widget.width()))
        least.setWidth(0)
    elif not isinstance(widget, QAbstractButton | QComboBox | QLabel | QLineEdit):
        return ""
    elif isinstance(widget, QLineEdit | QComboBox | ElidedLabel):
        least.setWidth(0)  # the text in it may be longer
    if isinstance(widget, QLabel) and not widget.text():
        return ""
    if isinstance(parent, QLineEdit):
        return ""  # its own buttons
    if least.width() > widget.width() + 1 or least.height() > widget.height() + 2:
        return f"{widget.width()}x{widget.height()}, needs {least.width()}x{least.height()}"
    return ""


def _name(widget: QWidget) -> str:
    words = widget.text() if isinstance(widget, QAbstractButton | QLabel | QLineEdit) else ""
    return f"{type(widget).__name__} {words[:40]!r}"
