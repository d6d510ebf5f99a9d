"""TranscriptView: a conversation on the screen, however long it is."""

import time

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from app.chat.chat_style import COLUMN, MARGIN, ChatStyle
from app.chat.code_piece import COPY, CodeHead
from app.chat.fold_piece import FOLD
from app.chat.jump_button import JumpButton
from app.chat.markdown import SAFE_LINK
from app.chat.row import Place, Row
from app.chat.selection import Selection
from app.chat.status_piece import RETRY
from app.chat.transcript_rows import Anchor, TranscriptRows
from app.language import tr
from app.theme.theme import Theme
from app.widgets.plain import plain

# Of 33 ms per frame; the rest is for painting and for other widgets.
VISIBLE_BUDGET_S = 0.012
IDLE_BUDGET_S = 0.006
AT_END = 8  # pixels from the end that still count as the end


class TranscriptView(QAbstractScrollArea):
    """Paints the rows near the viewport. Sticks to the end only while the reader is there.

    What is not laid out within a frame's budget is painted as grey lines, and laid out next; what
    is seen never moves while heights elsewhere become exact.

    Signals:
        action_asked: A button of a message. args: message id, action.
        link_opened: A click on a link. arg: its address.
        context_asked: A menu is wanted. args: message id, global position.
        row_shown: A message came into view. arg: message id.
    """

    action_asked = Signal(str, str)
    link_opened = Signal(str)
    context_asked = Signal(str, QPoint)
    row_shown = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None):
        super().__init__(parent)
        self._theme = theme
        self.rows = TranscriptRows(ChatStyle(theme))
        self.selection = Selection()
        self.is_at_end = True
        self._pointer: QPointF | None = None  # in the viewport
        self._pressed = ""  # target below the mouse when it went down
        self._shown: set[str] = set()
        self._forgot_at = 0  # where the view was when far layouts were given up last
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Conversation"))
        self.viewport().setMouseTracking(True)
        self.verticalScrollBar().setSingleStep(40)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._work = QTimer(self)
        self._work.setInterval(0)
        self._work.setSingleShot(True)
        self._work.timeout.connect(self._on_idle)
        self._jump = JumpButton(theme, self.viewport())
        self._jump.clicked.connect(self.scroll_to_end)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    # Content; `rows` is changed by the owner, who then calls `update_rows`.

    def update_rows(self) -> None:
        """Show what `rows` has become."""
        self._sync()
        self.viewport().update()

    def scroll_to_end(self) -> None:
        """Show the latest and stay there."""
        self.is_at_end = True
        self.update_rows()

    def scroll_to(self, message_id: str) -> None:
        """Show a message at the top."""
        index = self.rows.index_of(message_id)
        if index >= 0:
            self.is_at_end = False
            self._sync()
            self.verticalScrollBar().setValue(self.rows.heights.top(index) - 12)

    def mark(self, message_id: str, start: Place, end: Place) -> None:
        """Mark what is between two places, and scroll to it unless it is seen; "" marks nothing."""
        self.selection.begin(message_id, start, end)
        index = self.rows.index_of(message_id)
        if index >= 0:
            row = self.rows.row(index)
            inner = row.y_of(start)
            self.rows.heights.set(index, row.height)
            self.is_at_end = False
            self._sync()
            y = self.rows.heights.top(index) + inner
            height = self.viewport().height()
            if not self._top <= y <= self._top + height - 40:
                self.verticalScrollBar().setValue(round(y - height / 3))
        self.viewport().update()

    def first_seen(self) -> str:
        """The message at the top; "" when there is none."""
        index = self.rows.heights.index_at(self._top)
        return self.rows.messages[index].id if index >= 0 else ""

    def selected_text(self) -> str:
        """What is marked, as plain text."""
        span = self.selection.span
        index = self.rows.index_of(self.selection.message)
        if span is None or index < 0:
            return ""
        return self.rows.row(index).text_between(*span)

    # Scrolling and layout.

    @property
    def _top(self) -> int:
        return self.verticalScrollBar().value()

    @property
    def _column(self) -> QRect:
        # Of the whole width, so that the scroll bar moves nothing when it comes.
        column = min(COLUMN, max(120, self.width() - 2 * MARGIN))
        return QRect((self.width() - column) // 2, 0, column, self.viewport().height())

    def _sync(self) -> None:
        """Lay out what is seen, without moving it; at the end, stay at the end."""
        height = self.viewport().height()
        deadline = time.perf_counter() + VISIBLE_BUDGET_S
        for _ in range(4):  # exact heights may bring other rows into view
            anchor = self.rows.anchor(self._top, self._top + height)
            before = self.rows.heights.total
            self._settle(anchor)
            top = self._top
            done = self.rows.lay_out(top, top + height, deadline)
            if self.rows.heights.total == before and top == self._top:
                break
            self._settle(anchor)
            if not done:
                break
        self._work.start(0 if not done else 12)
        self._tell_shown()

    def _settle(self, anchor: Anchor | None) -> None:
        """Bring the scroll bar in line with the heights."""
        bar = self.verticalScrollBar()
        height = self.viewport().height()
        most = max(0, self.rows.heights.total - height)
        value = bar.value()
        if self.is_at_end:
            value = most
        elif anchor is not None:
            value = self.rows.scroll_for(anchor) or 0
        blocked = bar.blockSignals(True)
        bar.setPageStep(height)
        bar.setRange(0, most)
        bar.setValue(value)
        bar.blockSignals(blocked)
        self._jump.setVisible(not self.is_at_end and most > 0)

    def _on_scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        self.is_at_end = value >= bar.maximum() - AT_END
        self._sync()
        self.viewport().update()

    def _on_idle(self) -> None:
        """Lay out beyond the viewport and find colours, a little at a time."""
        if not self.isVisible():
            return
        height = self.viewport().height()
        deadline = time.perf_counter() + IDLE_BUDGET_S
        top = self._top
        anchor = self.rows.anchor(top, top + height)
        total = self.rows.heights.total
        done = self.rows.lay_out(top, top + height, deadline)
        done = done and self.rows.lay_out(top - height, top + 2 * height, deadline)
        changed = total != self.rows.heights.total
        if changed or not done:
            self._settle(anchor)
            self.viewport().update()
        coloured = True
        if done:
            changed, coloured = self.rows.colour(top, top + height, deadline)
            if changed:
                self.viewport().update()
            if abs(top - self._forgot_at) > 2 * height:
                self._forgot_at = top
                self.rows.forget(top - 5 * height, top + 6 * height)
        if not done or not coloured:
            self._work.start(1)

    def _tell_shown(self) -> None:
        """Whoever knows more about a message than its text adds it when it is seen."""
        index = self.rows.heights.index_at(self._top)
        end = self._top + self.viewport().height()
        shown = set()
        while 0 <= index < len(self.rows.messages) and self.rows.heights.top(index) < end:
            shown.add(self.rows.messages[index].id)
            index += 1
        for message_id in shown - self._shown:
            self.row_shown.emit(message_id)
        self._shown = shown

    def _on_theme_changed(self) -> None:
        self.rows.set_style(ChatStyle(self._theme))
        self._shown = set()  # the rows are made anew, without what was added to them
        self.update_rows()

    # Qt's own calls.

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw the rows that are seen."""
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self.rows.style.colour("page"))
        column = self._column
        rows, top = self.rows, self._top
        index = rows.heights.index_at(top + event.rect().top())
        while 0 <= index < len(rows.messages):
            y = rows.heights.top(index) - top
            if y > event.rect().bottom():
                break
            row = rows.row(index)
            clip = QRectF(event.rect()).translated(-column.left(), -y)
            pointer = None
            if self._pointer is not None and y <= self._pointer.y() < y + row.height:
                pointer = self._pointer - QPointF(column.left(), y)
            selected = self.selection.span if self.selection.message == row.message.id else None
            painter.save()
            painter.translate(column.left(), y)
            row.paint(painter, clip, selected, pointer)
            painter.restore()
            index += 1

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802, Qt's name
        """Keep what is read in place."""
        height = self.viewport().height()
        anchor = self.rows.anchor(self._top, self._top + height)
        self.rows.set_width(self._column.width())
        self._settle(anchor)
        self._sync()
        self._jump.place(self.viewport().size())

    def _row_at(self, point: QPointF) -> tuple[Row | None, QPointF]:
        """The row below a point of the viewport, and the point in the row."""
        index = self.rows.heights.index_at(point.y() + self._top)
        if index < 0:
            return None, point
        y = self.rows.heights.top(index) - self._top
        return self.rows.row(index), point - QPointF(self._column.left(), y)

    def _target_at(self, point: QPointF) -> str:
        row, inner = self._row_at(point)
        if row is None or inner.y() > row.height or inner.y() < 0:
            return ""
        action = row.actions.action_at(inner)
        return action or row.piece_at(inner)[1]

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Begin to mark text, or to click."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        point = event.position()
        self._pressed = self._target_at(point)
        row, inner = self._row_at(point)
        self.selection.clear()
        if row is not None and not self._pressed:
            place = row.place_at(inner)
            self.selection.begin(row.message.id, place, place)
        self.viewport().update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Mark a word."""
        row, inner = self._row_at(event.position())
        if row is None or self._target_at(event.position()) or not row.body.pieces:
            return
        index, position = row.place_at(inner)
        start, end = row.body.pieces[index].word_at(position)
        self.selection.begin(row.message.id, (index, start), (index, end))
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Extend what is marked; show what is below the mouse."""
        point = event.position()
        self._pointer = point
        if event.buttons() & Qt.MouseButton.LeftButton and self.selection.message:
            self._drag(point)
        else:
            row, inner = self._row_at(point)
            shape = Qt.CursorShape.ArrowCursor
            if self._target_at(point):
                shape = Qt.CursorShape.PointingHandCursor
            elif row is not None and row.piece_at(inner)[0] is not None:
                shape = Qt.CursorShape.IBeamCursor
            self.viewport().setCursor(shape)
        self.viewport().update()

    def _drag(self, point: QPointF) -> None:
        bar = self.verticalScrollBar()
        if point.y() < 0 or point.y() > self.viewport().height():
            bar.setValue(bar.value() + (-24 if point.y() < 0 else 24))
        index = self.rows.index_of(self.selection.message)
        if index >= 0:
            y = self.rows.heights.top(index) - self._top
            inner = point - QPointF(self._column.left(), y)
            self.selection.extend(self.rows.row(index).place_at(inner))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """A click is where mouse went down and up."""
        pressed, self._pressed = self._pressed, ""
        if event.button() == Qt.MouseButton.LeftButton and pressed:
            row, inner = self._row_at(event.position())
            if row is not None and self._target_at(event.position()) == pressed:
                self._click(row, inner, pressed)

    def _click(self, row: Row, inner: QPointF, target: str) -> None:
        piece, _ = row.piece_at(inner)
        if target.startswith(FOLD):
            row.body.fold(int(target.removeprefix(FOLD)))
            self.rows.refresh(row.message.id)
            self.is_at_end = False
            self.update_rows()
        elif target == COPY and isinstance(piece, CodeHead):
            QGuiApplication.clipboard().setText(piece.code)
            self._say(tr("Copied"))
        elif target == RETRY:
            self.action_asked.emit(row.message.id, "regenerate")
        elif ":" in target:
            if SAFE_LINK.match(target):
                self.link_opened.emit(target)
        else:
            self.action_asked.emit(row.message.id, target)

    def _say(self, text: str) -> None:
        if self._pointer is not None:
            QToolTip.showText(self.viewport().mapToGlobal(self._pointer.toPoint()), text, self)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802, Qt's name
        """Nothing is below the mouse."""
        self._pointer = None
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Say what a button does and where a link leads."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row, inner = self._row_at(QPointF(event.pos()))
            tip = row.actions.tip_at(inner) if row else ""
            if row and not tip and SAFE_LINK.match(target := row.piece_at(inner)[1]):
                tip = plain(target)
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        if event.type() == QEvent.Type.Leave:
            self.leaveEvent(event)
        return super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802, Qt's name
        """Offer what can be done with a message."""
        row, _ = self._row_at(QPointF(event.pos()))
        if row is not None:
            self.context_asked.emit(row.message.id, event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802, Qt's name
        """Copy, mark all of a message, go through the conversation."""
        bar = self.verticalScrollBar()
        if event.matches(QKeySequence.StandardKey.Copy):
            if text := self.selected_text():
                QGuiApplication.clipboard().setText(text)
        elif event.matches(QKeySequence.StandardKey.SelectAll) and self.rows.messages:
            index = self.rows.index_of(self.selection.message)
            row = self.rows.row(index if index >= 0 else len(self.rows.messages) - 1)
            self.selection.begin(row.message.id, *row.whole())
            self.viewport().update()
        elif event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802, Qt's name
        """Catch up with what came while it was hidden."""
        self.update_rows()
