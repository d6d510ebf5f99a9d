"""TimelineCard: the step timeline with its buttons and its legend."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.language import tr
from app.monitor.history import History
from app.monitor.look import Look
from app.monitor.time_chart import Swatch, paint_legend
from app.monitor.timeline import Timeline
from app.monitor.title import Title
from app.settings.settings import Settings
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.ask_file import ask_where_to_save
from app.widgets.card import Card
from app.widgets.icon_button import IconButton
from app.widgets.labels import label

_ZOOM = 0.6


class TimelineCard(Card):
    """Pause, zoom, fit and export, over the timeline.

    Signals:
        exported: A picture was written. arg: its path.
        export_failed: It was not. arg: a sentence.
    """

    exported = Signal(str)
    export_failed = Signal(str)

    def __init__(
        self, history: History, settings: Settings, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent=parent)
        self._settings = settings
        self._frozen = self._idle = False
        self.timeline = Timeline(history, theme)
        self.legend = TimelineLegend(theme)
        self.state = label(tr("Live"), "chip")
        self.pause = IconButton(theme, "pause", tr("Pause"))
        self.zoom_in = IconButton(theme, "zoom-in", tr("Zoom in"))
        self.zoom_out = IconButton(theme, "zoom-out", tr("Zoom out"))
        self.fit = IconButton(theme, "fit", tr("Show the whole last minute"))
        self.export = IconButton(theme, "image", tr("Save as a picture…"))
        self._connect()
        self.body.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
        self.body.setSpacing(SPACE_XS)
        head = QHBoxLayout()
        head.setSpacing(2)  # so that all buttons have room in the narrowest dock
        head.addWidget(Title(theme, tr("Steps"), tr("What the device and the disk do.")))
        head.addSpacing(SPACE_XS)
        head.addWidget(self.state, alignment=Qt.AlignmentFlag.AlignVCenter)
        head.addStretch()
        for button in (self.pause, self.zoom_in, self.zoom_out, self.fit, self.export):
            head.addWidget(button)
        self.body.addLayout(head)
        self.body.addWidget(self.timeline, 1)
        self.body.addWidget(self.legend)

    def set_history(self, history: History) -> None:
        """Show another engine's."""
        self.timeline.set_history(history)

    def show_idle(self, idle: bool) -> None:
        """Nothing runs, or something does."""
        if idle != self._idle:
            self._idle = idle
            self._show_state()

    def export_png(self, path: Path) -> None:
        """Write what is shown now."""
        try:
            self.timeline.export_png(path)
        except OSError as error:
            why = error.strerror or error
            self.export_failed.emit(tr("{path} was not written: {why}.", path=path, why=why))
        else:
            self.exported.emit(str(path))

    def _connect(self) -> None:
        def zoom(factor: float) -> Callable[[], None]:
            return lambda: self.timeline.zoom(factor, 0.5 if self.timeline.view.frozen else 1.0)

        self.pause.clicked.connect(self._on_pause_clicked)
        self.zoom_in.clicked.connect(zoom(_ZOOM))
        self.zoom_out.clicked.connect(zoom(1 / _ZOOM))
        self.fit.clicked.connect(self.timeline.show_all)
        self.export.clicked.connect(self._on_export_clicked)
        self.timeline.frozen_changed.connect(self._on_frozen_changed)

    def _on_pause_clicked(self) -> None:
        self.timeline.set_frozen(not self.timeline.view.frozen)

    def _on_frozen_changed(self, frozen: bool) -> None:
        if frozen != self._frozen:
            self._frozen = frozen
            self.pause.set_icon("play" if frozen else "pause")
            self.pause.set_tip(tr("Follow again") if frozen else tr("Pause"))
            self._show_state()

    def _show_state(self) -> None:
        text = tr("Idle") if self._idle else tr("Live")
        self.state.setText(tr("Paused") if self._frozen else text)

    def _on_export_clicked(self) -> None:
        ask_where_to_save(
            self,
            self._settings,
            tr("Save as a picture"),
            "timeline.png",
            self.export_png,
            name_filter=tr("Pictures (*.png)"),
        )


class TimelineLegend(QWidget):
    """Which request has which colour."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.look = Look(theme)
        self._requests: list[int] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme_changed)

    def show_requests(self, requests: list[int]) -> None:
        """These are active; when none is, those of before stay."""
        if requests and requests != self._requests:
            self._requests = requests
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """One row."""
        return QSize(200, round(self.look.small_size.height()) + 2)

    def minimumSizeHint(self) -> QSize:  # noqa: N802, Qt's name
        """One row."""
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, Qt's name
        """Draw it."""
        painter = QPainter(self)
        look = self.look
        painter.setFont(look.small)
        colours = look.colours
        swatches = [
            Swatch(
                colours[request % len(colours)],
                tr("request {number}", number=request),
                f"{request}",
            )
            for request in self._requests
        ]
        paint_legend(painter, look, swatches, self.rect().topLeft().toPointF(), self.width())
        painter.end()

    def _on_theme_changed(self) -> None:
        self.look = Look(self._theme)
        self.updateGeometry()
        self.update()
