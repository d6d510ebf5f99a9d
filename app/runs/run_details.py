"""RunDetails: plots, timeline and figures of the run that is selected, or of two side by side."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QScrollArea,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.language import tr
from app.runs.charts import Charts
from app.runs.comparison import compare, differences, lines_of
from app.runs.figure_table import FigureTable
from app.runs.run_index import RunIndex
from app.runs.run_summary import RunSummary
from app.runs.run_table import duration_text, started_text, state_text
from app.runs.timeline_tab import TimelineTab
from app.short import short
from app.theme.theme import SPACE_L, SPACE_M, SPACE_S, Theme
from app.widgets.labels import ElidedLabel, label, set_role
from engine import sizes
from engine.metrics import Steps


class RunDetails(QWidget):
    """Tabs; what they show arrives from the index."""

    def __init__(self, index: RunIndex, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._index = index
        self._names: tuple[str, ...] = ()
        self.title = ElidedLabel(role="heading")
        self.subtitle = ElidedLabel(role="muted")
        self.note = label(role="warning", wrap=True)
        self.charts = Charts(theme)
        self.timeline = TimelineTab(index, theme)
        self.figures = FigureTable(theme)
        self.empty = label(role="muted", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self._lay_out()
        self.charts.step_chosen.connect(self._on_step_chosen)
        index.changed.connect(self._on_changed)
        index.steps_arrived.connect(self._on_steps_arrived)

    @property
    def names(self) -> tuple[str, ...]:
        """The runs that are shown: none, one or two."""
        return self._names

    def show_runs(self, names: tuple[str, ...]) -> None:
        """Show one run, or compare two (the older one first)."""
        if names == self._names:
            return
        self._names = names
        self.timeline.show_run(names[0] if len(names) == 1 else "")
        self.tabs.setTabVisible(1, len(names) == 1)
        self._refresh()
        for name in names:
            self._index.want_steps(name)

    def _lay_out(self) -> None:
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        body.setProperty("scrolled", "true")
        column = QVBoxLayout(body)
        column.setContentsMargins(0, SPACE_M, SPACE_S, 0)
        column.addWidget(self.charts, 1)
        scroll.setWidget(body)
        self.tabs.addTab(scroll, tr("Plots"))
        self.tabs.addTab(self.timeline, tr("Timeline"))
        self.tabs.addTab(self.figures, tr("Figures"))
        shown = QWidget()
        words = QVBoxLayout(shown)
        words.setContentsMargins(SPACE_L, SPACE_S, SPACE_L, SPACE_S)
        words.setSpacing(SPACE_S)
        names = QHBoxLayout()
        names.setSpacing(SPACE_M)
        names.addWidget(self.title)
        names.addWidget(self.subtitle, 1)
        words.addLayout(names)
        words.addWidget(self.note)
        words.addWidget(self.tabs, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(shown)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.addWidget(self._stack)

    def _runs(self) -> list[RunSummary]:
        return [run for name in self._names if (run := self._index.get(name))]

    def _refresh(self) -> None:
        runs = self._runs()
        if not runs or len(runs) != len(self._names):
            self._say(tr("Select a run to see what it did; select two to compare them."))
        elif len(runs) == 1:
            self._show_one(runs[0])
        else:
            self._show_two(runs[0], runs[1])

    def _say(self, text: str) -> None:
        self.empty.setText(text)
        self._stack.setCurrentIndex(0)

    def _show_one(self, run: RunSummary) -> None:
        if run.state == "damaged":
            self._say(run.error)
            return
        steps = self._index.steps(run.name)
        if steps is not None and not len(steps):
            self._say(tr("{title} took no step in this run.", title=short(run.title)))
            return
        self._stack.setCurrentIndex(1)
        self.title.setText(run.title)
        self.subtitle.setText(
            " · ".join((started_text(run), run.policy, tr("cache {c}", c=run.cache_text)))
        )
        self._warn(_warnings(run))
        self.figures.show_rows([*_facts(run), *lines_of(run)])
        if steps is not None:
            self.charts.show_run(run.name, steps, run.marks)
            self.timeline.set_steps(steps)

    def _show_two(self, first: RunSummary, second: RunSummary) -> None:
        damaged = next((run for run in (first, second) if run.state == "damaged"), None)
        if damaged:
            self._say(damaged.error)
            return
        self._stack.setCurrentIndex(1)
        names = _short_names(first, second)
        self.title.setText(tr("{a} against {b}", a=names[0], b=names[1]))
        self.subtitle.setText("")
        found = differences(first, second)
        self._warn(tr("Not the same conditions: {what}.", what="; ".join(found)) if found else "")
        self.figures.show_lines(names, compare(first, second))
        a, b = self._index.steps(first.name), self._index.steps(second.name)
        if a is not None and b is not None:
            self.charts.show_two(f"{first.name} {second.name}", (names[0], a), (names[1], b))

    def _warn(self, text: str) -> None:
        self.note.setText(text)
        set_role(self.note, "warning")
        self.note.setVisible(bool(text))

    def _on_step_chosen(self, place: int) -> None:
        if len(self._names) == 1:
            self.timeline.choose(place)
            self.tabs.setCurrentWidget(self.timeline)

    def _on_changed(self, run: RunSummary) -> None:
        if run.name in self._names:
            self._refresh()

    def _on_steps_arrived(self, name: str, steps: Steps) -> None:
        if name in self._names:
            self._refresh()


def _warnings(run: RunSummary) -> str:
    meta = run.meta
    found = []
    if run.state == "crashed":
        found.append(tr("The engine did not end this log: it crashed or was killed."))
    if run.link.emulated:
        found.append(tr("The link was emulated at {speed}.", speed=run.link))
    if meta and meta.left_out_records:
        found.append(
            tr("The run was long: its oldest {n:,} records are gone.", n=meta.left_out_records)
        )
    if meta and meta.dropped_records:
        found.append(tr("{n:,} records were lost while it ran.", n=meta.dropped_records))
    return " ".join(found)


def _facts(run: RunSummary) -> list[tuple[str, str]]:
    meta = run.meta
    assert meta
    threads = run.number("n_threads")
    return [
        (tr("Started"), started_text(run)),
        (tr("Duration"), duration_text(run)),
        (tr("State"), state_text(run)),
        (tr("Model file"), meta.model.file),
        (tr("Policy"), run.policy),
        (tr("Cache"), run.cache_text),
        (tr("Link"), f"{run.link} ({tr('emulated')})" if run.link.emulated else str(run.link)),
        (tr("Store"), meta.store),
        (tr("Device"), f"{meta.device}, {meta.machine.cpu}".strip(", ")),
        (tr("Threads"), str(threads) if threads else tr("all {n} cores", n=meta.machine.cpus)),
        (tr("Context"), f"{run.number('context'):,}"),
        (tr("Runahead"), meta.versions.get("runahead", "")),
        (tr("Log"), f"{run.name}, {sizes.show(run.n_bytes)}"),
    ]


def _short_names(first: RunSummary, second: RunSummary) -> tuple[str, str]:
    """What tells them apart, with a number in front."""
    for of in (lambda r: r.policy, lambda r: r.title, started_text):
        a, b = of(first), of(second)
        if a != b:
            return f"1 {a}", f"2 {b}"
    return "1", "2"
