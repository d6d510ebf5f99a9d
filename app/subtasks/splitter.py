"""Splitter: asks the model to split a task into items."""

from PySide6.QtCore import QObject, Signal

from app.engine_service import EngineService
from app.language import tr
from app.reply import Reply
from app.reply_result import ReplyResult
from app.settings.settings import Settings
from app.subtasks import prompt
from app.subtasks.item_lists import items_of_reply
from engine.request import Request


class Splitter(QObject):
    """One request; its answer is read however the model has laid it out.

    Signals:
        progressed: It goes on; arg: tokens so far.
        split: arg: list of items.
        failed: arg: a sentence.
    """

    progressed = Signal(int)
    split = Signal(list)
    failed = Signal(str)

    def __init__(self, service: EngineService, settings: Settings, parent: QObject | None = None):
        super().__init__(parent)
        self._service = service
        self._settings = settings
        self._reply: Reply | None = None

    @property
    def is_active(self) -> bool:
        """Whether the model is at it."""
        return self._reply is not None

    def start(self, task: str, system_prompt: str, preset: str) -> None:
        """Ask; `split` or `failed` follows."""
        self.stop()
        state = self._service.state
        context = state.info.context if state.info else 0
        request = Request(
            messages=prompt.messages(system_prompt, prompt.split_text(task)),
            params=self._settings.preset(preset).new_params(state.sampling, context),
        )
        self._reply = reply = self._service.generate(request)
        reply.text_arrived.connect(lambda text: self.progressed.emit(reply.n_tokens))
        reply.finished.connect(lambda result: self._on_finished(reply, result))

    def stop(self) -> None:
        """Give up; nothing follows."""
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.stop()

    def _on_finished(self, reply: Reply, result: ReplyResult) -> None:
        if reply is not self._reply:
            return
        self._reply = None
        if result.reason == "error":
            self.failed.emit(result.detail)
        elif items := items_of_reply(reply.text):
            self.split.emit(items)
        else:
            self.failed.emit(
                tr("The model named no parts. Try again, or say how the task can be split.")
            )
