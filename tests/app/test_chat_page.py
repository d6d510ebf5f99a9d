"""The page as a person uses it: tabs, list, composer, settings."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.chat.sampling_choice import chosen
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from app.widgets.toast import Toast
from engine.recommended_sampling import RecommendedSampling
from engine.sampling import SamplingParams
from tests.helpers.chat_pages import current, say, wait_done
from tests.helpers.fake_client import REPLY, FakeClient

Make = Callable[[], ChatPage]


@pytest.fixture
def page(make_chat_page: Make) -> ChatPage:
    return make_chat_page()


def test_a_first_start_has_an_empty_chat(page: ChatPage) -> None:
    assert len(page.tabs.ids) == 1
    assert current(page).chat.messages == []


def test_enter_sends_and_shift_enter_begins_a_line(qtbot: QtBot, page: ChatPage) -> None:
    view = current(page)
    field = view.composer.field
    QTest.keyClicks(field, "one")
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(field, "two")
    QTest.keyClick(field, Qt.Key.Key_Return)
    wait_done(qtbot, view, 2)
    assert [each.text for each in view.chat.messages] == ["one\ntwo", REPLY]


def test_enter_begins_a_line_where_ctrl_enter_sends(
    qtbot: QtBot, page: ChatPage, settings: Settings
) -> None:
    settings.set("send_with", "ctrl+enter")
    view = current(page)
    view.composer.set_text("one")
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
    assert view.chat.messages == []
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    wait_done(qtbot, view, 2)


def test_sixteen_chats_stream_at_once(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    fake_client.reply = lambda request: "word " * 60
    views = []
    for n in range(16):
        page.new_chat()
        views.append(say(qtbot, page, f"Question {n}"))
    qtbot.waitUntil(lambda: len(fake_client.active) == 16, timeout=5000)
    assert len(page.tabs.ids) == 16
    assert sum(page.chats.is_streaming(each) for each in page.tabs.ids) == 16
    qtbot.waitUntil(lambda: not fake_client.active, timeout=20000)
    for view in views:
        wait_done(qtbot, view, 2)
        assert view.chat.messages[1].text.strip() == ("word " * 60).strip()


def test_hidden_chats_are_not_laid_out_while_they_stream(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    fake_client.reply = lambda request: "word " * 40
    first = say(qtbot, page, "One")
    page.new_chat()
    qtbot.waitUntil(lambda: len(first.chat.messages) == 2 and len(first.chat.messages[1].text) > 60)
    assert len(first.transcript.rows.messages) < 2 or not first.transcript.rows.messages[1].text
    page.open_conversation(first.chat.id)
    assert first.transcript.rows.messages[1].text == first.chat.messages[1].text
    wait_done(qtbot, first, 2)


def test_escape_stops_the_reply(qtbot: QtBot, page: ChatPage, fake_client: FakeClient) -> None:
    fake_client.reply = lambda request: "word " * 500
    view = say(qtbot, page, "Go")
    qtbot.waitUntil(lambda: len(view.chat.messages) == 2 and bool(view.chat.messages[1].text))
    QTest.keyClick(view.composer.field, Qt.Key.Key_Escape)
    wait_done(qtbot, view, 2)
    assert view.chat.messages[1].state == "stopped"


def test_a_finished_reply_is_said_to_those_who_do_not_see_it(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    fake_client.reply = lambda request: "<think>Well</think>Paris."
    view = say(qtbot, page, "What is the capital of France?")
    wait_done(qtbot, view, 2)
    assert view.transcript.accessibleDescription() == "Paris."


def test_the_search_of_a_chat_opens_and_gives_the_focus_back(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "Where are the pelicans?")
    wait_done(qtbot, view, 2)
    QTest.keyClick(view.composer.field, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(view.find_bar.field, "pelicans")
    assert view.transcript.selected_text() == "pelicans"
    QTest.keyClick(view.find_bar.field, Qt.Key.Key_Escape)
    assert not view.find_bar.isVisible()
    assert view.composer.field.hasFocus()


def test_closing_a_tab_lets_the_reply_go_on(
    qtbot: QtBot, page: ChatPage, conversations: Conversations
) -> None:
    view = say(qtbot, page, "Go")
    conversation_id = view.chat.id
    qtbot.waitUntil(lambda: view.chat.is_streaming)
    QTest.keyClick(page, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: conversation_id not in page.tabs.ids)
    qtbot.waitUntil(
        lambda: (
            conversations.path(conversation_id)[-1].text == REPLY
            and conversations.path(conversation_id)[-1].state == "done"
        ),
        timeout=10000,
    )


def test_tabs_and_drafts_come_back(qtbot: QtBot, make_chat_page: Make) -> None:
    page = make_chat_page()
    first = say(qtbot, page, "Hello")
    wait_done(qtbot, first, 2)
    page.new_chat()
    current(page).composer.set_text("half a thought")
    ids, shown = page.tabs.ids, current(page).chat.id
    page.close()
    again = make_chat_page()
    assert again.tabs.ids == ids
    assert current(again).chat.id == shown
    assert current(again).composer.text == "half a thought"
    again.open_conversation(ids[0])
    assert [each.text for each in current(again).chat.messages] == ["Hello", REPLY]


def test_a_deleted_chat_can_be_brought_back(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "Keep me")
    wait_done(qtbot, view, 2)
    conversation_id = view.chat.id
    page.list.remove(conversation_id)
    assert conversation_id not in page.tabs.ids
    assert page.list.model.row_of(conversation_id) == -1
    toast = page.findChild(Toast)
    assert toast is not None
    toast.button.click()
    assert current(page).chat.id == conversation_id
    assert current(page).chat.messages[0].text == "Keep me"


def test_a_chat_is_renamed_in_place(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "Old name")
    wait_done(qtbot, view, 2)
    row = page.list.model.row_of(view.chat.id)
    assert page.list.model.setData(page.list.model.index(row), "  New   name ")
    assert view.chat.conversation.title == "New name"
    assert page.tabs.bar.tabText(page.tabs.ids.index(view.chat.id)) == "New name"


def test_a_duplicate_is_another_conversation(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "Hello")
    wait_done(qtbot, view, 2)
    page.list.duplicate(view.chat.id)
    copy = current(page)
    assert copy.chat.id != view.chat.id
    assert [each.text for each in copy.chat.messages] == ["Hello", REPLY]
    assert copy.chat.conversation.title == "Hello (copy)"


def test_a_chat_is_exported_as_markdown(qtbot: QtBot, page: ChatPage, tmp_path: Path) -> None:
    view = say(qtbot, page, "Hello")
    wait_done(qtbot, view, 2)
    page.list.export(view.chat.id, tmp_path / "chat.md")
    text = (tmp_path / "chat.md").read_text()
    assert text.startswith("# Hello\n\n## You\n\nHello\n\n## ")
    assert REPLY in text
    page.list.export(view.chat.id, tmp_path / "no" / "chat.md")
    toast = page.findChild(Toast)
    assert toast is not None
    assert "cannot be written" in toast.text.text()


def test_search_finds_titles_and_texts_and_goes_to_the_message(
    qtbot: QtBot, page: ChatPage, conversations: Conversations
) -> None:
    other = conversations.create(title="Baking")
    for n in range(30):
        conversations.add_message(other.id, "user" if n % 2 == 0 else "assistant", f"text {n}")
    needle = conversations.add_message(other.id, "user", "where is the sourdough starter?")
    conversations.add_message(other.id, "assistant", "in the fridge")
    conversations.flush()
    page.list.search.setText("sourdough")
    qtbot.waitUntil(lambda: page.list.model.rowCount() == 1, timeout=5000)
    index = page.list.model.index(0)
    assert "sourdough" in page.list.model.entry(index).snippet
    page.list.view.clicked.emit(index)
    assert current(page).chat.id == other.id
    assert current(page).transcript.rows.index_of(needle.id) == 30
    page.list.search.setText("")
    qtbot.waitUntil(lambda: page.list.model.rowCount() > 1, timeout=5000)
    conversations.add_message(other.id, "user", "and the rye?", parent=needle.parent)
    assert current(page).transcript.rows.index_of(needle.id) < 0
    page.open_conversation(other.id, needle.id)  # an older version of what was asked
    assert current(page).transcript.rows.index_of(needle.id) == 30


def test_without_a_model_the_text_stays_and_loading_is_offered(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    fake_client.unload()
    view = current(page)
    view.composer.set_text("Precious words")
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
    assert view.composer.text == "Precious words"
    assert view.banner.isVisible()
    with qtbot.waitSignal(page.model_wanted):
        view.banner.button.click()


def test_that_a_model_still_loads_is_said_until_it_has(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    fake_client.n_stages = 40
    fake_client.restart()
    view = current(page)
    qtbot.waitUntil(lambda: fake_client.state.phase == "loading")
    view.chat.send("Hello?")
    done = fake_client.state.done
    qtbot.waitUntil(lambda: fake_client.state.done > done + 2, timeout=5000)
    assert "loading" in view.banner.title.text() and view.banner.isVisible()
    qtbot.waitUntil(lambda: not view.banner.isVisible(), timeout=10000)
    assert fake_client.state.phase == "ready"


def test_editing_gives_the_draft_back(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "First")
    wait_done(qtbot, view, 2)
    view.composer.set_text("a draft")
    view.act(view.chat.messages[0].id, "edit")
    assert view.composer.text == "First"
    view.composer.set_text("First, changed")
    QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.composer.text == "a draft")
    wait_done(qtbot, view, 2)
    assert view.chat.messages[0].text == "First, changed"
    row = view.transcript.rows.row(0)
    qtbot.waitUntil(lambda: (row.actions.version, row.actions.n_versions) == (2, 2))


def test_a_message_is_deleted_after_asking(qtbot: QtBot, page: ChatPage) -> None:
    view = say(qtbot, page, "First")
    wait_done(qtbot, view, 2)
    view.act(view.chat.messages[0].id, "delete")
    box = view.findChild(QMessageBox)
    assert box is not None
    assert box.defaultButton().text() == "Cancel"  # Return deletes nothing
    (delete,) = [each for each in box.findChildren(QPushButton) if each.text() == "Delete"]
    delete.click()
    assert view.chat.messages == []


def test_the_composer_has_the_focus_again_when_the_banner_was_used(
    qtbot: QtBot, page: ChatPage, service: EngineService
) -> None:
    service.unload()
    view = current(page)
    page.activateWindow()
    view.composer.field.setFocus()
    for use in (view.banner.button.click, view.banner.close_button.click):
        view.composer.set_text("A question")
        QTest.keyClick(view.composer.field, Qt.Key.Key_Return)
        qtbot.waitUntil(view.banner.isVisible)
        view.banner.button.setFocus()
        use()
        qtbot.waitUntil(lambda: not view.banner.isVisible() and view.composer.field.hasFocus())


def test_the_settings_of_a_chat_are_what_its_requests_use(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    view = current(page)
    view.settings_asked.emit()
    assert page.panel.isVisible()
    page.panel.prompt.setPlainText("Be brief.")
    page.panel.presets.setCurrentText("Greedy")
    page.panel.presets.activated.emit(page.panel.presets.currentIndex())
    page.panel.fields["max_tokens"].setValue(77)
    page.panel.set_chat(view.chat)
    say(qtbot, page, "Go")
    wait_done(qtbot, view, 2)
    (request,) = fake_client.requests.values()
    assert request.messages[0].content == "Be brief."
    assert request.params.temperature == 0
    assert request.params.max_tokens == 77


def test_a_chat_follows_what_the_model_recommends_until_values_are_chosen(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient
) -> None:
    view = current(page)
    view.settings_asked.emit()
    temperature = page.panel.fields["temperature"]
    assert page.panel.presets.currentText() == "Model's own"
    assert temperature.value() == 0.7
    fake_client.recommend(RecommendedSampling(temperature=0.35, top_k=3))
    qtbot.waitUntil(lambda: temperature.value() == 0.35)
    say(qtbot, page, "Go")
    wait_done(qtbot, view, 2)
    page.panel.fields["top_k"].setValue(9)
    fake_client.recommend(RecommendedSampling(temperature=1.5))
    say(qtbot, page, "And on")
    wait_done(qtbot, view, 4)
    first, second = (request.params for request in fake_client.requests.values())
    assert (first.temperature, first.top_k) == (0.35, 3)
    assert (second.temperature, second.top_k) == (0.35, 9)


def test_what_is_being_typed_stays_when_a_model_that_recommends_nothing_new_is_ready(
    qtbot: QtBot, page: ChatPage, fake_client: FakeClient, service: EngineService
) -> None:
    current(page).settings_asked.emit()
    field = page.panel.fields["temperature"]
    field.selectAll()
    QTest.keyClicks(field, "1.2")
    with qtbot.waitSignal(
        service.state_changed, check_params_cb=lambda state: state.phase == "ready"
    ):
        service.restart()
    assert field.text() == "1.2"
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.value() == 1.2


def test_a_value_that_is_chosen_leaves_the_others_as_they_were(
    page: ChatPage, settings: Settings
) -> None:
    """Also those that the panel has no field for, or fewer digits."""
    form = SamplingParams(min_p=0.001, top_k=5000, stop=("END",), grammar='root ::= "a"')
    settings.set("presets", [SamplingPreset("Form", form)])
    chat = current(page).chat
    chat.conversations.update(chat.id, preset="Form")
    page.panel.set_chat(chat)
    page.panel.fields["temperature"].setValue(0.25)
    page.panel.fixed_seed.click()
    expected = msgspec.structs.replace(form, temperature=0.25)
    own = chosen(settings, chat.conversation.preset)
    assert (own.params, own.fixed_seed) == (expected, True)
    page.panel.save_as("Form 2")
    assert settings.preset("Form 2").params == expected


def test_values_of_a_chat_become_a_preset(page: ChatPage, settings: Settings) -> None:
    page.panel.fields["temperature"].setValue(1.25)
    page.panel.save_as("Lively")
    assert settings.preset("Lively").params.temperature == 1.25
    assert current(page).chat.conversation.preset == "Lively"
    assert page.panel.presets.currentText() == "Lively"


def test_values_saved_under_the_name_of_a_built_in_preset_get_a_name_of_their_own(
    page: ChatPage, settings: Settings
) -> None:
    page.panel.fields["temperature"].setValue(1.25)
    page.panel.save_as("Model's own")
    assert page.panel.presets.currentText() == "Model's own 2"
    assert settings.preset("Model's own 2").params.temperature == 1.25
    assert page.panel.fields["temperature"].value() == 1.25


def test_four_chats_are_seen_side_by_side(qtbot: QtBot, page: ChatPage) -> None:
    for n in range(5):
        page.new_chat()
        say(qtbot, page, f"Question {n}")
    page.tabs.tile_button.setChecked(True)
    shown = [each for each in page.tabs.ids if page.tabs.view(each).isVisible()]  # type: ignore[union-attr]
    assert len(shown) == 4
    assert current(page).isVisible()
    for conversation_id in page.tabs.ids:
        view = page.tabs.view(conversation_id)
        assert view is not None
        wait_done(qtbot, view, 2)
