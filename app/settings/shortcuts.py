"""SHORTCUTS: the keys of the window, as people look them up."""

import msgspec


class Shortcut(msgspec.Struct, frozen=True):
    """What keys do; `keys` as QKeySequence reads them, several with a space between."""

    text: str
    keys: str


PLACES: dict[str, tuple[Shortcut, ...]] = {
    "Everywhere": (
        Shortcut(
            "Chats, Subtasks, Monitor, Models, Runs, Settings",
            "Ctrl+1 Ctrl+2 Ctrl+3 Ctrl+4 Ctrl+5 Ctrl+6",
        ),
        Shortcut("Settings", "Ctrl+,"),
        Shortcut("Choose a model", "Ctrl+L"),
        Shortcut("Open a model file", "Ctrl+O"),
        Shortcut("The monitor beside the page", "Ctrl+Shift+M"),
        Shortcut("Full screen", "F11"),
        Shortcut("Quit", "Ctrl+Q"),
    ),
    "Chats": (
        Shortcut("New chat", "Ctrl+N Ctrl+T"),
        Shortcut("Close the tab", "Ctrl+W"),
        Shortcut("Next tab", "Ctrl+Tab Ctrl+PgDown"),
        Shortcut("Previous tab", "Ctrl+Shift+Tab Ctrl+PgUp"),
        Shortcut("Find in the chat", "Ctrl+F"),
        Shortcut("Search all chats", "Ctrl+Shift+F"),
        Shortcut("Send", "Return"),
        Shortcut("New line", "Shift+Return"),
        Shortcut("Stop the reply", "Esc"),
    ),
    "Subtasks": (Shortcut("Run the task", "Ctrl+Return"),),
    "Monitor": (
        Shortcut("Pause and go on", "Space"),
        Shortcut("Earlier, later", "Left Right"),
        Shortcut("Closer, further", "+ -"),
        Shortcut("The newest step", "End"),
    ),
    "Lists": (
        Shortcut("Search", "Ctrl+F"),
        Shortcut("Delete what is chosen", "Del"),
    ),
}
