"""Tiles: the headline numbers, each with a few words that explain it."""

import msgspec
from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.language import tr
from app.monitor.look import Look, figures
from app.theme.theme import RADIUS, Theme
from engine.metrics import Summary

_LEAST_GBPS = 0.9995  # what is slower is told in MB/s, as everywhere else
_LEAST_WIDTH = 104
_GAP = 8


class Tile(msgspec.Struct, frozen=True):
    """One number."""

    name: str
    value: str
    unit: str
    tip: str


def tiles_of(summary: Summary | None, *, emulated: bool = False) -> list[Tile]:
    """The numbers of these steps; None: nothing runs. `emulated`: the link is slowed down."""
    s = summary or Summary()

    def number(value: float) -> str:
        return figures(value) if s.steps else "–"

    def share(value: float) -> str:
        return f"{value:.0%}" if s.steps else "–"

    slow = s.steps and s.link_gbps < _LEAST_GBPS
    return [
        Tile(
            tr("Tokens/s"),
            number(s.tokens_per_s),
            "",
            tr("New tokens per second, of all requests together."),
        ),
        Tile(
            tr("Step"),
            number(s.step_ms),
            "ms",
            tr("How long one step takes: one new token for every active request."),
        ),
        Tile(
            tr("Hit rate"),
            share(s.hit_rate),
            "",
            tr("How many of the needed experts were in the cache already."),
        ),
        Tile(
            tr("Overlap"),
            share(s.both_share),
            "",
            tr("How much of a step the link reads while the device computes."),
        ),
        Tile(
            tr("Link, emulated") if emulated else tr("Link"),
            number(s.link_gbps * 1e3 if slow else s.link_gbps),
            "MB/s" if slow else "GB/s",
            tr(
                "How fast the link is while it reads experts. Pauses between reads do not count, as"
                " they do in “Reading” at the lower edge of the window."
            ),
        ),
        Tile(
            tr("Fetched/step"),
            number(s.fetched),
            "",
            tr("Experts that were read in each step, because they were not in the cache."),
        ),
    ]


class Tiles(QWidget):
    """In one row where there is room, else in two or three."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.look = Look(theme)
        self.tiles = tiles_of(None)
        self._value_font = QFont()
        self._on_theme_changed()
        # As high as its rows: fixed, it would stay as high as one.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        theme.changed.connect(self._on_theme_changed)

    def show_tiles(self, tiles: list[Tile]) -> None:
        """Show these numbers."""
        if tiles != self.tiles:
            self.tiles = tiles
            spoken = (f"{t.name} {t.value} {t.unit}".strip() for t in tiles)
            self.setAccessibleName(", ".join(spoken))
            self.update()

    def columns(self) -> int:
        """Tiles in one row."""
        fit = max(1, (self.width() + _GAP) // (_LEAST_WIDTH + _GAP))
        return next(n for n in (6, 3, 2, 1) if n <= fit)

    def hasHeightForWidth(self) -> bool:  # noqa: N802, Qt's name
        """Narrow is high."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802, Qt's name
        """Of all rows."""
        fit = max(1, (width + _GAP) // (_LEAST_WIDTH + _GAP))
        columns = next(n for n in (6, 3, 2, 1) if n <= fit)
        rows = -(-len(self.tiles) // columns)
        return rows * self._tile_height() + (rows - 1) * _GAP

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """One row; `heightForWidth` says what more take."""
        return QSize(6 * (_LEAST_WIDTH + _GAP), self._tile_height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """One row."""
        return QSize(2 * (_LEAST_WIDTH + _GAP), self._tile_height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw the tiles."""
        look = self.look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for tile, rect in zip(self.tiles, self._rects(), strict=True):
            painter.setPen(QPen(look.border, 1))
            painter.setBrush(look.raised)
            painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS + 2, RADIUS + 2)
            inner = rect.adjusted(12, 8, -8, -8)
            painter.setFont(look.small)
            painter.setPen(look.muted)
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignLeft), tile.name)
            painter.setFont(self._value_font)
            painter.setPen(look.text)
            bottom = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
            painter.drawText(inner, bottom, tile.value)
            advance = self._value_size.horizontalAdvance(tile.value)
            painter.setFont(look.small)
            painter.setPen(look.muted)
            baseline = inner.bottom() - self._value_size.descent()
            room = inner.width() - advance - 5
            unit = look.small_size.elidedText(tile.unit, Qt.TextElideMode.ElideRight, room)
            painter.drawText(round(inner.left() + advance + 5), round(baseline), unit)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Explain the number under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            for tile, rect in zip(self.tiles, self._rects(), strict=True):
                if rect.contains(event.pos()):
                    QToolTip.showText(event.globalPos(), tile.tip, self)
                    return True
            QToolTip.hideText()
            return True
        return super().event(event)

    def _rects(self) -> list[QRectF]:
        columns, height = self.columns(), self._tile_height()
        width = (self.width() - (columns - 1) * _GAP) / columns
        return [
            QRectF(n % columns * (width + _GAP), n // columns * (height + _GAP), width, height)
            for n in range(len(self.tiles))
        ]

    def _tile_height(self) -> int:
        return round(self.look.small_size.height() + self._value_size.height() + 18)

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self._value_font = QFont(self.look.figure)
        self._value_font.setPointSizeF(self._theme.font_size * 1.5)
        self._value_size = QFontMetricsF(self._value_font)
        self.updateGeometry()
        self.update()
