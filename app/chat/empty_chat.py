"""EmptyChat: what a chat shows before anything was said."""

from pathlib import Path

from app.language import tr
from app.theme.theme import Theme
from app.widgets.empty_state import EmptyState
from engine.demo_model import is_demo_model
from engine.engine_state import EngineState


class EmptyChat(EmptyState):
    """Its second button offers the demo chats, but not to those who have a model of their own."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(
            tr("What shall we talk about?"),
            tr("Several chats can run at once: open another tab while this one answers."),
            second_action=tr("Open four demo chats"),
            theme=theme,
            icon="chat",
        )

    def show_state(self, state: EngineState, last_model: str) -> None:
        """What is loaded, or else was loaded last ("" for nothing)."""
        path = state.model.path if state.model else last_model
        self.second_button.setVisible(not path or is_demo_model(Path(path)))
