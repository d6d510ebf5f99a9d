"""FindBar: finds words in the conversation that is shown."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app.chat.thinking import answer_of
from app.chat.transcript_view import TranscriptView
from app.data.conversation import Message
from app.language import tr
from app.theme.theme import SPACE_L, SPACE_S, Theme
from app.widgets.icon_button import IconButton
from app.widgets.labels import label, set_kind

_MARKUP = str.maketrans("", "", "*_`\\")


class FindBar(QFrame):
    """Goes from match to match, from the message that is seen onwards and round the ends.

    Messages are searched as they were written; only those that match are laid out.

    Signals:
        closed: The search is over.
    """

    closed = Signal()

    def __init__(self, transcript: TranscriptView, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        set_kind(self, "panel")
        self._transcript = transcript
        self._message = ""  # that the last match is in
        self._place = 0  # of the last match, among those of its message
        self.field = QLineEdit()
        self.field.setPlaceholderText(tr("Find in this chat"))
        self.field.setAccessibleName(tr("Find in this chat"))
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._on_edited)
        self.count = label(role="small")
        self.previous_button = IconButton(theme, "chevron-up", tr("Previous (Shift+Enter)"))
        self.next_button = IconButton(theme, "chevron-down", tr("Next (Enter)"))
        self.close_button = IconButton(theme, "close", tr("Close (Esc)"))
        self.previous_button.clicked.connect(lambda: self.step(-1))
        self.next_button.clicked.connect(lambda: self.step(1))
        self.close_button.clicked.connect(self.close_search)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_L, SPACE_S, SPACE_S, SPACE_S)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        row.addWidget(self.previous_button)
        row.addWidget(self.next_button)
        row.addWidget(self.close_button)
        self.hide()

    def open_search(self) -> None:
        """Show it; what is marked in the conversation is looked for at once."""
        marked = self._transcript.selected_text()
        if marked and "\n" not in marked:
            self.field.setText(marked)
        self.show()
        self.field.setFocus()
        self.field.selectAll()

    def close_search(self) -> None:
        """Hide it; the last match stays marked."""
        self.hide()
        self.closed.emit()

    def step(self, by: int) -> None:
        """Mark the next match (1), the one before (-1), or the first from here on (0)."""
        words = self.field.text()
        matching = self._matching(words)
        self.count.setText("" if not words or matching else tr("Not found"))
        if not matching:
            self._message = ""
            self._transcript.mark("", (0, 0), (0, 0))
            return
        rows = self._transcript.rows
        seen = self._message or self._transcript.first_seen()
        at = rows.index_of(seen)
        first = next((n for n, index in enumerate(matching) if index >= at), 0)
        if by < 0 and matching[first] != at:
            first -= 1
        for n in range(len(matching) + 1):  # once round: back in the message where it began
            turn = (first + (n if by >= 0 else -n)) % len(matching)
            row = rows.row(matching[turn])
            places = row.places_of(words)
            place = 0 if by >= 0 else len(places) - 1
            if n == 0 and row.message.id == self._message:
                place = self._place + by
            if 0 <= place < len(places):
                self._message, self._place = row.message.id, place
                self._transcript.mark(self._message, *places[place])
                shown = tr("Message {n} of {all}", n=turn + 1, all=len(matching))
                self.count.setText(shown)
                return
        self.count.setText(tr("Not found"))

    def _matching(self, words: str) -> list[int]:
        """Indices of the messages whose text holds the words."""
        needle = _plain(words)
        if not needle:
            return []
        rows = self._transcript.rows
        return [
            index
            for index, message in enumerate(rows.messages)
            if needle in _plain(_shown(message, shows_thinking=rows.shows_thinking))
        ]

    def _on_edited(self) -> None:
        self._place = 0
        self.step(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """Enter and F3 go on, with Shift back; Esc closes."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F3):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_search()
        else:
            super().keyPressEvent(event)


def _shown(message: Message, *, shows_thinking: bool) -> str:
    is_answer = message.role != "user" and not shows_thinking
    return answer_of(message.text) if is_answer else message.text


def _plain(text: str) -> str:
    """Without what Markdown does not show within a line."""
    return text.translate(_MARKUP).replace("\u00a0", " ").casefold()
