"""Composer: where a person writes; grows with the text, sends it, stops a reply."""

from PySide6.QtCore import QMimeData, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget

from app.chat.context_meter import ContextMeter
from app.language import tr
from app.settings.settings import Settings
from app.shell.drop_target import model_files
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.icon_button import IconButton
from app.widgets.labels import label, set_kind, set_role

MOST_LINES = 10
PAUSE_MS = 400  # after typing, before the draft is saved and counted


class Composer(QFrame):
    """The text stays until `clear`: sending is only asked for.

    Signals:
        sent: The person wants to send. args: text, message id that it replaces or "".
        stopped: The person wants the reply to end.
        edited: The text has changed, and the typing has paused. arg: text.
        settings_asked: The chat's settings shall be shown or hidden.
        last_asked: Up in an empty field: the person wants to change what was said last.
    """

    sent = Signal(str, str)
    stopped = Signal()
    edited = Signal(str)
    settings_asked = Signal()
    last_asked = Signal()

    def __init__(self, settings: Settings, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self.setObjectName("composer")
        self._settings = settings
        self._theme = theme
        self._replaces = ""
        self._draft = ""  # what was written before editing began
        self._is_streaming = False
        self.field = _Field(self)
        self.field.setAccessibleName(tr("Message"))
        self.meter = ContextMeter(theme)
        self.settings_button = QToolButton()
        self.settings_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.settings_button.setToolTip(tr("System prompt and sampling of this chat"))
        self.settings_button.clicked.connect(self.settings_asked)
        self.button = IconButton(theme, "send", tr("Send"), role="accent_text")
        set_kind(self.button, "primary")
        self.button.clicked.connect(self._on_clicked)
        self._editing = self._make_editing_bar()
        self._lay_out()
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._on_paused)
        self.field.textChanged.connect(self._on_text_changed)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self._on_text_changed()

    def _make_editing_bar(self) -> QWidget:
        bar = QWidget()
        row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_S, 0, 0, 0)
        text = label(tr("You change what you said. The old version and its replies stay."))
        set_role(text, "small")
        row.addWidget(text, 1)
        cancel = IconButton(self._theme, "close", tr("Keep it as it was"), size=14)
        cancel.clicked.connect(self.end_editing)
        row.addWidget(cancel)
        bar.hide()
        return bar

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SPACE_S)
        row.addWidget(self.settings_button)
        row.addStretch(1)
        row.addWidget(self.meter)
        row.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_M, SPACE_S, SPACE_S, SPACE_S)
        column.setSpacing(SPACE_XS)
        column.addWidget(self._editing)
        column.addWidget(self.field)
        column.addLayout(row)

    @property
    def text(self) -> str:
        """What has been written."""
        return self.field.toPlainText()

    def set_text(self, text: str) -> None:
        """Have this written, the cursor after it."""
        self.field.setPlainText(text)
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)

    @property
    def draft(self) -> str:
        """What is to be kept: the text, or while editing what was there before."""
        return self._draft if self._replaces else self.text

    def clear(self) -> None:
        """It was sent."""
        if self._replaces:
            self.end_editing()
        else:
            self.field.clear()
        self._on_paused()

    def begin_editing(self, message_id: str, text: str) -> None:
        """Have a message changed; what was being written comes back afterwards."""
        if not self._replaces:
            self._draft = self.text
        self._replaces = message_id
        self._editing.show()
        self.set_text(text)
        self.field.setFocus()

    def end_editing(self) -> None:
        """Back to what was being written."""
        self._replaces = ""
        self._editing.hide()
        self.set_text(self._draft)
        self._draft = ""

    @property
    def is_editing(self) -> bool:
        """Whether the text replaces an earlier message."""
        return bool(self._replaces)

    def set_streaming(self, on: bool) -> None:
        """While a reply is written, the button stops it."""
        self._is_streaming = on
        self.button.set_icon("stop" if on else "send")
        self.button.set_tip(tr("Stop (Esc)") if on else tr("Send"))
        self._on_text_changed(quiet=True)

    def set_preset(self, name: str, *, has_prompt: bool) -> None:
        """Show what the chat's settings are called."""
        suffix = tr(" · system prompt") if has_prompt else ""
        self.settings_button.setText(f"{name}{suffix}")

    def save_now(self) -> None:
        """Do not wait for the pause."""
        if self._pause.isActive():
            self._on_paused()

    def ask_to_send(self) -> None:
        """As the send button does."""
        if self.text.strip():
            self.sent.emit(self.text.strip(), self._replaces)

    def wants_to_send(self, event: QKeyEvent) -> bool:
        """Whether a key press sends, by the settings."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return False
        ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        return not shift and (ctrl or self._settings.get("send_with") == "enter")

    def _on_clicked(self) -> None:
        if self._is_streaming:
            self.stopped.emit()
        else:
            self.ask_to_send()

    def _on_text_changed(self, *, quiet: bool = False) -> None:
        self.button.setEnabled(self._is_streaming or bool(self.text.strip()))
        self.field.fit()
        if not quiet:
            self._pause.start()

    def _on_paused(self) -> None:
        self._pause.stop()
        self.edited.emit(self.text)

    def _on_theme_changed(self) -> None:
        p = self._theme.palette
        self.settings_button.setIcon(self._theme.icon("tools", "muted"))
        self.setStyleSheet(
            f"QFrame#composer {{ background:{p.raised}; border:1px solid {p.border};"
            f" border-radius:16px; }}"
            f"QFrame#composer QPlainTextEdit {{ background:transparent; border:none;"
            f" padding:4px 4px 0 4px; }}"
            f"QFrame#composer QToolButton {{ color:{p.muted}; }}"
        )
        placeholder = tr("Write a message")
        self.field.setPlaceholderText(placeholder)


class _Field(QPlainTextEdit):
    """As high as its text, up to MOST_LINES."""

    def __init__(self, composer: Composer):
        super().__init__(composer)
        self._composer = composer
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(4)

    def fit(self) -> None:
        """Take the height that the text needs."""
        n_lines = min(MOST_LINES, max(1, round(self.document().size().height())))
        height = n_lines * self.fontMetrics().lineSpacing() + 18
        if height != self.height():
            self.setFixedHeight(height)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """Send, or write."""
        if self._composer.wants_to_send(event):
            self._composer.ask_to_send()
        elif event.key() == Qt.Key.Key_Escape and self._composer.is_editing:
            self._composer.end_editing()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self._composer.last_asked.emit()
        else:
            super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:  # noqa: N802, Qt's name
        """Not models, which are for the window."""
        return not model_files(source) and super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802, Qt's name
        """As text, all at once: Qt's own way takes many times as long when it is much."""
        if source.hasText():
            self.insertPlainText(source.text())
            self.ensureCursorVisible()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """Another width wraps differently."""
        super().resizeEvent(event)
        self.fit()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802, Qt's name
        """A draft is not left unsaved."""
        super().focusOutEvent(event)
        self._composer.save_now()
