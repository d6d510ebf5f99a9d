"""RunCard: how the engine works: its policy, the link's speed, and how much it does at once."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from app.engine_service import EngineService
from app.language import tr
from app.models.library import ModelLibrary
from app.monitor.in_flight import InFlight
from app.monitor.policies import policy_label, policy_names, policy_words
from app.monitor.title import Title
from app.settings.link_speeds import offered, speed_label
from app.settings.settings import Settings
from app.theme.theme import SPACE_M, SPACE_S, SPACE_XS, Theme
from app.widgets.card import Card
from app.widgets.labels import label
from engine.engine_info import EngineStats
from engine.engine_state import EngineState
from engine.link_speed import LinkSpeed


class RunCard(Card):
    """Everything in it holds from the next step on, while text streams.

    Signals:
        changed: A setting is another. args: which one, its value in words.
    """

    changed = Signal(str, str)

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        settings: Settings,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent=parent)
        self._theme = theme
        self._service = service
        self._library, self._settings = library, settings
        self._policy, self._link = service.policy, service.link
        self.policy = QComboBox()
        self.policy.setAccessibleName(tr("Policy"))
        self.policy_words = label(role="small", wrap=True)
        self.link = QComboBox()
        self.link.setAccessibleName(tr("Link speed"))
        self.link_words = label(role="small", wrap=True)
        self.in_flight = InFlight(theme)
        self.in_flight_label = label(role="small")
        for box in (self.policy, self.link):
            # A long name must not widen a narrow dock.
            box.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            box.setMinimumContentsLength(8)
        self._lay_out()
        self._fill()
        self.policy.activated.connect(self._on_policy_chosen)
        self.link.activated.connect(self._on_link_chosen)
        service.policy_refused.connect(self._fill)
        self.show_state(service.state)

    def show_state(self, state: EngineState) -> None:
        """Another engine, or none."""
        ready = state.phase == "ready"
        self.policy.setEnabled(ready)
        self.link.setEnabled(ready)
        if not ready:
            self.show_requests([], 0)
        self._policy, self._link = self._service.policy, self._service.link
        self._fill()

    def refresh(self) -> None:
        """Somebody else, the settings page perhaps, may have changed something."""
        if self._service.policy != self._policy:
            self._policy = self._service.policy
            self._fill()
            self.changed.emit("policy", policy_label(self._policy))
        if self._service.link != self._link:
            self._link = self._service.link
            self._fill()
            self.changed.emit("link", speed_label(self._link))

    def show_requests(self, requests: list[int], n_waiting: int) -> None:
        """What is in flight, and how many wait for a place."""
        options = self._service.state.options
        most = options.max_requests if options and self._service.state.phase == "ready" else 0
        self.in_flight.show_requests(requests[:most], most)
        text = tr("{n} of {most}", n=len(requests), most=most) if most else "–"
        if n_waiting:
            text += " · " + tr("{n} wait", n=n_waiting)
        if text != self.in_flight_label.text():
            self.in_flight_label.setText(text)

    def show_stats(self, stats: EngineStats, requests: list[int]) -> None:
        """Counters; `requests` are those whose numbers are known."""
        n = stats.active_requests
        known = requests[-n:] if n else []
        self.show_requests(known if len(known) == n else list(range(n)), stats.queued_requests)

    def _lay_out(self) -> None:
        self.body.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_M)
        self.body.setSpacing(SPACE_XS)

        def heading(text: str, tip: str) -> QWidget:
            return Title(self._theme, text, tip)

        self.body.addWidget(heading(tr("Policy"), tr("How computing and reading are arranged.")))
        self.body.addWidget(self.policy)
        self.body.addWidget(self.policy_words)
        self.body.addSpacing(SPACE_S)
        self.body.addWidget(
            heading(tr("Link speed"), tr("How fast experts are read from the disk."))
        )
        self.body.addWidget(self.link)
        self.body.addWidget(self.link_words)
        self.body.addSpacing(SPACE_S)
        row = QHBoxLayout()
        tip = tr("Most replies at once are set in Settings, and hold from the next load on.")
        row.addWidget(heading(tr("In flight"), tip))
        row.addStretch()
        row.addWidget(self.in_flight_label, alignment=Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        self.in_flight.setToolTip(tip)
        self.body.addWidget(self.in_flight)

    def _fill(self) -> None:
        names = policy_names()
        if self._policy not in (name for name, _ in names):
            names.append((self._policy, self._policy))
        _offer(self.policy, names, self._policy)
        self.policy_words.setText(policy_words(self._policy))
        _offer(self.link, offered(self._link), str(self._link))
        self.link_words.setText(
            tr("Emulated: reads are real, their completion is held to this pace.")
            if self._link.emulated
            else tr("As fast as the disk can.")
        )

    def _on_policy_chosen(self, place: int) -> None:
        policy = str(self.policy.itemData(place))
        self._service.set_policy(policy)
        self._settings.set("policy", policy)

    def _on_link_chosen(self, place: int) -> None:
        speed = LinkSpeed.parse(str(self.link.itemData(place)))
        if speed != self._service.link:
            self._service.set_link(speed)
            # For the model if it has a link of its own, as the demo model has; else for all others.
            model = self._service.state.model
            if not (model and self._library.change_own(Path(model.path), "link", speed)):
                self._settings.set("link", str(speed))
        self.refresh()


def _offer(box: QComboBox, choices: list[tuple[str, str]], chosen: str) -> None:
    if [box.itemData(k) for k in range(box.count())] != [name for name, _ in choices]:
        box.clear()
        for name, text in choices:
            box.addItem(text, name)
    box.setCurrentIndex(box.findData(chosen))
