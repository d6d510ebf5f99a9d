"""Chat: one conversation at work, whether or not it is shown."""

from contextlib import suppress

import msgspec
from PySide6.QtCore import QObject, Signal

from app.chat.history import n_bytes, turns
from app.chat.room import summary_question
from app.chat.row import Live
from app.chat.sampling_choice import chosen
from app.chat.sessions import Sessions
from app.data.conversation import Conversation, Message, MessageState
from app.data.conversations import Conversations
from app.engine_service import EngineService
from app.language import tr
from app.reply import Reply
from app.reply_result import ReplyResult
from app.settings.settings import Settings
from engine.errors import EngineError
from engine.request import Message as Turn
from engine.request import Request
from engine.sampling import SamplingParams

LEAST_ROOM = 64  # tokens: with less, a reply is not worth beginning
TITLE = 48  # characters

_STATES: dict[str, MessageState] = {
    **{"stop": "done", "length": "done", "cancelled": "stopped", "error": "failed"},
}


class Chat(QObject):
    """Sends, streams and saves. A message is on disk before the model is asked.

    Signals:
        path_changed: Other messages are shown.
        message_added: At the end. arg: Message.
        message_changed: Its text, state or progress. arg: message id.
        busy_changed: A reply begins or has ended.
        accepted: What was sent is on disk: the composer may be emptied.
        refused: It was not sent; its text must stay. arg: a sentence.
        room_needed: Prompt and reply do not fit the context. args: tokens of prompt, of context.
        stop_wanted: A reply that is written here by someone else shall end.
        asked: A reply is wanted: the settings, as they are shown, count from here on.
    """

    path_changed = Signal()
    message_added = Signal(object)
    message_changed = Signal(str)
    busy_changed = Signal()
    accepted = Signal()
    refused = Signal(str)
    room_needed = Signal(int, int)
    stop_wanted = Signal()
    asked = Signal()

    def __init__(
        self,
        conversation: Conversation,
        service: EngineService,
        conversations: Conversations,
        settings: Settings,
        sessions: Sessions,
        parent: QObject | None = None,
    ):
        super().__init__(parent)
        self.id = conversation.id
        self._conversation = conversation
        self.service = service
        self.conversations = conversations
        self.settings = settings
        self.messages = conversations.path(self.id)
        self.live: dict[str, Live] = {}
        self.reply: Reply | None = None
        self._sessions = sessions
        self._answer = ""  # the message that the reply is written into
        self._unsaved: Message | None = None  # a question that is not on disk
        self._is_saved_now = False
        self._is_wanted = False  # to be sent as soon as it is on disk
        self._then = ""  # what is sent once a summary has been written
        self._preparing = False  # saving or counting

    @property
    def conversation(self) -> Conversation:
        """As it is saved; once it was removed, as it was last."""
        if not self.is_removed:
            self._conversation = self.conversations.get(self.id)
        return self._conversation

    @property
    def is_removed(self) -> bool:
        """Whether it was taken away, until that is undone."""
        return self.conversations.is_removed(self.id)

    @property
    def is_streaming(self) -> bool:
        """Whether a reply is being written here, perhaps by someone else: a task."""
        last = self.messages[-1] if self.messages else None
        return self.reply is not None or (last is not None and last.state == "streaming")

    @property
    def is_busy(self) -> bool:
        """Whether nothing can be sent now: a reply is on its way."""
        return self._preparing or self.is_streaming or bool(self._then)

    @property
    def n_streamed(self) -> int:
        """Tokens of the prompt and of what has been written to it; 0 while that is not known."""
        live = self.live.get(self._answer) if self.reply is not None else None
        return live.total + live.n_tokens if live is not None and live.total else 0

    def turns(self, path: list[Message] | None = None) -> tuple[Turn, ...]:
        """What the model would be told."""
        return turns(self.messages if path is None else path, self.conversation.system_prompt)

    # What a person does.

    def send(self, text: str, *, parent: str | None = "leaf") -> None:
        """Say something; `accepted` or `refused` follows. `parent`: as add_message has it."""
        self.asked.emit()
        if self.is_streaming and text.strip():
            self.refused.emit(tr("A reply is still being written. Send when it has ended."))
            return
        if self.is_busy or not text.strip():
            return
        if self.service.state.phase != "ready":
            self.refused.emit(tr("No model is loaded."))
            return
        if self._unsaved is not None and not self._send_instead(self._unsaved, text):
            return
        self._set_preparing(True)
        if not self.conversation.title:
            self.conversations.rename(self.id, title_of(text))
        self.conversations.add_message(
            self.id, "user", text, parent=parent, on_saved=lambda why: self._on_question(why)
        )

    def edit(self, message_id: str, text: str) -> None:
        """Say something else instead; the old branch stays. Where it was deleted: say it anew."""
        try:
            parent = self.conversations.message(message_id).parent
        except KeyError:
            parent = "leaf"
        self.send(text, parent=parent)

    def regenerate(self, message_id: str) -> None:
        """Have a reply written again, beside the old one; of a question: answer it."""
        self.asked.emit()
        if self.is_busy:
            return
        if self.service.state.phase != "ready":
            self.refused.emit(tr("No model is loaded."))
            return
        message = self.conversations.message(message_id)
        question = message.parent if message.role == "assistant" else message.id
        if question is not None:
            self._ask(question)

    def sum_up(self, turns_before: tuple[Turn, ...], then: str) -> None:
        """In a new chat: have other turns summed up, then go on with a question."""
        question = summary_question()
        self._then = then
        self._set_preparing(True)
        asked = (*turns_before, Turn("user", question))
        self.conversations.add_message(
            self.id, "user", question, on_saved=lambda why: self._on_question(why, asked)
        )

    def answer(self) -> None:
        """Answer the last question, of a chat that has just been made from another."""
        if self.messages and not self.is_busy:
            self._ask(self.messages[-1].id)

    def stop(self) -> None:
        """End the reply that is written; what there is of it stays."""
        if self.reply is not None:
            self.reply.stop()
        elif self.is_streaming:
            self.stop_wanted.emit()

    def show_version(self, message_id: str, step: int) -> None:
        """Show the sibling before (-1) or after (1)."""
        siblings = self.conversations.siblings(message_id)
        index = next(i for i, each in enumerate(siblings) if each.id == message_id) + step
        if not self.is_busy and 0 <= index < len(siblings):
            self._sessions.drop(self.id)
            self.conversations.select(siblings[index].id)

    def show_path_of(self, message_id: str) -> None:
        """Show the path that a message is on; the one that a reply is written to stays."""
        if self.is_busy or any(each.id == message_id for each in self.messages):
            return
        with suppress(KeyError):  # deleted meanwhile
            self.conversations.select(message_id)
            self._sessions.drop(self.id)

    def remove_message(self, message_id: str) -> None:
        """Delete a message and all that follow it."""
        if not self.is_busy:
            self._sessions.drop(self.id)
            self.conversations.remove_message(message_id)

    # What Chats tells.

    def on_message_added(self, message: Message) -> None:
        """Conversations has one more."""
        if self.messages and message.parent != self.messages[-1].id:
            return  # elsewhere in the tree: the path changes
        if not self.messages and message.parent is not None:
            return
        self.messages.append(message)
        self.message_added.emit(message)
        if message.state == "streaming":
            self.busy_changed.emit()

    def on_message_changed(self, message: Message) -> None:
        """Conversations has another text, state or result."""
        for index in range(len(self.messages) - 1, -1, -1):  # nearly always the last
            if self.messages[index].id == message.id:
                before = self.messages[index].state
                self.messages[index] = message
                self.message_changed.emit(message.id)
                if before != message.state:
                    self.busy_changed.emit()
                return

    def on_conversation_changed(self, conversation: Conversation) -> None:
        """Another path may be shown."""
        last = self.messages[-1].id if self.messages else None
        hidden = self._unsaved is not None and conversation.leaf == self._unsaved.id
        if conversation.leaf != last and not hidden:
            self._read_path()

    def on_message_saved(self, message_id: str) -> None:
        """It is on disk, perhaps long after it could not be."""
        if self._unsaved is None or message_id != self._unsaved.id:
            return
        self._is_saved_now = True
        is_wanted, self._is_wanted = self._is_wanted, False
        if is_wanted and not self.is_busy and self.conversation.leaf == message_id:
            self._send_instead(self._unsaved, self._unsaved.text)

    # From question to answer.

    def _on_question(self, why: str | None, turns_before: tuple[Turn, ...] = ()) -> None:
        question = self.messages[-1]
        if why is None:
            self.accepted.emit()
            self._ask(question.id, turns_before)
        else:
            then = self._give_up_then()
            self._set_preparing(False)
            self._unsaved = question
            self._read_path()
            self.refused.emit(f"{why} {_no_summary(then)}" if then else why)

    def _send_instead(self, unsaved: Message, text: str) -> bool:
        """Whether `text` is to be added, now that another could not be saved."""
        if text == unsaved.text and not self._is_saved_now:
            self._is_wanted = True
            self.refused.emit(tr("It could still not be saved. It is sent once there is space."))
            return False
        self._unsaved, self._is_saved_now, self._is_wanted = None, False, False
        if text != unsaved.text or self.conversation.leaf != unsaved.id:  # or the chat went on
            self.conversations.remove_message(unsaved.id)
            return True
        self._read_path()
        self.accepted.emit()
        self._ask(unsaved.id)
        return False

    def _read_path(self) -> None:
        hidden = self._unsaved.id if self._unsaved else ""
        self.messages = [each for each in self.conversations.path(self.id) if each.id != hidden]
        self.path_changed.emit()

    def _ask(self, question: str, messages: tuple[Turn, ...] = ()) -> None:
        """Count first where it matters: the engine refuses a prompt that leaves no room."""
        if self._has_ended():
            return
        if not messages:
            ids = [each.id for each in self.messages]
            messages = self.turns(self.messages[: ids.index(question) + 1])
        preset = chosen(self.settings, self.conversation.preset)
        params = preset.new_params(self.service.state.sampling)
        if n_bytes(messages) + params.max_tokens <= self._context():
            self._begin(question, messages, params)
            return
        self._set_preparing(True)
        self.service.count_tokens(
            messages, lambda n_tokens: self._on_counted(question, messages, params, n_tokens)
        )

    def _on_counted(
        self, question: str, messages: tuple[Turn, ...], params: SamplingParams, n_tokens: int
    ) -> None:
        context = self._context()
        room = context - max(0, n_tokens)
        if n_tokens >= 0 and room < min(params.max_tokens, LEAST_ROOM):
            then = self._give_up_then()
            self._set_preparing(False)
            if then:  # what there is to sum up does not fit: trimming this chat would not help
                self.refused.emit(_no_summary(then))
            else:
                self.room_needed.emit(n_tokens, context)
            return
        if n_tokens >= 0 and room < params.max_tokens:
            params = msgspec.structs.replace(params, max_tokens=room)
        self._begin(question, messages, params)

    def _begin(self, question: str, messages: tuple[Turn, ...], params: SamplingParams) -> None:
        if self._has_ended():
            return
        answer = self.conversations.add_message(
            self.id, "assistant", "", parent=question, state="streaming"
        )
        self._preparing = False  # only now: a chat that rests may be let go
        self._answer = answer.id
        self.live[answer.id] = Live()
        try:
            session = self._sessions.take(self.id)
            reply = self.service.generate(
                Request(messages=messages, params=params, session=session)
            )
        except EngineError as error:
            self._end(ReplyResult(reason="error", detail=str(error)), "")
            return
        self.reply = reply
        reply.text_arrived.connect(self._on_text_arrived)
        reply.prefilled.connect(self._on_prefilled)
        reply.finished.connect(self._on_finished)
        self.busy_changed.emit()

    def _on_text_arrived(self, _: str) -> None:
        if self.reply is not None:
            live = self.live[self._answer]
            live.n_tokens, live.tokens_per_s = self.reply.n_tokens, self.reply.tokens_per_s
            self.conversations.save_text(self._answer, self.reply.text)

    def _on_prefilled(self, done: int, total: int) -> None:
        live = self.live[self._answer]
        live.done, live.total = done, total
        self.message_changed.emit(self._answer)

    def _on_finished(self, result: ReplyResult) -> None:
        text = self.reply.text if self.reply is not None else ""
        self._end(result, text)

    def _end(self, result: ReplyResult, text: str) -> None:
        self.reply = None
        self._sessions.give_back(self.id)
        self.live.pop(self._answer, None)
        state = _STATES[result.reason]
        # This tells that it is no longer busy, unless something is to be sent then.
        self.conversations.save_text(self._answer, text, state=state, result=result)
        if not self._then:
            return
        then = self._give_up_then()
        goes_on = state == "done" and not self.is_removed
        if goes_on:
            self.send(then)
        self.busy_changed.emit()
        if not goes_on:
            self.refused.emit(_no_summary(then))

    def _give_up_then(self) -> str:
        """Wait for no summary any more; what was to be sent after it."""
        then, self._then = self._then, ""
        return then

    def _has_ended(self) -> bool:
        """Whether the conversation was removed while a question was saved or counted."""
        if self.is_removed:
            self._then = ""
            self._set_preparing(False)
        return self.is_removed

    def _context(self) -> int:
        info = self.service.state.info
        return info.context if info else 0

    def _set_preparing(self, on: bool) -> None:
        if on != self._preparing:
            self._preparing = on
            self.busy_changed.emit()


def _no_summary(then: str) -> str:
    return tr("There is no summary, so your message was not sent: {message}", message=then)


def title_of(text: str) -> str:
    """What a conversation that begins with `text` is called."""
    line = " ".join(text.split())
    if len(line) <= TITLE:
        return line
    return line[: TITLE - 1].rsplit(" ", 1)[0] + "…"
