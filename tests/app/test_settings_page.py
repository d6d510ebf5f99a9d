"""The settings page is made from the options: each is found, changed, reset, told when wrong."""

import errno
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.settings import presets
from app.settings.data_move import MovePlan
from app.settings.editors import (
    ChoiceEditor,
    LineEditor,
    NumberEditor,
    ProseEditor,
    ShareEditor,
    SizeEditor,
    SuggestionEditor,
    SwitchEditor,
)
from app.settings.option_row import OptionRow
from app.settings.options import BY_NAME, OPTIONS
from app.settings.sampling_preset import BALANCED, BUILT_IN, GREEDY, SamplingPreset
from app.settings.settings import Settings
from app.settings.settings_page import SettingsPage
from app.settings.shipped import parts
from app.theme.theme import Theme
from app.widgets.toast import Toast
from engine.recommended_sampling import RecommendedSampling
from engine.sampling import SamplingParams


@pytest.fixture
def page(qtbot: QtBot, settings: Settings, theme: Theme) -> Iterator[SettingsPage]:
    page = SettingsPage(settings, theme)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    yield page
    page.shut_down()
    settings.close()


def row(page: SettingsPage, name: str) -> OptionRow:
    rows = [row for section in page.sections.values() for row in section.rows]
    return next(row for row in rows if row.option.name == name)


def search(qtbot: QtBot, page: SettingsPage, text: str) -> list[str]:
    """What is shown after typing `text`."""
    with qtbot.waitSignal(page.search.searched):
        page.search.setText(text)
    rows = [row for section in page.sections.values() for row in section.rows]
    return [row.option.name for row in rows if row.isVisible()]


def test_every_option_with_a_section_is_on_the_page_once(page: SettingsPage) -> None:
    shown = [row.option.name for section in page.sections.values() for row in section.rows]
    wanted = [o.name for o in OPTIONS if o.section and o.kind != "presets"]
    assert sorted(shown) == sorted(wanted)


def test_one_section_is_shown_at_a_time(page: SettingsPage) -> None:
    for title in page.sections:
        page.show_section(title)
        assert [name for name, each in page.sections.items() if each.isVisible()] == [title]


def edit(row: OptionRow, value: object) -> None:
    """Do what a person does to reach a value."""
    editor = row.editor
    match editor:
        case ChoiceEditor():
            editor.box.setCurrentIndex(editor.box.findData(value))
            editor.box.activated.emit(editor.box.currentIndex())
        case SwitchEditor():
            editor.box.click()
        case NumberEditor():
            assert isinstance(value, int | float)
            editor.box.setValue(value)  # type: ignore[arg-type]
        case ShareEditor():
            assert isinstance(value, float)
            editor.slider.setValue(round(value * 100))
        case SizeEditor() | LineEditor():
            editor.line.setText(editor.text_of(value))
            editor.line.editingFinished.emit()
        case SuggestionEditor():
            editor.box.setEditText(str(value))
            line = editor.box.lineEdit()
            assert line
            line.editingFinished.emit()
        case ProseEditor():
            editor.box.setPlainText(str(value))
            editor.box.hide()  # as losing the focus does
            editor.box.show()
        case _:
            raise AssertionError(f"{type(editor)} is not known here")


OTHER_VALUES: dict[str, object] = {
    "theme": "dark",
    "font_size": 13.5,
    "send_with": "ctrl+enter",
    "show_thinking": True,
    "system_prompt": "Be brief.\nBe kind.",
    "preset": "Precise",
    "cache_fraction": 0.55,
    "policy": "lockstep-lfu",
    "store": "gguf",
    "context": 8192,
    "max_requests": 4,
    "n_threads": 3,
    "n_readers": 2,
    "link": "2 GB/s",
    "verify_reads": True,
    "keep_runs": 7,
    "keep_runs_bytes": 250_000_000,
    "keep_crash_reports": False,
    "run_log": False,
}


