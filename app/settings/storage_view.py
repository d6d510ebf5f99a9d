"""StorageView: what Runahead's files take, and buttons that free some of it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QWidget

from app import folders
from app.background import Background, sentence
from app.language import tr
from app.models import library_file
from app.settings import storage_usage
from app.settings.settings import Settings
from app.settings.storage_usage import Freed, Usage, Use
from app.theme.theme import SPACE_L, SPACE_S, Theme
from app.widgets.ask import ask
from app.widgets.card import Card
from app.widgets.icon_button import IconButton
from app.widgets.labels import label
from app.widgets.toast import Toast
from engine import sizes
from engine.pack import pack_path

_KINDS = (
    ("packs", "Expert packs"),
    ("runs", "Run logs"),
    ("conversations", "Conversations"),
    ("crash_reports", "Crash reports"),
)


class StorageView(Card):
    """Measures whenever it comes into view; nothing is read or deleted in the window's thread."""

    def __init__(self, settings: Settings, theme: Theme, background: Background) -> None:
        super().__init__()
        self._settings = settings
        self._background = background
        self.measured: _Measured | None = None
        self._failure = ""  # what the last clean-up could not do
        self.total = label(tr("Looking…"), "heading")
        self.free = label(role="muted")
        self.refresh_button = IconButton(theme, "retry", tr("Look again"), size=16)
        self.counts = {kind: label(role="muted") for kind, _ in _KINDS}
        self.sizes = {kind: label() for kind, _ in _KINDS}
        self.packs_button = QPushButton()
        self.runs_button = QPushButton()
        self.problem = label(role="error", wrap=True)
        self.problem.hide()
        self._lay_out()
        self.refresh_button.clicked.connect(self.look)
        self.packs_button.clicked.connect(self._on_packs_wanted)
        self.runs_button.clicked.connect(self._on_runs_wanted)
        settings.changed.connect(self._on_settings_changed)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Measure anew."""
        super().showEvent(event)
        self._failure = ""
        self.look()

    def look(self) -> None:
        """Measure, then show."""
        keep = self._bounds()
        self._background.run(lambda _: _measure(*keep), self._take, self._on_failed)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self.total)
        head.addSpacing(SPACE_S)
        head.addWidget(self.free)
        head.addStretch()
        head.addWidget(self.refresh_button)
        self.body.addLayout(head)
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_L)
        grid.setVerticalSpacing(SPACE_S)
        grid.setColumnStretch(2, 1)
        buttons: dict[str, QWidget] = {"packs": self.packs_button, "runs": self.runs_button}
        for row, (kind, text) in enumerate(_KINDS):
            grid.addWidget(label(tr(text)), row, 0)
            grid.addWidget(self.sizes[kind], row, 1)
            grid.addWidget(self.counts[kind], row, 2)
            if kind in buttons:
                grid.addWidget(buttons[kind], row, 3)
            grid.setRowMinimumHeight(row, self.packs_button.sizeHint().height())
        self.body.addLayout(grid)
        self.body.addWidget(self.problem)
        for button in buttons.values():
            button.setEnabled(False)
        self.packs_button.setText(tr("Delete unused packs"))
        self.runs_button.setText(tr("Delete old runs"))

    def _take(self, measured: "_Measured") -> None:
        usage, old = measured.usage, measured.old_runs
        self.measured = measured
        self.total.setText(tr("{size} in all", size=sizes.show(usage.total_bytes)))
        self.free.setText(tr("{size} free on this disk", size=sizes.show(usage.free_bytes)))
        for kind, _ in _KINDS:
            use: Use = getattr(usage, kind)
            self.sizes[kind].setText(sizes.show(use.n_bytes) if use.n else "–")
            self.counts[kind].setText(_counted(kind, use.n))
        unused = usage.unused_packs
        self.packs_button.setEnabled(unused.n > 0)
        self.packs_button.setText(
            tr("Delete {n} unused ({size})", n=unused.n, size=sizes.show(unused.n_bytes))
            if unused.n
            else tr("None unused")
        )
        self.runs_button.setEnabled(usage.runs.n > 0)
        self.runs_button.setText(
            tr("Delete {n} old ({size})", n=old.n, size=sizes.show(old.n_bytes))
            if old.n
            else tr("Delete all ({size})", size=sizes.show(usage.runs.n_bytes))
            if usage.runs.n
            else tr("No runs")
        )
        self._show_problem(f"{measured.problem} {self._failure}".strip())

    def _on_packs_wanted(self) -> None:
        assert self.measured
        unused = self.measured.usage.unused_packs
        packs = self.measured.packs_in_use
        ask(
            self,
            tr("Delete {n} expert packs?", n=unused.n),
            tr(
                "They belong to no model in your list, or to its file as it once was, or were not"
                " finished, and take {size}. A pack that is wanted again is built again.",
                size=sizes.show(unused.n_bytes),
            ),
            tr("Delete"),
            lambda _: self._clean(lambda: storage_usage.remove_unused_packs(packs)),
            danger=True,
        )

    def _on_runs_wanted(self) -> None:
        assert self.measured
        old, runs = self.measured.old_runs, self.measured.usage.runs
        most, most_bytes = self._bounds() if old.n else (0, 0)
        going = old if old.n else runs
        ask(
            self,
            tr("Delete {n} run logs?", n=going.n),
            tr(
                "They take {size}. Runs that go on keep theirs; chats are not touched. This cannot"
                " be undone.",
                size=sizes.show(going.n_bytes),
            ),
            tr("Delete"),
            lambda _: self._clean(lambda: storage_usage.remove_old_runs(most, most_bytes)),
            danger=True,
        )

    def _clean(self, work: Callable[[], Freed]) -> None:
        self._failure = ""
        self._background.run(lambda _: work(), self._on_cleaned, self._on_not_cleaned)
        self.look()

    def _on_cleaned(self, freed: Freed) -> None:
        Toast.show_over(self, tr("{size} freed.", size=sizes.show(freed.n_bytes)))
        self._failure = " ".join(freed.problems)

    def _on_not_cleaned(self, error: Exception) -> None:
        self._failure = sentence(error)

    def _on_failed(self, error: Exception) -> None:
        self._show_problem(sentence(error))

    def _show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _bounds(self) -> tuple[int, int]:
        return self._settings.get("keep_runs"), self._settings.get("keep_runs_bytes")

    def _on_settings_changed(self, name: str) -> None:
        if name in ("keep_runs", "keep_runs_bytes") and self.isVisible():
            self.look()


class _Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was found; `problem` is a sentence, "" when all is well."""

    usage: Usage
    old_runs: Use
    packs_in_use: frozenset[Path]
    problem: str = ""


def _measure(keep_runs: int, keep_runs_bytes: int) -> _Measured:
    library = library_file.load(folders.library())
    in_use = frozenset(pack_path(model.info) for model in library.models)
    problem = ""
    if library.notices:  # better keep a pack too many than build 20 GB again
        in_use |= frozenset(storage_usage.unused_packs(in_use))
        problem = tr("The list of models cannot be read, so packs are all kept.")
    return _Measured(
        usage=storage_usage.measure(in_use),
        old_runs=storage_usage.old_runs(keep_runs, keep_runs_bytes),
        packs_in_use=in_use,
        problem=problem,
    )


def _counted(kind: str, n: int) -> str:
    if kind == "conversations" or not n:
        return ""  # one database
    return tr("1 file") if n == 1 else tr("{n} files", n=n)
