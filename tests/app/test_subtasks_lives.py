"""A task that is stopped, taken away or left by a closed app while its items run."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.data.conversations import Conversations
from app.data.task import Task
from app.engine_service import EngineService
from app.settings.sampling_preset import SamplingPreset
from app.settings.settings import Settings
from app.subtasks.subtasks_page import SubtasksPage
from app.subtasks.task_run import TaskRun
from app.subtasks.task_runs import TaskRuns
from app.theme.theme import Theme
from engine.events import Finished, Piece
from engine.request import RequestId
from engine.sampling import SamplingParams
from tests.helpers.fake_client import FakeClient


@pytest.fixture
def runs(service: EngineService, conversations: Conversations, settings: Settings) -> TaskRuns:
    return TaskRuns(service, conversations, settings)


@pytest.fixture
def make(runs: TaskRuns, fake_client: FakeClient) -> Callable[..., TaskRun]:
    fake_client.become_ready()
    fake_client.reply = lambda request: "short"

    def made(items: list[str], **fields: object) -> TaskRun:
        task = Task(id="", title="", prompt="Tell me of {item}", **fields)  # type: ignore[arg-type]
        return runs.create(task, items)

    return made


def states(run: TaskRun) -> list[str]:
    return [item.state for item in run.items]


def test_items_that_were_to_run_again_when_the_app_was_closed_are_as_they_were(
    make: Callable[..., TaskRun],
    conversations: Conversations,
    service: EngineService,
    settings: Settings,
    fake_client: FakeClient,
    home: Path,
    qtbot: QtBot,
) -> None:
    run = make(["Rome", "Paris", "Oslo"], at_once=1)
    fake_client.reply = lambda request: "many words " * 1000
    run.rerun(1)
    qtbot.waitUntil(lambda: (live := run.live(1)) is not None and live.n_tokens > 2)
    run.stop(1)
    qtbot.waitUntil(lambda: not run.is_active)
    fake_client.reply = lambda request: "short"
    run.rerun(2)
    qtbot.waitUntil(lambda: not run.is_active)
    fake_client.held = True
    run.run_rest()
    run.rerun(2)
    assert [run.is_queued(place) for place in range(3)] == [False, True, True]
    service.close()
    conversations.close()
    again = Conversations(home / "conversations.sqlite")
    try:
        [run] = TaskRuns(service, again, settings).all()
        assert states(run) == ["stopped", "stopped", "done"]
        assert run.answer(1).startswith("many words")
    finally:
        again.close()


@pytest.mark.parametrize("removed", [False, True])
def test_a_task_that_is_stopped_while_its_last_item_ends_is_not_summed_up(
    make: Callable[..., TaskRun],
    runs: TaskRuns,
    fake_client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
    removed: bool,
) -> None:
    def too_late(request: RequestId) -> None:
        fake_client._runs.clear()
        fake_client._events += [Piece(request, "short", (1,)), Finished(request, "stop")]

    monkeypatch.setattr(fake_client, "cancel", too_late)
    run = make(["Rome"], summarise=True)
    fake_client.held = True
    run.run_rest()
    qtbot.waitUntil(lambda: bool(fake_client.active))
    if removed:
        runs.remove(run)
    else:
        run.stop_all()
    fake_client.held = False
    qtbot.waitUntil(lambda: states(run) == ["done"])
    qtbot.wait(150)
    assert not run.summary.is_active
    assert len(fake_client.requests) == 1


def test_what_is_queued_is_told_at_once(
    make: Callable[..., TaskRun], fake_client: FakeClient
) -> None:
    run = make(["Rome", "Paris", "Oslo"], at_once=1)
    fake_client.held = True
    told: list[int] = []
    run.item_changed.connect(told.append)
    run.run_rest()
    assert {1, 2} <= set(told)
    assert run.is_queued(2)


def test_results_say_which_of_them_are_not_whole(
    service: EngineService,
    conversations: Conversations,
    settings: Settings,
    theme: Theme,
    fake_client: FakeClient,
    qtbot: QtBot,
) -> None:
    cut = SamplingPreset("Cut", SamplingParams(max_tokens=3))
    settings.set("presets", [cut])
    fake_client.become_ready()
    fake_client.reply = lambda request: "many words " * 1000
    page = SubtasksPage(service, conversations, settings, theme)
    qtbot.addWidget(page)
    page.show()
    run = page.runs.create(
        Task(id="", title="", prompt="Tell me", preset="Cut", summarise=True), ["Rome"]
    )
    page.show_run(run)
    page.view.tabs.setCurrentIndex(1)
    run.run_rest()
    qtbot.waitUntil(lambda: bool(run.summary.text) and not run.summary.is_active)
    rows = page.view.results.view.rows
    qtbot.waitUntil(lambda: len(rows.messages) == 2 and "3 tokens" in rows.messages[0].text)
    assert "*Cut off at 3 tokens.*" in rows.messages[0].text
    assert rows.messages[1].text.endswith("many words many\n\n*Cut off at 3 tokens.*")
    page.view.export.copy()
    assert QGuiApplication.clipboard().text().count("*Cut off at 3 tokens.*") == 2
    (later,) = TaskRuns(service, conversations, settings).all()
    assert later.summary.note == "Cut off at 3 tokens."


def test_what_an_earlier_task_has_taken_the_place_of_in_the_form_can_be_brought_back(
    service: EngineService,
    conversations: Conversations,
    settings: Settings,
    theme: Theme,
    qtbot: QtBot,
) -> None:
    page = SubtasksPage(service, conversations, settings, theme)
    qtbot.addWidget(page)
    earlier = Task(id="", title="", prompt="Tell me", system_prompt="Be brief.")
    run = page.runs.create(earlier, ["Rome"])
    form = page.form
    page.start_new()
    for field in (form.task, form.system, form.items):
        field.insertPlainText("long thought about")
    page.start_new(run)
    fields = (form.task, form.system, form.items)
    assert [field.toPlainText() for field in fields] == ["Tell me", "Be brief.", "Rome"]
    for field in fields:
        field.undo()
    assert {field.toPlainText() for field in fields} == {"long thought about"}


def test_a_summary_that_was_stopped_says_so(
    make: Callable[..., TaskRun], fake_client: FakeClient, qtbot: QtBot
) -> None:
    run = make(["Rome"])
    run.run_rest()
    qtbot.waitUntil(lambda: not run.is_active)
    fake_client.reply = lambda request: "many words " * 1000
    run.summarise()
    qtbot.waitUntil(lambda: bool(run.summary.text))
    assert run.summary.note == ""
    run.stop_all()
    assert run.summary.text
    assert run.summary.note == "It was stopped."
