"""CrashReportsView: how many crash reports there are, and what can be done with them."""

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton

from app import folders
from app.background import Background, sentence
from app.language import tr
from app.settings import storage_usage
from app.settings.storage_usage import Freed, Use
from app.widgets.ask import ask
from app.widgets.card import Card
from app.widgets.labels import ElidedLabel, label
from app.widgets.toast import Toast
from engine import sizes


class CrashReportsView(Card):
    """Looks whenever it comes into view."""

    def __init__(self, background: Background) -> None:
        super().__init__()
        self._background = background
        self.count = label()
        self.place = ElidedLabel(role="small")
        self.open_button = QPushButton(tr("Open folder"))
        self.delete_button = QPushButton(tr("Delete all"))
        self.problem = label(role="error", wrap=True)
        self.problem.hide()
        buttons = QHBoxLayout()
        buttons.addWidget(self.count, 1)
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.delete_button)
        self.body.addLayout(buttons)
        self.body.addWidget(self.place)
        self.body.addWidget(self.problem)
        self.open_button.clicked.connect(self._on_open_wanted)
        self.delete_button.clicked.connect(self._on_delete_wanted)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Count anew."""
        super().showEvent(event)
        self.look()

    def look(self) -> None:
        """Count, then show."""
        self._background.run(lambda _: storage_usage.crash_reports(), self._take)

    def _take(self, use: Use) -> None:
        self.count.setText(
            tr("{n} crash reports, {size}", n=use.n, size=sizes.show(use.n_bytes))
            if use.n
            else tr("No crash reports")
        )
        self.place.setText(str(folders.crash_reports()))
        self.open_button.setEnabled(use.n > 0)
        self.delete_button.setEnabled(use.n > 0)

    def _on_open_wanted(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folders.crash_reports())))

    def _on_delete_wanted(self) -> None:
        ask(
            self,
            tr("Delete all crash reports?"),
            tr("This cannot be undone."),
            tr("Delete"),
            lambda _: self._delete(),
            danger=True,
        )

    def _delete(self) -> None:
        self._background.run(
            lambda _: storage_usage.remove_crash_reports(), self._on_deleted, self._on_failed
        )
        self.look()

    def _on_deleted(self, freed: Freed) -> None:
        Toast.show_over(self, tr("{n} crash reports deleted.", n=freed.n))
        self._show_problem(" ".join(freed.problems))

    def _on_failed(self, error: Exception) -> None:
        self._show_problem(sentence(error))

    def _show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
