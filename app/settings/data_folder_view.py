"""DataFolderView: where the data folder is, and how it comes to another place."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton

from app import folders
from app.background import Background, sentence
from app.language import tr
from app.settings.data_move import plan_move
from app.settings.move_plan import MovePlan
from app.settings.settings import Settings
from app.theme.theme import SPACE_S
from app.widgets.ask_file import ask_folder
from app.widgets.card import Card
from app.widgets.labels import ElidedLabel, label, set_kind
from engine import sizes

_MOST_NAMES = 6


class DataFolderView(Card):
    """A folder is chosen, what would move is shown, and the move waits for the next start.

    Signals:
        restart_wanted: A person wants the move now. The window quits and starts again.
    """

    restart_wanted = Signal()

    def __init__(self, settings: Settings, background: Background) -> None:
        super().__init__()
        self._settings = settings
        self._background = background
        self._plan: MovePlan | None = None
        self.place = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.help = label("", "small", wrap=True)
        self.open_button = QPushButton(tr("Open folder"))
        self.change_button = QPushButton(tr("Change…"))
        self.outcome = label(wrap=True)
        self.move_button = QPushButton(tr("Move at the next start"))
        self.restart_button = QPushButton(tr("Restart now"))
        self.cancel_button = QPushButton(tr("Keep it where it is"))
        set_kind(self.move_button, "primary")
        set_kind(self.restart_button, "primary")
        self._lay_out()
        self.open_button.clicked.connect(self._on_open_wanted)
        self.change_button.clicked.connect(self._on_change_wanted)
        self.move_button.clicked.connect(self._on_move_wanted)
        self.cancel_button.clicked.connect(self._on_cancelled)
        self.restart_button.clicked.connect(self.restart_wanted)
        settings.changed.connect(self._on_settings_changed)
        self._show()

    def propose(self, target: Path) -> None:
        """Show what would move there, or why nothing can."""
        self._plan = None
        self._show()
        self.outcome.setText(tr("Looking…"))
        self.outcome.show()
        self._background.run(lambda _: plan_move(target), self._take, self._on_failed)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(label(tr("Data folder")))
        head.addStretch()
        head.addWidget(self.open_button)
        head.addWidget(self.change_button)
        answer = QHBoxLayout()
        answer.setSpacing(SPACE_S)
        answer.addWidget(self.move_button)
        answer.addWidget(self.restart_button)
        answer.addWidget(self.cancel_button)
        answer.addStretch()
        self.body.addLayout(head)
        self.body.addWidget(self.place)
        self.body.addWidget(self.help)
        self.body.addWidget(self.outcome)
        self.body.addLayout(answer)

    def _show(self) -> None:
        """The place, and where there is one, the proposal or the move that waits."""
        fixed = folders.fixed_by_environment()
        waiting = self._settings.get("next_data_folder")
        possible = self._plan is not None and not self._plan.problems
        self.place.setText(str(folders.data()))
        self.help.setText(
            tr("RUNAHEAD_HOME is set, and decides where it is.")
            if fixed
            else tr("Conversations, run logs and expert packs. A larger or faster disk?")
        )
        self.change_button.setEnabled(not fixed and not waiting)
        if waiting:
            self.outcome.setText(
                tr("Everything moves to {target} when Runahead starts again.", target=waiting)
            )
        elif self._plan is not None:
            self.outcome.setText(_told(self._plan))
        self.outcome.setVisible(bool(waiting) or self._plan is not None)
        self.move_button.setVisible(possible and not waiting)
        self.restart_button.setVisible(bool(waiting))
        self.cancel_button.setVisible(bool(waiting) or self._plan is not None)

    def _take(self, plan: MovePlan) -> None:
        self._plan = plan
        self._show()

    def _on_failed(self, error: Exception) -> None:
        self.outcome.setText(sentence(error))

    def _on_change_wanted(self) -> None:
        ask_folder(
            self,
            self._settings,
            tr("Where should the data folder be?"),
            lambda chosen: self.propose(_inside(chosen)),
            begin=folders.data(),
        )

    def _on_open_wanted(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folders.data())))

    def _on_move_wanted(self) -> None:
        assert self._plan
        target, self._plan = self._plan.target, None
        self._settings.set("next_data_folder", target)

    def _on_cancelled(self) -> None:
        self._plan = None
        self._settings.reset("next_data_folder")
        self._show()

    def _on_settings_changed(self, name: str) -> None:
        if name in ("next_data_folder", "data_folder"):
            self._show()


def _inside(chosen: Path) -> Path:
    """A folder of our own in a folder that has other things."""
    try:
        is_empty = chosen.is_dir() and not any(chosen.iterdir())
    except OSError:
        is_empty = False  # the plan says what is wrong with it
    return chosen if is_empty or chosen.name.lower() == "runahead" else chosen / "runahead"


def _told(plan: MovePlan) -> str:
    if plan.problems:
        return tr("It cannot move there: {why}", why=" ".join(plan.problems))
    if not plan.pieces:
        return tr("There is nothing to move yet; {target} is used.", target=plan.target)
    names = [Path(piece.source).name for piece in plan.pieces]
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES]) + (tr(" and {n} more", n=more) if more > 0 else "")
    how = (
        tr("It is the same disk, so that takes a moment.")
        if plan.same_disk
        else tr("They are copied to the other disk, then deleted here.")
    )
    size = sizes.show(plan.n_bytes)
    return (
        tr("To {target} would move: {names}; {size}.", target=plan.target, names=shown, size=size)
        + f" {how}"
    )
