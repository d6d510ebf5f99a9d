"""HeatMap: every expert of every layer: whether it is in the cache, and how much it is used."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.language import tr
from app.monitor import ticks
from app.monitor.expert_map import NEVER, ExpertMap
from app.monitor.look import Look, mixed
from app.monitor.time_chart import Swatch, paint_legend
from app.theme.theme import Theme

Shown = Literal["resident", "uses"]
_FRESH_NS = 1_000_000_000.0
_SHADES = 64
_CACHED, _IN_USE = 0.28, 0.7  # shades of what is in the cache, by how long ago it was needed
_PARTED = 6.0  # pixels; larger cells have lines between them


class HeatMap(QWidget):
    """Layers from top to bottom, experts from left to right."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.look = Look(theme)
        self.shown: Shown = "resident"
        self._experts = ExpertMap()
        self._now_ns = 0
        self._table = self._make_table()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Experts"))
        self.setAccessibleDescription(tr("Which experts are in the cache, layer by layer."))
        theme.changed.connect(self._on_theme_changed)

    def show_experts(self, experts: ExpertMap, now_ns: int) -> None:
        """Draw them as they are now."""
        self._experts, self._now_ns = experts, now_ns
        self.update()

    def show_what(self, shown: Shown) -> None:
        """Residency or use."""
        self.shown = shown
        self.update()

    def levels(self) -> NDArray[np.uint8]:
        """[n_layer, n_expert], places in the table of colours."""
        experts = self._experts
        if self.shown == "uses":
            # Few experts are used a hundred times as much as most: a logarithm shows both.
            most = max(1.0, float(np.log1p(experts.uses.max(initial=0))))
            return (np.log1p(experts.uses) / most * (_SHADES - 1)).astype(np.uint8)
        age = (self._now_ns - experts.last_use_ns) / _FRESH_NS
        fresh = np.exp2(-np.clip(age, 0, 30))  # half as bright after each second
        known = _CACHED + (_IN_USE - _CACHED) * np.where(experts.last_use_ns != NEVER, fresh, 0.0)
        level = np.where(experts.resident, known * (_SHADES - 1), 0).astype(np.uint8)
        missed = (experts.last_miss_ns != NEVER) & (
            self._now_ns - experts.last_miss_ns < _FRESH_NS / 2
        )
        return np.where(missed & experts.resident, _SHADES, level).astype(np.uint8)

    # Painting.

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """What is needed; it takes what it gets."""
        return QSize(420, 96)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """Still readable."""
        return QSize(180, 96)

    def map_rect(self) -> QRectF:
        """Where the experts are."""
        size = self.look.small_size
        left = round(size.horizontalAdvance("000")) + 8
        below = 2 * size.height() + 8
        return QRectF(
            left, 1, max(10, self.width() - left - 2), max(10, round(self.height() - below - 1))
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw the map, its axes and what the colours mean."""
        look = self.look
        painter = QPainter(self)
        painter.fillRect(self.rect(), look.raised)
        painter.setFont(look.small)
        rect = self.map_rect()
        painter.fillRect(rect, look.track)
        n_layer, n_expert = self._experts.shape
        if n_layer and n_expert:
            self._paint_map(painter, rect)
            self._paint_axes(painter, rect, n_layer, n_expert)
        top = self.height() - look.small_size.height() - 2
        paint_legend(painter, look, self._legend(), QPointF(rect.left(), top), self.width())
        painter.end()

    def _paint_map(self, painter: QPainter, rect: QRectF) -> None:
        pixels = np.ascontiguousarray(self._table[self.levels()])
        height, width = pixels.shape
        image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)
        if rect.width() < width or rect.height() < height:  # a cell is less than a pixel
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(rect, image)
        painter.setPen(self.look.raised)
        if rect.width() / width >= _PARTED:
            for k in range(1, width):
                x = rect.left() + k * rect.width() / width
                painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        if rect.height() / height >= _PARTED:
            for k in range(1, height):
                y = rect.top() + k * rect.height() / height
                painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y))

    def _paint_axes(self, painter: QPainter, rect: QRectF, n_layer: int, n_expert: int) -> None:
        look, size = self.look, self.look.small_size
        painter.setPen(look.muted)
        room = max(1, int(rect.height() / (size.height() + 2)))
        step = max(1, round(ticks.nice_step(n_layer, room)))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for layer in range(0, n_layer, step):
            y = rect.top() + (layer + 0.5) / n_layer * rect.height()
            y = min(max(y, size.height() / 2), rect.bottom() - size.height() / 2 + 2)
            painter.drawText(QRectF(0, y - 10, rect.left() - 6, 20), right, f"{layer}")
        baseline = rect.bottom() + size.ascent() + 3
        words = tr("expert")
        painter.drawText(QPointF(rect.right() - size.horizontalAdvance(words), baseline), words)
        free = rect.right() - size.horizontalAdvance(words) - 10
        step = max(1, round(ticks.nice_step(n_expert, max(2, int(rect.width() / 56)))))
        for expert in range(0, n_expert, step):
            x = rect.left() + (expert + 0.5) / n_expert * rect.width()
            text = f"{expert}"
            half = size.horizontalAdvance(text) / 2
            x = max(x, rect.left() + half)
            if x + half < free:
                painter.drawText(QPointF(x - half, baseline), text)

    def _legend(self) -> list[Swatch]:
        table = self._table
        colours = [QColor.fromRgb(int(value)) for value in table.tolist()]
        if self.shown == "uses":
            return [
                Swatch(colours[0], tr("never needed")),
                Swatch(colours[_SHADES // 2], tr("sometimes")),
                Swatch(colours[_SHADES - 1], tr("most often")),
            ]
        return [
            Swatch(colours[int(_IN_USE * _SHADES)], tr("in use")),
            Swatch(colours[int(_CACHED * _SHADES)], tr("cached")),
            Swatch(colours[_SHADES], tr("just fetched")),
            Swatch(colours[0], tr("absent")),
        ]

    def _make_table(self) -> NDArray[np.uint32]:
        look = self.look
        # Towards the text's colour at the end, so that much stands out on light and dark.
        far = mixed(look.accent, look.text, 0.45)
        shades = []
        for k in range(_SHADES):
            share = k / (_SHADES - 1)
            one = (
                mixed(look.track, look.accent, share / 0.7)
                if share < 0.7
                else mixed(look.accent, far, (share - 0.7) / 0.3)
            )
            shades.append(one.rgba())
        return np.array([*shades, look.link.rgba()], dtype=np.uint32)

    # Events.

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802, Qt's name
        """Say which expert that is."""
        text = self.text_at(event.position())
        where: QPoint = event.globalPosition().toPoint()
        QToolTip.showText(where, text, self) if text else QToolTip.hideText()

    def text_at(self, position: QPointF) -> str:
        """What a person is told who points there."""
        rect, (n_layer, n_expert) = self.map_rect(), self._experts.shape
        if not rect.contains(position) or not n_layer or not n_expert:
            return ""
        layer = min(n_layer - 1, int((position.y() - rect.top()) / rect.height() * n_layer))
        expert = min(n_expert - 1, int((position.x() - rect.left()) / rect.width() * n_expert))
        uses = int(self._experts.uses[layer, expert])
        where = tr("in the cache") if self._experts.resident[layer, expert] else tr("absent")
        name = tr("Layer {layer}, expert {expert}", layer=layer, expert=expert)
        return f"{name}\n{where}\n" + tr("needed {n} times", n=f"{uses:,}")

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self._table = self._make_table()
        self.update()
