"""The page of subtasks as a person uses it, with a made-up engine."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.settings.settings import Settings
from app.subtasks.row_look import LOOK
from app.subtasks.subtasks_page import SubtasksPage
from app.theme.theme import Theme
from app.widgets.toast import Toast
from engine.request import Request
from tests.helpers.fake_client import FakeClient


@pytest.fixture
def page(
    service: EngineService,
    conversations: Conversations,
    settings: Settings,
    theme: Theme,
    fake_client: FakeClient,
    qtbot: QtBot,
) -> SubtasksPage:
    fake_client.become_ready()
    fake_client.reply = lambda request: f"About **{request.messages[-1].content.split()[-1]}**."
    page = SubtasksPage(service, conversations, settings, theme)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    return page


def fill(page: SubtasksPage, items: str = "Rome\nParis\nOslo") -> None:
    page.form.task.setPlainText("Tell me of {item}")
    page.form.items.setPlainText(items)


def run_all(page: SubtasksPage, qtbot: QtBot, items: str = "Rome\nParis\nOslo") -> None:
    fill(page, items)
    qtbot.mouseClick(page.form.run_button, Qt.MouseButton.LeftButton)
    run = page.runs.all()[0]
    qtbot.waitUntil(lambda: not run.is_active)


def test_the_form_says_what_it_will_do_and_needs_a_model(
    page: SubtasksPage, service: EngineService, qtbot: QtBot
) -> None:
    assert page.stack.currentWidget() is page.form
    assert not page.form.run_button.isEnabled()
    fill(page)
    assert page.form.run_button.text() == "Run 3 items"
    assert "Tell me of Rome" in page.form.example.text()
    assert page.form.run_button.isEnabled()
    service.unload()
    qtbot.waitUntil(lambda: not page.form.run_button.isEnabled())
    assert "Load a model" in page.form.notice.text()


def test_a_run_shows_its_items_and_gathers_their_results(page: SubtasksPage, qtbot: QtBot) -> None:
    run_all(page, qtbot)
    view = page.view
    assert page.stack.currentWidget() is view
    looks = [view.model.index(row).data(LOOK) for row in range(3)]
    assert [(look.title, look.icon, look.line) for look in looks] == [
        ("Rome", "check", "About Rome."),
        ("Paris", "check", "About Paris."),
        ("Oslo", "check", "About Oslo."),
    ]
    assert "tokens" in looks[0].figures
    view.tabs.setCurrentIndex(1)
    shown = [message.text for message in view.results.view.rows.messages]
    assert shown[0] == "### 1. Rome\n\nAbout **Rome**."
    assert len(shown) == 3
    assert not view.stop_button.isVisible()
    assert not view.rest_button.isVisible()


def test_progress_is_shown_per_item_while_it_runs(
    page: SubtasksPage, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.reply = lambda request: "growing text " * 1000
    fill(page)
    page.form.at_once.setValue(2)
    qtbot.mouseClick(page.form.run_button, Qt.MouseButton.LeftButton)
    model = page.view.model

    def look(row: int) -> object:
        return model.index(row).data(LOOK)

    qtbot.waitUntil(lambda: "/s" in look(0).figures)  # type: ignore[attr-defined]
    assert look(0).line.endswith(("growing", "text"))  # type: ignore[attr-defined]
    assert look(2).line == "Queued"  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: "2 running" in page.view.figures.text())
    qtbot.waitUntil(lambda: "tokens/s" in page.view.figures.text())
    assert page.view.detail.view.rows.messages[0].text.startswith("growing")
    qtbot.mouseClick(page.view.detail.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: look(0).icon == "stop")  # type: ignore[attr-defined]
    qtbot.mouseClick(page.view.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.view.rest_button.isVisible())
    assert page.view.rest_button.text() == "Run the rest (3)"
    fake_client.reply = lambda request: "short"
    qtbot.mouseClick(page.view.rest_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.runs.all()[0].counts["done"] == 3)


def test_an_item_opens_as_a_chat_and_can_run_again(
    page: SubtasksPage, conversations: Conversations, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run_all(page, qtbot)
    page.view.select(1)
    with qtbot.waitSignal(page.conversation_opened) as opened:
        qtbot.mouseClick(page.view.detail.open_button, Qt.MouseButton.LeftButton)
    assert opened.args is not None
    assert conversations.path(opened.args[0])[0].text == "Tell me of Paris"
    fake_client.reply = lambda request: "Another."
    qtbot.mouseClick(page.view.detail.again_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.runs.all()[0].answer(1) == "Another.")
    qtbot.waitUntil(lambda: page.view.detail.view.rows.messages[0].text == "Another.")


def test_an_item_whose_chat_was_deleted_does_not_open(
    page: SubtasksPage, conversations: Conversations, qtbot: QtBot
) -> None:
    run_all(page, qtbot)
    chat = page.runs.all()[0].items[1].conversation
    assert chat is not None
    conversations.remove(chat)
    page.view.select(1)
    assert not page.view.detail.open_button.isEnabled()
    with qtbot.assertNotEmitted(page.conversation_opened):
        page.view.items.activated.emit(page.view.model.index(1))


def test_a_crash_is_told_and_one_click_runs_the_rest(
    page: SubtasksPage, service: EngineService, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.reply = lambda request: "growing text " * 1000
    fill(page)
    qtbot.mouseClick(page.form.run_button, Qt.MouseButton.LeftButton)
    run = page.runs.all()[0]
    qtbot.waitUntil(lambda: run.tokens_per_s > 0)
    fake_client.crash()
    qtbot.waitUntil(lambda: page.view.banner.isVisible())
    assert page.view.banner.title.text() == "3 items are unfinished"
    assert page.view.banner.button.text() == "Restart the engine"
    qtbot.mouseClick(page.view.banner.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.view.banner.button.text() == "Run the rest")
    fake_client.reply = lambda request: "short"
    qtbot.mouseClick(page.view.banner.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: run.counts["done"] == 3)
    assert not page.view.banner.isVisible()


def test_a_trouble_that_was_read_of_one_task_is_told_of_another(
    page: SubtasksPage, service: EngineService, qtbot: QtBot
) -> None:
    run_all(page, qtbot)
    first = page.runs.all()[0]
    second = page.runs.create(first.task, ["Bern"])
    service.unload()
    for run in (first, second):
        run.rerun(0)
    for run in (first, second):
        page.show_run(run)
        assert page.view.banner.isVisibleTo(page.view)
        page.view.banner.hide()
        page.view.banner.closed.emit()


def test_the_model_splits_a_task_into_parts_that_can_be_changed_before_they_run(
    page: SubtasksPage, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.reply = lambda request: 'Here: ["The history", "The food"]'
    page.form.task.setPlainText("Write a guide to Rome")
    qtbot.mouseClick(page.form.split_button, Qt.MouseButton.LeftButton)
    assert page.form.split_button.text() == "Stop splitting"
    qtbot.waitUntil(lambda: page.form.items.items == ["The history", "The food"])
    assert "2 parts" in page.form.notice.text()
    page.form.items.appendPlainText("The people")
    qtbot.mouseClick(page.form.run_button, Qt.MouseButton.LeftButton)
    run = page.runs.all()[0]
    qtbot.waitUntil(lambda: not run.is_active)
    asked = [request.messages[-1].content for request in fake_client.requests.values()][1:]
    assert asked[2].startswith("Write a guide to Rome")
    assert asked[2].endswith("only this part of it: The people")


def test_an_answer_without_parts_is_told(
    page: SubtasksPage, fake_client: FakeClient, qtbot: QtBot
) -> None:
    fake_client.reply = lambda request: "No."
    page.form.task.setPlainText("Write a guide to Rome")
    qtbot.mouseClick(page.form.split_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "no parts" in page.form.notice.text())
    assert page.form.items.items == []


def test_tables_are_laid_out_when_pasted_and_files_are_read_when_dropped(
    page: SubtasksPage, tmp_path: Path
) -> None:
    items = page.form.items
    data = QMimeData()
    data.setText("city\tcountry\nRome\tItaly\nParis\tFrance")
    items.insertFromMimeData(data)
    assert items.items == ["city: Rome; country: Italy", "city: Paris; country: France"]
    items.undo()
    assert items.items == []
    file = tmp_path / "list.md"
    file.write_text("# Cities\n\n- Rome\n- Paris\n")
    dropped = QMimeData()
    dropped.setUrls([QUrl.fromLocalFile(str(file))])
    items.insertFromMimeData(dropped)
    assert items.items == ["Rome", "Paris"]
    refused: list[str] = []
    items.refused.connect(refused.append)
    items.read_file(tmp_path / "missing.txt")
    assert "missing.txt" in refused[0]


def test_results_are_copied_and_exported(page: SubtasksPage, tmp_path: Path, qtbot: QtBot) -> None:
    run_all(page, qtbot)
    page.view.export.copy()
    assert "## Paris\n\nAbout **Paris**." in QGuiApplication.clipboard().text()
    for suffix in ("md", "csv", "jsonl"):
        page.view.export.save(tmp_path / f"out.{suffix}", suffix)
        assert "Paris" in (tmp_path / f"out.{suffix}").read_text("utf-8-sig")


def test_the_results_are_summed_up_above_them(
    page: SubtasksPage, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run_all(page, qtbot)

    def reply(request: Request) -> str:
        return "Three fine cities."

    fake_client.reply = reply
    qtbot.mouseClick(page.view.sum_button, Qt.MouseButton.LeftButton)
    rows = page.view.results.view.rows
    qtbot.waitUntil(lambda: "Three fine cities." in rows.messages[0].text)
    assert len(rows.messages) == 4


def test_a_deleted_task_comes_back_with_undo(page: SubtasksPage, qtbot: QtBot) -> None:
    run_all(page, qtbot)
    run = page.runs.all()[0]
    page.remove(run)
    assert page.stack.currentWidget() is page.form
    toast = page.window().findChild(Toast)
    assert toast is not None
    qtbot.mouseClick(toast.button, Qt.MouseButton.LeftButton)
    assert page.stack.currentWidget() is page.view
    assert page.view.title.text() == "Tell me of {item}"
    assert run.answer(0) == "About **Rome**."


def test_a_task_is_the_start_of_another_one(page: SubtasksPage, qtbot: QtBot) -> None:
    run_all(page, qtbot)
    page.start_new(page.runs.all()[0])
    assert page.form.items.items == ["Rome", "Paris", "Oslo"]
    assert page.form.draft.prompt == "Tell me of {item}"


def test_a_task_that_takes_the_form_ends_the_splitting_of_another(
    page: SubtasksPage, fake_client: FakeClient, qtbot: QtBot
) -> None:
    run_all(page, qtbot)
    page.start_new()
    fake_client.reply = lambda request: "word " * 1000
    page.form.task.setPlainText("Write a guide to Rome")
    before = page.form.split_button.text()
    qtbot.mouseClick(page.form.split_button, Qt.MouseButton.LeftButton)
    page.start_new(page.runs.all()[0])
    assert page.form.split_button.text() == before
    assert page.form.run_button.isEnabled()


def test_more_items_than_there_may_be_are_not_left_out_without_a_word(page: SubtasksPage) -> None:
    page.form.items.set_items([f"item {n}" for n in range(2500)])
    assert page.form.n_items.text() == "2,000 items, the most"


def test_earlier_tasks_are_listed_after_a_restart(
    page: SubtasksPage,
    home: Path,
    conversations: Conversations,
    service: EngineService,
    settings: Settings,
    theme: Theme,
    qtbot: QtBot,
) -> None:
    run_all(page, qtbot)
    page.runs.all()[0].rename("Cities")
    conversations.close()
    again = Conversations(home / "conversations.sqlite")
    second = SubtasksPage(service, again, settings, theme)
    qtbot.addWidget(second)
    assert second.view.title.text() == "Cities"
    assert second.view.tabs.currentIndex() == 1
    assert second.model.index(0).data(LOOK).line == "3 items"
    again.close()


def test_damaged_rows_cost_what_they_hold_and_the_rest_is_shown(
    page: SubtasksPage,
    service: EngineService,
    conversations: Conversations,
    settings: Settings,
    theme: Theme,
    qtbot: QtBot,
) -> None:
    run_all(page, qtbot, "Rome\nParis\nOslo")
    run_all(page, qtbot, "Bern\nKyiv")
    bern, rome = page.runs.all()
    for sql, value in (
        ("UPDATE task SET is_split = 7, at_once = 3 WHERE id = ?", rome.task.id),
        ("UPDATE task SET created = 1e300 WHERE id = ?", bern.task.id),
        ("UPDATE task_item SET state = 'dome' WHERE id = ?", rome.items[1].id),
        ("UPDATE task_item SET place = 9 WHERE id = ?", rome.items[0].id),
        ("UPDATE message SET parent = id WHERE id = ?", rome.items[2].reply),
    ):
        conversations.store.write(sql, (value,))
    conversations.flush()
    conversations._forget(rome.items[2].conversation or "")  # as after another start
    told: list[str] = []
    conversations.failed.connect(told.append)
    again = SubtasksPage(service, conversations, settings, theme)
    qtbot.addWidget(again)
    again.resize(1000, 700)
    again.show()
    [run] = [each for each in again.runs.all() if each.task.id == rome.task.id]
    assert {each.task.title for each in again.runs.all()} == {rome.task.title}
    assert len(again.runs.all()) == 2
    assert (run.task.at_once, run.task.is_split) == (3, False)
    again.show_run(run)
    again.grab()
    assert [item.text for item in run.items] == ["Paris", "Oslo", "Rome"]
    assert [item.state for item in run.items] == ["waiting", "done", "done"]
    assert [item.place for item in run.items] == [0, 1, 2]
    assert [run.answer(place) for place in range(3)] == ["About **Paris**.", "", "About **Rome**."]
    assert len(told) == 2  # at the start, and when the damaged reply was looked at
    assert all("damaged" in sentence for sentence in told)
    run.run_rest()
    run.rerun(1)
    qtbot.waitUntil(lambda: not run.is_active)
    assert [run.answer(place) for place in range(3)] == [
        *("About **Paris**.", "About **Oslo**.", "About **Rome**."),
    ]


def test_larger_letters_find_room_at_once(page: SubtasksPage, qtbot: QtBot) -> None:
    form = page.form
    run_all(page, qtbot)
    detail = page.view.detail
    for widget in (form, detail):
        widget.resize(760, 600)
    assert detail.open_button.text()
    assert form._grid.getItemPosition(form._grid.indexOf(form.summarise)) == (1, 2, 1, 1)
    for widget in (form, detail):
        font = widget.font()
        font.setPixelSize(60)
        widget.setFont(font)
    assert not detail.open_button.text()
    assert form._grid.getItemPosition(form._grid.indexOf(form.summarise)) == (4, 0, 1, 3)
