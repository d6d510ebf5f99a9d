"""The page of models, used as a person would: everything through its widgets."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from app.engine_service import EngineService
from app.models import disposal, models_page
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.machine_memory import MachineMemory
from app.models.models_page import ModelsPage
from app.models.two_columns import WIDE, TwoColumns
from app.settings.settings import Settings
from app.theme.theme import Theme
from app.widgets.toast import Toast
from engine.cache_size import CacheSize
from engine.options import EngineOptions
from engine.pack import pack_path
from engine.request import Message, Request
from tests.helpers.fake_client import FakeClient
from tests.helpers.fake_jobs import FakeJobs, model_info

GB = 10**9


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> list[MachineMemory]:
    """What the machine has; a test may replace the only item."""
    now = [MachineMemory(32 * GB, 24 * GB)]
    monkeypatch.setattr(models_page, "machine_memory", lambda: now[0])
    return now


@pytest.fixture
def page(
    qtbot: QtBot,
    service: EngineService,
    library: ModelLibrary,
    settings: Settings,
    theme: Theme,
    memory: list[MachineMemory],
) -> Iterator[ModelsPage]:
    page = ModelsPage(service, library, settings, theme)
    page.resize(1024, 700)
    page.show()
    yield page
    page.close()
    page.deleteLater()
    settings.close()


@pytest.fixture
def model(qtbot: QtBot, page: ModelsPage, library: ModelLibrary, tmp_path: Path) -> KnownModel:
    """The one model of the list, selected, with what will fit worked out."""
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    info = msgspec.structs.replace(model_info(tmp_path / "a.gguf"), expert_bytes=[2_654_208])
    model = library.add(info)
    qtbot.waitUntil(lambda: page.details.fit_card.verdict.text() != "")
    return model


def box(page: ModelsPage, qtbot: QtBot) -> QMessageBox:
    qtbot.waitUntil(lambda: bool(page.findChildren(QMessageBox)))
    return page.findChildren(QMessageBox)[-1]


def answer(asked: QMessageBox, text: str) -> None:
    next(button for button in asked.buttons() if button.text() == text).click()


def loads(client: FakeClient) -> list[tuple[object, ...]]:
    return [call for call in client.calls if call[0] == "load"]


def load(qtbot: QtBot, page: ModelsPage, service: EngineService) -> None:
    page.details.load_button.click()
    qtbot.waitUntil(lambda: service.state.phase == "ready")


def test_an_empty_list_leads_to_a_model_that_works(
    qtbot: QtBot, page: ModelsPage, library: ModelLibrary
) -> None:
    assert page.stack.currentWidget() is page.empty
    page.empty.second_button.click()
    qtbot.waitUntil(lambda: bool(library.all()))
    assert page.stack.currentWidget() is not page.empty
    qtbot.waitUntil(lambda: page.details.title.text() == "demo")


def test_what_was_added_is_selected_and_described(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, tmp_path: Path
) -> None:
    (tmp_path / "b.gguf").write_bytes(b"GGUF")
    page.add_paths([tmp_path / "b.gguf"])
    qtbot.waitUntil(lambda: page.details.title.text() == "b")
    qtbot.waitUntil(lambda: page.details.about.metadata.topLevelItemCount() == 2)
    assert page.details.about.tensors.topLevelItem(0).text(0) == "Q4_0"
    facts = page.details.about.facts
    items = [facts.topLevelItem(n) for n in range(facts.topLevelItemCount())]
    rows = {item.text(0): item.text(1) for item in items if item}
    assert rows["Family"] == "qwen3moe"
    assert rows["Context"] == "trained for 40,960 tokens"


def test_load_opens_the_model_with_its_options_and_unload_closes_it(
    qtbot: QtBot,
    page: ModelsPage,
    model: KnownModel,
    service: EngineService,
    fake_client: FakeClient,
) -> None:
    page.details.options_card.context.setValue(2048)
    load(qtbot, page, service)
    (call,) = loads(fake_client)
    assert call[1] == model.path
    options = call[2]
    assert isinstance(options, EngineOptions)
    assert (options.context, options.cache) == (2048, CacheSize(fraction=0.3))
    assert page.details.load_button.text() == "Unload"
    page.details.load_button.click()
    qtbot.waitUntil(lambda: page.details.load_button.text() == "Load")
    assert fake_client.state.phase == "stopped"


def test_loading_shows_how_far_it_is_and_can_be_cancelled(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, fake_client: FakeClient
) -> None:
    fake_client.n_stages = 10_000
    page.details.load_button.click()
    qtbot.waitUntil(page.details.progress.isVisible)
    page.details.progress.cancel_button.click()
    qtbot.waitUntil(lambda: not page.details.progress.isVisible())
    assert fake_client.calls[-1] == ("unload",)


def test_a_failed_load_says_why(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, fake_client: FakeClient
) -> None:
    fake_client.load_error = ("Memory would not suffice.", "Choose a smaller cache.")
    page.details.load_button.click()
    qtbot.waitUntil(page.details.problem.isVisible)
    assert page.details.problem.text() == "Memory would not suffice. Choose a smaller cache."


def test_what_will_not_fit_is_asked_before_it_is_loaded(
    qtbot: QtBot,
    page: ModelsPage,
    model: KnownModel,
    fake_client: FakeClient,
    memory: list[MachineMemory],
) -> None:
    memory[0] = MachineMemory(32 * GB, GB)
    page._on_timeout()
    qtbot.waitUntil(lambda: page.details.fit_card.verdict.text() == "Does not fit")
    page.details.load_button.click()
    asked = box(page, qtbot)
    assert "more than the 1 GB that are available" in asked.informativeText()
    answer(asked, "Cancel")
    assert loads(fake_client) == []
    page.details.load_button.click()
    answer(box(page, qtbot), "Load anyway")
    qtbot.waitUntil(lambda: len(loads(fake_client)) == 1)


def test_replies_are_not_cut_off_without_a_question(
    qtbot: QtBot,
    page: ModelsPage,
    model: KnownModel,
    service: EngineService,
    fake_client: FakeClient,
) -> None:
    load(qtbot, page, service)
    fake_client.held = True
    reply = service.generate(Request(messages=(Message("user", "Hello"),)))
    page.details.load_button.click()
    asked = box(page, qtbot)
    assert "A reply is being written" in asked.informativeText()
    answer(asked, "Unload")
    qtbot.waitUntil(lambda: not reply.active)
    assert fake_client.state.phase == "stopped"


def test_the_recommended_cache_is_taken_with_one_click_and_given_back(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, library: ModelLibrary
) -> None:
    page.details.fit_card.recommend_button.click()
    assert library.get(model.id).choices.cache == CacheSize()  # all of it fits
    assert page.details.options_card.cache_text.text().endswith("100%")
    assert not page.details.fit_card.recommend_button.isVisible()
    page.details.options_card._resets["cache"].click()
    assert library.get(model.id).choices.cache is None
    assert page.details.options_card.cache_text.text().endswith("30%")


def test_settings_are_the_defaults_of_options(
    page: ModelsPage, model: KnownModel, settings: Settings
) -> None:
    settings.set("max_requests", 5)
    assert page.details.options_card.max_requests.value() == 5


def test_a_model_that_cannot_run_says_why_and_cannot_be_loaded(
    page: ModelsPage, library: ModelLibrary, tmp_path: Path
) -> None:
    (tmp_path / "d.gguf").write_bytes(b"GGUF")
    dense = model_info(tmp_path / "d.gguf", supported=False, reason="it has no experts.")
    page.select(library.add(dense).id)
    assert page.details.problem.text() == "Runahead cannot run this model: it has no experts."
    assert not page.details.load_button.isEnabled()
    assert not page.details.fit_card.isVisible()


def test_a_missing_file_can_be_located(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, library: ModelLibrary, fake_jobs: FakeJobs
) -> None:
    moved = model.path.rename(model.path.with_name("moved.gguf"))
    library.look()
    qtbot.waitUntil(page.details.locate_button.isVisible)
    assert str(model.path) in page.details.problem.text()
    assert not page.details.load_button.isEnabled()
    page.model_actions.locate_at(model.id, moved)  # another model than the one that is missing
    qtbot.waitUntil(page.banner.isVisible)
    assert "another model" in page.banner.text.text()
    fake_jobs.infos[str(moved)] = msgspec.structs.replace(
        model_info(moved), fingerprint=model.info.fingerprint
    )
    page.model_actions.locate_at(model.id, moved)
    qtbot.waitUntil(lambda: not page.details.problem.isVisible())
    assert library.get(model.id).path == moved


def test_a_model_that_is_removed_while_its_file_is_looked_into_stays_away(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, library: ModelLibrary, fake_jobs: FakeJobs
) -> None:
    fake_jobs.held = True
    page.model_actions.locate_at(model.id, model.path)
    page.model_actions.remove(model)
    fake_jobs.held = False
    qtbot.wait(300)  # an exception fails the test
    assert library.all() == []


def test_removing_leaves_files_and_can_be_undone(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, library: ModelLibrary
) -> None:
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Delete)
    assert library.all() == []
    assert model.path.exists()
    toast = page.findChild(Toast)
    assert toast is not None
    toast.button.click()
    assert [m.id for m in library.all()] == [model.id]


def test_deleting_asks_says_what_is_freed_and_takes_the_pack_along(
    qtbot: QtBot,
    page: ModelsPage,
    model: KnownModel,
    library: ModelLibrary,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trashed: list[Path] = []
    monkeypatch.setattr(disposal, "move_to_trash", trashed.extend)
    model.path.rename(model.path.with_name("blob"))
    model.path.symlink_to("blob")
    page.model_actions.trash(model)
    assert "a link: the file that it leads to stays" in box(page, qtbot).informativeText()
    answer(box(page, qtbot), "Cancel")
    model.path.with_name("blob").replace(model.path)
    pack = pack_path(model.info)
    pack.parent.mkdir(parents=True)
    pack.write_bytes(bytes(1000))
    library.look()
    qtbot.waitUntil(lambda: library.state(model.id).pack.kind == "stale")
    page.model_actions.trash(model)
    asked = box(page, qtbot)
    assert "when the trash is emptied" in asked.informativeText()
    assert "1 kB" in asked.checkBox().text()
    answer(asked, "Move to trash")
    qtbot.waitUntil(lambda: library.all() == [])
    assert trashed == [model.path]
    assert not pack.exists()


def test_a_file_that_cannot_be_trashed_stays_in_the_list(
    qtbot: QtBot,
    page: ModelsPage,
    model: KnownModel,
    library: ModelLibrary,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(files: list[Path]) -> None:
        raise PermissionError(13, "Permission denied", str(files[0]))

    monkeypatch.setattr(disposal, "move_to_trash", refuse)
    page.model_actions.trash(model)
    answer(box(page, qtbot), "Move to trash")
    qtbot.waitUntil(page.banner.isVisible)
    assert "Permission denied" in page.banner.text.text()
    assert library.all() == [model]


def test_a_pack_is_built_shown_and_deleted(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, library: ModelLibrary, fake_jobs: FakeJobs
) -> None:
    card = page.details.pack_card
    assert card.build_button.text() == "Build"
    fake_jobs.held = True
    card.build_button.click()
    qtbot.waitUntil(lambda: ("pack", str(model.path)) in fake_jobs.calls)
    assert card.progress.isVisible()
    assert not card.build_button.isVisible()
    pack_path(model.info).parent.mkdir(parents=True, exist_ok=True)
    pack_path(model.info).write_bytes(b"damaged")
    fake_jobs.held = False
    qtbot.waitUntil(lambda: card.state.text() == "Stale")
    card.delete_button.click()
    answer(box(page, qtbot), "Delete pack")
    qtbot.waitUntil(lambda: card.state.text() == "Not built")
    assert not pack_path(model.info).exists()


def test_building_a_pack_does_not_scroll_away_from_it(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, fake_jobs: FakeJobs
) -> None:
    page.resize(900, 400)
    page.activateWindow()
    card = page.details.pack_card
    card.build_button.setFocus()
    qtbot.waitUntil(card.build_button.hasFocus)
    bar = page.details.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    before = bar.value()
    assert 0 < before < bar.maximum()
    fake_jobs.held = True
    card.build_button.click()
    qtbot.waitUntil(card.progress.isVisible)
    assert card.progress.cancel_button.hasFocus()
    assert bar.value() == before
    card.progress.cancel_button.click()
    qtbot.waitUntil(card.build_button.isVisible)
    assert card.build_button.hasFocus()
    assert bar.value() == before


def test_a_changed_file_is_read_again_by_itself(
    qtbot: QtBot, page: ModelsPage, model: KnownModel, library: ModelLibrary, fake_jobs: FakeJobs
) -> None:
    fake_jobs.infos[str(model.path)] = msgspec.structs.replace(
        model_info(model.path), name="A new version", fingerprint=4
    )
    model.path.write_bytes(b"GGUF, newer")
    library.look()
    qtbot.waitUntil(lambda: page.details.title.text() == "A new version")
    qtbot.waitUntil(lambda: not library.state(model.id).changed)


def test_search_finds_by_name_type_and_path_and_order_can_be_chosen(
    page: ModelsPage, library: ModelLibrary, tmp_path: Path
) -> None:
    for name, n_bytes in (("small", 1), ("large", 100)):
        info = model_info(tmp_path / f"{name}.gguf")
        library.add(msgspec.structs.replace(info, files=[type(info.files[0])(info.path, n_bytes)]))
    assert _titles(page) == ["large", "small"]
    page._sorted.search("Q4_0 smal")
    assert _titles(page) == ["small"]
    width = page.list.width()
    page._sorted.search("huge")
    assert page.nothing.isVisible() and page.list.width() == width
    page._sorted.search("")
    page._sorted.sort_by("Size")
    assert _titles(page) == ["large", "small"]
    page._sorted.sort_by("Added")
    assert _titles(page) == ["large", "small"]


def _titles(page: ModelsPage) -> list[str]:
    model = page.list.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_cards_lie_below_each_other_when_letters_are_large(qtbot: QtBot) -> None:
    first, second = QWidget(), QWidget()
    columns = TwoColumns([(first, 0), (second, 1)])
    qtbot.addWidget(columns)
    columns.resize(WIDE + 100, 400)
    columns.show()
    qtbot.waitUntil(lambda: second.x() > first.x())
    font = columns.font()
    font.setPointSizeF(24)
    columns.setFont(font)
    columns.resize(WIDE + 120, 400)
    qtbot.waitUntil(lambda: second.x() == first.x())
