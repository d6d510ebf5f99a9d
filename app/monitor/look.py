"""Look: the fonts and colours that all charts of the monitor share."""

import numpy as np
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPen

from app.theme.theme import Theme


class Look:
    """Made from the theme, and again when that changes.

    Attributes:
        small: Axis labels and legends; figures of one width.
        title: Over a chart.
        colours: Of requests, as QColor, by number modulo 16.
        rgb: The same as 0xRRGGBB, for pictures made of numbers.
        shared: Work for all requests together.
        compute, link, both, neither: What is busy.
    """

    def __init__(self, theme: Theme):
        palette = theme.palette
        self.is_dark = theme.is_dark
        self.small = _font(theme, 0.82)
        self.title = _font(theme, 0.95, QFont.Weight.DemiBold)
        self.figure = _font(theme, 0.95, QFont.Weight.DemiBold)
        self.small_size = QFontMetricsF(self.small)
        self.title_size = QFontMetricsF(self.title)
        self.text = QColor(palette.text)
        self.muted = QColor(palette.muted)
        self.raised = QColor(palette.raised)
        self.panel = QColor(palette.panel)
        self.border = QColor(palette.border)
        self.accent = QColor(palette.accent)
        self.warning = QColor(palette.warning)
        self.danger = QColor(palette.danger)
        self.grid = QColor(palette.chart_grid)
        self.track = mixed(self.raised, self.grid, 0.55)
        self.colours = [QColor(colour) for colour in palette.request_colours]
        self.rgb = np.array([c.rgb() & 0xFFFFFF for c in self.colours], dtype=np.uint32)
        self.shared = mixed(self.muted, self.raised, 0.35)
        self.compute, self.link, self.both = self.colours[0], self.colours[1], self.colours[2]
        self.neither = mixed(self.raised, self.muted, 0.28)
        self.grid_pen = QPen(self.grid, 1)
        self.mark_pen = QPen(with_alpha(self.text, 0.45), 1)
        self.mark_pen.setDashPattern([3, 3])


def mixed(one: QColor, other: QColor, share: float) -> QColor:
    """`share` of the other colour in this one."""
    rest = 1 - share
    return QColor(
        round(one.red() * rest + other.red() * share),
        round(one.green() * rest + other.green() * share),
        round(one.blue() * rest + other.blue() * share),
    )


def with_alpha(colour: QColor, alpha: float) -> QColor:
    """The colour, more or less transparent."""
    made = QColor(colour)
    made.setAlphaF(alpha)
    return made


def figures(value: float) -> str:
    """Three significant digits at most: "0.12", "3.4", "56", "1,234"."""
    if value >= 99.95:
        return f"{value:,.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if value else "0"


def _font(theme: Theme, size: float, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    font = theme.text_font()
    font.setPointSizeF(theme.font_size * size)
    font.setWeight(weight)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
