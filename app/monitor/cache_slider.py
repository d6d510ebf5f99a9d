"""CacheSlider: how much memory experts may take, with what is sensible marked on it."""

import msgspec
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QWidget

from app.language import tr
from app.monitor.look import Look, with_alpha
from app.theme.theme import Theme
from engine import sizes

STEPS = 1000
_TRACK = 8.0
_HANDLE = 9.0  # radius


class CacheMarks(msgspec.Struct, frozen=True):
    """Bytes.

    Attributes:
        total: Of all experts: the right end.
        minimum: With less not even one request could run.
        recommended: Leaves the system its share of memory.
        limit: With more the computer would swap.
    """

    total: int
    minimum: int
    recommended: int
    limit: int


class CacheSlider(QAbstractSlider):
    """Its value is a share of all experts in thousandths; keyboard and wheel work as on any slider.

    Signals:
        asked: A person wants another size. arg: bytes, as float since int has 32 bits there.
    """

    asked = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.look = Look(theme)
        self.marks = CacheMarks(1, 0, 0, 1)
        self._used = 0
        self._n_rows = 1
        self.setRange(0, STEPS)
        self.setSingleStep(10)
        self.setPageStep(50)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Expert cache"))
        self.setMouseTracking(True)
        self.actionTriggered.connect(self._on_action)
        theme.changed.connect(self._on_theme_changed)

    def set_marks(self, marks: CacheMarks) -> None:
        """Another model, or another amount of free memory."""
        if marks != self.marks:
            self.marks = marks
            self.setToolTip(
                tr(
                    "Minimum {minimum}: what one request needs.\nRecommended {recommended}: leaves"
                    " the computer its memory.\nLimit {limit}: with more it would have to swap.",
                    minimum=sizes.show(marks.minimum),
                    recommended=sizes.show(marks.recommended),
                    limit=sizes.show(marks.limit),
                )
            )
            self.update()

    def show_size(self, n_bytes: int) -> None:
        """What the cache is; not while it is being dragged."""
        if not self.isSliderDown():
            self.setValue(round(STEPS * n_bytes / max(1, self.marks.total)))

    def show_used(self, n_bytes: int) -> None:
        """How much of it holds experts."""
        if n_bytes != self._used:
            self._used = n_bytes
            self.update()

    @property
    def n_bytes(self) -> int:
        """What the handle stands at, at least the minimum."""
        if self.value() == STEPS:
            return self.marks.total
        return max(self.marks.minimum, round(self.marks.total * self.value() / STEPS))

    # Painting.

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Track, and the rows of words that the marks need."""
        return QSize(220, round(2 * _HANDLE + 10 + self._n_rows * self.look.small_size.height()))

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Track and words."""
        return QSize(140, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw track, use, marks and handle."""
        look, marks = self.look, self.marks
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = self._track()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.grid)
        painter.drawRoundedRect(track, _TRACK / 2, _TRACK / 2)
        enabled = self.isEnabled()
        if enabled and marks.limit < marks.total:
            beyond = QRectF(track)
            beyond.setLeft(self._x(marks.limit))
            painter.setBrush(with_alpha(look.danger, 0.35))
            painter.drawRoundedRect(beyond, _TRACK / 2, _TRACK / 2)
        accent = look.accent if enabled else look.neither
        allowed, used = QRectF(track), QRectF(track)
        allowed.setRight(self._x(self.n_bytes))
        used.setRight(self._x(min(self._used, self.n_bytes)))
        painter.setBrush(with_alpha(accent, 0.38))
        painter.drawRoundedRect(allowed, _TRACK / 2, _TRACK / 2)
        if used.width() > 1:
            painter.setBrush(accent)
            painter.drawRoundedRect(used, _TRACK / 2, _TRACK / 2)
        if enabled:
            self._paint_marks(painter, track)
        self._paint_handle(painter, track)
        painter.end()

    def _paint_marks(self, painter: QPainter, track: QRectF) -> None:
        look, marks, size = self.look, self.marks, self.look.small_size
        painter.setFont(look.small)
        named = [(marks.minimum, tr("minimum")), (marks.recommended, tr("recommended"))]
        if marks.limit < marks.total:
            named.append((marks.limit, tr("memory limit")))
        free = [-1.0, -1.0]  # from where each row has room
        for n_bytes, text in sorted(named):
            x = self._x(n_bytes)
            painter.setPen(QPen(look.muted, 1.4))
            painter.drawLine(QPointF(x, track.bottom() + 4), QPointF(x, track.bottom() + 9))
            width = size.horizontalAdvance(text)
            left = min(max(0.0, x - width / 2), self.width() - width)
            row = next((k for k in (0, 1) if left > free[k]), None)
            if row is None:
                continue
            painter.setPen(look.muted)
            baseline = track.bottom() + 10 + size.ascent() + row * size.height()
            painter.drawText(QPointF(left, baseline), text)
            free[row] = left + width + 6
        n_rows = 1 if free[1] < 0 else 2
        if n_rows != self._n_rows:
            self._n_rows = n_rows
            self.updateGeometry()

    def _paint_handle(self, painter: QPainter, track: QRectF) -> None:
        look = self.look
        accent = look.accent if self.isEnabled() else look.neither
        centre = QPointF(self._x(self.n_bytes), track.center().y())
        if self.hasFocus():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(with_alpha(accent, 0.3))
            painter.drawEllipse(centre, _HANDLE + 3, _HANDLE + 3)
        painter.setPen(QPen(accent, 2))
        held = self.isSliderDown() or self.underMouse()
        painter.setBrush(accent if held and self.isEnabled() else look.raised)
        painter.drawEllipse(centre, _HANDLE - 1, _HANDLE - 1)

    def _track(self) -> QRectF:
        margin = _HANDLE + 3
        return QRectF(margin, margin - _TRACK / 2, self.width() - 2 * margin, _TRACK)

    def _x(self, n_bytes: float) -> float:
        track = self._track()
        return track.left() + track.width() * min(1.0, n_bytes / max(1, self.marks.total))

    # Events.

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """The handle jumps there and is held."""
        if event.button() is Qt.MouseButton.LeftButton and self.isEnabled():
            self.setSliderDown(True)
            self._move_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """The handle follows."""
        if self.isSliderDown():
            self._move_to(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """The handle stays."""
        self.setSliderDown(False)
        self.update()

    def _move_to(self, x: float) -> None:
        track = self._track()
        share = (x - track.left()) / max(1.0, track.width())
        # Marks attract, so that a person can hit them.
        for n_bytes in (self.marks.minimum, self.marks.recommended, self.marks.limit):
            if abs(self._x(n_bytes) - x) < 4:
                share = n_bytes / max(1, self.marks.total)
        self.setValue(round(STEPS * min(1.0, max(0.0, share))))
        self.asked.emit(float(self.n_bytes))

    def _on_action(self) -> None:
        self.setValue(self.sliderPosition())
        self.asked.emit(float(self.n_bytes))

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self.update()
