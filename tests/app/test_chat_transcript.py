"""The transcript lays out what is seen, holds still while it does, and lets text be marked."""

import time

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.chat.body import Body
from app.chat.chat_style import MESSAGE_GAP, ChatStyle
from app.chat.fold_piece import FoldPiece
from app.chat.heights import Heights
from app.chat.piece import TextPiece
from app.chat.row import Live, Row
from app.chat.transcript_view import TranscriptView
from app.data.conversation import Message
from app.reply_result import ReplyResult
from app.theme.theme import Theme
from tests.helpers.transcripts import PARAGRAPH, message, settle, show


@pytest.fixture
def view(qtbot: QtBot, theme: Theme) -> TranscriptView:
    view = TranscriptView(theme)
    qtbot.addWidget(view)
    view.resize(900, 600)
    return view


def n_laid_out(view: TranscriptView) -> int:
    made = [view.rows.made(n) for n in range(len(view.rows.messages))]
    return sum(1 for row in made if row and any(piece.is_laid_out for piece in row.body.pieces))


def test_sums_of_heights_follow_every_change() -> None:
    heights = Heights(top=10, bottom=5)
    heights.reset([3, 4])
    heights.append(5)
    assert (heights.top(0), heights.top(2), heights.total) == (10, 17, 27)
    assert heights.set(0, 30)
    assert heights.top(1) == 40
    assert [heights.index_at(y) for y in (0, 39, 40, 1000)] == [0, 0, 1, 2]


def test_only_what_is_near_the_viewport_is_laid_out(qtbot: QtBot, view: TranscriptView) -> None:
    show(qtbot, view, [message(n) for n in range(2000)])
    assert 2 <= n_laid_out(view) < 60
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() // 2)
    settle(qtbot, view)
    assert 2 <= n_laid_out(view) < 120


def test_a_conversation_opens_at_its_end(qtbot: QtBot, view: TranscriptView) -> None:
    show(qtbot, view, [message(n) for n in range(100)])
    assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum() > 0


def test_a_question_is_not_cut_for_empty_space_below_its_answer(
    qtbot: QtBot, view: TranscriptView
) -> None:
    show(qtbot, view, [message(0), message(1)])
    last = view.rows.row(1)
    footer_end = view.rows.heights.top(1) + last.height - MESSAGE_GAP
    view.resize(900, footer_end + MESSAGE_GAP + 4)  # a small tile, which just has room for both
    settle(qtbot, view)
    assert view.verticalScrollBar().maximum() == 0


def test_what_is_read_holds_still_while_heights_become_exact(
    qtbot: QtBot, view: TranscriptView
) -> None:
    show(qtbot, view, [message(n) for n in range(200)])
    bar = view.verticalScrollBar()
    for _ in range(60):  # upwards, into rows whose heights are estimates
        before = {
            row.message.id: view.rows.heights.top(n) - bar.value()
            for n in range(200)
            if (row := view.rows.made(n)) and row.body.pieces[0].is_laid_out
        }
        value = bar.value()
        bar.setValue(value - 150)
        moved = value - 150
        settle(qtbot, view)
        for message_id, place in before.items():
            index = view.rows.index_of(message_id)
            now = view.rows.heights.top(index) - bar.value()
            if 0 <= place + 150 < view.viewport().height():
                assert abs(now - (place + 150)) <= 2
        assert moved > 0


def test_the_end_is_followed_only_while_the_reader_is_there(
    qtbot: QtBot, view: TranscriptView
) -> None:
    messages = [message(n) for n in range(40)]
    messages.append(message(41, "a", state="streaming"))
    show(qtbot, view, messages)
    bar = view.verticalScrollBar()

    def grow(text: str) -> None:
        view.rows.change(message(41, text, state="streaming"))
        view.update_rows()

    grow(PARAGRAPH * 10)
    assert bar.value() == bar.maximum()
    bar.setValue(bar.maximum() - 400)
    settle(qtbot, view)
    place = bar.value()
    grow(PARAGRAPH * 30)
    assert bar.value() == place < bar.maximum()
    assert view._jump.isVisible()
    view._jump.click()
    settle(qtbot, view)
    assert bar.value() == bar.maximum()
    assert not view._jump.isVisible()


