"""How one model is opened, as the card shows it and as a person changes it."""

from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.models.choices import ModelChoices
from app.models.known_model import known_model
from app.models.options_card import OptionsCard
from app.theme.theme import Theme
from engine.options import EngineOptions
from tests.helpers.fake_jobs import model_info


@pytest.mark.parametrize("name", ["context", "max_requests", "n_threads"])
def test_a_number_that_is_being_typed_stays_while_the_page_looks_at_the_memory(
    qtbot: QtBot, theme: Theme, name: str
) -> None:
    card = OptionsCard(theme)
    qtbot.addWidget(card)
    card.show()
    model = known_model("id", 1.0, model_info(Path("big.gguf")))
    options = EngineOptions(context=4096, max_requests=4, n_threads=0)
    card.show_options(model, options, is_open=False)
    chosen: list[ModelChoices] = []
    card.chosen.connect(chosen.append)
    box = getattr(card, name)
    box.lineEdit().selectAll()
    QTest.keyClicks(box, "30")
    card.show_options(model, options, is_open=False)
    QTest.keyClicks(box, "0" if name == "context" else "")
    box.interpretText()
    assert [getattr(each, name) for each in chosen] == [300 if name == "context" else 30]


def test_a_number_that_was_being_typed_is_not_that_of_another_model(
    qtbot: QtBot, theme: Theme
) -> None:
    card = OptionsCard(theme)
    qtbot.addWidget(card)
    card.show()
    options = EngineOptions(max_requests=4)
    chosen: list[ModelChoices] = []
    card.chosen.connect(chosen.append)
    for id_ in ("first", "second"):
        model = known_model(id_, 1.0, model_info(Path(f"{id_}.gguf")))
        card.show_options(model, options, is_open=False)
        assert card.max_requests.text() == "4"
        card.max_requests.lineEdit().selectAll()
        QTest.keyClicks(card.max_requests, "7")
    assert chosen == []
