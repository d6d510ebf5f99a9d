"""ModelChooser: the button in the header that says which model is loaded, and opens the list."""

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.engine_service import EngineService
from app.language import tr
from app.models.library import ModelLibrary
from app.models.words import stage_name
from app.shell.model_menu import ModelMenu
from app.shell.model_opener import ModelOpener
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.font_sizes import follow_font
from app.widgets.icon_button import IconButton
from app.widgets.labels import ElidedLabel, set_role
from app.widgets.press_button import PressButton
from app.widgets.share_bar import ShareBar
from engine.engine_state import EngineState

_WIDTH = 360


class ModelChooser(QFrame):
    """Title and state of the model; while it loads, how far it is and a way to stop.

    Signals:
        manage_wanted: Show all models.
        file_wanted: Choose a GGUF file.
    """

    manage_wanted = Signal()
    file_wanted = Signal()

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        opener: ModelOpener,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("modelChooser")
        self._service, self._library, self._opener, self._theme = service, library, opener, theme
        self.button = PressButton()
        self.button.setObjectName("modelButton")
        self.button.setAccessibleName(tr("Choose a model"))
        self.button.setToolTip(tr("Choose a model  (Ctrl+L)"))
        self.picture = QLabel()
        self.title = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.detail = ElidedLabel(role="small")
        self.arrow = QLabel()
        self.bar = ShareBar()
        self.cancel_button = IconButton(theme, "close", tr("Stop loading"), size=16)
        self.unload_button = IconButton(theme, "eject", tr("Unload the model"), size=16)
        self._lay_out()
        self.button.clicked.connect(self.open_menu)
        self.cancel_button.clicked.connect(opener.unload)
        self.unload_button.clicked.connect(opener.unload)
        service.state_changed.connect(self._on_state_changed)
        theme.changed.connect(self._on_theme_changed)
        self._on_state_changed(service.state)

    def open_menu(self) -> None:
        """Show the list below the button."""
        menu = ModelMenu(self._service, self._library, self._opener, self._theme, self)
        menu.manage_wanted.connect(self.manage_wanted)
        menu.file_wanted.connect(self.file_wanted)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setMinimumWidth(max(self.button.width(), _WIDTH))
        menu.open_at(self.button.mapToGlobal(QPoint(0, self.button.height() + 4)))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.title)
        words.addWidget(self.detail)
        words.addWidget(self.bar)
        inside = QHBoxLayout(self.button)
        inside.setContentsMargins(SPACE_M, SPACE_XS, SPACE_S, SPACE_XS)
        inside.setSpacing(SPACE_M)
        inside.addWidget(self.picture)
        inside.addLayout(words, 1)
        inside.addWidget(self.arrow)
        self.button.setMinimumWidth(240)
        self.button.setMaximumWidth(_WIDTH)
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.bar.setFixedHeight(4)
        follow_font(self.button, self._keep_height)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(self.button, 100)
        # Unaligned, small buttons would hold the whole row down to their own height.
        for button in (self.cancel_button, self.unload_button):
            row.addWidget(button, alignment=Qt.AlignmentFlag.AlignVCenter)
        row.addStretch(1)

    def _keep_height(self) -> None:
        """Of two lines, also while the bar has the second one's place: the page does not jump."""
        lines = sum(each.sizeHint().height() for each in (self.title, self.detail))
        self.button.setMinimumHeight(lines + 2 * SPACE_XS)

    def _on_state_changed(self, state: EngineState) -> None:
        loading = state.phase in ("starting", "loading")
        self.cancel_button.setVisible(loading)
        self.unload_button.setVisible(state.phase == "ready")
        goes, comes = (self.detail, self.bar) if loading else (self.bar, self.detail)
        goes.hide()  # first, so that there are never three lines
        comes.show()
        if loading:
            self.bar.show_share(state.done, state.total)
        title = state.model.title if state.model else ""
        set_role(self.detail, "error" if state.phase == "failed" else "small")
        if state.phase == "ready" and state.info and state.model:
            self._say(title, f"{state.model.architecture} · {state.info.device}")
        elif loading:
            self._say(f"{title}: {stage_name(state)}", "")
        elif state.phase == "failed":
            self._say(
                title or tr("Choose a model"), tr("Stopped") if state.crashed else tr("Not loaded")
            )
        else:
            last = self._opener.last_model
            hint = tr("Last used: {title}", title=last.title) if last else tr("None is loaded")
            self._say(tr("Choose a model"), hint)
        self._on_theme_changed()

    def _say(self, title: str, detail: str) -> None:
        self.title.setText(title)
        self.detail.setText(detail)
        self.button.setAccessibleDescription(f"{title}, {detail}".strip(", "))

    def _on_theme_changed(self) -> None:
        ready = self._service.state.phase == "ready"
        picture = self._theme.icon("models", "accent" if ready else "muted")
        self.picture.setPixmap(picture.pixmap(QSize(20, 20)))
        self.arrow.setPixmap(self._theme.icon("chevron-down", "muted").pixmap(QSize(16, 16)))
