"""Summary: one last request that sums the results of a task up, or several when they are long."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from PySide6.QtCore import QObject, Signal

from app.chat.thinking import answer_of
from app.data.conversation import Message, MessageState
from app.data.conversations import Conversations
from app.data.data_error import DataError
from app.data.task import Task
from app.engine_service import EngineService
from app.language import tr
from app.reply import Reply
from app.reply_result import ReplyResult
from app.settings.settings import Settings
from app.subtasks import prompt
from app.subtasks.grouping import grouped
from engine.request import Request
from engine.sampling import SamplingParams

Results = list[tuple[str, str]]  # item, answer
_MARGIN = 64  # tokens for what a chat template adds
_MOST_ROUNDS = 6
_CHARS_PER_TOKEN = 3.0  # where nobody can count


class Summary(QObject):
    """Results that do not fit into the context are summed up in groups first, then together.

    Signals:
        changed: Text, progress, or the end.

    Attributes:
        progress: What it is doing, as a sentence; "" when it rests.
        trouble: Why there is no summary; "" when all is well.
        conversation, reply: Where its text is kept.
    """

    changed = Signal()

    def __init__(
        self,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        parent: QObject | None = None,
    ):
        super().__init__(parent)
        self.progress = ""
        self.trouble = ""
        self._how = ""  # as a sentence, if not in one request
        self.conversation: str | None = None
        self.reply: str | None = None
        self._service = service
        self._conversations = conversations
        self._settings = settings
        self._task: Task | None = None
        self._number = 0  # of the attempt; what belongs to an earlier one is ignored
        self._replies: dict[int, Reply] = {}
        self._parts: dict[int, str] = {}
        self._n_groups = 0
        self._round = 0

    @property
    def is_active(self) -> bool:
        """Whether it is being made."""
        return bool(self.progress)

    @property
    def text(self) -> str:
        """What it says so far, without thinking; "" when there is none."""
        message = self._message()
        return answer_of(message.text) if message else ""

    @property
    def note(self) -> str:
        """How it was made, if not in one request, and why it is not whole."""
        message = None if self.is_active else self._message()
        why = ""
        if message is not None and message.result and message.result.reason == "length":
            why = tr("Cut off at {n} tokens.", n=message.result.n_tokens)
        elif message is not None and message.state != "done":
            why = message.result.detail if message.result else ""
            why = why or tr("It was stopped.")
        return f"{self._how} {why}".strip()

    def show(self, task: Task) -> None:
        """Take over what an earlier start has made."""
        self.conversation, self.reply = task.summary, task.summary_reply

    def start(self, task: Task, results: Results) -> None:
        """Make it anew from (item, answer) pairs."""
        self._task = task
        self._number += 1
        self._round = 0
        self.trouble = self._how = ""
        self._weigh(results)

    def stop(self) -> None:
        """Stop making it; text that has arrived stays."""
        self._number += 1
        for reply in list(self._replies.values()):
            reply.stop()
        self._replies.clear()
        if self.is_active and self.reply is not None:
            with suppress(KeyError, DataError):  # an earlier one's chat was deleted since
                message = self._conversations.message(self.reply)
                if message.state == "streaming":
                    self._conversations.save_text(message.id, message.text, state="stopped")
        self._tell("")

    def _message(self) -> Message | None:
        if self.reply is None:
            return None
        try:
            return self._conversations.message(self.reply)
        except (KeyError, DataError):
            return None

    def _weigh(self, results: Results) -> None:
        """Find out how many tokens they are, then go on."""
        assert self._task is not None
        self._tell(tr("Counting what there is to read…"))
        text = prompt.summary_text(self._task.prompt, results)
        messages = prompt.messages(self._task.system_prompt, text)
        self._service.count_tokens(
            messages, partial(self._on_counted, self._number, results, len(text))
        )

    def _on_counted(self, number: int, results: Results, n_chars: int, n_tokens: int) -> None:
        if number != self._number:
            return
        info = self._service.state.info
        if info is None:
            self._fail(tr("No model is loaded."))
            return
        per_token = n_chars / n_tokens if n_tokens > 0 else _CHARS_PER_TOKEN
        budget = info.context - self._params(info.context).max_tokens - _MARGIN
        if n_tokens < 0:
            n_tokens = round(n_chars / per_token)
        if n_tokens <= budget:
            self._ask_last(results, info.context)
            return
        assert self._task is not None
        frame = len(prompt.summary_text(self._task.prompt, [], is_part=True))
        frame += len(self._task.system_prompt)
        room = int(budget * per_token * 0.9) - frame
        self._round += 1
        if room < 200 or self._round > _MOST_ROUNDS:
            self._fail(tr("The results are too long for a context of {n} tokens.", n=info.context))
            return
        self._ask_parts(grouped(results, room), info.context)

    def _ask_parts(self, groups: Sequence[Results], context: int) -> None:
        assert self._task is not None
        self._parts = {}
        self._n_groups = len(groups)
        self._how = tr(
            "The results are longer than the context: summed up in {n} groups, then together.",
            n=len(groups),
        )
        self._tell(tr("Summing up {done} of {n} groups…", done=0, n=len(groups)))
        for index, group in enumerate(groups):
            text = prompt.summary_text(self._task.prompt, group, is_part=True)
            self._ask(text, context, partial(self._on_part_finished, self._number, index))

    def _on_part_finished(self, number: int, index: int, reply: Reply, result: ReplyResult) -> None:
        if number != self._number:
            return
        if result.reason in ("cancelled", "error"):
            self.stop()
            self._fail(result.detail or tr("It was stopped."))
            return
        self._parts[index] = answer_of(reply.text)
        n_done, n = len(self._parts), self._n_groups
        self._tell(tr("Summing up {done} of {n} groups…", done=n_done, n=n))
        if n_done == n:
            self._weigh([(tr("Group {n}", n=i + 1), self._parts[i]) for i in range(n)])

    def _ask_last(self, results: Results, context: int) -> None:
        assert self._task is not None
        task = self._task
        text = prompt.summary_text(task.prompt, results)
        conversation = self._conversation_for(task)
        self._conversations.add_message(conversation, "user", text, parent=None)
        message = self._conversations.add_message(conversation, "assistant", "", state="streaming")
        self.conversation, self.reply = conversation, message.id
        self._tell(tr("Writing the summary…"))
        reply = self._ask(text, context, partial(self._on_last_finished, self._number, message.id))
        reply.text_arrived.connect(partial(self._on_text_arrived, self._number, message.id, reply))

    def _conversation_for(self, task: Task) -> str:
        """One per task: a later summary is a sibling of the earlier one."""
        if self.conversation in {each.id for each in self._conversations.all("subtask")}:
            assert self.conversation is not None
            return self.conversation
        made = self._conversations.create(
            title=tr("Summary: {title}", title=task.title),
            kind="subtask",
            system_prompt=task.system_prompt,
            preset=task.preset,
            task=task.id,
        )
        return made.id

    def _on_text_arrived(self, number: int, message_id: str, reply: Reply, text: str) -> None:
        if number == self._number:
            self._conversations.save_text(message_id, reply.text)
            self.changed.emit()

    def _on_last_finished(
        self, number: int, message_id: str, reply: Reply, result: ReplyResult
    ) -> None:
        if number != self._number:
            return
        ok = result.reason in ("stop", "length")
        state: MessageState = "done" if ok else "failed" if result.reason == "error" else "stopped"
        self._conversations.save_text(message_id, reply.text, state=state, result=result)
        self.trouble = result.detail
        self._tell("")

    def _ask(
        self, text: str, context: int, on_finished: Callable[[Reply, ReplyResult], None]
    ) -> Reply:
        assert self._task is not None
        request = Request(
            messages=prompt.messages(self._task.system_prompt, text), params=self._params(context)
        )
        reply = self._service.generate(request)
        self._replies[int(reply.request)] = reply
        reply.finished.connect(partial(self._on_any_finished, reply, on_finished))
        return reply

    def _on_any_finished(
        self, reply: Reply, on_finished: Callable[[Reply, ReplyResult], None], result: ReplyResult
    ) -> None:
        self._replies.pop(int(reply.request), None)
        on_finished(reply, result)

    def _params(self, context: int) -> SamplingParams:
        """The task's preset, with room for the results beside the reply."""
        assert self._task is not None
        params = self._settings.preset(self._task.preset).new_params(self._service.state.sampling)
        most = min(params.max_tokens, max(1, context // 4))
        return msgspec.structs.replace(params, max_tokens=most)

    def _fail(self, why: str) -> None:
        self.trouble = why
        self._tell("")

    def _tell(self, progress: str) -> None:
        self.progress = progress
        self.changed.emit()
