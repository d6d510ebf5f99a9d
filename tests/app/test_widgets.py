"""Small widgets keep to what their docstrings say."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.theme.theme import Theme
from app.widgets.banner import Banner
from app.widgets.empty_state import EmptyState
from app.widgets.font_sizes import follow_font, scaled
from app.widgets.icon_button import IconButton
from app.widgets.labels import ElidedLabel, label
from app.widgets.progress_row import ProgressRow
from app.widgets.search_field import SearchField
from app.widgets.side_splitter import SideSplitter
from app.widgets.toast import Toast


def test_labels_never_take_what_models_say_for_markup(qtbot: QtBot) -> None:
    made = label("<b>not bold</b>")
    qtbot.addWidget(made)
    assert made.textFormat() is Qt.TextFormat.PlainText


def test_a_long_line_gives_way_and_is_whole_in_the_tip(qtbot: QtBot) -> None:
    made = ElidedLabel("a model with a very long name " * 5)
    qtbot.addWidget(made)
    made.resize(120, 20)
    made.show()
    qtbot.waitUntil(lambda: made.toolTip() == made.text())
    made.resize(4000, 20)
    qtbot.waitUntil(lambda: made.toolTip() == "")
    assert made.minimumSizeHint().width() < 60


def test_searching_waits_for_a_pause_and_escape_empties(qtbot: QtBot, theme: Theme) -> None:
    field = SearchField(theme, "Search")
    qtbot.addWidget(field)
    said: list[str] = []
    field.searched.connect(said.append)
    QTest.keyClicks(field, "two words ")
    qtbot.waitUntil(lambda: said == ["two words"])
    QTest.keyClick(field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: said == ["two words", ""])


def test_progress_is_a_share_where_the_total_is_known(qtbot: QtBot, theme: Theme) -> None:
    row = ProgressRow(theme, "Packing")
    qtbot.addWidget(row)
    assert row.bar.maximum() == 0
    row.set_progress("Packing", 5 << 40, 10 << 40)
    assert (row.bar.value(), row.share.text()) == (row.bar.maximum() // 2, "50%")
    with qtbot.waitSignal(row.cancelled):
        row.cancel_button.click()


def test_a_toast_can_be_undone_once_and_a_newer_takes_its_place(qtbot: QtBot, theme: Theme) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(800, 600)
    window.show()
    done: list[str] = []
    toast = Toast.show_over(window, "Deleted.", "Undo", lambda: done.append("undone"))
    assert window.rect().contains(toast.geometry())
    toast.button.click()
    assert done == ["undone"]
    assert not toast.isVisible()
    assert Toast.show_over(window, "Next", shown_ms=10) is toast
    assert not toast.button.isVisible()
    qtbot.waitUntil(lambda: not toast.isVisible())


def test_a_toast_with_a_long_path_shows_how_it_ends(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(500, 300)
    window.show()
    path = "folder/" * 40
    toast = Toast.show_over(window, f"{path} cannot be written: no space left", "Undo")
    assert window.rect().contains(toast.geometry())
    assert (
        toast.text.minimumSizeHint().width() <= toast.text.width() < toast.text.sizeHint().width()
    )
    assert toast.button.width() >= toast.button.minimumSizeHint().width()
    qtbot.waitUntil(lambda: toast.text.toolTip() == toast.text.text())


def test_a_toast_makes_way_for_what_is_typed(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(500, 300)
    field = QLineEdit(window)
    field.setGeometry(0, 220, 500, 60)
    window.show()
    toast = Toast.show_over(window, "Deleted.", "Undo")
    place = toast.pos()
    field.setFocus()
    qtbot.waitUntil(lambda: toast.geometry().bottom() < field.y())
    assert toast.x() == place.x()
    field.setGeometry(0, 0, 500, 300)  # there is no room above it
    qtbot.waitUntil(lambda: toast.y() < 20)
    assert window.rect().contains(toast.geometry())


def test_a_banner_acts_once_and_can_be_closed(qtbot: QtBot, theme: Theme) -> None:
    banner = Banner(theme)
    qtbot.addWidget(banner)
    done: list[str] = []
    banner.tell("Stopped", "why", action="Restart", on_action=lambda: done.append("restart"))
    banner.button.click()
    assert done == ["restart"]
    assert not banner.isVisible()
    banner.tell("Stopped")
    with qtbot.waitSignal(banner.closed):
        banner.close_button.click()


@pytest.mark.parametrize("action", ["", "Add"])
def test_an_empty_state_shows_only_the_buttons_it_has(
    qtbot: QtBot, theme: Theme, action: str
) -> None:
    state = EmptyState("Nothing here", "Add something.", action, theme=theme, icon="models")
    qtbot.addWidget(state)
    state.show()
    assert state.button.isVisible() == bool(action)
    assert not state.second_button.isVisible()


def test_icon_buttons_have_a_name_and_follow_the_theme(qtbot: QtBot, theme: Theme) -> None:
    button = IconButton(theme, "add", "New chat", shortcut="Ctrl+N")
    qtbot.addWidget(button)
    assert button.accessibleName() == "New chat"
    assert "Ctrl+N" in button.toolTip()
    before = button.icon().pixmap(20, 20).toImage()
    theme.set_mode("dark")
    assert button.icon().pixmap(20, 20).toImage() != before


def test_a_list_gives_way_when_the_window_is_narrow_and_comes_back(qtbot: QtBot) -> None:
    for turns in (True, False):
        side, main = QWidget(), QWidget()
        side.setMinimumWidth(200)
        main.setMinimumWidth(300)
        splitter = SideSplitter(side, main, 240, turns=turns)
        qtbot.addWidget(splitter)
        splitter.resize(700, 400)
        splitter.show()
        assert (side.isVisible(), side.x(), main.y()) == (True, 0, 0)
        assert side.width() < main.width()
        splitter.resize(450, 400)
        assert splitter.is_narrow
        qtbot.waitUntil(lambda: main.width() == 450)  # noqa: B023
        assert side.isVisible() == turns
        assert (main.y() > side.y()) == turns
        splitter.resize(700, 400)
        assert side.isVisible()
        assert main.x() > side.width() - 1
        assert main.y() == 0


def test_lengths_follow_the_font_and_are_never_less(qtbot: QtBot) -> None:
    widget = QLabel("text")
    qtbot.addWidget(widget)
    fitted: list[int] = []
    follow_font(widget, lambda: fitted.append(scaled(widget, 100)))
    font = widget.font()
    for points in (6, 30):
        font.setPointSizeF(points)
        widget.setFont(font)
    assert fitted[1] == 100
    assert fitted[-1] > 200
