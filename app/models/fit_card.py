"""FitCard: "what will fit", shown before a model is loaded."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from app.language import tr
from app.models import words
from app.models.fit import Fit
from app.models.fit_bar import FitBar, Part
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.card import Card
from app.widgets.font_sizes import follow_size, scaled
from app.widgets.labels import ElidedLabel, label, set_kind
from engine import sizes

_WIDE = 660  # pixels, from which on two names with their sizes have room in a row


class FitCard(Card):
    """A bar, what it is made of, the answer in words, and the cache that is recommended.

    Signals:
        cache_recommended: A person takes the recommended cache. arg: bytes.
    """

    # Bytes do not fit into Qt's int.
    cache_recommended = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._theme = theme
        self._fit: Fit | None = None
        self._n_requests = 1
        self.verdict = label(role="chip")
        self.text = label(role="muted", wrap=True)
        self.bar = FitBar(theme)
        self.recommend_button = QPushButton()
        set_kind(self.recommend_button, "link")
        self.recommend_button.setCursor(Qt.CursorShape.PointingHandCursor)
        self.recommend_button.clicked.connect(self._on_recommended)
        head = QHBoxLayout()
        head.addWidget(label(tr("What will fit"), "heading"))
        head.addWidget(self.verdict, alignment=Qt.AlignmentFlag.AlignVCenter)
        head.addStretch()
        self._legend = QGridLayout()
        self._legend.setHorizontalSpacing(SPACE_M)
        self._legend.setVerticalSpacing(2)
        self._rows = [(QLabel(), ElidedLabel(role="small"), label()) for _ in range(7)]
        self._n_columns = 0
        self.body.addLayout(head)
        self.body.addWidget(self.bar)
        self.body.addLayout(self._legend)
        self.body.addSpacing(SPACE_S - 4)
        self.body.addWidget(self.text)
        self.body.addWidget(self.recommend_button, alignment=Qt.AlignmentFlag.AlignLeft)
        follow_size(self, self._arrange_legend)
        theme.changed.connect(self._refresh)

    def show_fit(self, fit: Fit, n_requests: int) -> None:
        """Show an answer."""
        self._fit, self._n_requests = fit, n_requests
        self._refresh()

    def _arrange_legend(self) -> None:
        """Names are to be read: one below the other where there is little room."""
        n_columns = 2 if self.width() >= scaled(self, _WIDE) else 1
        if n_columns == self._n_columns:
            return
        self._n_columns = n_columns
        for n, cells in enumerate(self._rows):
            swatch, name, value = cells
            for cell in cells:
                self._legend.removeWidget(cell)
            row, column = n // n_columns, n % n_columns * 4
            self._legend.addWidget(swatch, row, column)
            self._legend.addWidget(name, row, column + 1)
            self._legend.addWidget(value, row, column + 2, Qt.AlignmentFlag.AlignRight)
        wide = n_columns == 2
        self._legend.setColumnStretch(1, 1)
        self._legend.setColumnMinimumWidth(3, SPACE_S if wide else 0)  # a value is not the next's
        self._legend.setColumnStretch(5, 1 if wide else 0)

    def _refresh(self) -> None:
        fit = self._fit
        if fit is None:
            return
        badge = words.verdict(fit)
        self.verdict.setText(badge.text)
        colour = QColor(self._theme.colour(badge.role))
        soft = f"rgba({colour.red()}, {colour.green()}, {colour.blue()}, 36)"
        self.verdict.setStyleSheet(f"background: {soft}; color: {colour.name()}; font-weight: 600;")
        self.text.setText(words.explanation(fit, self._n_requests))
        parts = self._parts(fit)
        self.bar.show_parts([part for _, part in parts], fit.total, fit.total - fit.spare)
        for n, (swatch, name, value) in enumerate(self._rows):
            shown = n < len(parts)
            for one in (swatch, name, value):
                one.setVisible(shown)
            if shown:
                text, part = parts[n]
                swatch.setPixmap(_swatch(part))
                name.setText(text)
                value.setText(("+ " if part.maybe else "") + sizes.show(part.n_bytes))
        all_of_it = fit.needs.cache == fit.recommended
        self.recommend_button.setVisible(not all_of_it)
        self.recommend_button.setText(
            tr("Use recommended cache: {size}", size=sizes.show(fit.recommended))
        )

    def _parts(self, fit: Fit) -> list[tuple[str, Part]]:
        palette, needs = self._theme.palette, fit.needs
        colours = palette.request_colours
        used = max(0, fit.total - fit.available)
        parts = [
            (tr("Other programs and the system"), Part(used, palette.muted)),
            (tr("Weights, always in memory"), Part(needs.weights, colours[0])),
            (tr("Expert cache"), Part(needs.cache, colours[2])),
            (tr("All experts, kept in memory"), Part(needs.copy, colours[7])),
            (tr("Working memory"), Part(needs.work, colours[5])),
            (tr("Chats, when they begin"), Part(needs.kv_start, colours[4])),
            (
                tr("Chats, when they are full"),
                Part(needs.kv_full - needs.kv_start, colours[4], maybe=True),
            ),
        ]
        return [(text, part) for text, part in parts if part.n_bytes > 0]

    def _on_recommended(self) -> None:
        if self._fit:
            self.cache_recommended.emit(self._fit.recommended)


def _swatch(part: Part) -> QPixmap:
    pixmap = QPixmap(20, 20)
    pixmap.setDevicePixelRatio(2)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colour = QColor(part.colour)
    if part.maybe:
        colour.setAlphaF(0.45)
    painter.setBrush(colour)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawRoundedRect(0, 0, 10, 10, 3, 3)
    painter.end()
    return pixmap
