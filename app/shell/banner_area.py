"""BannerArea: what a person has to know, above every page."""

from collections.abc import Callable

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.engine_service import EngineService
from app.language import tr
from app.short import short
from app.theme.theme import SPACE_M, SPACE_S, Theme
from app.widgets.banner import Banner
from engine.engine_state import EngineState

MOST_NOTICES = 2  # shown at once; a newer one pushes the oldest out


class BannerArea(QWidget):
    """The engine's failure with its way out, then notices. Hidden while it is empty."""

    def __init__(self, service: EngineService, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._theme = theme
        self.failure = Banner(theme)
        self.notices: list[Banner] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
        self._column.setSpacing(SPACE_S)
        self._add(self.failure)
        service.state_changed.connect(self._on_state_changed)
        service.noticed.connect(self.notice)
        self._on_state_changed(service.state)
        self._fit()

    def notice(
        self,
        text: str,
        detail: str = "",
        *,
        kind: str = "warning",
        action: str = "",
        on_action: Callable[[], None] | None = None,
    ) -> None:
        """Tell a sentence until it is dismissed; one that is shown already is not told twice."""
        shown = [banner for banner in self.notices if not banner.isHidden()]
        if any(banner.title.text() == text for banner in shown):
            return
        for banner in shown[: len(shown) - MOST_NOTICES + 1]:
            banner.hide()
        banner = next((b for b in self.notices if b.isHidden()), None) or self._new_notice()
        self._column.removeWidget(banner)
        self._column.addWidget(banner)  # the newest last
        self.notices.remove(banner)
        self.notices.append(banner)
        banner.tell(text, detail, kind=kind, action=action, on_action=on_action)

    def withdraw(self, text: str) -> None:
        """What was told is no longer so."""
        for banner in self.notices:
            if banner.title.text() == text:
                banner.hide()

    def _new_notice(self) -> Banner:
        banner = Banner(self._theme)
        self._add(banner)
        self.notices.append(banner)
        return banner

    def _add(self, banner: Banner) -> None:
        self._column.addWidget(banner)
        banner.shown_changed.connect(self._fit)

    def _on_state_changed(self, state: EngineState) -> None:
        if state.phase != "failed":
            self.failure.hide()
            return
        name = state.model.title if state.model else "?"
        title = tr("{title} could not be loaded", title=short(name))
        self.failure.tell(
            tr("The engine stopped") if state.crashed else title,
            " ".join(part for part in (state.reason, state.hint) if part),
            kind="danger",
            action=tr("Restart") if state.crashed else tr("Try again"),
            on_action=self._service.restart,
            name="" if state.crashed else name,
        )

    def _fit(self) -> None:
        self.setVisible(any(not banner.isHidden() for banner in (self.failure, *self.notices)))
