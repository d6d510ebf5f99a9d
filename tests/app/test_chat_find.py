"""Ctrl+F in a chat finds what is shown, however far away and however it is set."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.find_bar import FindBar
from app.chat.transcript_view import TranscriptView
from app.data.conversation import Message
from app.theme.theme import Theme
from tests.helpers.transcripts import message, show

FAR = 2000


@pytest.fixture
def view(qtbot: QtBot, theme: Theme) -> TranscriptView:
    view = TranscriptView(theme)
    qtbot.addWidget(view)
    view.resize(900, 600)
    return view


@pytest.fixture
def bar(qtbot: QtBot, view: TranscriptView, theme: Theme) -> FindBar:
    bar = FindBar(view, theme)
    qtbot.addWidget(bar)
    bar.show()
    return bar


def look_for(bar: FindBar, words: str) -> None:
    bar.field.clear()
    QTest.keyClicks(bar.field, words)


def is_seen(view: TranscriptView) -> bool:
    span = view.selection.span
    assert span is not None
    index = view.rows.index_of(view.selection.message)
    y = view.rows.heights.top(index) + view.rows.row(index).y_of(span[0])
    top = view.verticalScrollBar().value()
    return top <= y <= top + view.viewport().height()


def test_a_word_far_above_is_marked_and_scrolled_to(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    texts = {11: "Somewhere stands a Pelican.", FAR - 3: "The last pelican"}
    show(qtbot, view, [message(n, texts.get(n, "")) for n in range(FAR)])
    look_for(bar, "pelican")
    assert (view.selection.message, view.selected_text()) == (str(FAR - 3), "pelican")
    assert is_seen(view)
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert (view.selection.message, view.selected_text()) == ("11", "Pelican")
    assert is_seen(view)
    assert bar.count.text() == "Message 1 of 2"
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.selection.message == str(FAR - 3)


def test_matches_of_one_message_come_one_by_one_and_then_round(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    show(
        qtbot,
        view,
        [message(0), message(1, "one fish\n\n```\ntwo fish\n```\n\n| a | fish |\n|-|-|")],
    )
    look_for(bar, "fish")
    seen = []
    for _ in range(4):
        seen.append(view.selection.span)
        assert view.selected_text() == "fish"
        QTest.keyClick(bar.field, Qt.Key.Key_F3)
    assert len(set(seen[:3])) == 3
    assert seen[3] == seen[0]
    assert sorted(seen[:3]) == seen[:3]


def test_words_are_found_through_the_markup_between_them(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    show(qtbot, view, [message(0), message(1, "A **bold** word and `x_y`.")])
    look_for(bar, "bold word")
    assert view.selected_text() == "bold word"
    look_for(bar, "x_y")
    assert view.selected_text() == "x_y"


def test_folded_thinking_is_not_searched(qtbot: QtBot, view: TranscriptView, bar: FindBar) -> None:
    show(qtbot, view, [message(0), message(1, "<think>a secret plan</think>The answer.")])
    look_for(bar, "secret")
    assert bar.count.text() == "Not found"
    assert view.selected_text() == ""


def test_what_is_not_there_is_said_and_marks_nothing(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    show(qtbot, view, [message(n) for n in range(6)])
    look_for(bar, "Answer 3")
    assert view.selected_text() == "Answer 3"
    look_for(bar, "walrus")
    assert bar.count.text() == "Not found"
    assert view.selected_text() == ""
    look_for(bar, "")
    assert bar.count.text() == ""


def test_a_match_deep_in_one_long_message_is_scrolled_to(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    lines = "\n\n".join(f"Paragraph {n} with some words." for n in range(3000))
    show(qtbot, view, [message(0), message(1, lines)])
    look_for(bar, "paragraph 1234 ")
    assert is_seen(view)


def test_escape_closes_and_what_is_marked_is_looked_for(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    show(qtbot, view, [message(n) for n in range(4)])
    look_for(bar, "Answer 3")
    with qtbot.waitSignal(bar.closed):
        QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    bar.open_search()
    assert bar.field.text() == "Answer 3"


def test_messages_that_go_while_a_search_is_on_are_not_marked(
    qtbot: QtBot, view: TranscriptView, bar: FindBar
) -> None:
    messages: list[Message] = [message(n) for n in range(4)]
    show(qtbot, view, messages)
    look_for(bar, "Answer 3")
    view.rows.set_messages(messages[:2])
    bar.step(1)
    assert bar.count.text() == "Not found"
