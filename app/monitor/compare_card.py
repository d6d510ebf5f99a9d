"""CompareCard: what the settings of this session gave, one row for each choice."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.language import tr
from app.monitor.look import Look, figures, with_alpha
from app.monitor.stretches import MOST, Stretch
from app.monitor.title import Title
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.card import Card
from app.widgets.labels import label


class CompareCard(Card):
    """Filled once a setting was changed while something ran; says how to get there before."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.body.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
        self._most = MOST
        self._found: Sequence[Stretch] = ()
        self.rows = _Rows(theme)
        self.hint = label(
            tr(
                "Change the policy, the link or the cache while text streams to see the difference."
            ),
            "small",
            wrap=True,
        )
        tip = tr("Means since each change of a setting; with other requests they may differ.")
        self.body.addWidget(Title(theme, tr("Compared"), tip))
        self.body.addWidget(self.hint)
        self.body.addWidget(self.rows)
        self.body.addStretch(1)
        self.show_stretches([])

    def show_at_most(self, n: int) -> None:
        """Where there is little room, fewer."""
        if n != self._most:
            self._most = n
            self.show_stretches(self._found)

    def show_stretches(self, found: Sequence[Stretch]) -> None:
        """Show these, the newest last."""
        self._found = found
        several = len(found) > 1
        self.hint.setVisible(not several)
        self.rows.setVisible(several)
        self.rows.show_stretches(found[-self._most :] if several else [])


class _Rows(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.look = Look(theme)
        self._stretches: list[Stretch] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme_changed)

    def show_stretches(self, found: Sequence[Stretch]) -> None:
        if len(found) != len(self._stretches):
            self.updateGeometry()
        self._stretches = list(found)
        spoken = (f"{s.setup.policy}: {s.summary.tokens_per_s:.1f} tokens/s" for s in found)
        self.setAccessibleName(", ".join(spoken))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """A row for each."""
        return QSize(220, round(self._row_height() * min(MOST, len(self._stretches))))

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """A row for each."""
        return QSize(120, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Two lines and a bar for each."""
        look, size = self.look, self.look.small_size
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        most = max((s.summary.tokens_per_s for s in self._stretches), default=0.0) or 1.0
        left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for place, stretch in enumerate(self._stretches):
            top = place * self._row_height() + 4
            line = QRectF(0, top, self.width(), look.title_size.height())
            summary = stretch.summary
            value = tr("{value} tokens/s", value=figures(summary.tokens_per_s))
            painter.setFont(look.figure)
            painter.setPen(look.text)
            painter.drawText(line, right, value)
            room = self.width() - look.title_size.horizontalAdvance(value) - 10
            name = stretch.setup.policy
            elide = Qt.TextElideMode.ElideRight
            painter.drawText(line, left, look.title_size.elidedText(name, elide, room))
            bar = QRectF(0, line.bottom() + 2, self.width(), 5)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.grid)
            painter.drawRoundedRect(bar, 2.5, 2.5)
            bar.setWidth(max(5.0, bar.width() * summary.tokens_per_s / most))
            newest = place == len(self._stretches) - 1
            painter.setBrush(look.accent if newest else with_alpha(look.accent, 0.5))
            painter.drawRoundedRect(bar, 2.5, 2.5)
            line = QRectF(0, bar.bottom() + 2, self.width(), size.height())
            painter.setFont(look.small)
            painter.setPen(look.muted)
            shown = tr(
                "{hits} hits · {overlap} overlap",
                hits=f"{summary.hit_rate:.0%}",
                overlap=f"{summary.both_share:.0%}",
            )
            painter.drawText(line, right, shown)
            room = self.width() - size.horizontalAdvance(shown) - 10
            words = f"{stretch.setup.cache} · {stretch.setup.link}"
            painter.drawText(line, left, size.elidedText(words, elide, room))
        painter.end()

    def _row_height(self) -> float:
        return self.look.title_size.height() + self.look.small_size.height() + 17

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self.updateGeometry()
        self.update()
