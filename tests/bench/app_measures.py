"""What app_heartbeat.py measures, each in a process of its own: prints one line of JSON.

    fill                   makes what a person has after a while: 200 chats, one model
    first_window STARTED   seconds from STARTED (time.monotonic) to the first painted window
    streaming SECONDS      heartbeat, frames and throughput with 16 chats that stream
    hour                   memory after an hour's worth of text and events, as fast as they go in
    conversation           a conversation of 5,000 messages: opening and scrolling

RUNAHEAD_HOME names an empty folder, or one that `fill` has filled.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

if TYPE_CHECKING:
    from app.chat.chat import Chat
    from tests.e2e.real_app import RealApp

N_CHATS = 16
N_MESSAGES = 5000
SIZE = (1600, 1000)
TURN_S = 10.0  # of monitor open, of monitor closed
N_TURNS = 12
STAGGER_S = 0.5  # between the first questions: replies that all begin together cost in waves
HOUR_STEPS = 18_000  # five a second, what a laptop does with a model larger than memory


def memory_mb() -> dict[str, float]:
    """Of this process, without the engine's: now, and at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return {"now": int(found["VmRSS"]) / 1024, "peak": int(found["VmHWM"]) / 1024}


def spread(values: list[float]) -> dict[str, float]:
    """Median, 99th percentile, maximum."""
    import numpy as np

    if not values:
        return {"p50": 0.0, "p99": 0.0, "max": 0.0}
    return {
        "p50": float(np.percentile(values, 50)),
        "p99": float(np.percentile(values, 99)),
        "max": float(max(values)),
    }


class Heartbeat:
    """Milliseconds between two turns of a timer that wants to come every 5.

    `work` is what this thread has computed between them: the rest it has waited, for its turn or,
    where other processes want the processors too, for one of them.
    """

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.gaps: list[float] = []
        self.work: list[float] = []
        self._last = self._last_work = 0.0
        self._timer = QTimer(interval=5)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """From here on."""
        self.gaps, self.work = [], []
        self._last, self._last_work = time.perf_counter(), time.thread_time()
        self._timer.start()

    def stop(self) -> dict[str, float]:
        """The gaps' spread."""
        self._timer.stop()
        return spread(self.gaps)

    def _beat(self) -> None:
        now, work = time.perf_counter(), time.thread_time()
        self.gaps.append((now - self._last) * 1000)
        self.work.append((work - self._last_work) * 1000)
        self._last, self._last_work = now, work


