"""Chats side by side: keys, buttons and settings are about the one that a person is at."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.chat.chat_view import ChatView
from app.data.conversations import Conversations
from tests.helpers.chat_pages import current


@pytest.fixture
def page(
    make_chat_page: Callable[[], ChatPage], conversations: Conversations, qtbot: QtBot
) -> ChatPage:
    page = make_chat_page()
    first = page.tabs.ids[0]
    for n in range(6):
        made = conversations.create(title=f"Chat {n}")
        conversations.add_message(made.id, "user", f"question {n}")
        page.open_conversation(made.id)
    page.close_chat(first)
    page.tabs.tile_button.setChecked(True)
    page.tabs.select(page.tabs.ids[0])
    qtbot.waitUntil(lambda: len(shown(page)) == 4)
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    return page


def shown(page: ChatPage) -> list[ChatView]:
    views = [view for each in page.tabs.ids if (view := page.tabs.view(each)) is not None]
    return [view for view in views if view.isVisible()]


def test_the_settings_are_those_of_the_tile_whose_button_was_pressed(
    page: ChatPage, conversations: Conversations
) -> None:
    first, second, *_ = shown(page)
    for view in (second, first):
        QTest.mouseClick(view.composer.settings_button, Qt.MouseButton.LeftButton)
        assert page.panel.isVisible()
        page.panel.prompt.setPlainText(f"Be as in {view.chat.id}.")
    QTest.mouseClick(first.composer.settings_button, Qt.MouseButton.LeftButton)
    assert not page.panel.isVisible()
    page.panel.save_now()
    for view in (first, second):
        assert conversations.get(view.chat.id).system_prompt == f"Be as in {view.chat.id}."


def test_a_tile_that_has_the_focus_is_current_and_all_stay_where_they_are(
    page: ChatPage, qtbot: QtBot
) -> None:
    before = shown(page)
    third = before[2]
    third.composer.field.setFocus(Qt.FocusReason.MouseFocusReason)
    assert current(page) is third
    assert shown(page) == before
    before[1].transcript.setFocus(Qt.FocusReason.MouseFocusReason)
    assert current(page) is before[1]
    assert before[1].transcript.hasFocus()
    ids = page.tabs.ids
    page.tabs.select(ids[5])
    assert [view.chat.id for view in shown(page)] == ids[2:]
    assert current(page).chat.id == ids[5]
    shown(page)[1].composer.field.setFocus(Qt.FocusReason.MouseFocusReason)
    QTest.keyClick(page, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert page.tabs.ids == [*ids[:3], *ids[4:]]
    assert len(shown(page)) == 4
    assert current(page).chat.id == ids[4]
    assert current(page).composer.field.hasFocus()


def test_the_tile_that_was_current_is_so_when_the_page_is_shown_again(page: ChatPage) -> None:
    second = shown(page)[1]
    second.composer.field.setFocus(Qt.FocusReason.MouseFocusReason)
    page.hide()
    page.show()
    assert current(page) is second
    assert page.focusWidget() is second.composer.field


def test_the_place_of_a_tile_that_is_closed_is_taken_by_the_next(page: ChatPage) -> None:
    ids = page.tabs.ids
    page.list.search.setFocus()
    page.close_chat(ids[2])
    assert [view.chat.id for view in shown(page)] == [*ids[:2], *ids[3:5]]
    assert current(page).chat.id == ids[0]
    assert page.list.search.hasFocus()
