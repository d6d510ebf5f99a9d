"""The settings of a chat show what is set."""

from collections.abc import Callable

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.chat.sampling_choice import chosen
from app.data.conversations import Conversations
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from engine.sampling import SamplingParams
from tests.helpers.chat_pages import current, say, wait_done
from tests.helpers.fake_client import FakeClient


@pytest.fixture
def page(make_chat_page: Callable[[], ChatPage]) -> ChatPage:
    return make_chat_page()


def test_values_are_shown_as_they_are(page: ChatPage, settings: Settings) -> None:
    """Also what has many digits, is large, or is called as nobody expects."""
    odd = SamplingParams(
        min_p=0.005, temperature=0.125, top_k=5000, repeat_penalty=4, seed=2**32 - 1
    )
    settings.set("presets", [SamplingPreset("{Odd}", odd), SamplingPreset("Own values", odd)])
    panel, chat = page.panel, current(page).chat
    chat.conversations.update(chat.id, preset="{Odd}")
    panel.set_chat(chat)
    shown = {name: field.value() for name, field in panel.fields.items()}
    assert (shown["min_p"], shown["temperature"], shown["top_k"]) == (0.005, 0.125, 5000)
    assert shown["repeat_penalty"] == 4 and panel.presets.currentText() == "{Odd}"
    panel.fields["top_p"].setValue(0.5)
    assert panel.presets.currentIndex() == panel.presets.count() - 1
    kept = chosen(settings, chat.conversation.preset).params
    assert kept == msgspec.structs.replace(odd, top_p=0.5)


@pytest.mark.parametrize("how", ["send", "regenerate", "close"])
def test_what_was_just_typed_counts(
    page: ChatPage, fake_client: FakeClient, qtbot: QtBot, how: str
) -> None:
    """Also where a click has left the focus in the field, and typing has not paused yet."""
    view, panel = current(page), page.panel
    chat = view.chat
    if how == "regenerate":
        say(qtbot, page, "Hello")
        wait_done(qtbot, view, 2)
    panel.show()
    panel.prompt.setPlainText("Be brief.")
    panel.fields["top_p"].lineEdit().selectAll()
    QTest.keyClicks(panel.fields["top_p"], panel.locale().toString(0.25))
    if how == "close":
        page.close()
    elif how == "send":
        view.composer.set_text("Hello")
        QTest.mouseClick(view.composer.button, Qt.MouseButton.LeftButton)
        wait_done(qtbot, view, 2)
    else:
        view.act(chat.messages[1].id, "regenerate")
        wait_done(qtbot, view, 2)
    assert chat.conversation.system_prompt == "Be brief."
    assert chosen(page.chats.settings, chat.conversation.preset).params.top_p == 0.25
    if how != "close":
        request = fake_client.requests[max(fake_client.requests)]
        assert request.messages[0].content == "Be brief."
        assert request.params.top_p == 0.25


def test_a_chat_without_messages_is_kept_for_its_system_prompt(
    page: ChatPage, conversations: Conversations
) -> None:
    chat = current(page).chat
    page.panel.prompt.setPlainText("You are a careful assistant.")
    page.close_chat(chat.id)
    assert conversations.get(chat.id).system_prompt == "You are a careful assistant."
    other = current(page).chat
    page.close_chat(other.id)
    assert other.id not in conversations


def test_a_chat_with_a_system_prompt_of_its_own_is_not_taken_for_a_new_one(page: ChatPage) -> None:
    chat = current(page).chat
    page.panel.prompt.setPlainText("You are a careful assistant.")
    page.new_chat()
    new = current(page).chat
    assert new is not chat and new.conversation.system_prompt == ""
    page.new_chat()
    assert current(page).chat is new


def test_what_was_just_typed_goes_with_a_chat_that_is_deleted(page: ChatPage) -> None:
    panel, chat = page.panel, current(page).chat
    panel.show()
    panel.prompt.setPlainText("Be brief.")
    panel.fields["top_p"].lineEdit().selectAll()
    QTest.keyClicks(panel.fields["top_p"], panel.locale().toString(0.25))
    chat.conversations.remove(chat.id)
    assert current(page).chat.id != chat.id
    assert current(page).chat.conversation.system_prompt == ""
    chat.conversations.restore(chat.id)
    assert chat.conversation.system_prompt == ""
