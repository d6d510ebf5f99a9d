"""A model may be called anything: the window keeps its shape, and tells the whole name."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.models.add_bar import summary
from app.models.adding import Report
from app.models.known_model import known_model
from app.shell.model_menu import ModelMenu
from app.short import short
from app.theme.theme import Theme
from app.widgets.banner import Banner
from app.widgets.labels import ElidedLabel
from app.window import MainWindow
from engine.engine_state import EngineState, ModelSummary
from engine.options import EngineOptions
from tests.helpers.cut_widgets import cut_widgets
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import model_info

if TYPE_CHECKING:
    from app.data.conversations import Conversations
    from app.models.library import ModelLibrary
    from app.settings.settings import Settings

NAME = "W" * 180 + "-Q4"


def info_of(name: str) -> ModelSummary:
    return ModelSummary.of(msgspec.structs.replace(model_info(Path("/m.gguf")), name=name))


def test_a_title_is_one_line_as_far_as_anybody_reads() -> None:
    assert info_of("A\nname  of two lines ").title == "A name of two lines"
    assert info_of(" \n").title == "m"
    assert len(info_of("W" * 1_000_000).title) == 201
    assert info_of(NAME).title == NAME


def test_a_short_name_keeps_its_ends() -> None:
    assert short("a name", 6) == "a name"
    assert short("a long name", 7) == "a lo…me"
    assert len(short(NAME)) == 48 and short(NAME).endswith("W-Q4")


def test_a_button_of_a_banner_is_as_narrow_as_it_can_be_and_has_the_whole_name(
    qtbot: QtBot, theme: Theme
) -> None:
    banner = Banner(theme)
    qtbot.addWidget(banner)
    banner.tell("No model is loaded", action=f"Load {NAME}")
    assert banner.button.sizeHint().width() < 260 and NAME in banner.button.toolTip()
    banner.tell("No model is loaded", action="Load A&B")
    assert (banner.button.text(), banner.button.toolTip()) == ("Load A&&B", "")


def test_what_adding_told_is_readable() -> None:
    known = known_model("m", 0.0, msgspec.structs.replace(model_info(Path("/m")), name=NAME))
    title, _, _ = summary(Report(known=(known,)))
    assert title == f"{short(NAME)} was in the list already"


def test_lists_of_models_have_a_long_name_whole_in_the_tool_tip(
    qtbot: QtBot,
    service: EngineService,
    conversations: "Conversations",
    library: "ModelLibrary",
    settings: "Settings",
) -> None:
    for name in (NAME, "A"):
        library.add(msgspec.structs.replace(model_info(Path(f"/{name}")), name=name))
    window = MainWindow(service, conversations, library, settings, Theme("light"))
    qtbot.addWidget(window)
    window.show()
    tip = Qt.ItemDataRole.ToolTipRole
    rows = window.pages.models._list_model
    assert {rows.index(row).data(tip) for row in range(2)} == {f"{NAME}\n/{NAME}", "/A"}
    window.header.chooser.open_menu()
    menu = window.findChild(ModelMenu)
    assert menu is not None
    assert {menu.list.item(row).data(tip) for row in range(2)} == {NAME, ""}
    menu.close()


@pytest.mark.parametrize("phase", ["starting", "loading", "ready", "failed"])
def test_the_window_keeps_its_size_whatever_the_loaded_model_is_called(
    qtbot: QtBot,
    service: EngineService,
    conversations: "Conversations",
    library: "ModelLibrary",
    settings: "Settings",
    fake_client: FakeClient,
    phase: str,
) -> None:
    theme = Theme("light")
    window = MainWindow(service, conversations, library, settings, theme)
    qtbot.addWidget(window)
    window.resize(860, 600)
    window.show()
    chat = conversations.create(title="A chat")
    window.open_conversation(chat.id)
    fake_client.become_ready()
    state = msgspec.structs.replace(
        service.state,
        model=msgspec.structs.replace(info_of(NAME), architecture="qwen3moe"),
        options=EngineOptions(),
    )
    if phase != "ready":
        reason = "It is damaged." if phase == "failed" else ""
        state = EngineState(phase=phase, model=state.model, options=state.options, reason=reason)
    fake_client.held = True
    fake_client._become(state)
    qtbot.waitUntil(lambda: NAME in window.header.chooser.title.text())
    view = window.pages.chats.tabs.current
    assert view is not None
    if phase in ("failed", "ready"):
        view._offer_to_load(state)
        assert not view.banner.button.isHidden()
    window.show_dock(True)
    qtbot.wait(100)
    assert window.minimumSizeHint().width() <= 860 and window.width() == 860
    assert [cut for cut in cut_widgets(window) if "W" * 20 in cut] == []
    for label in (window.header.chooser.title, window.status.phase):
        assert isinstance(label, ElidedLabel)
        label.grab()
        assert NAME in label.toolTip()
