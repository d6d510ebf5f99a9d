"""ItemDetail: one item, its reply as it is written, and what can be done with it."""

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication, QIcon, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.chat.row import Live
from app.chat.transcript_view import TranscriptView
from app.language import tr
from app.subtasks.task_run import TaskRun
from app.subtasks.words import state_word
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.card import line
from app.widgets.font_sizes import follow_font, follow_size, scaled
from app.widgets.icon_button import IconButton
from app.widgets.labels import ElidedLabel, label

_WIDE = 360  # pixels, from which on all buttons leave room for a title


class ItemDetail(QWidget):
    """Follows the item that `show_item` names.

    Signals:
        conversation_opened: Its chat is wanted. arg: conversation id.
        branched: A new chat from here is wanted. arg: message id.
    """

    conversation_opened = Signal(str)
    branched = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self._theme = theme
        self._run: TaskRun | None = None
        self._place = -1
        self._shown: str | None = None  # the message in the view
        self.title = ElidedLabel("", "heading")
        self.about = ElidedLabel("", "small")
        self.open_button = QPushButton(tr("Open as chat"))
        self.open_button.setToolTip(tr("Open as chat"))
        self.open_button.setAccessibleName(tr("Open as chat"))
        self.again_button = IconButton(theme, "retry", tr("Run this item again"))
        self.stop_button = IconButton(theme, "stop", tr("Stop this item"))
        self.copy_button = IconButton(theme, "copy", tr("Copy the result"))
        self.view = TranscriptView(theme)
        self.view.rows.is_busy = True  # offers nothing that would change the chat
        self.empty = label(role="muted", wrap=True)
        self._lay_out()
        theme.changed.connect(self._fit_button)
        self.open_button.clicked.connect(self._on_opened)
        self.again_button.clicked.connect(self._on_again)
        self.stop_button.clicked.connect(self._on_stopped)
        self.copy_button.clicked.connect(self._on_copied)
        self.view.action_asked.connect(self._on_action)
        self.view.link_opened.connect(lambda url: QDesktopServices.openUrl(QUrl(url)))

    def show_item(self, run: TaskRun | None, place: int) -> None:
        """Show another item; -1: none."""
        if self._run is not run:
            if self._run is not None:
                self._run.item_changed.disconnect(self._on_item_changed)
                self._run.changed.disconnect(self._on_changed)
            if run is not None:
                run.item_changed.connect(self._on_item_changed)
                run.changed.connect(self._on_changed)
        self._run, self._place = run, place
        self._shown = None
        self._update()

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(SPACE_XS)
        words.addWidget(self.title)
        words.addWidget(self.about)
        follow_font(self.title, lambda: self.title.setMinimumWidth(scaled(self.title, 96)))
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        row.setSpacing(SPACE_XS)
        row.addLayout(words, 1)
        row.addSpacing(SPACE_S)
        for button in (self.copy_button, self.stop_button, self.again_button, self.open_button):
            row.addWidget(button)
        blank = QWidget()
        blank_column = QVBoxLayout(blank)
        blank_column.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        blank_column.addWidget(self.empty)
        blank_column.addStretch()
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(blank)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(line())
        column.addWidget(self.stack, 1)
        follow_size(self, self._fit_button)

    def _fit_button(self) -> None:
        """The button's words leave room for the title."""
        wide = self.width() >= scaled(self, _WIDE)
        self.open_button.setText(tr("Open as chat") if wide else "")
        self.open_button.setIcon(QIcon() if wide else self._theme.icon("chat"))

    def _update(self) -> None:
        run, place = self._run, self._place
        known = run is not None and 0 <= place < len(run.items)
        busy = known and run is not None and (run.live(place) is not None or run.is_queued(place))
        for widget in (self.title, self.about, self.copy_button, self.open_button):
            widget.setVisible(known)
        self.stop_button.setVisible(busy)
        self.again_button.setVisible(known and not busy)
        if run is None or not known:
            self.empty.setText(tr("Choose an item to see its result."))
            self.stack.setCurrentIndex(1)
            return
        item = run.items[place]
        parts = [state_word(run, item), item.detail]
        self.title.setText(item.text)
        self.about.setText(" · ".join(part.rstrip(".") for part in parts if part))
        self.open_button.setEnabled(run.chat(place) is not None)
        self._show_reply(run, place)

    def _show_reply(self, run: TaskRun, place: int) -> None:
        message, live = run.reply(place), run.live(place)
        waits = message is None or (live is not None and live.reply is None)
        self.copy_button.setEnabled(message is not None and bool(message.text))
        if message is None or waits:
            self._shown = None
            item = run.items[place]
            text = item.detail or tr("Its result will be shown here.")
            self.empty.setText(text)
            self.stack.setCurrentIndex(1)
            return
        rows = self.view.rows
        if live is not None:
            shown = rows.live.setdefault(message.id, Live())
            shown.done, shown.total = live.done, live.total
            shown.n_tokens, shown.tokens_per_s = live.n_tokens, live.tokens_per_s
        else:
            rows.live.pop(message.id, None)
        if self._shown == message.id:
            rows.change(message)
        else:
            self._shown = message.id
            rows.set_messages([message])
            self.view.is_at_end = live is not None
            if live is None:
                self.view.verticalScrollBar().setValue(0)
        self.stack.setCurrentIndex(0)
        self.view.update_rows()

    def _on_item_changed(self, place: int) -> None:
        if place == self._place and self.isVisible():
            self._update()

    def _on_changed(self) -> None:
        if self.isVisible():
            self._update()

    def _on_opened(self) -> None:
        if self._run is not None and (chat := self._run.chat(self._place)):
            self.conversation_opened.emit(chat)

    def _on_again(self) -> None:
        if self._run is not None:
            self._run.rerun(self._place)

    def _on_stopped(self) -> None:
        if self._run is not None:
            self._run.stop(self._place)

    def _on_copied(self) -> None:
        if self._run is not None:
            QGuiApplication.clipboard().setText(self._run.answer(self._place))

    def _on_action(self, message_id: str, action: str) -> None:
        if action == "copy":
            self._on_copied()
        elif action == "regenerate":
            self._on_again()
        elif action == "branch":
            self.branched.emit(message_id)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Catch up with what came while it was hidden."""
        self._update()
