"""AboutView: which Runahead this is, and what it is made of."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.background import Background
from app.language import tr
from app.settings.shipped import Part, parts
from app.theme.app_icon import app_pixmap
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S
from app.widgets.labels import label
from app.widgets.toast import Toast
from engine import sizes
from engine.versions import Machine, machine


class AboutView(QWidget):
    """Reads the packages when it is first shown."""

    def __init__(self, background: Background) -> None:
        super().__init__()
        self._background = background
        self._parts: list[Part] = []
        self._asked = False
        self.version = label(role="muted")
        self.machine = label(role="small", wrap=True)
        self.copy_button = QPushButton(tr("Copy for a bug report"))
        self.list = QTreeWidget()
        self.list.setHeaderLabels([tr("Made with"), tr("Version"), tr("Licence")])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setMinimumHeight(300)
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setMinimumHeight(220)
        self.text.setAccessibleName(tr("Licence"))
        self.text.hide()
        self._lay_out()
        self.copy_button.clicked.connect(self._on_copy_wanted)
        self.list.currentItemChanged.connect(self._on_chosen)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Read what is shipped, once."""
        super().showEvent(event)
        if not self._asked:
            self._asked = True
            self._background.run(lambda _: (parts(), machine()), self._take)

    def _lay_out(self) -> None:
        picture = QLabel()
        picture.setPixmap(app_pixmap(56, self.devicePixelRatioF()))
        name = label("Runahead", "title")
        what = label(tr("Mixture-of-experts models larger than memory, by runahead inference."))
        what.setWordWrap(True)
        words = QVBoxLayout()
        words.setSpacing(2)
        for one in (name, self.version, what, self.machine):
            words.addWidget(one)
        head = QHBoxLayout()
        head.setSpacing(SPACE_L)
        head.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(words, 1)
        head.addWidget(self.copy_button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_M)
        column.addLayout(head)
        column.addSpacing(SPACE_S)
        column.addWidget(self.list)
        column.addWidget(self.text)

    def _take(self, found: tuple[list[Part], Machine]) -> None:
        self._parts, here = found
        self.version.setText(tr("Version {version}", version=self._parts[0].version))
        self.machine.setText(
            f"{here.system} {here.release}, {here.cpu}, {here.cpus} CPUs,"
            f" {sizes.show(here.memory_bytes)}"
        )
        for part in self._parts:
            self.list.addTopLevelItem(QTreeWidgetItem([part.name, part.version, part.licence]))

    def _on_chosen(self, item: QTreeWidgetItem | None) -> None:
        part = self._parts[self.list.indexOfTopLevelItem(item)] if item else None
        self.text.setPlainText(part.text if part else "")
        self.text.setVisible(bool(part and part.text))

    def _on_copy_wanted(self) -> None:
        lines = [f"{part.name} {part.version}".strip() for part in self._parts]
        QGuiApplication.clipboard().setText("\n".join([*lines, self.machine.text()]))
        Toast.show_over(self, tr("Copied."))