def test_the_values_tried_are_of_all_options_that_have_others() -> None:
    assert set(OTHER_VALUES) == {o.name for o in OPTIONS if o.section and o.kind != "presets"}


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_an_option_is_changed_shown_and_reset(
    page: SettingsPage, settings: Settings, name: str
) -> None:
    wanted, shown = OTHER_VALUES[name], row(page, name)
    page.show_section(BY_NAME[name].section)
    assert not shown.reset_button.isVisible()
    edit(shown, wanted)
    assert settings.get(name) == wanted
    assert shown.reset_button.isVisible()
    shown.reset_button.click()
    assert settings.is_default(name)
    assert not shown.reset_button.isVisible()


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_a_change_from_elsewhere_is_shown_without_being_taken_for_a_persons(
    page: SettingsPage, settings: Settings, name: str
) -> None:
    edited: list[object] = []
    row(page, name).editor.edited.connect(edited.append)
    settings.set(name, OTHER_VALUES[name])
    again = SettingsPage(settings, Theme("light"))
    assert edited == []
    assert settings.get(name) == OTHER_VALUES[name]
    again.shut_down()


def test_a_value_that_cannot_be_is_told_and_not_taken(
    page: SettingsPage, settings: Settings
) -> None:
    page.show_section("Engine")
    shown = row(page, "link")
    edit(shown, "very fast")
    assert settings.is_default("link")
    assert shown.problem.isVisible()
    assert "very fast" in shown.problem.text()
    edit(shown, "1GB/s")
    assert not shown.problem.isVisible()
    page.show_section("Storage")
    edit_size = row(page, "keep_runs_bytes").editor
    assert isinstance(edit_size, SizeEditor)
    edit_size.line.setText("a lot")
    edit_size.line.editingFinished.emit()
    assert settings.is_default("keep_runs_bytes")


def test_search_shows_what_has_all_words_from_all_sections(
    qtbot: QtBot, page: SettingsPage
) -> None:
    assert search(qtbot, page, "run log") == ["keep_runs", "keep_runs_bytes", "run_log"]
    assert search(qtbot, page, "DARK") == ["theme"]
    assert search(qtbot, page, "n_readers") == ["n_readers"]
    assert search(qtbot, page, "temperature") == []
    assert page.presets.isVisible()
    assert search(qtbot, page, "nothing like that") == []
    assert page.nothing.isVisible()
    search(qtbot, page, "")
    assert page.sections["Appearance"].isVisible()
    assert not page.nothing.isVisible()


def test_choosing_a_section_ends_a_search(qtbot: QtBot, page: SettingsPage) -> None:
    search(qtbot, page, "theme")
    page.list.setCurrentRow(2)
    assert page.search.text() == ""
    qtbot.wait(200)  # the search speaks when typing pauses
    assert page.sections["Engine"].isVisible()
    assert all(row.isVisible() for row in page.sections["Engine"].rows)


def test_ctrl_f_goes_to_the_search(qtbot: QtBot, page: SettingsPage) -> None:
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.search.hasFocus()


def test_the_wheel_scrolls_the_page_and_changes_nothing(
    qtbot: QtBot, page: SettingsPage, settings: Settings
) -> None:
    page.show_section("Engine")
    for name in ("cache_fraction", "store", "context"):
        widget = row(page, name).editor.widget
        event = QWheelEvent(
            QPointF(5, 5),
            QPointF(5, 5),
            QPoint(0, 0),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, event)
        assert settings.is_default(name)


# Presets.


def test_a_copy_of_a_preset_can_be_changed_renamed_and_deleted_with_undo(
    page: SettingsPage, settings: Settings
) -> None:
    page.show_section("Chats")
    editor = page.presets
    editor.choose("Greedy")
    assert not editor.name.isEnabled()
    editor.add_button.click()
    assert editor.chosen.name == "Greedy 2"
    assert editor.chosen.params == GREEDY.params
    editor.name.setText("Mine")
    editor.name.editingFinished.emit()
    editor.fields["temperature"].setValue(0.35)
    editor.stop.setPlainText("END\n\nSTOP")
    editor.fixed.click()
    mine = settings.preset("Mine")
    assert (mine.params.temperature, mine.params.stop) == (0.35, ("END", "STOP"))
    assert not mine.fixed_seed
    settings.set("preset", "Mine")
    editor.remove_button.click()
    assert settings.presets == BUILT_IN
    assert settings.is_default("preset")
    toast = page.window().findChild(Toast)
    assert toast and "Mine" in toast.text.text()
    toast.button.click()
    assert settings.preset("Mine") == mine
    assert settings.get("preset") == "Mine"


def test_a_copy_of_the_models_own_preset_has_values_of_its_own(
    page: SettingsPage, settings: Settings
) -> None:
    page.show_section("Chats")
    editor = page.presets
    editor.choose("Model's own")
    assert "recommends" in editor.hint.text()
    editor.add_button.click()
    assert editor.chosen.name == "Model's own 2"
    recommended = RecommendedSampling(temperature=0.3)
    assert editor.chosen.params_for(recommended).temperature == BALANCED.params.temperature