def test_text_of_a_message_is_marked_with_the_mouse_and_copied(
    qtbot: QtBot, view: TranscriptView
) -> None:
    show(qtbot, view, [message(1, "First words here.\n\nSecond **bold** part.")])
    row = view.rows.row(0)
    left = view._column.left()
    y = view.rows.heights.top(0) - view.verticalScrollBar().value()
    start = QPoint(left + 1, y + 8)
    end = QPoint(left + 700, y + int(row.body.top_of(1)) + 8)
    QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=start)
    move_to(view, end)
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=end)
    assert view.selected_text() == "First words here.\n\nSecond bold part."
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "First words here.\n\nSecond bold part."


def move_to(view: TranscriptView, place: QPoint) -> None:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent

    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(place),
        view.viewport().mapToGlobal(QPointF(place)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    view.mouseMoveEvent(event)


def click(view: TranscriptView, x: float, y: float) -> None:
    place = QPoint(int(x), int(y))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_code_is_copied_by_its_button(qtbot: QtBot, view: TranscriptView) -> None:
    show(qtbot, view, [message(1, "```python\nprint(1)\nprint(2)\n```")])
    y = view.rows.heights.top(0) - view.verticalScrollBar().value()
    click(view, view._column.right() - 30, y + 12)
    assert QGuiApplication.clipboard().text() == "print(1)\nprint(2)"


def test_a_line_of_code_without_an_end_does_not_block_and_is_copied_whole(
    qtbot: QtBot, view: TranscriptView
) -> None:
    code = "a = [" + "1, " * 100_000 + "]\nb = 2"
    begun = time.perf_counter()
    show(qtbot, view, [message(1, f"```python\n{code}\n```")])
    row = view.rows.row(0)
    while not row.body.is_read:
        row.body.read_on(time.perf_counter() + 0.01)
    assert time.perf_counter() - begun < 5
    assert row.text_between(*row.whole()).strip() == code


@pytest.mark.parametrize("line", ["x" * 300_000, "word " * 60_000, "a\n" + "y" * 9_000 + "\nb"])
def test_what_a_person_pastes_as_one_endless_line_does_not_block_and_stays_whole(
    qtbot: QtBot, view: TranscriptView, line: str
) -> None:
    begun = time.perf_counter()
    show(qtbot, view, [message(0, line)])
    assert time.perf_counter() - begun < 3
    row = view.rows.row(0)
    assert row.text_between(*row.whole()) == line


def test_thinking_is_folded_and_unfolds_with_a_click(qtbot: QtBot, view: TranscriptView) -> None:
    show(qtbot, view, [message(1, f"<think>{PARAGRAPH}</think>Answer.")])
    row = view.rows.row(0)
    assert len(row.body.pieces) == 2
    folded = row.height
    y = view.rows.heights.top(0) - view.verticalScrollBar().value()
    click(view, view._column.left() + 40, y + 8)
    assert row.height > folded
    assert len(row.body.pieces) == 3
    click(view, view._column.left() + 40, y + 8)
    assert row.height == folded


def test_a_click_on_a_link_asks_to_open_it(qtbot: QtBot, view: TranscriptView) -> None:
    show(qtbot, view, [message(1, "[here](https://example.org/a)")])
    y = view.rows.heights.top(0) - view.verticalScrollBar().value()
    with qtbot.waitSignal(view.link_opened) as opened:
        click(view, view._column.left() + 8, y + 8)
    assert opened.args == ["https://example.org/a"]


def test_a_failed_reply_keeps_its_text_says_why_and_offers_to_retry(
    qtbot: QtBot, view: TranscriptView
) -> None:
    failed = Message(
        id="1",
        conversation="c",
        role="assistant",
        text="Half an",
        state="failed",
        result=ReplyResult(reason="error", detail="The disk was pulled out."),
    )
    show(qtbot, view, [failed])
    row = view.rows.row(0)
    assert "Half an" in row.text_between(*row.whole())
    assert "The disk was pulled out." in row.text_between(*row.whole())
    piece = row.body.pieces[-1]
    y = view.rows.heights.top(0) - view.verticalScrollBar().value() + row.body.top_of(1)
    with qtbot.waitSignal(view.action_asked) as asked:
        click(view, view._column.right() - 45, y + piece.height / 2)
    assert asked.args == ["1", "regenerate"]


def test_a_reply_that_grows_renders_its_open_end_only(qapp: object, theme: Theme) -> None:
    row = Row(message(1, "One.\n\nTwo.\n\nThr", state="streaming"), ChatStyle(theme))
    shown = {"is_busy": True, "is_last": True, "shows_thinking": False}
    row.set_message(row.message, Live(), **shown)
    row.set_width(700)
    row.lay_out(0, 1000, time.perf_counter() + 5)
    first, second = row.body.pieces[:2]
    row.set_message(
        message(1, "One.\n\nTwo.\n\nThree.\n\nFour", state="streaming"), Live(), **shown
    )
    assert row.body.pieces[0] is first
    assert row.body.pieces[1] is second
    assert len(row.body.pieces) == 4


def test_thinking_says_how_much_it_is_and_that_it_goes_on_until_it_is_stopped(
    qapp: object, theme: Theme
) -> None:
    body = Body(ChatStyle(theme))

    def said(text: str, *, is_final: bool) -> list[str]:
        body.set_reply(text, is_final=is_final, shows_thinking=False)
        return [each.label for each in body.pieces if isinstance(each, FoldPiece)]

    assert said("<think>one two", is_final=False) == ["Thinking: 2 words…"]
    assert said("<think>one two", is_final=True) == ["Thought: 2 words"]
    assert said("<think>one</think>Yes", is_final=False) == ["Thought: 1 word"]


def test_thinking_may_be_unfolded_while_the_answer_streams(qapp: object, theme: Theme) -> None:
    text = "<think>Hm.</think>Look:\n\n```python\nprint(1)\nprint(2)\n```\n\nThat is *all*."
    whole, grown = Body(ChatStyle(theme)), Body(ChatStyle(theme))
    whole.set_reply(text, is_final=True, shows_thinking=False)
    grown.set_reply(text[:45], is_final=False, shows_thinking=False)
    grown.fold(0)
    grown.set_reply(text[:60], is_final=False, shows_thinking=False)
    grown.fold(0)
    grown.set_reply(text, is_final=True, shows_thinking=False)
    assert [piece.key for piece in grown.pieces] == [piece.key for piece in whole.pieces]


def test_a_huge_message_does_not_block(qtbot: QtBot, view: TranscriptView) -> None:
    """Reading it goes in steps: no step may take as long as all of it would."""
    text = (PARAGRAPH + "\n\n") * 3000
    show(qtbot, view, [message(0), message(1, text)])
    view.verticalScrollBar().setValue(0)
    qtbot.waitUntil(lambda: view.rows.row(1).body.is_read, timeout=20000)
    laid_out = [piece for piece in view.rows.row(1).body.pieces if piece.is_laid_out]
    assert len(view.rows.row(1).body.pieces) == 3000
    assert len(laid_out) < 400


def test_the_theme_changes_what_is_shown(qtbot: QtBot, view: TranscriptView, theme: Theme) -> None:
    show(qtbot, view, [message(0), message(1)])
    light = view.grab().toImage().pixelColor(5, 5).lightness()
    theme.set_mode("dark")
    settle(qtbot, view)
    assert view.grab().toImage().pixelColor(5, 5).lightness() < light


def test_another_theme_asks_again_what_is_known_of_the_messages(
    qtbot: QtBot, view: TranscriptView, theme: Theme
) -> None:
    show(qtbot, view, [message(0), message(1)])
    shown: list[str] = []
    view.row_shown.connect(shown.append)
    theme.set_mode("dark")
    assert set(shown) == {"0", "1"}


def test_a_list_inside_a_list_stands_further_in(qtbot: QtBot, view: TranscriptView) -> None:
    text = "1. Pack\n   - the tent\n     - its poles\n2. Leave"
    show(qtbot, view, [message(0), message(1, text)])
    (piece,) = view.rows.row(1).body.pieces
    assert isinstance(piece, TextPiece) and piece.document is not None
    block, places = piece.document.begin(), {}
    while block.isValid():
        cursor = QTextCursor(block)
        places[block.text().strip()] = cursor.currentList().format().indent()
        block = block.next()
    assert places == {"Pack": 1, "the tent": 2, "its poles": 3, "Leave": 1}
