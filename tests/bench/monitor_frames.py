"""What the monitor costs: replays records at their own pace into a real page and measures frames.

    python tests/bench/monitor_frames.py [--run RUN_LOG] [--sessions 16] [--seconds 20]

Without --run the records are made up: steps of `sessions` requests, 8 readers, 48 layers. Prints
the cost of a frame (everything the monitor does in it, painting included), frames per second, the
share of one core that the monitor takes, and the gaps of a 10 ms heartbeat on the GUI thread.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QElapsedTimer, QEvent, Qt, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from app.engine_service import EngineService  # noqa: E402
from app.models.library import ModelLibrary  # noqa: E402
from app.monitor.monitor_page import MonitorPage  # noqa: E402
from app.settings.settings import Settings  # noqa: E402
from app.theme.theme import Theme  # noqa: E402
from engine.client import ClientEvent, Traced  # noqa: E402
from engine.runlog.reader import RunLog  # noqa: E402
from engine.trace import Records  # noqa: E402
from tests.helpers.fake_client import FakeClient  # noqa: E402
from tests.helpers.fake_jobs import FakeJobs  # noqa: E402
from tests.helpers.made_up_records import MadeUpRecords  # noqa: E402

N_LAYER = 48
MADE_STEPS = 12
HEARTBEAT_MS = 10


class ReplayedClient(FakeClient):
    """Gives recorded records at the pace at which they were recorded, over and over."""

    def __init__(self, records: Records) -> None:
        super().__init__()
        self._all = records[np.argsort(records["end_ns"], kind="stable")]
        self._length = int(self._all["end_ns"][-1] - self._all["end_ns"][0]) + 1_000_000
        self._n_steps = int(self._all["step"].max()) + 1
        self._begin_ns = 0
        self._given = 0
        self.n_records = 0

    def poll(self) -> list[ClientEvent]:
        events = super().poll()
        now = time.monotonic_ns()
        self._begin_ns = self._begin_ns or now
        while self.watched:
            rounds, place = divmod(self._given, len(self._all))
            offset = self._begin_ns + rounds * self._length - int(self._all["end_ns"][0])
            until = int(np.searchsorted(self._all["end_ns"], now - offset))
            if until <= place:
                break
            batch = self._all[place:until].copy()
            for name in ("begin_ns", "end_ns"):
                batch[name] += offset
            batch["step"] += np.where(batch["step"] >= 0, rounds * self._n_steps, 0)
            self._given += until - place
            self.n_records += len(batch)
            events.append(Traced(batch))
        return events


class TimedApplication(QApplication):
    """Adds up how long paint events take."""

    def __init__(self, arguments: list[str]) -> None:
        self.paint_s = 0.0
        self._depth = 0
        super().__init__(arguments)

    def notify(self, receiver: object, event: QEvent) -> bool:
        if event.type() != QEvent.Type.UpdateRequest:
            return super().notify(receiver, event)  # type: ignore[arg-type]
        begin = time.perf_counter()
        result = super().notify(receiver, event)  # type: ignore[arg-type]
        self.paint_s += time.perf_counter() - begin
        return result


def made_up(sessions: int) -> Records:
    maker = MadeUpRecords(n_layer=N_LAYER, n_readers=8)
    return np.concatenate([maker.next_step(list(range(sessions))) for _ in range(MADE_STEPS)])


def cpu_share_without_the_monitor(
    qapp: QApplication, service: EngineService, seconds: float
) -> float:
    """Of the pump and the replay alone."""
    service.watch(qapp, True)
    cpu, wall = time.process_time(), time.perf_counter()
    QTimer.singleShot(round(seconds * 1000), qapp.quit)
    qapp.exec()
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    service.watch(qapp, False)
    return share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, help="a run log's folder")
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", default="1600x1000")
    parser.add_argument("--span", default="minute", choices=("minute", "ten", "all"))
    args = parser.parse_args()
    records = RunLog(args.run).records() if args.run else made_up(args.sessions)
    qapp = TimedApplication([])
    theme = Theme("dark")
    theme.dress(qapp)
    client = ReplayedClient(records)
    service = EngineService(client, FakeJobs())
    folder = Path(tempfile.mkdtemp())
    settings = Settings(folder / "settings.json")
    library = ModelLibrary(folder / "models.json")
    page = MonitorPage(service, library, settings, theme)
    page.resize(*(int(part) for part in args.size.split("x")))
    client.become_ready()
    without = cpu_share_without_the_monitor(qapp, service, args.seconds / 3)
    page.show()
    page.span_choice.choose(args.span)

    costs: list[float] = []
    inner = page._on_frame

    def timed_frame() -> None:
        begin, paint = time.perf_counter(), qapp.paint_s
        inner()
        costs.append(time.perf_counter() - begin + paint - timed_frame.paint)  # type: ignore[attr-defined]
        timed_frame.paint = paint  # type: ignore[attr-defined]

    timed_frame.paint = 0.0  # type: ignore[attr-defined]
    page._timer.timeout.disconnect(inner)
    page._timer.timeout.connect(timed_frame)

    gaps: list[float] = []
    clock = QElapsedTimer()
    clock.start()
    heart = QTimer(interval=HEARTBEAT_MS)
    heart.setTimerType(Qt.TimerType.PreciseTimer)
    heart.timeout.connect(lambda: gaps.append(clock.restart()))
    heart.start()
    warm = min(3.0, args.seconds / 4)

    def forget() -> None:
        costs.clear()
        gaps.clear()
        forget.cpu, forget.wall = time.process_time(), time.perf_counter()  # type: ignore[attr-defined]
        forget.records = client.n_records  # type: ignore[attr-defined]

    forget()
    QTimer.singleShot(round(warm * 1000), forget)
    QTimer.singleShot(round((warm + args.seconds) * 1000), qapp.quit)
    qapp.exec()
    wall = time.perf_counter() - forget.wall  # type: ignore[attr-defined]
    cpu = time.process_time() - forget.cpu  # type: ignore[attr-defined]
    ms = np.array(costs) * 1e3
    beats = np.array(gaps)
    n = client.n_records - forget.records  # type: ignore[attr-defined]
    print(f"records/s      {n / wall:10,.0f}   ({len(page.history.steps):,} rows kept)")
    print(f"frames/s       {len(costs) / wall:10.1f}")
    print(f"ms per frame   {np.median(ms):10.2f}   p99 {np.percentile(ms, 99):.2f}")
    print(
        f"share of core  {cpu / wall - without:10.1%}   besides {without:.1%} for pump and replay"
    )
    print(f"heartbeat ms   p99 {np.percentile(beats, 99):.0f}   most {beats.max():.0f}")
    page.close()
    service.close()
    settings.close()
    library.close()


if __name__ == "__main__":
    main()
