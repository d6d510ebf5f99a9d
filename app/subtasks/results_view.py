"""ResultsView: all results of a task in one place, to read from top to bottom."""

import re

import msgspec
from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.chat.export import ended
from app.chat.thinking import answer_of
from app.chat.transcript_view import TranscriptView
from app.data.conversation import Message, MessageState
from app.data.task import TaskItem
from app.language import tr
from app.subtasks.export import note_of, sunk
from app.subtasks.task_run import TaskRun
from app.theme.theme import Theme
from app.widgets.empty_state import EmptyState

SUMMARY = "summary"
_UPDATE_MS = 250  # a text that streams is laid out again this often
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>~-])")


class ResultsView(QWidget):
    """The summary first, then every item with an answer.

    Signals:
        branched: A new chat from a result is wanted. arg: message id.
    """

    branched = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self._run: TaskRun | None = None
        # By item: as it was then, its reply, and what that is shown as.
        self._made: dict[str, tuple[TaskItem, Message, Message | None]] = {}
        self.view = TranscriptView(theme)
        self.view.rows.is_busy = True
        if jump := self.view.findChild(QPushButton, "jumpToLatest"):
            jump.setText(tr("To the end"))
        self.view.is_at_end = False
        self.empty = EmptyState(
            tr("No results yet"),
            tr("What the items answer is gathered here, in their order."),
            theme=theme,
            icon="list",
        )
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.empty)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.stack)
        self._later = QTimer(self, singleShot=True, interval=_UPDATE_MS)
        self._later.timeout.connect(self._update)
        self.view.action_asked.connect(self._on_action)
        self.view.link_opened.connect(lambda url: QDesktopServices.openUrl(QUrl(url)))

    def show_run(self, run: TaskRun | None) -> None:
        """Show another task."""
        if self._run is not None:
            self._run.changed.disconnect(self._on_changed)
            self._run.summary.changed.disconnect(self._on_changed)
        self._run = run
        self._made.clear()
        if run is not None:
            run.changed.connect(self._on_changed)
            run.summary.changed.connect(self._on_changed)
        self.view.is_at_end = False
        self.view.verticalScrollBar().setValue(0)
        self._update()

    def _on_changed(self) -> None:
        if self.isVisible() and not self._later.isActive():
            self._later.start()

    def _update(self) -> None:
        self._later.stop()
        if not self.isVisible():
            return
        messages = self._messages() if self._run is not None else []
        rows = self.view.rows
        known = {message.id: message for message in rows.messages}
        if list(known) != [message.id for message in messages]:
            rows.set_messages(messages)
        for message in messages:
            if known.get(message.id) != message:
                rows.change(message)
        self.view.update_rows()
        self.stack.setCurrentIndex(0 if messages else 1)

    def _messages(self) -> list[Message]:
        """Results as messages, which is what the transcript shows."""
        assert self._run is not None
        run, made = self._run, []
        summary = run.summary
        if summary.text or summary.is_active:
            note = f"\n\n*{summary.note}*" if summary.note else ""
            text = f"## {tr('Summary')}{note}\n\n{sunk(summary.text) or summary.progress}"
            state: MessageState = "streaming" if summary.is_active else "done"
            made.append(
                Message(id=SUMMARY, conversation="", role="assistant", text=text, state=state)
            )
        for item in run.items:
            reply = run.reply(item.place) if item.state in ("done", "stopped") else None
            if reply is not None and (message := self._message(item, reply)):
                made.append(message)
        return made

    def _message(self, item: TaskItem, reply: Message) -> Message | None:
        """Made once for each reply."""
        known = self._made.get(item.id)
        if known is not None and known[0] is item and known[1] is reply:
            return known[2]
        answer = answer_of(reply.text)
        message = None
        if answer:
            head = _MARKS.sub(r"\\\1", item.text)
            text = f"### {item.place + 1}. {head}\n\n{sunk(answer)}"
            if note := note_of(item.state, answer, item.detail):
                text = f"{ended(text)}\n\n{note}"
            message = msgspec.structs.replace(reply, id=item.id, text=text, state="done")
        self._made[item.id] = (item, reply, message)
        return message

    def _on_action(self, row: str, action: str) -> None:
        run = self._run
        if run is None:
            return
        place = next((item.place for item in run.items if item.id == row), -1)
        if action == "copy":
            text = run.summary.text if row == SUMMARY else run.answer(place)
            QGuiApplication.clipboard().setText(text)
        elif action == "branch":
            message = run.summary.reply if row == SUMMARY else run.items[place].reply
            if message is not None:
                self.branched.emit(message)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Catch up with what came while it was hidden."""
        self._update()
