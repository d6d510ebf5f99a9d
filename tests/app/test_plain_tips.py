"""Tool tips say names of chats, files and models as they are, also those that look like markup."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as Text
from PySide6.QtGui import QTextDocument
from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.data.conversations import Conversations
from app.models.about_tabs import AboutTabs
from app.models.known_model import known_model
from app.runs.figure_table import FigureTable
from app.theme.theme import Theme
from app.widgets.labels import ElidedLabel
from tests.helpers.fake_jobs import model_info

NAME = "<b>x</b> & <i>y</i>\nz  z"


def said(tip: str) -> str:
    """What a person reads in a tool tip."""
    document = QTextDocument()
    if Text.mightBeRichText(tip):
        document.setHtml(tip)
    else:
        document.setPlainText(tip)
    return document.toPlainText()


def test_the_tip_of_a_line_that_is_cut_says_its_text(qtbot: QtBot) -> None:
    made = ElidedLabel(NAME)
    qtbot.addWidget(made)
    made.resize(30, 20)
    made.show()
    qtbot.waitUntil(lambda: said(made.toolTip()) == NAME)
    made.setText("another " + NAME)
    qtbot.waitUntil(lambda: said(made.toolTip()) == "another " + NAME)


def test_the_tips_of_a_chat_say_its_title(
    make_chat_page: Callable[[], ChatPage], conversations: Conversations
) -> None:
    page = make_chat_page()
    made = conversations.create(title=NAME)
    page.open_conversation(made.id)
    page.tabs.tile_button.setChecked(True)
    line = page.list.model.index(page.list.model.row_of(made.id))
    assert said(line.data(Qt.ItemDataRole.ToolTipRole)) == NAME
    assert said(page.tabs.bar.tabToolTip(page.tabs.ids.index(made.id))) == NAME
    view = page.tabs.view(made.id)
    assert view is not None
    assert view.title.text() == NAME


def test_the_tips_of_a_table_say_what_a_file_says(qtbot: QtBot, theme: Theme) -> None:
    figures = FigureTable(theme)
    qtbot.addWidget(figures)
    figures.show_rows([("Model", NAME)])
    line = figures.topLevelItem(0)
    assert line is not None
    assert said(line.toolTip(1)) == NAME
    about = AboutTabs(theme)
    qtbot.addWidget(about)
    info = model_info(Path("/models/a.gguf"))
    info.metadata.append(("general.author", NAME))
    about.show_model(known_model("id", 0.0, info), info, "")
    found = about.metadata.findItems(NAME, Qt.MatchFlag.MatchExactly, 1)
    assert [said(each.toolTip(1)) for each in found] == [NAME]
