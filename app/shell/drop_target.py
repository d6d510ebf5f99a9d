"""DropTarget: says, over the whole window, that a model file may be dropped here."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.language import tr
from app.theme.theme import SPACE_L
from app.widgets.labels import label


class DropTarget(QFrame):
    """Lies over `window` while models or folders are dragged; `on_files` takes what is dropped.

    What the page below accepts by itself never comes here.
    """

    def __init__(self, window: QWidget, on_files: Callable[[list[Path]], None]) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("dropTarget")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._on_files = on_files
        text = label(tr("Drop to add the model"), "title")
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        QVBoxLayout(self).addWidget(text)
        self.hide()
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Take part in the window's drags."""
        if isinstance(event, QDropEvent) and event.type() is QEvent.Type.Drop:
            return self._drop(event)
        if isinstance(event, QDragEnterEvent):
            return self._enter(event)
        if event.type() is QEvent.Type.DragLeave:
            self.hide()
        return False

    def _enter(self, event: QDragEnterEvent) -> bool:
        if not model_files(event.mimeData()):
            return False
        event.acceptProposedAction()
        over = self._window.rect()
        self.setGeometry(over.adjusted(SPACE_L, SPACE_L, -SPACE_L, -SPACE_L))
        self.show()
        self.raise_()
        return True

    def _drop(self, event: QDropEvent) -> bool:
        self.hide()
        files = model_files(event.mimeData())
        if not files:
            return False
        event.acceptProposedAction()
        self._on_files(files)
        return True


def model_files(data: QMimeData) -> list[Path]:
    """The .gguf files and folders among what is dragged."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix.lower() == ".gguf" or path.is_dir()]
