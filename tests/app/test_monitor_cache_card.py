"""The cache's slider over one engine after another."""

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.models.library import ModelLibrary
from app.monitor.cache_card import CacheCard
from app.settings.settings import Settings
from app.theme.theme import Theme
from engine.cache_size import CacheSize
from tests.helpers.fake_client import EXPERTS_BYTES, FakeClient


@pytest.fixture
def card(
    qtbot: QtBot,
    service: EngineService,
    library: ModelLibrary,
    settings: Settings,
    theme: Theme,
    fake_client: FakeClient,
) -> CacheCard:
    fake_client.become_ready()
    card = CacheCard(service, library, settings, theme)
    qtbot.addWidget(card)
    return card


def test_what_was_asked_of_an_engine_that_died_is_not_waited_for(
    qtbot: QtBot,
    card: CacheCard,
    service: EngineService,
    fake_client: FakeClient,
) -> None:
    card._send.setInterval(600)
    service.state_changed.connect(
        lambda state: card.show_engine(state.info if state.phase == "ready" else None)
    )
    card.slider.asked.emit(0.7 * EXPERTS_BYTES)
    fake_client.crash()
    qtbot.waitUntil(lambda: not card.slider.isEnabled())
    qtbot.waitUntil(lambda: not card._send.isActive())
    service.restart()
    qtbot.waitUntil(card.slider.isEnabled)
    service.set_cache_size(CacheSize(fraction=0.5))
    with qtbot.waitSignal(service.cache_changed):
        pass
    assert card.slider.n_bytes == pytest.approx(0.5 * EXPERTS_BYTES, rel=0.02)
    assert "50%" in card.size_label.text()


def test_nothing_is_told_of_what_is_in_use_before_it_is_known(
    card: CacheCard, service: EngineService, fake_client: FakeClient
) -> None:
    card.show()
    card.show_engine(fake_client.state.info)
    assert "experts fit" in card.result.text() and "in use" not in card.result.text()
    service.stats_changed.emit(msgspec.structs.replace(fake_client.stats(), cache_in_use=9))
    assert "in use" in card.result.text()
