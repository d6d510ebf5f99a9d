"""PackCard: a model's expert pack: whether it is there, building it, deleting it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.language import tr
from app.models import words
from app.models.known_model import KnownModel
from app.models.model_state import ModelState
from app.models.packing import PackProgress
from app.theme.theme import Theme
from app.widgets.card import Card
from app.widgets.labels import ElidedLabel, label, set_role
from app.widgets.progress_row import ProgressRow
from engine import sizes
from engine.pack import pack_path


class PackCard(Card):
    """Signals:
    build_asked: Build it.
    cancel_asked: Stop building it.
    delete_asked: Delete it.
    """

    build_asked = Signal()
    cancel_asked = Signal()
    delete_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.state = label(role="chip")
        self.text = label(role="muted", wrap=True)
        self.place = ElidedLabel(role="small")
        self.error = label(role="error", wrap=True)
        self.progress = ProgressRow(theme)
        self.build_button = QPushButton()
        self.delete_button = QPushButton(tr("Delete…"))
        self.build_button.clicked.connect(self.build_asked)
        self.delete_button.clicked.connect(self.delete_asked)
        self.progress.cancelled.connect(self.cancel_asked)
        head = QHBoxLayout()
        head.addWidget(label(tr("Expert pack"), "heading"))
        head.addWidget(self.state, alignment=Qt.AlignmentFlag.AlignVCenter)
        head.addStretch()
        head.addWidget(self.build_button)
        head.addWidget(self.delete_button)
        self.body.addLayout(head)
        self.body.addWidget(self.text)
        self.body.addWidget(self.place)
        self.body.addWidget(self.progress)
        self.body.addWidget(self.error)

    def show_pack(
        self,
        model: KnownModel,
        state: ModelState,
        progress: PackProgress | None,
        *,
        in_use: bool,
        error: str,
    ) -> None:
        """Show how it stands; `in_use`: the open engine reads from it."""
        pack = state.pack
        needed = sizes.show(model.info.experts_total_bytes)
        if progress:
            text = words.pack_progress_text(progress)
            self.progress.set_progress(text, progress.done, progress.total)
        self.error.setText(error)
        self.error.setVisible(bool(error))
        chip, role = {
            "none": (tr("Not built"), "chip"),
            "ready": (tr("Ready"), "chip"),
            "stale": (tr("Stale"), "chip"),
        }[pack.kind]
        self.state.setText(tr("In use") if in_use else chip)
        set_role(self.state, role)
        if pack.kind == "ready":
            self.text.setText(
                tr("{size} on the disk.", size=sizes.show(pack.n_bytes))
                + (" " + tr("Arranged for this processor.") if pack.layout == "repacked" else "")
                + (" " + tr("Unload the model to delete it.") if in_use else "")
            )
        elif pack.kind == "stale":
            self.text.setText(
                tr(
                    "It takes {size} and cannot be used: {why}. Build it again, or delete it.",
                    size=sizes.show(pack.n_bytes),
                    why=pack.reason,
                )
            )
        else:
            self.text.setText(
                tr(
                    "A copy of the experts, in the order in which they are read: one read per"
                    " expert instead of three. It needs {size}; loading builds it when it is"
                    " wanted.",
                    size=needed,
                )
            )
        self.place.setText(pack.path or str(pack_path(model.info).parent))
        self.build_button.setText(tr("Build") if pack.kind == "none" else tr("Build again"))
        can_build = progress is None and model.info.supported and not state.missing
        self.delete_button.setEnabled(not in_use)
        self._show_only(
            progress=progress is not None,
            build=can_build and pack.kind != "ready",
            delete=progress is None and pack.kind != "none",
        )

    def _show_only(self, *, progress: bool, build: bool, delete: bool) -> None:
        """What is shown takes the focus of what goes: else Qt gives it away, and scrolls there."""
        parts = (
            (self.progress, self.progress.cancel_button, progress),
            (self.build_button, self.build_button, build),
            (self.delete_button, self.delete_button, delete),
        )
        going = [(part, button) for part, button, shown in parts if not shown]
        for part, button, shown in parts:
            if shown:
                part.show()
                if any(each.hasFocus() for _, each in going):
                    button.setFocus()
        for part, _ in going:
            part.hide()
