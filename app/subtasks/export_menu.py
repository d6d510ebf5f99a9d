"""ExportMenu: a button that takes all results elsewhere."""

from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QMessageBox, QPushButton, QWidget

from app.chat.export import ended
from app.language import tr
from app.settings.settings import Settings
from app.subtasks.export import FORMATS, exported
from app.subtasks.task_run import TaskRun
from app.theme.theme import Theme
from app.widgets.ask_file import ask_where_to_save
from app.widgets.plain import plain
from app.widgets.toast import Toast
from engine.atomic_file import write_atomically


class ExportMenu(QPushButton):
    """Copy all, or save as one of FORMATS."""

    def __init__(self, settings: Settings, theme: Theme, parent: QWidget | None = None):
        super().__init__(tr("Export"), parent)
        self._settings = settings
        self._theme = theme
        self._run: TaskRun | None = None
        menu = QMenu(self)
        menu.addAction(tr("Copy all"), self.copy)
        menu.addSeparator()
        for suffix, name in FORMATS.items():
            action = menu.addAction(tr("Save as {format}…", format=name))
            action.triggered.connect(lambda _=False, suffix=suffix: self._on_save(suffix))
        self.setMenu(menu)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def set_run(self, run: TaskRun | None) -> None:
        """Whose results."""
        self._run = run

    def copy(self) -> None:
        """All results as Markdown, to the clipboard."""
        if self._run is not None:
            QGuiApplication.clipboard().setText(self._text("md"))
            Toast.show_over(self, tr("All results were copied."))

    def save(self, path: Path, suffix: str) -> None:
        """Write the results to a file; failures are told."""
        try:
            write_atomically(path, self._text(suffix).encode())
        except OSError as error:
            why = error.strerror or str(error)
            told = tr("{file} was not written: {why}.", file=path, why=why)
            QMessageBox.warning(self, tr("Export"), plain(told))
        else:
            Toast.show_over(self, tr("Saved as {file}.", file=path.name))

    def _text(self, suffix: str) -> str:
        assert self._run is not None
        run, summary = self._run, self._run.summary.text
        if summary and run.summary.note:
            summary = f"{ended(summary)}\n\n*{run.summary.note}*"
        return exported(suffix, run.task, run.results(), summary)

    def _on_save(self, suffix: str) -> None:
        if self._run is None:
            return
        title = "".join(c if c.isalnum() or c in " -" else "_" for c in self._run.task.title)[:60]
        ask_where_to_save(
            self,
            self._settings,
            tr("Export results"),
            f"{title.strip() or 'results'}.{suffix}",
            lambda path: self.save(path, suffix),
            name_filter=f"{FORMATS[suffix]} (*.{suffix})",
        )

    def _on_theme_changed(self) -> None:
        self.setIcon(self._theme.icon("export"))
        self.setIconSize(QSize(16, 16))