def run_for(seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    """Let the app run as it does for a person: its own event loop, no polling."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    end = QTimer(singleShot=True, interval=round(seconds * 1000))
    end.timeout.connect(loop.quit)
    look = QTimer(interval=50)
    look.timeout.connect(lambda: loop.quit() if until() else None)
    end.start()
    look.start()
    loop.exec()


def fill(model: Path) -> dict[str, object]:
    """Some of the chats are open in tabs, the first of them is shown."""
    from PySide6.QtWidgets import QApplication

    from tests.e2e.real_app import RealApp, wait_until

    qt = QApplication([])
    app = RealApp()
    app.window.add_models([model])
    wait_until(lambda: app.library.by_path(model), "the model is in the library")
    text = "It says *something* about **experts** and `slots`.\n\n- one\n- two\n\n" * 3
    for n in range(200):
        made = app.conversations.create(title=f"Chat number {n}")
        for turn in range(20):
            app.conversations.add_message(made.id, "assistant" if turn % 2 else "user", text)
        if n >= 192:
            app.chats.open_conversation(made.id)
    app.window.show_page("chats")
    app.close()
    del qt
    return {}


def first_window(started: float) -> dict[str, object]:
    """The real start, closed as soon as the window was painted and events go round again."""
    from PySide6.QtCore import QEvent, QObject, QTimer

    from app import start

    painted: list[float] = []

    class Window(start.MainWindow):
        def show(self) -> None:
            self._watcher = Watcher(self)
            self.centralWidget().installEventFilter(self._watcher)
            super().show()

    class Watcher(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and not painted:
                painted.append(0.0)
                QTimer.singleShot(0, self._seen)
            return False

        def _seen(self) -> None:
            painted[0] = time.monotonic() - started
            self.parent().close()  # type: ignore[attr-defined]

    start.MainWindow = Window  # type: ignore[misc]
    start.open_window()
    return {"first_window_s": painted[0], "memory_mb": memory_mb()}


def go_on_for_ever(chat: "Chat") -> None:
    """Whenever its reply has ended, have it written again."""
    from PySide6.QtCore import QTimer

    def go_on() -> None:
        if not chat.is_busy and chat.service.state.phase == "ready":
            chat.regenerate(chat.messages[-1].id)

    chat.busy_changed.connect(lambda: QTimer.singleShot(0, go_on))


def open_app() -> "RealApp":
    """The real app, dressed."""
    from PySide6.QtWidgets import QApplication

    from tests.e2e.real_app import RealApp

    qt = QApplication.instance() or QApplication([])
    app = RealApp()
    app.theme.dress(qt)  # type: ignore[arg-type]
    app.window.resize(*SIZE)
    return app


def streaming(seconds: float, model: Path) -> dict[str, object]:
    """16 chats, the monitor beside them; then without and with it in turns."""
    from PySide6.QtCore import QEvent, QObject

    app = open_app()
    app.settings.set("max_requests", N_CHATS)
    app.settings.set("n_threads", 1)  # on so small a model a second one would only wait
    app.use_preset(max_tokens=700)
    app.add_and_load(model)
    for n in range(N_CHATS):
        go_on_for_ever(app.ask_in_new_tab(f"Question {n}: why?").chat)
        run_for(STAGGER_S)
    app.window.show_dock(True)
    timeline = app.window.pages.monitor.timeline_card.timeline
    frames = 0

    class Frames(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            nonlocal frames
            frames += event.type() == QEvent.Type.Paint
            return False

    counter = Frames()
    timeline.installEventFilter(counter)
    run_for(3)
    heartbeat = Heartbeat()
    heartbeat.start()
    frames, n_before, began = 0, app.service.n_tokens, time.perf_counter()
    run_for(seconds)
    took = time.perf_counter() - began
    beats = heartbeat.stop()
    result: dict[str, object] = {
        "gap_ms": beats,
        "work_ms": spread(heartbeat.work),
        "frames_per_s": frames / took,
        "tokens_per_s": (app.service.n_tokens - n_before) / took,
        "streaming": len(app.service.replies),
        "memory_mb": memory_mb(),
    }
    rates: dict[str, list[float]] = {"open": [], "closed": []}
    for turn in range(N_TURNS):
        for state in ("open", "closed") if turn % 2 else ("closed", "open"):
            app.window.show_dock(state == "open")
            run_for(1)
            n_before, began = app.service.n_tokens, time.perf_counter()
            run_for(TURN_S)
            rates[state].append((app.service.n_tokens - n_before) / (time.perf_counter() - began))
    result["open_over_closed"] = sum(rates["open"]) / sum(rates["closed"])
    result["ratios"] = sorted(o / c for o, c in zip(rates["open"], rates["closed"], strict=True))
    result["rates"] = rates
    app.close()
    return result


def hour() -> dict[str, object]:
    """A fake engine gives every chat a token per frame, and frames come as fast as they can."""
    from app import engine_service
    from tests.e2e import real_app
    from tests.helpers.fake_client import FakeClient

    words = " ".join(f"Sentence {n} says **something** about `experts`." for n in range(400))
    client = FakeClient()
    client.reply = lambda request: words
    engine_service.FRAME_MS = 0
    real_app.EngineClient = lambda: client  # type: ignore[assignment,misc]
    app = open_app()
    client.become_ready()
    app.service._pace()
    real_app.wait(0.5)
    views = [app.ask_in_new_tab(f"Question {n}: why?") for n in range(N_CHATS)]
    app.window.show_dock(True)
    begin = memory_mb()
    polls = [0]
    poll = client.poll

    def counted() -> object:
        polls[0] += 1
        return poll()

    client.poll = counted  # type: ignore[method-assign,assignment]
    series = []
    began = time.perf_counter()
    while polls[0] < HOUR_STEPS:
        done = polls[0]
        run_for(20, lambda done=done: polls[0] >= done + HOUR_STEPS // 10)
        series.append(round(memory_mb()["now"]))
        for view in views:
            if not view.chat.is_busy:
                view.chat.send("Go on.")
    result = {
        "steps": polls[0],
        "tokens": app.service.n_tokens,
        "took_s": time.perf_counter() - began,
        "begin_mb": begin["now"],
        "series_mb": series,
        "memory_mb": memory_mb(),
    }
    app.close()
    return result


def conversation() -> dict[str, object]:
    """Made, then opened by an app that starts anew, then scrolled with the wheel to its top."""
    from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtWidgets import QApplication

    from app import folders
    from app.data.conversations import Conversations
    from tests.e2e.real_app import wait_until

    qt = QApplication([])
    conversations = Conversations(folders.database())
    other = conversations.create(title="Another")
    conversations.add_message(other.id, "user", "Hello")
    made = conversations.create(title="Five thousand")
    code = "```python\ndef f(x):\n    return [x * n for n in range(10)]\n```\n"
    for n in range(N_MESSAGES):
        role = "assistant" if n % 2 else "user"
        text = f"Message {n}. " + "It says *something* about **experts** and `slots`. " * (
            n % 9 + 1
        )
        conversations.add_message(made.id, role, text + (f"\n\n{code}" if n % 10 == 5 else ""))
    conversations.close()

    app = open_app()
    app.window.show_page("chats")
    app.chats.open_conversation(other.id)
    run_for(1)
    began = time.perf_counter()
    app.chats.open_conversation(made.id)
    view = app.view(made.id)
    view.transcript.viewport().repaint()
    qt.processEvents()
    opened = time.perf_counter() - began

    bar = view.transcript.verticalScrollBar()
    wait_until(lambda: bar.maximum() > 0, "there is something to scroll")
    heartbeat = Heartbeat()
    wheel = QTimer(interval=16)

    def turn() -> None:
        place = QPointF(view.transcript.viewport().rect().center())
        event = QWheelEvent(
            *(place, view.transcript.viewport().mapToGlobal(place)),
            *(QPoint(), QPoint(0, 360)),
            *(Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier),
            *(Qt.ScrollPhase.NoScrollPhase, False),
        )
        QApplication.sendEvent(view.transcript.viewport(), event)

    wheel.timeout.connect(turn)
    before = bar.value()
    heartbeat.start()
    wheel.start()
    run_for(15, lambda: bar.value() == 0)
    wheel.stop()
    scrolled = heartbeat.stop()
    heartbeat.start()
    for n in range(40):  # the handle, dragged here and there
        bar.setValue(bar.maximum() * ((n * 7) % 40) // 40)
        run_for(0.05)
    jumped = heartbeat.stop()
    result = {
        "open_s": opened,
        "scroll_ms": scrolled,
        "jump_ms": jumped,
        "scrolled_px": before - bar.value(),
        "memory_mb": memory_mb(),
    }
    app.close()
    return result


def main() -> None:
    """Measure what the arguments name."""
    what, *rest = sys.argv[1:]
    if what == "fill":
        result = fill(Path(rest[0]))
    elif what == "first_window":
        result = first_window(float(rest[0]))
    elif what == "streaming":
        result = streaming(float(rest[0]), Path(rest[1]))
    else:
        result = {"hour": hour, "conversation": conversation}[what]()
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    main()
