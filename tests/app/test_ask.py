"""A question before something is lost goes on asking the same, whatever changes meanwhile."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.theme.theme import Theme
from app.widgets.ask import ask


@pytest.mark.parametrize("option", ["", "Delete its file too"])
def test_return_deletes_nothing_after_the_theme_has_changed(
    qtbot: QtBot, dressed: Theme, option: str
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    answers: list[bool] = []
    box = ask(
        window,
        "Delete it?",
        "It is gone then.",
        "Delete",
        answers.append,
        option=option,
        danger=True,
    )
    qtbot.waitUntil(box.isActiveWindow)
    cancel = box.escapeButton()
    assert box.focusWidget() is cancel
    dressed.set_mode("dark")
    dressed.set_font_size(12)
    assert box.focusWidget() is cancel
    buttons = [each for each in box.buttons() if isinstance(each, QPushButton)]
    assert [each for each in buttons if each.isDefault()] == [cancel]
    QTest.keyClick(box.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not box.isVisible())
    assert answers == []
