"""Labels: text in a role, and text that gives way with an ellipsis."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.widgets.plain import plain


def label(
    text: str = "", role: str = "", *, wrap: bool = False, parent: QWidget | None = None
) -> QLabel:
    """A plain-text label; role is title, heading, muted, small, overline, chip, error, ..."""
    made = QLabel(text, parent)
    made.setTextFormat(Qt.TextFormat.PlainText)  # what models and files say is never markup
    made.setWordWrap(wrap)
    if role:
        set_role(made, role)
    return made


def set_role(widget: QWidget, role: str) -> None:
    """Change the role that the style sheet looks at."""
    _set_property(widget, "role", role)


def set_kind(widget: QWidget, kind: str) -> None:
    """Change the kind that the style sheet looks at: primary, quiet, danger, ..."""
    _set_property(widget, "kind", kind)


def _set_property(widget: QWidget, name: str, value: str) -> None:
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


class ElidedLabel(QLabel):
    """One line that is cut with an ellipsis where there is no room; the tool tip has it whole."""

    def __init__(
        self,
        text: str = "",
        role: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        if role:
            set_role(self, role)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Narrow: the text gives way."""
        return QSize(24, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw what fits."""
        painter = QPainter(self)
        rect = self.contentsRect()
        shown = self.fontMetrics().elidedText(self.text(), self._mode, rect.width())
        cut = shown != self.text()
        tip = plain(self.text()) if cut else ""
        if tip != self.toolTip():
            self.setToolTip(tip)
        painter.setPen(self.palette().color(self.foregroundRole()))
        alignment = self.alignment() | Qt.TextFlag.TextSingleLine
        painter.drawText(rect, int(alignment), shown)
