"""TaskRun: a task and its items, and the work on them. No widget; widgets listen to it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.thinking import answer_of
from app.data.conversation import Conversation, Message, MessageState
from app.data.conversations import Conversations
from app.data.data_error import DataError
from app.data.saved_tasks import SavedTasks
from app.data.task import ItemState, Task, TaskItem
from app.engine_service import EngineService
from app.language import tr
from app.reply_result import ReplyResult
from app.settings.settings import Settings
from app.subtasks import prompt
from app.subtasks.export import Result
from app.subtasks.live_item import LiveItem
from app.subtasks.summary import Summary
from app.subtasks.task_sessions import TaskSessions
from engine.engine_state import EngineState
from engine.request import Request

_ENDS: dict[str, ItemState] = {
    **{"stop": "done", "length": "done", "cancelled": "stopped", "error": "failed"}
}
_TITLE_LENGTH = 60


class TaskRun(QObject):
    """Works on as many items at once as the engine computes together; others wait here.

    What happens is on disk: a run that was interrupted, by whatever, goes on with `run_rest`.

    Signals:
        changed: Whether it works, its trouble, or how many items are in which state.
        item_changed: State, figures or text of an item. arg: its place.
        renamed: The task has another title.

    Attributes:
        task, items: What is on disk; replaced, never changed.
        trouble: Why it stands still; "" when all is well.
        summary: What sums the results up.
    """

    changed = Signal()
    item_changed = Signal(int)
    renamed = Signal()

    def __init__(
        self,
        task: Task,
        items: Sequence[TaskItem],
        saved: SavedTasks,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        parent: QObject | None = None,
    ):
        super().__init__(parent)
        self.task = task
        self.items = list(items)
        self.trouble = ""
        self._saved = saved
        self._service = service
        self._conversations = conversations
        self._settings = settings
        self._queue: dict[int, TaskItem] = {}  # by place, in their order: as they were before
        self._live: dict[int, LiveItem] = {}
        self._sessions = TaskSessions(service)
        self._has_told = False  # that a reply cannot be read
        self._has_failed = False  # an item, and the engine may yet say that it is gone
        self._is_given_up = False  # by a person: nothing more is begun by itself
        self.summary = Summary(service, conversations, settings, self)
        self.summary.show(task)
        self.summary.changed.connect(self._on_summary_changed)
        # Not at once: when the engine dies, its last word comes after the ends of all replies.
        self._feeding = QTimer(self, singleShot=True, interval=0)
        self._feeding.timeout.connect(self._feed)
        service.state_changed.connect(self._on_state_changed)
        for item in self.items:
            if item.state == "running":
                self._set(item.place, state="stopped", detail=tr("Runahead was closed meanwhile."))

    # How it stands.

    @property
    def is_active(self) -> bool:
        """Whether items are being worked on, or queued."""
        return bool(self._live or self._queue)

    @property
    def counts(self) -> Counter[str]:
        """Items by state."""
        return Counter(item.state for item in self.items)

    @property
    def n_unfinished(self) -> int:
        """Items that `run_rest` would run."""
        return sum(
            item.state != "done" and item.place not in self._live and not self.is_queued(item.place)
            for item in self.items
        )

    @property
    def tokens_per_s(self) -> float:
        """Of all sessions together."""
        return sum(live.tokens_per_s for live in self._live.values())

    @property
    def limit(self) -> int:
        """Most items at once."""
        return min(self._most, self.task.at_once) if self.task.at_once else self._most

    def is_queued(self, place: int) -> bool:
        """Whether an item waits for its turn."""
        return place in self._queue

    def live(self, place: int) -> LiveItem | None:
        """What is known of an item that is being worked on."""
        return self._live.get(place)

    def chat(self, place: int) -> str | None:
        """The item's conversation, unless it was deleted since."""
        conversation = self.items[place].conversation
        return conversation if conversation in self._conversations else None

    def reply(self, place: int) -> Message | None:
        """The item's newest reply, as a message of its conversation."""
        item = self.items[place]
        if item.reply is None or item.conversation is None:
            return None
        try:
            return self._conversations.message(item.reply)
        except KeyError:  # its conversation was deleted
            return None
        except DataError as error:
            self._tell(error)
            return None

    def answer(self, place: int) -> str:
        """What it says so far, without thinking."""
        if live := self._live.get(place):
            return answer_of(live.text)
        message = self.reply(place)
        return answer_of(message.text) if message else ""

    def result(self, place: int) -> Result:
        """The item for whoever takes it elsewhere."""
        item, message = self.items[place], self.reply(place)
        known = message.result if message and message.result else ReplyResult(reason="stop")
        return Result(
            item=item.text,
            state=item.state,
            text=self.answer(place),
            detail=item.detail,
            n_tokens=known.n_tokens,
            tokens_per_s=round(known.tokens_per_s, 2),
            model=known.model,
        )

    def results(self) -> list[Result]:
        """Of all items, in their order."""
        return [self.result(place) for place in range(len(self.items))]

    # What a person does.

    def rename(self, title: str) -> None:
        """Give the task another title."""
        self._save(msgspec.structs.replace(self.task, title=title))
        self.renamed.emit()

    def run_rest(self) -> None:
        """Work on all items that are not done."""
        self._enqueue(item.place for item in self.items if item.state != "done")

    def rerun(self, place: int) -> None:
        """Work on an item again; its earlier reply stays beside the new one in its chat."""
        self._enqueue([place])

    def stop(self, place: int) -> None:
        """Stop an item, keeping the text that it has."""
        if before := self._queue.pop(place, None):
            state = "stopped" if before.state == "waiting" else before.state
            self._set(place, state=state, detail=before.detail)
        elif live := self._live.get(place):
            if live.reply is not None:
                live.reply.stop()
            else:
                self._end(place, "stopped", "")

    def stop_all(self) -> None:
        """Stop what runs; what waits is as it was."""
        self._is_given_up = True
        self._empty_queue()
        for place in list(self._live):
            self.stop(place)
        self.summary.stop()
        self._rest()

    def summarise(self) -> None:
        """Sum up what is done with a last request."""
        results = [
            (item.text, answer) for item in self.items if (answer := self.answer(item.place))
        ]
        if results and not self.summary.is_active:
            self.summary.start(self.task, results)

    # How it works.

    @property
    def _most(self) -> int:
        options = self._service.state.options
        return options.max_requests if options else int(self._settings.get("max_requests"))

    def _enqueue(self, places: Iterable[int]) -> None:
        for place in places:
            if place not in self._live and place not in self._queue:
                self._queue[place] = self.items[place]
                # On disk it stays as it was until it is begun, whatever ends the app before.
                self._set(place, quietly=True, saved=False, state="waiting", detail="")
                self.item_changed.emit(place)
        self.trouble = ""
        self._is_given_up = False
        self._feed()

    def _feed(self) -> None:
        self._has_failed = False
        if self._queue and self._service.state.phase != "ready":
            self._pause(tr("No model is loaded."))
            return
        n_others = max(0, len(self._service.replies) - len(self._live))
        room = max(1, min(self.limit, self._most - n_others))
        while self._queue and len(self._live) < room:
            place = next(iter(self._queue))
            del self._queue[place]
            self._begin(place)
        if self.is_active:
            self.changed.emit()
        else:
            self._rest()
            wanted = self.task.summarise and self.task.summary is None and not self._is_given_up
            if wanted and all(item.state == "done" for item in self.items):
                self.summarise()

    def _rest(self) -> None:
        """Let go of what is only of use while it works."""
        if not self.is_active:
            self._sessions.close()
        self.changed.emit()

    def _pause(self, why: str) -> None:
        self._empty_queue()
        self.trouble = why
        self.changed.emit()

    def _empty_queue(self) -> None:
        queued, self._queue = self._queue, {}
        for place, before in queued.items():
            self._set(place, quietly=True, saved=False, state=before.state, detail=before.detail)
            self.item_changed.emit(place)

    def _begin(self, place: int) -> None:
        live = self._live[place] = LiveItem()
        question = self._question(place)
        if question is not None:
            self._ask(place, live, question)
            return
        text = self.items[place].text
        conversation = self._conversations.create(
            title=text[:_TITLE_LENGTH],
            kind="subtask",
            system_prompt=self.task.system_prompt,
            preset=self.task.preset,
            task=self.task.id,
        )
        self._set(place, state="running", detail="", conversation=conversation.id, reply=None)
        self._conversations.add_message(
            conversation.id,
            "user",
            prompt.item_text(self.task, text),
            on_saved=partial(self._on_question_saved, place, live),
        )

    def _question(self, place: int) -> Message | None:
        """What was asked when the item ran before."""
        item = self.items[place]
        try:
            conversation: Conversation | None = self._conversations.get(item.conversation or "")
        except KeyError:
            return None
        assert conversation is not None
        try:
            path = self._conversations.path(conversation.id)
        except DataError:  # asked again in a new one
            return None
        return path[0] if path else None

    def _on_question_saved(self, place: int, live: LiveItem, why: str | None) -> None:
        if self._live.get(place) is not live:
            return  # stopped meanwhile
        question = self._question(place)
        if why is None and question is not None:
            self._ask(place, live, question)
        else:
            self._end(place, "failed", why or tr("Its chat was deleted."))

    def _ask(self, place: int, live: LiveItem, question: Message) -> None:
        answer = self._conversations.add_message(
            question.conversation, "assistant", "", parent=question.id, state="streaming"
        )
        self._set(place, state="running", detail="", reply=answer.id)
        live.session = self._sessions.take()
        state = self._service.state
        context = state.info.context if state.info else 0
        request = Request(
            messages=prompt.messages(self.task.system_prompt, question.text),
            params=self._settings.preset(self.task.preset).new_params(state.sampling, context),
            session=live.session,
        )
        live.reply = self._service.generate(request)
        live.reply.text_arrived.connect(partial(self._on_text_arrived, place, answer.id))
        live.reply.prefilled.connect(partial(self._on_prefilled, place))
        live.reply.finished.connect(partial(self._on_finished, place))

    def _on_text_arrived(self, place: int, message_id: str, text: str) -> None:
        if live := self._live.get(place):
            self._conversations.save_text(message_id, live.text)
            self.item_changed.emit(place)

    def _on_prefilled(self, place: int, done: int, total: int) -> None:
        if live := self._live.get(place):
            live.done, live.total = done, total
            self.item_changed.emit(place)

    def _on_finished(self, place: int, result: ReplyResult) -> None:
        state = _ENDS[result.reason]
        detail = result.detail
        if result.reason == "length":
            detail = tr("Cut off at {n} tokens.", n=result.n_tokens)
        self._end(place, state, detail, result)

    def _end(
        self, place: int, state: ItemState, detail: str, result: ReplyResult | None = None
    ) -> None:
        live = self._live.pop(place)
        self._sessions.give_back(live.session)
        reply = self.items[place].reply
        if reply is not None and live.reply is not None:
            kept: MessageState = state if state in ("done", "failed") else "stopped"
            self._conversations.save_text(reply, live.text, state=kept, result=result)
        self._has_failed = self._has_failed or state == "failed"
        self._set(place, state=state, detail=detail)
        self._feeding.start()

    def _on_state_changed(self, state: EngineState) -> None:
        if state.phase == "ready" or self._service.state.phase == "ready":
            return
        self._sessions.forget()
        if self.is_active or self._has_failed:
            self._pause(state.reason or tr("The model was unloaded."))

    def _on_summary_changed(self) -> None:
        summary = self.summary
        if (summary.conversation, summary.reply) != (self.task.summary, self.task.summary_reply):
            self._save(
                msgspec.structs.replace(
                    self.task, summary=summary.conversation, summary_reply=summary.reply
                )
            )

    def _set(
        self, place: int, *, quietly: bool = False, saved: bool = True, **fields: object
    ) -> None:
        """`quietly`: whoever sets many says `changed` once, after all of them."""
        old = self.items[place]
        item: TaskItem = msgspec.structs.replace(old, **fields)
        if item == old:
            return
        self.items[place] = item
        if saved:
            self._saved.save_item(item)
        self.item_changed.emit(place)
        if item.state != old.state and not quietly:
            self.changed.emit()

    def _tell(self, error: DataError) -> None:
        """Once: rows are read whenever they are painted."""
        if not self._has_told:
            self._has_told = True
            self._conversations.failed.emit(str(error))

    def _save(self, task: Task) -> None:
        self.task = task
        self._saved.save(task)
