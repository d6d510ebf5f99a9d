"""How replies are shown while they stream: side by side in a terminal, else as prefixed lines."""

import sys
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from engine.cli.replies import Reply
from engine.cli.terminal import stdout, visible
from engine.events import Event, Finished, Piece, PrefillProgress
from engine.request import RequestId

_COLOURS = ("blue", "yellow", "green", "magenta", "cyan", "red")
_MIN_COLUMN = 36


class View(Protocol):
    """Shows replies; a context manager around their streaming."""

    def __enter__(self) -> "View":
        """Start showing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop showing; what was shown last stays."""

    def take(self, event: Event) -> None:
        """Something arrived."""


def view_of(replies: list[Reply]) -> View:
    """The view that suits stdout."""
    if len(replies) == 1:
        return PlainView(replies, prefix=False)
    return ColumnsView(replies) if stdout().is_terminal else PlainView(replies, prefix=True)


class PlainView:
    """Text as it comes; with `prefix`, whole lines that begin with the reply's number."""

    def __init__(self, replies: list[Reply], prefix: bool):
        self._numbers = {reply.request: n for n, reply in enumerate(replies, 1)}
        self._prefix = prefix
        self._lines: dict[RequestId, str] = {}

    def __enter__(self) -> "PlainView":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for request in list(self._lines):
            self._end(request)

    def take(self, event: Event) -> None:
        """Print what became whole."""
        if isinstance(event, Piece):
            text = visible(event.text)
            if not self._prefix:
                sys.stdout.write(text)
                self._lines[event.request] = (self._lines.get(event.request, "") + text)[-1:]
            else:
                *lines, rest = (self._lines.get(event.request, "") + text).split("\n")
                for line in lines:
                    self._line(event.request, line)
                self._lines[event.request] = rest
            sys.stdout.flush()
        elif isinstance(event, Finished):
            self._end(event.request)

    def _end(self, request: RequestId) -> None:
        rest = self._lines.pop(request, "")
        if self._prefix and rest:
            self._line(request, rest)
        elif not self._prefix and rest != "\n":
            sys.stdout.write("\n")
        sys.stdout.flush()

    def _line(self, request: RequestId, line: str) -> None:
        sys.stdout.write(f"[{self._numbers[request]}] {line}\n")


class ColumnsView:
    """A panel per reply, all streaming at once; at the end the whole replies in turn."""

    def __init__(self, replies: list[Reply], console: Console | None = None):
        self._replies = replies
        self._console = console or stdout()
        self._states = {reply.request: "waiting" for reply in replies}
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=12,
            transient=True,
            vertical_overflow="crop",
        )

    def __enter__(self) -> "ColumnsView":
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()
        for n, reply in enumerate(self._replies):
            self._console.rule(self._title(n, reply), align="left", style=_colour(n))
            self._console.print(Text(visible(reply.text)))

    def take(self, event: Event) -> None:
        """Note how far a reply is; its text is read when the picture is drawn."""
        if isinstance(event, PrefillProgress):
            self._states[event.request] = f"reading the prompt {event.done}/{event.total}"
        elif isinstance(event, Piece):
            self._states[event.request] = "replying"
        elif isinstance(event, Finished):
            self._states[event.request] = event.detail or event.reason

    def _render(self) -> Group:
        width, height = self._console.size
        columns = max(1, min(len(self._replies), width // _MIN_COLUMN))
        rows = -(-len(self._replies) // columns)
        panel_height = max(4, (height - 1) // rows)
        table = Table.grid(expand=True)
        for _ in range(columns):
            table.add_column(ratio=1)
        panels = [
            self._panel(n, reply, width // columns - 4, panel_height)
            for n, reply in enumerate(self._replies)
        ]
        for at in range(0, len(panels), columns):
            table.add_row(*panels[at : at + columns])
        return Group(table)

    def _panel(self, n: int, reply: Reply, width: int, height: int) -> Panel:
        # Only the end can be seen: wrap no more than that.
        tail = Text(visible(reply.text[-4 * max(1, width) * height :]))
        lines = tail.wrap(self._console, max(1, width))[-(height - 2) :]
        return Panel(
            Text("\n").join(lines),
            title=self._title(n, reply),
            subtitle=Text(visible(self._states[reply.request])[: max(1, width)]),
            height=height,
            border_style=_colour(n),
        )

    def _title(self, n: int, reply: Reply) -> Text:
        prompt = " ".join(visible(reply.prompt).split())
        return Text(f"{n + 1}: {prompt if len(prompt) < 50 else prompt[:47] + '...'}")


def _colour(n: int) -> str:
    return _COLOURS[n % len(_COLOURS)]
