"""AddBar: how far adding is, and in the end what became of it."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.language import tr
from app.models.adding import Adding, Problem, Report
from app.models.known_model import KnownModel
from app.short import short
from app.theme.theme import Theme
from app.widgets.progress_row import ProgressRow

_SHOWN = 4  # problems that are told one by one


class AddBar(QWidget):
    """Shown while files are looked into.

    Signals:
        told: Something that a person should know about what was added. args: title, text, kind.
    """

    told = Signal(str, str, str)

    def __init__(self, theme: Theme, adding: Adding, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.progress = ProgressRow(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.progress)
        self.progress.cancelled.connect(adding.cancel)
        adding.progressed.connect(self._on_progressed)
        adding.finished.connect(self._on_finished)
        self.hide()

    @staticmethod
    def newest(report: object) -> list[KnownModel]:
        """The models to show: new ones, else those that were known."""
        assert isinstance(report, Report)
        return list(report.added or report.known)

    def _on_progressed(self, name: str, done: int, total: int) -> None:
        self.show()
        self.progress.set_progress(tr("Reading {name}", name=name), done, total if total > 1 else 0)

    def _on_finished(self, report: Report) -> None:
        self.hide()
        title, text, kind = summary(report)
        if title:
            self.told.emit(title, text, kind)


def summary(report: Report) -> tuple[str, str, str]:
    """(title, text, kind) of a banner; no title when there is nothing to tell.

    One file that became one model speaks for itself.
    """
    lines = [_line(problem) for problem in report.problems]
    lines += [
        tr(
            "{path} has the same content as {title}, which is in the list.",
            path=path,
            title=short(title),
        )
        for path, title in report.copies
    ]
    lines += [_line(each) for each in report.skipped]
    if len(lines) > _SHOWN:
        lines = [*lines[:_SHOWN], tr("... and {n} more", n=len(lines) - _SHOWN)]
    parts = []
    if n := len(report.added):
        parts.append(tr("1 model added") if n == 1 else tr("{n} models added", n=n))
    if n := len(report.known):
        name = short(report.known[0].title)
        parts.append(
            tr("{title} was in the list already", title=name)
            if n == 1
            else tr("{n} models were in the list already", n=n)
        )
    if n := len(report.copies):
        parts.append(tr("1 copy left out") if n == 1 else tr("{n} copies left out", n=n))
    if n := len(report.skipped):
        parts.append(
            tr("1 model cannot be run and was left out")
            if n == 1
            else tr("{n} models cannot be run and were left out", n=n)
        )
    parts += _failed(report.problems)
    alone = len(report.added) == 1 and len(parts) == 1
    if alone or not parts:
        return "", "", ""
    kind = "danger" if report.problems and not report.added else "info"
    if report.problems and report.added:
        kind = "warning"
    return ", ".join(parts), "\n".join(lines), kind


def _failed(problems: Sequence[Problem]) -> list[str]:
    """What could not be added: its name, or how many files and how many folders."""
    files = [each for each in problems if not each.is_folder]
    folders = [each for each in problems if each.is_folder]
    parts = []
    if n := len(files):
        parts.append(
            tr("1 file could not be added: {name}", name=_name(files[0]))
            if n == 1
            else tr("{n} files could not be added", n=n)
        )
    if n := len(folders):
        parts.append(
            tr("1 folder could not be added: {name}", name=_name(folders[0]))
            if n == 1
            else tr("{n} folders could not be added", n=n)
        )
    return parts


def _name(problem: Problem) -> str:
    return short(Path(problem.path).name or problem.path)


def _line(problem: Problem) -> str:
    """The engine's reasons begin with the path mostly."""
    named = problem.why.startswith(problem.path)
    return problem.why if named else f"{problem.path}: {problem.why}"
