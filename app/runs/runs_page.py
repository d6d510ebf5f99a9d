"""RunsPage: every run of the engine: find, look, compare, export, delete."""

from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, Qt, QTimer, QUrl
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDesktopServices,
    QHideEvent,
    QKeySequence,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.language import tr
from app.runs.export_process import Export, ExportProcess
from app.runs.run_details import RunDetails
from app.runs.run_index import RunIndex
from app.runs.run_summary import RunSummary
from app.runs.run_table import RUN_ROLE, RunTable, SortedRuns
from app.settings.settings import Settings
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.ask import ask
from app.widgets.ask_file import ask_where_to_save
from app.widgets.banner import Banner
from app.widgets.empty_state import EmptyState
from app.widgets.labels import label
from app.widgets.progress_row import ProgressRow
from app.widgets.search_field import SearchField
from app.widgets.toast import Toast
from engine import sizes
from engine.runlog.export import SUFFIXES, Format

LOOK_MS = 5000


class RunsPage(QWidget):
    """The list above, what is selected below."""

    def __init__(self, settings: Settings, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.index = RunIndex(parent=self)
        self.export = ExportProcess(self)
        self._table_model = RunTable(self.index, theme, self)
        self._sorted = SortedRuns(self._table_model, self)
        self.banner = Banner(theme)
        self.progress = ProgressRow(theme)
        self.search = SearchField(theme, tr("Search runs"))
        self.kept = label(role="small", wrap=True)
        self.export_button = QPushButton(tr("Export"))
        self.export_button.setMenu(self._export_menu())
        self.folder_button = QPushButton(tr("Open folder"))
        self.delete_button = QPushButton(tr("Delete…"))
        self.table = QTableView()
        self.table.setModel(self._sorted)
        self.details = RunDetails(self.index, theme)
        self.empty = EmptyState(
            tr("No runs yet"),
            tr(
                "Whenever a model is loaded, Runahead keeps a log of what the engine computed and"
                " read, step by step. Here you see it, compare runs, and export them."
            ),
            theme=theme,
            icon="runs",
        )
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._lay_out()
        self._connect()
        self._on_listed()
        self._on_selected()

    # What is selected.

    def selected(self) -> list[RunSummary]:
        """Oldest first."""
        rows = self.table.selectionModel().selectedRows()
        runs: list[RunSummary] = [row.data(RUN_ROLE) for row in rows]
        return sorted(runs, key=lambda run: run.name)

    def select(self, *names: str) -> None:
        """Select these runs and no others."""
        chosen = self.table.selectionModel()
        chosen.clearSelection()
        flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        for name in names:
            row = self._table_model.row_of(name)
            index = self._sorted.mapFromSource(self._table_model.index(row, 0))
            if index.isValid():
                chosen.select(index, flags)
                chosen.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)

    def refresh(self) -> None:
        """Look at the disk again, and keep to the bounds that the settings name."""
        self.index.refresh(self._settings.get("keep_runs"), self._settings.get("keep_runs_bytes"))

    # Qt's.

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Look whenever the page is looked at."""
        super().showEvent(event)
        self.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802, Qt's name
        """Nobody looks: rest."""
        self._timer.stop()
        super().hideEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802, Qt's name
        """End the export, and what goes on in threads."""
        self._timer.stop()
        self.export.close()
        self.index.close()
        super().closeEvent(event)

    # What a person can do.

    def ask_where(self, form: Format) -> None:
        """Ask for the file to export the selected run to."""
        runs = self.selected()
        if len(runs) != 1 or self.export.active:
            return
        run = runs[0]
        ask_where_to_save(
            self,
            self._settings,
            tr("Export {name}", name=run.name),
            run.name + SUFFIXES[form],
            lambda path: self.export_to(run, path, form),
        )

    def export_to(self, run: RunSummary, path: Path, form: Format) -> None:
        """Export a run; pictures show the steps that the timeline shows."""
        if self.export.active:
            return
        first, count = self.details.timeline.chosen
        self.banner.hide()
        self.export.start(Export(run.folder, path, form, first, count))
        self.progress.set_progress(tr("Exporting {name}", name=path.name), 0, 0)
        self._on_selected()

    def ask_delete(self) -> None:
        """Ask, then delete the selected runs."""
        runs = [run for run in self.selected() if run.state != "running"]
        if not runs:
            return
        size = sizes.show(sum(run.n_bytes for run in runs))
        ask(
            self,
            tr("Delete this run log?") if len(runs) == 1 else tr("Delete {n} runs?", n=len(runs)),
            tr("This frees {size}. It cannot be undone.", size=size),
            tr("Delete"),
            lambda _: self.index.delete([run.name for run in runs]),
            danger=True,
        )

    def open_folder(self) -> None:
        """Show the selected run's folder, or that of all runs, in the file manager."""
        runs = self.selected()
        folder = runs[0].folder if len(runs) == 1 else self.index.folder
        _show(QUrl.fromLocalFile(str(folder)))

    # Inside.

    def _lay_out(self) -> None:
        table = self.table
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setSortingEnabled(True)
        table.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setAccessibleName(tr("Runs"))
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 14)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        for column in range(self._table_model.columnCount()):
            sample = self._table_model.sample(column)
            table.setColumnWidth(column, self.fontMetrics().horizontalAdvance(sample) + 27)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(56)
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, 0)
        head.setSpacing(SPACE_S)
        head.addWidget(label(tr("Runs"), "title"))
        head.addSpacing(SPACE_M)
        head.addWidget(self.search, 1)
        self.search.setMaximumWidth(360)
        head.addStretch()
        for button in (self.export_button, self.folder_button, self.delete_button):
            head.addWidget(button)
        told = QVBoxLayout()
        told.setContentsMargins(SPACE_L, 0, SPACE_L, 0)
        told.addWidget(self.banner)
        told.addWidget(self.progress)
        above = QWidget()
        upper = QVBoxLayout(above)
        upper.setContentsMargins(SPACE_L, 0, SPACE_L, SPACE_S)
        upper.setSpacing(SPACE_S)
        upper.addWidget(table, 1)
        upper.addWidget(self.kept)
        above.setMinimumHeight(150)
        self.details.setMinimumHeight(260)
        self.split = QSplitter(Qt.Orientation.Vertical)
        self.split.addWidget(above)
        self.split.addWidget(self.details)
        self.split.setStretchFactor(0, 1)
        self.split.setStretchFactor(1, 3)
        self.split.setSizes([240, 520])
        self.split.setChildrenCollapsible(False)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.split)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(SPACE_S)
        page.addLayout(head)
        page.addLayout(told)
        page.addWidget(self.stack, 1)
        self.progress.hide()

    def _connect(self) -> None:
        self.search.searched.connect(self._on_searched)
        self.table.selectionModel().selectionChanged.connect(self._on_selected)
        self.folder_button.clicked.connect(self.open_folder)
        self.delete_button.clicked.connect(self.ask_delete)
        self.progress.cancelled.connect(self.export.cancel)
        self.index.listed.connect(self._on_listed)
        self.index.failed.connect(self._on_failed)
        self.export.progressed.connect(self._on_export_progressed)
        self.export.finished.connect(self._on_exported)
        self.export.failed.connect(self._on_export_failed)
        self._settings.changed.connect(self._on_setting_changed)
        self._timer.timeout.connect(self.refresh)
        delete = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.table)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self.ask_delete)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.search.setFocus)

    def _export_menu(self) -> QMenu:
        menu = QMenu(self)
        forms: list[tuple[Format, str]] = [
            ("png", tr("Picture of the timeline (PNG)…")),
            ("csv", tr("Steps (CSV)…")),
            ("jsonl", tr("Events (JSON Lines)…")),
            ("chrome", tr("Trace for ui.perfetto.dev (JSON)…")),
        ]
        for form, text in forms:
            action = QAction(text, menu)
            action.triggered.connect(lambda _=False, form=form: self.ask_where(form))
            menu.addAction(action)
        return menu

    def _on_listed(self) -> None:
        runs = self.index.all()
        self.stack.setCurrentIndex(1 if runs else 0)
        for widget in (self.export_button, self.folder_button, self.delete_button, self.search):
            widget.setVisible(bool(runs))
        self._show_kept()
        if runs and not self.selected() and not self.details.names:
            self.select(runs[0].name)
        self._on_selected()

    def _on_searched(self, text: str) -> None:
        self._sorted.search(text)
        self._show_kept()

    def _show_kept(self) -> None:
        runs = self.index.all()
        if runs and not self._sorted.rowCount():
            self.kept.setText(tr("No run has these words."))
            return
        self.kept.setText(
            tr(
                "{runs}, {size}. The newest {most} are kept, up to {bytes}; older ones are"
                " deleted. The settings say how many.",
                runs=tr("1 run") if len(runs) == 1 else tr("{n} runs", n=len(runs)),
                size=sizes.show(sum(run.n_bytes for run in runs)),
                most=self._settings.get("keep_runs"),
                bytes=sizes.show(self._settings.get("keep_runs_bytes")),
            )
        )

    def _on_selected(self) -> None:
        runs = self.selected()
        one = len(runs) == 1
        self.details.show_runs(tuple(run.name for run in runs) if len(runs) <= 2 else ())
        readable = one and runs[0].state != "damaged"
        self.export_button.setEnabled(readable and self.export.active is None)
        self.delete_button.setEnabled(any(run.state != "running" for run in runs))
        self.progress.setVisible(self.export.active is not None)

    def _on_setting_changed(self, name: str) -> None:
        if name in ("keep_runs", "keep_runs_bytes"):
            self._show_kept()
            if self.isVisible():
                self.refresh()

    def _on_failed(self, text: str) -> None:
        self.banner.tell(tr("Something went wrong with the run logs"), text, kind="danger")

    def _on_export_progressed(self, n_bytes: int) -> None:
        if export := self.export.active:
            text = tr("Exporting {name}", name=export.path.name)
            self.progress.set_progress(f"{text} · {sizes.show(n_bytes)}" if n_bytes else text, 0, 0)

    def _on_exported(self, export: Export) -> None:
        self._on_selected()
        folder = QUrl.fromLocalFile(str(export.path.parent))
        Toast.show_over(
            self,
            tr("{name} is written.", name=export.path.name),
            tr("Open folder"),
            lambda: _show(folder),
        )

    def _on_export_failed(self, export: Export, why: str) -> None:
        self._on_selected()
        if why:
            title = tr("{name} could not be exported", name=export.folder.name)
            self.banner.tell(title, why, kind="danger")


def _show(folder: QUrl) -> None:
    QDesktopServices.openUrl(folder)
