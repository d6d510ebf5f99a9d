"""The page under strain: chats that cannot be read, and more text than a person writes."""

import time
from collections.abc import Callable

import msgspec
import pytest
from PySide6.QtGui import QGuiApplication

from app.chat.chat_page import ChatPage
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.reply_result import ReplyResult
from app.settings.settings import Settings
from app.theme.theme import Theme
from tests.helpers.chat_pages import current


@pytest.fixture
def page(
    service: EngineService, conversations: Conversations, settings: Settings, theme: Theme
) -> ChatPage:
    page = ChatPage(service, conversations, settings, theme)
    page.show()
    return page


def test_a_long_paste_is_there_at_once_whole_and_is_undone_at_once(page: ChatPage) -> None:
    field = current(page).composer.field
    text = "    value = f(x) + 1  # a line\n" * 5_000
    QGuiApplication.clipboard().setText(text)
    field.setPlainText("before ")
    field.moveCursor(field.textCursor().MoveOperation.End)
    begun = time.perf_counter()
    field.paste()
    assert time.perf_counter() - begun < 1
    assert field.toPlainText() == "before " + text
    field.undo()
    assert field.toPlainText() == "before "


def test_a_chat_that_cannot_be_read_keeps_no_other_from_opening(
    service: EngineService, conversations: Conversations, settings: Settings, theme: Theme
) -> None:
    good, bad = conversations.create(title="Good"), conversations.create(title="Bad")
    conversations.add_message(good.id, "user", "Fine")
    conversations.add_message(bad.id, "user", "Lost")
    conversations.store.write("UPDATE message SET parent = id WHERE text = 'Lost'", ())
    conversations.flush()
    conversations._forget(bad.id)  # as after another start
    settings.set("open_chats", [bad.id, good.id])
    settings.set("current_chat", bad.id)
    told: list[str] = []
    conversations.failed.connect(told.append)
    page = ChatPage(service, conversations, settings, theme)
    assert page.tabs.ids == [good.id]
    assert len(told) == 1
    assert "damaged" in told[0]


@pytest.mark.parametrize("seconds", [1e300, -1e300])
def test_a_chat_with_a_time_beyond_every_calendar_is_listed(
    conversations: Conversations, page: ChatPage, seconds: float
) -> None:
    odd = conversations.create(title="Odd")
    conversations._replace(msgspec.structs.replace(odd, updated=seconds))
    conversations.create(title="Next")
    assert page.list.model.row_of(odd.id) >= 0


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE conversation SET kind = 'chqt' WHERE title = 'Odd'",
        "UPDATE message SET result = substr(result, 2) WHERE role = 'assistant'",
        "UPDATE message SET result = '{\"reason\":\"stoq\"}' WHERE role = 'assistant'",
        "UPDATE message SET state = 'donf'",
        "UPDATE message SET role = 'assistanu' WHERE role = 'assistant'",
    ],
)
def test_a_letter_that_a_disk_has_changed_costs_no_chat(
    make_chat_page: Callable[[], ChatPage], conversations: Conversations, change: str
) -> None:
    odd = conversations.create(title="Odd")
    conversations.add_message(odd.id, "user", "Well?")
    result = ReplyResult(reason="stop", n_tokens=3)
    conversations.add_message(odd.id, "assistant", "Very well.", result=result)
    conversations.store.write(change, ())
    conversations.flush()
    conversations._conversations.clear()
    conversations._forget(odd.id)
    conversations._read()  # as after another start
    page = make_chat_page()
    page.open_conversation(odd.id)
    assert [(turn.role, turn.content) for turn in current(page).chat.turns()] == [
        ("user", "Well?"),
        ("assistant", "Very well."),
    ]
    assert page.list.model.row_of(odd.id) >= 0