def test_what_nobody_touched_of_a_preset_stays_as_it_is(
    page: SettingsPage, settings: Settings
) -> None:
    params = SamplingParams(
        temperature=6.125, top_k=5000, min_p=0.005, max_tokens=2**31 - 1, stop=("\nUser:",)
    )
    settings.set("presets", [SamplingPreset("Mine", params)])
    page.show_section("Chats")
    editor = page.presets
    editor.choose("Mine")
    shown = [editor.fields[name].value() for name in ("temperature", "top_k", "min_p")]
    assert shown == [6.125, 5000, 0.005]
    editor.fields["top_p"].setValue(0.5)
    assert settings.preset("Mine").params == msgspec.structs.replace(params, top_p=0.5)
    editor.choose(BALANCED.name)
    assert editor.fields["temperature"].decimals() == 2


def test_a_preset_that_cannot_be_is_told_and_not_saved(
    page: SettingsPage, settings: Settings
) -> None:
    page.show_section("Chats")
    mine = presets.add(settings, GREEDY)
    editor = page.presets
    editor.choose(mine.name)
    editor.name.setText("Balanced")
    editor.name.editingFinished.emit()
    assert "Balanced" in editor.problem.text()
    assert editor.problem.isVisible()
    editor.name.setText(mine.name)
    editor.grammar.setPlainText("root ::= " + "(" * 300)
    assert "parentheses" in editor.problem.text()
    assert settings.presets == (*BUILT_IN, mine)


def test_a_renamed_preset_stays_the_one_of_new_chats(settings: Settings) -> None:
    mine = presets.add(settings, GREEDY)
    settings.set("preset", mine.name)
    presets.replace(settings, mine.name, msgspec.structs.replace(mine, name="Other"))
    assert settings.get("preset") == "Other"
    settings.close()


def test_chats_and_tasks_find_a_preset_that_was_renamed(settings: Settings) -> None:
    mine = presets.add(settings, GREEDY)
    for before, after in ((mine.name, "Mine"), ("Mine", "Ours"), ("Ours", "Mine")):
        named = msgspec.structs.replace(settings.preset(before), name=after, formerly=())
        presets.replace(settings, before, named)
        assert settings.preset(before).name == settings.preset(mine.name).name == after
    assert settings.preset("Ours").name == "Mine"
    other = presets.add(settings, msgspec.structs.replace(BALANCED, name="Ours"))
    assert settings.preset("Ours") == other
    presets.replace(settings, "Ours", msgspec.structs.replace(other, name="Theirs"))
    assert settings.preset("Ours").name == "Theirs"
    settings.close()
    assert Settings(settings.path).preset(mine.name).name == "Mine"
    presets.remove(settings, "Mine")
    assert settings.preset(mine.name).name == settings.get("preset")


# The data folder.


def test_a_proposal_that_fails_leaves_no_earlier_one_to_be_taken(
    qtbot: QtBot, page: SettingsPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(target: Path) -> MovePlan:
        if target.name == "bad":
            raise OSError(errno.EIO, "Input/output error")
        return MovePlan(source="/a", target=str(target))

    monkeypatch.setattr("app.settings.data_folder_view.plan_move", plan)
    page.show_section("Storage")
    view = page.data_folder
    view.propose(tmp_path / "good")
    qtbot.waitUntil(view.move_button.isVisible)
    view.propose(tmp_path / "bad")
    qtbot.waitUntil(lambda: "Input/output error" in view.outcome.text())
    assert view.outcome.isVisible()
    assert not view.move_button.isVisible()


# About.


def test_about_names_everything_that_the_program_needs(qtbot: QtBot, page: SettingsPage) -> None:
    page.show_section("About")
    qtbot.waitUntil(lambda: page.about.list.topLevelItemCount() > 10)
    names = {part.name.lower().replace("_", "-") for part in parts()}
    assert {"runahead", "python", "numpy", "llama-cpp-python", "msgspec", "nanobind"} <= names
    assert all(part.licence for part in parts())
    assert sum(bool(part.text) for part in parts()) > 10
    item = page.about.list.topLevelItem(0)
    page.about.list.setCurrentItem(item)
    assert "Apache License" in page.about.text.toPlainText()
    page.about.copy_button.click()
    clipboard = QApplication.clipboard()
    assert "numpy" in clipboard.text()
