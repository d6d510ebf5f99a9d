"""ask(): a question before something is lost, answered without stopping the window."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QCheckBox, QDialogButtonBox, QMessageBox, QPushButton, QWidget

from app.language import tr
from app.widgets.labels import set_kind


def ask(
    over: QWidget,
    title: str,
    text: str,
    action: str,
    on_yes: Callable[[bool], None],
    *,
    option: str = "",
    danger: bool = False,
    on_no: Callable[[], None] | None = None,
) -> QMessageBox:
    """Ask; `on_yes` is called with whether `option`, a check box that starts checked, still is.

    `on_no` is called when the answer was anything else.
    Cancel is what Esc does; Return does what is asked about, unless it is a danger.
    """
    box = QMessageBox(over)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(title)
    box.setInformativeText(text)
    yes = QPushButton(action)
    set_kind(yes, "danger" if danger else "primary")
    box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    no = box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(no if danger else yes)
    box.setEscapeButton(no)
    _KeptFocus(box)
    check = QCheckBox(option, box) if option else None
    if check:
        check.setChecked(True)
        box.setCheckBox(check)

    def clicked(button: object) -> None:
        if button is yes:
            on_yes(check.isChecked() if check else False)

    def finished() -> None:
        if on_no and box.clickedButton() is not yes:
            on_no()

    box.buttonClicked.connect(clicked)
    box.finished.connect(finished)
    box.open()
    return box


class _KeptFocus(QObject):
    """Keeps a question's focus where it is when the style changes.

    The buttons are laid out anew then, and Qt would hand the focus on to the next one, which
    would also be what Return does.
    """

    def __init__(self, box: QMessageBox) -> None:
        super().__init__(box)
        self._box = box
        for buttons in box.findChildren(QDialogButtonBox):
            buttons.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Let the buttons be laid out; the focus is then where it was."""
        if event.type() != QEvent.Type.StyleChange:
            return False
        focused = self._box.focusWidget()
        watched.event(event)
        if focused:
            focused.setFocus()  # a button that has it is the default too
        return True
