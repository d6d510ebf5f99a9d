"""open_window(): the start of the app, in the order in which it happens, and its end."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import shiboken6
from PySide6.QtCore import QTimer

from app import folders
from app.application import make_application
from app.crash_reports import CrashReports
from app.doorbell import Doorbell, ring
from app.engine_service import EngineService
from app.garbage_collector import GarbageCollector
from app.language import tr
from app.models.library import ModelLibrary
from app.settings.finish_move import finish_move
from app.settings.settings import Settings
from app.single_instance import SingleInstance
from app.start_dialogs import open_conversations, tell
from app.theme.theme import Theme
from app.window import MainWindow
from engine.client import EngineClient
from engine.errors import EngineError
from engine.jobs import JobRunner


def open_window(files: Sequence[Path] = ()) -> int:
    """Show the window until it is closed; the exit code. `files` are models to add."""
    app = make_application()
    try:
        folders.data()
    except EngineError as error:
        tell(tr("Runahead cannot be opened"), str(error))
        return 1
    restarts = False
    with ExitStack() as ending:  # what is below ends in the opposite order
        collector = GarbageCollector()
        ending.callback(collector.close)
        settings = Settings(folders.settings_file())
        ending.callback(settings.close)
        theme = Theme(settings.get("theme"), settings.get("font_size"))
        theme.dress(app)
        finish_move(settings)

        instance = SingleInstance(folders.data())
        if why := instance.take():
            if ring(folders.data(), files):
                print(f"runahead: {why}", file=sys.stderr)
                return 0
            tell(tr("Runahead cannot be opened"), why)
            return 1
        ending.callback(instance.release)
        reports = CrashReports(folders.crash_reports(), enabled=settings.get("keep_crash_reports"))
        reports.install()
        ending.callback(reports.close)

        conversations = open_conversations(folders.database())
        if conversations is None:
            return 1
        ending.callback(conversations.close)
        library = ModelLibrary(folders.library())
        ending.callback(library.close)
        service = EngineService(EngineClient(), JobRunner())
        ending.callback(service.close)

        window = MainWindow(service, conversations, library, settings, theme)
        reports.reported.connect(window.tell_of_report)
        settings.changed.connect(
            lambda _: setattr(reports, "enabled", settings.get("keep_crash_reports"))
        )
        _end_on_signals(window)
        doorbell = Doorbell(folders.data())
        ending.callback(doorbell.close)
        doorbell.rung.connect(window.come_forward)
        doorbell.listen()
        window.show()
        if reports.found_crash:
            window.tell_of_report(str(reports.found_crash), of_last_run=True)
        if files:
            window.add_models(files)
        QTimer.singleShot(0, library.look)  # after the first frame
        QTimer.singleShot(0, collector.leave_out_what_is_there)
        code = app.exec()
        window.close()  # where something else has ended the event loop
        restarts = window.restarts
        shiboken6.delete(window)  # with all its parts, while what they use is there
    if restarts:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return code


def _end_on_signals(window: MainWindow) -> None:
    """Ctrl-C in the terminal and SIGTERM close the window as its button does.

    Python sees a signal when it runs next: the service's timer sees to that.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: window.close())
