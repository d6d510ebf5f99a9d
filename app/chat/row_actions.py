"""RowActions: the row of small buttons and figures below a message."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.chat.chat_style import ChatStyle
from app.data.conversation import Message
from app.language import tr

BUTTON = 28
ICON = 16

# Action, icon, what it says about itself.
_USER = (
    ("copy", "copy", "Copy message"),
    ("edit", "edit", "Edit and send again"),
    ("branch", "branch", "Branch into a new chat from here"),
    ("delete", "trash", "Delete from here on"),
)
_ANSWER = ("regenerate", "retry", "Have it answered")
_REPLY = (
    ("copy", "copy", "Copy reply"),
    ("regenerate", "retry", "Write it again"),
    ("branch", "branch", "Branch into a new chat from here"),
    ("delete", "trash", "Delete from here on"),
)


class RowActions:
    """Says what is where and draws it; coordinates are the row's, from its top left."""

    def __init__(self, style: ChatStyle):
        self.style = style
        self.version, self.n_versions = 1, 1
        self.figures = ""
        self._role = "user"
        self._is_busy = False
        self._is_unanswered = False
        self._places: list[tuple[QRectF, str, str, str]] = []
        self._versions_area = QRectF()
        self._area = QRectF()

    def set_message(self, message: Message, *, is_busy: bool, is_last: bool, figures: str) -> None:
        """What to offer; while its chat is busy, nothing that would change it."""
        self._role = message.role
        self._is_busy = is_busy
        self._is_unanswered = is_last and message.role == "user"
        self.figures = figures

    def offered(self) -> list[tuple[str, str, str]]:
        """(action, icon, tip) of each."""
        known: tuple[tuple[str, str, str], ...] = _USER if self._role == "user" else _REPLY
        if self._is_unanswered:
            known = (*known[:1], _ANSWER, *known[1:])
        return [each for each in known if not self._is_busy or each[0] in ("copy", "branch")]

    def place(self, area: QRectF) -> None:
        """Lay the buttons out: to the right for the user, else to the left."""
        self._area = area
        self._places = []
        to_right = self._role == "user"
        width = BUTTON * len(self.offered()) + (84 if self.n_versions > 1 else 0)
        x = area.right() - width if to_right else area.left() - (BUTTON - ICON) / 2
        y = area.top() + (area.height() - BUTTON) / 2
        self._versions_area = QRectF()
        if self.n_versions > 1:
            self._places.append(
                (QRectF(x, y, 24, BUTTON), "previous", "chevron-left", "Version before")
            )
            self._versions_area = QRectF(x + 24, y, 32, BUTTON)
            self._places.append(
                (QRectF(x + 56, y, 24, BUTTON), "next", "chevron-right", "Next version")
            )
            x += 84
        for action, icon, tip in self.offered():
            self._places.append((QRectF(x, y, BUTTON, BUTTON), action, icon, tip))
            x += BUTTON

    def action_at(self, point: QPointF) -> str:
        """The action below a point, or ""."""
        return next((action for area, action, _, _ in self._places if area.contains(point)), "")

    def tip_at(self, point: QPointF) -> str:
        """What a button says about itself."""
        tip = next((tip for area, _, _, tip in self._places if area.contains(point)), "")
        return tr(tip) if tip else ""

    def paint(self, painter: QPainter, pointer: QPointF | None, *, shows_buttons: bool) -> None:
        """Versions and figures always, buttons while the pointer is near."""
        style = self.style
        painter.setFont(style.small_font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for area, action, icon, _ in self._places:
            if not shows_buttons and action not in ("previous", "next"):
                continue
            is_end = (action == "previous" and self.version == 1) or (
                action == "next" and self.version == self.n_versions
            )
            if pointer is not None and area.contains(pointer) and not is_end:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(style.colour("hover"))
                painter.drawRoundedRect(area, 6, 6)
            place = QRectF(0, 0, ICON, ICON)
            place.moveCenter(area.center())
            painter.setOpacity(0.35 if is_end else 1.0)
            style.theme.icon(icon, "muted").paint(painter, place.toRect())
            painter.setOpacity(1.0)
        painter.setPen(style.colour("muted"))
        if self.n_versions > 1:
            text = f"{self.version}/{self.n_versions}"
            painter.drawText(self._versions_area, Qt.AlignmentFlag.AlignCenter, text)
        if self.figures:
            n_shown = len(self._places) if shows_buttons else min(2, len(self._places))
            room = self._area.adjusted(self._taken(n_shown), 0, 0, 0)
            shown = painter.fontMetrics().elidedText(
                self.figures, Qt.TextElideMode.ElideRight, int(room.width())
            )
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(room, right, shown)

    def _taken(self, n_shown: int) -> float:
        if not n_shown or not self._places:
            return 0.0
        return self._places[-1][0].right() - self._area.left() + 12


def figures_of(message: Message, n_tokens: int = 0, tokens_per_s: float = 0.0) -> str:
    """The line that says what a reply cost, of an ended one or of one under way."""
    parts: list[str] = []
    result = message.result
    if message.state == "stopped":
        parts.append(tr("Stopped"))
    if result is not None:
        n_tokens, tokens_per_s = result.n_tokens, result.tokens_per_s
        if result.reason == "length":
            parts.append(tr("Reached its token limit"))
    if n_tokens:
        parts.append(tr("1 token") if n_tokens == 1 else tr("{n} tokens", n=f"{n_tokens:,}"))
    if tokens_per_s:
        parts.append(tr("{n} tokens/s", n=f"{tokens_per_s:.1f}"))
    if result is not None:
        if result.link:
            parts.append(tr("link {speed} (emulated)", speed=result.link))
        if result.first_token_s:
            parts.append(tr("first after {n} s", n=f"{result.first_token_s:.2f}"))
        if result.hit_rate:
            parts.append(tr("cache {n}", n=f"{result.hit_rate:.0%}"))
        if result.reused_tokens:
            parts.append(
                tr(
                    "reused {n}/{total}",
                    n=f"{result.reused_tokens:,}",
                    total=f"{result.prompt_tokens:,}",
                )
            )
    return "  ·  ".join(parts)
