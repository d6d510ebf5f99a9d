"""Toast: a sentence that comes and goes, with a chance to undo."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XL
from app.widgets.labels import ElidedLabel

SHOWN_MS = 6000


class Toast(QFrame):
    """Lies over the lower edge of a window. A newer one takes the place of an older one."""

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
        bottom = over.height() - self.height() - 2 * SPACE_XL
        self.move((over.width() - width) // 2, bottom)

    def _on_acted(self) -> None:
        action, self._action = self._action, None
        self.hide()
        if action:
            action()
