"""In a pipe, long work tells how far it is."""

import io
import threading

import pytest
from rich.console import Console

from engine.cli.progress_lines import ProgressLines
from engine.cli.terminal import progress_bars


class Written(io.StringIO):
    """A file that tells when something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def write(self, text: str) -> int:
        n = super().write(text)
        self.told.set()
        return n


def test_work_that_reports_nothing_for_long_still_tells_how_far_it_is() -> None:
    file = Written()
    with ProgressLines(Console(file=file, width=140), first_s=0.01) as bars:
        task = bars.add_task("Measuring", total=4, amount="")
        bars.update(task, completed=1, amount="bevy, 2 requests")
        file.told.clear()
        assert file.told.wait(60)
    assert "Measuring 25%, bevy, 2 requests, 0:00:0" in file.getvalue()


def test_no_line_and_no_thread_comes_after_the_end() -> None:
    file = Written()
    before = threading.active_count()
    with ProgressLines(Console(file=file, width=140), first_s=60) as bars:
        bars.add_task("Measuring", total=None, amount="")
        bars.stop()
    assert threading.active_count() == before
    assert file.getvalue() == ""


def test_every_command_tells_by_lines_where_stderr_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert isinstance(progress_bars(), ProgressLines)
