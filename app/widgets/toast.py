"""Toast: a sentence that comes and goes, with a chance to undo."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XL
from app.widgets.labels import ElidedLabel

SHOWN_MS = 6000
KEPT_CLEAR = "keptClear"  # object name of what no toast may cover
_LOOKED_MS = 100  # between looks at whether something else needs the place now


class Toast(QFrame):
    """Lies over the lower edge of a window, or above what is written there.

    A newer one takes the place of an older one.
    """

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.setObjectName("toast")
        self._action: Callable[[], object] | None = None
        self.text = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)  # a reason stands at the end
        self.button = QPushButton()
        self.button.clicked.connect(self._on_acted)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_L, SPACE_S, SPACE_M, SPACE_S)
        row.setSpacing(SPACE_M)
        row.addWidget(self.text)
        row.addWidget(self.button)
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.timeout.connect(self.hide)
        self._looks = QTimer(self)
        self._looks.setInterval(_LOOKED_MS)
        self._looks.timeout.connect(self._look)
        over.installEventFilter(self)
        self.hide()

    @classmethod
    def show_over(
        cls,
        widget: QWidget,
        text: str,
        action: str = "",
        on_action: Callable[[], object] | None = None,
        *,
        shown_ms: int = SHOWN_MS,
    ) -> "Toast":
        """Show a sentence over the window that `widget` is in."""
        window = widget.window()
        found = window.findChild(Toast, "toast", Qt.FindChildOption.FindDirectChildrenOnly)
        toast = found or cls(window)
        toast.tell(text, action, on_action, shown_ms=shown_ms)
        return toast

    def tell(
        self,
        text: str,
        action: str = "",
        on_action: Callable[[], object] | None = None,
        *,
        shown_ms: int = SHOWN_MS,
    ) -> None:
        """Show a sentence, perhaps with something to do about it."""
        self._action = on_action
        self.text.setText(text)
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self.show()
        self.raise_()
        self._place()
        self._clock.start(shown_ms)
        self._looks.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Stay in place when the window changes its size."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return False

    def _place(self) -> None:
        over = self._over
        self.adjustSize()
        width = min(self.sizeHint().width(), over.width() - 2 * SPACE_XL)
        self.resize(width, self.sizeHint().height())
        place = QRect(0, 0, width, self.height())
        place.moveTo((over.width() - width) // 2, over.height() - self.height() - 2 * SPACE_XL)
        areas = self._kept_clear()
        while area := next((each for each in areas if each.intersects(place)), None):
            place.moveBottom(area.top() - SPACE_S)
        self.move(place.left(), max(SPACE_S, place.top()))

    def _kept_clear(self) -> list[QRect]:
        """Where something is, or may be, written."""
        found = self._over.findChildren(QWidget, KEPT_CLEAR)
        focused = self._over.focusWidget()
        if isinstance(focused, QLineEdit | QPlainTextEdit | QAbstractSpinBox):
            found.append(focused)
        origin = QPoint(0, 0)
        return [QRect(w.mapTo(self._over, origin), w.size()) for w in found if w.isVisible()]

    def _look(self) -> None:
        """Make way; who wants to click the button finds it in its place otherwise."""
        if not self.isVisible():
            self._looks.stop()
        elif any(area.intersects(self.geometry()) for area in self._kept_clear()):
            self._place()

    def _on_acted(self) -> None:
        action, self._action = self._action, None
        self.hide()
        if action:
            action()
