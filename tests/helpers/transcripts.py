"""What tests do with a TranscriptView: made-up messages, shown and laid out."""

from pytestqt.qtbot import QtBot

from app.chat.transcript_view import TranscriptView
from app.data.conversation import Message, MessageState

PARAGRAPH = "Some words that fill a line or two, so that a paragraph has a height. " * 3


def message(n: int, text: str = "", *, state: MessageState = "done") -> Message:
    role = "assistant" if n % 2 else "user"
    text = text or (f"Answer {n}\n\n" + PARAGRAPH * 3 if n % 2 else f"Question {n}")
    return Message(id=str(n), conversation="c", role=role, text=text, state=state)


def show(qtbot: QtBot, view: TranscriptView, messages: list[Message]) -> None:
    view.rows.set_messages(messages)
    view.show()
    qtbot.waitExposed(view)
    view.update_rows()
    settle(qtbot, view)


def settle(qtbot: QtBot, view: TranscriptView) -> None:
    qtbot.waitUntil(lambda: not view._work.isActive(), timeout=5000)
