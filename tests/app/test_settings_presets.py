"""A sampling preset from being made to being gone, by everyone who knows it."""

from collections.abc import Callable, Iterator

import msgspec
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.settings import presets
from app.settings.presets_editor import PresetsEditor
from app.settings.sampling_preset import BALANCED, GREEDY, SamplingPreset
from app.settings.settings import Settings
from app.theme.theme import Theme
from app.widgets.toast import Toast
from tests.helpers.chat_pages import current


@pytest.fixture
def editor(qtbot: QtBot, settings: Settings, theme: Theme) -> Iterator[PresetsEditor]:
    editor = PresetsEditor(settings, theme)
    qtbot.addWidget(editor)
    editor.show()
    yield editor
    settings.close()


def add(settings: Settings, name: str) -> SamplingPreset:
    return presets.add(settings, msgspec.structs.replace(GREEDY, name=name))


def undo(editor: PresetsEditor) -> None:
    toast = editor.window().findChild(Toast)
    assert toast is not None
    toast.button.click()


def test_values_of_a_chat_saved_over_a_preset_leave_its_earlier_names_with_it(
    make_chat_page: Callable[[], ChatPage], settings: Settings
) -> None:
    panel = make_chat_page().panel
    for before, after in (("Dry", "Mine"), ("Wet", "Ours")):
        old = add(settings, before)
        presets.replace(settings, before, msgspec.structs.replace(old, name=after))
    chat = current(panel.parentWidget()).chat  # type: ignore[arg-type]
    chat.conversations.update(chat.id, preset="Ours")
    panel.set_chat(chat)
    panel.fields["temperature"].setValue(1.25)
    panel.save_as("Mine")
    assert settings.preset("Dry").params.temperature == 1.25
    panel.save_as("New")
    presets.remove(settings, "Ours")
    assert settings.preset("Wet").name == settings.get("preset")


def test_a_deleted_preset_comes_back_beside_what_was_done_since(
    editor: PresetsEditor, settings: Settings
) -> None:
    mine, other = add(settings, "Mine"), add(settings, "Other")
    settings.set("preset", "Mine")
    editor.choose("Mine")
    editor.remove_button.click()
    warmer = msgspec.structs.replace(other.params, temperature=1.5)
    presets.replace(settings, "Other", msgspec.structs.replace(other, params=warmer))
    settings.set("preset", "Other")
    undo(editor)
    assert [each.name for each in settings.presets[-2:]] == ["Mine", "Other"]
    assert settings.preset("Mine") == mine
    assert settings.preset("Other").params == warmer
    assert settings.get("preset") == "Other"
    assert editor.chosen == mine


def test_a_deleted_preset_comes_back_beside_a_new_one_of_its_name(
    editor: PresetsEditor, settings: Settings
) -> None:
    mine = add(settings, "Mine")
    editor.choose("Mine")
    editor.remove_button.click()
    new = presets.add(settings, msgspec.structs.replace(BALANCED, name="Mine"))
    undo(editor)
    assert settings.preset("Mine") == new
    assert settings.preset("Mine 2").params == mine.params


def test_what_is_being_typed_is_kept_when_a_copy_is_added(
    editor: PresetsEditor, settings: Settings
) -> None:
    add(settings, "Mine")
    editor.choose("Mine")
    editor.name.setText("Ours")
    editor.fields["top_p"].lineEdit().selectAll()
    QTest.keyClicks(editor.fields["top_p"], editor.locale().toString(0.25))
    editor.add_button.click()
    assert [each.name for each in settings.presets[-2:]] == ["Ours", "Ours 2"]
    assert [each.params.top_p for each in settings.presets[-2:]] == [0.25, 0.25]


def test_names_of_values_stand_above_them_where_letters_are_too_large_for_the_room(
    qtbot: QtBot, editor: PresetsEditor
) -> None:
    (name,) = [each for each in editor.findChildren(QLabel) if each.text() == "Temperature"]
    value = editor.fields["temperature"]

    def is_above() -> bool:
        return name.mapTo(editor, QPoint()).x() == value.mapTo(editor, QPoint()).x()

    editor.setFixedWidth(760)
    qtbot.waitUntil(lambda: editor.width() == 760 and not is_above())
    font = editor.font()
    font.setPointSizeF(font.pointSizeF() * 2)
    editor.setFont(font)
    qtbot.waitUntil(is_above)
