"""The open chats, as tabs and side by side: their titles do not change what is seen of them."""

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from app.chat.chat_page import ChatPage
from app.data.conversations import Conversations
from app.theme.palette import LIGHT
from app.theme.style_sheet import style_sheet
from app.theme.theme import DEFAULT_FONT_SIZE

TITLES = (
    "Why reading experts from an SSD works, when it does, and how fast",
    "Rome",
    "A haiku",
    "Names",
)


def test_choosing_a_tab_does_not_change_how_wide_any_is(
    make_chat_page: Callable[[], ChatPage], conversations: Conversations
) -> None:
    page = make_chat_page()
    page.setStyleSheet(style_sheet(LIGHT, DEFAULT_FONT_SIZE, dark=False))
    for title in TITLES:
        page.open_conversation(conversations.create(title=title).id)
    bar = page.tabs.bar
    seen = []
    for chosen in range(bar.count()):
        bar.setCurrentIndex(chosen)
        seen.append([bar.tabRect(n).width() for n in range(bar.count())])
    assert all(widths == seen[0] for widths in seen)


def test_four_chats_side_by_side_are_all_as_large(
    qtbot: QtBot, make_chat_page: Callable[[], ChatPage], conversations: Conversations
) -> None:
    page = make_chat_page()
    page.close_chat(page.tabs.ids[0])
    for title in TITLES:
        page.open_conversation(conversations.create(title=title).id)
    page.close_chat(page.tabs.ids[0])
    page.tabs.tile_button.setChecked(True)
    page.tabs.select(page.tabs.ids[0])

    def differences() -> tuple[int, int]:
        views = [view for each in page.tabs.ids if (view := page.tabs.view(each)) is not None]
        wide = [view.width() for view in views if view.isVisible()]
        high = [view.height() for view in views if view.isVisible()]
        assert len(wide) == 4
        return max(wide) - min(wide), max(high) - min(high)

    qtbot.waitUntil(lambda: max(differences()) <= 1)
    page.tabs.tile_button.setChecked(False)
    whole = page.tabs.current
    assert whole is not None
    qtbot.waitUntil(lambda: whole.width() == page.tabs.width())
