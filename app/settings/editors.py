"""Editors: for each kind of option the widget that changes it."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QSpinBox,
    QWidget,
)

from app.language import tr
from app.settings.option import Option
from app.theme.theme import SPACE_M
from app.widgets.font_sizes import follow_font
from app.widgets.labels import label
from engine import sizes

_WIDTH = 260
_MOST = 2**31 - 1  # of a spin box
_DECIMALS, _MOST_DECIMALS = 1, 5


class Editor(QWidget):
    """Shows one option's value and says what a person made of it.

    Signals:
        edited: A person has chosen a value; it may be out of range. arg: the value.
    """

    edited = Signal(object)

    def __init__(self, option: Option, widget: QWidget) -> None:
        super().__init__()
        self.option = option
        self.widget = widget
        widget.setAccessibleName(tr(option.label))
        widget.setAccessibleDescription(tr(option.help))
        self.setFocusProxy(widget)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(SPACE_M)
        self.row.addWidget(widget)

    def show_value(self, value: object) -> None:
        """Show it, without `edited`."""
        raise NotImplementedError


class ChoiceEditor(Editor):
    """A list to choose from."""

    def __init__(self, option: Option) -> None:
        self.box = QComboBox()
        super().__init__(option, self.box)
        for word, shown in option.choices:
            self.box.addItem(tr(shown), word)
        self.box.setMinimumWidth(_WIDTH)
        self.box.activated.connect(lambda: self.edited.emit(self.box.currentData()))
        ignore_wheel(self.box)

    def show_value(self, value: object) -> None:
        """See Editor."""
        self.box.setCurrentIndex(self.box.findData(value))


class SwitchEditor(Editor):
    """On or off."""

    def __init__(self, option: Option) -> None:
        self.box = QCheckBox()
        super().__init__(option, self.box)
        self.box.clicked.connect(self._on_clicked)

    def show_value(self, value: object) -> None:
        """See Editor."""
        self.box.setChecked(bool(value))

    def _on_clicked(self, on: bool) -> None:
        self.edited.emit(on)


class NumberEditor(Editor):
    """A number with arrows; it is told when it is complete, not at every digit."""

    def __init__(self, option: Option) -> None:
        self.box: QSpinBox | QDoubleSpinBox
        if option.kind == "whole":
            self.box = QSpinBox()
            self.box.setRange(int(option.low), int(min(option.high, _MOST)))
            self.box.setSingleStep(int(option.step))
            self.box.setGroupSeparatorShown(True)
        else:
            self.box = QDoubleSpinBox()
            self.box.setDecimals(_DECIMALS)
            self.box.setRange(option.low, option.high)
            self.box.setSingleStep(option.step)
        super().__init__(option, self.box)
        self.box.setSuffix(tr(option.unit) if option.unit else "")
        self.box.setSpecialValueText(tr(option.zero) if option.zero else "")
        self.box.setKeyboardTracking(False)
        self.box.setMinimumWidth(_WIDTH // 2)
        self.box.valueChanged.connect(self._on_changed)
        ignore_wheel(self.box)

    def show_value(self, value: object) -> None:
        """See Editor."""
        assert isinstance(value, int | float)
        self.box.blockSignals(True)
        show_number(self.box, value, _DECIMALS)
        self.box.blockSignals(False)

    def _on_changed(self, value: float) -> None:
        self.edited.emit(value)


class ShareEditor(Editor):
    """A slider in percent."""

    def __init__(self, option: Option) -> None:
        self.slider = QSlider(Qt.Orientation.Horizontal)
        super().__init__(option, self.slider)
        self.slider.setRange(round(option.low * 100), round(option.high * 100))
        self.slider.setPageStep(round(option.step * 100))
        self.slider.setMinimumWidth(_WIDTH - 60)
        self.figure = label()
        follow_font(
            self.figure,
            lambda: self.figure.setFixedWidth(
                self.figure.fontMetrics().horizontalAdvance("100 %") + 12
            ),
        )
        self.figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.row.addWidget(self.figure)
        self.slider.valueChanged.connect(self._on_moved)
        ignore_wheel(self.slider)

    def show_value(self, value: object) -> None:
        """See Editor."""
        assert isinstance(value, int | float)
        self.slider.blockSignals(True)
        self.slider.setValue(round(value * 100))
        self.slider.blockSignals(False)
        self.figure.setText(f"{self.slider.value()} %")

    def _on_moved(self, percent: int) -> None:
        self.figure.setText(f"{percent} %")
        self.edited.emit(percent / 100)


class LineEditor(Editor):
    """A line of text."""

    def __init__(self, option: Option) -> None:
        self.line = QLineEdit()
        super().__init__(option, self.line)
        self.line.setMinimumWidth(_WIDTH // 2)
        self.line.editingFinished.connect(self._on_finished)
        self._shown = ""

    def show_value(self, value: object) -> None:
        """See Editor."""
        self._shown = self.text_of(value)
        self.line.setText(self._shown)

    def text_of(self, value: object) -> str:
        """How a value is written."""
        return str(value)

    def value_of(self, text: str) -> object:
        """What a text means."""
        return text.strip()

    def _on_finished(self) -> None:
        if self.line.text() != self._shown:
            self._shown = self.line.text()
            self.edited.emit(self.value_of(self._shown))


class SizeEditor(LineEditor):
    """Bytes, written as people do: "1 GB"."""

    def text_of(self, value: object) -> str:
        """See LineEditor."""
        assert isinstance(value, int)
        return sizes.show(value)

    def value_of(self, text: str) -> object:
        """See LineEditor."""
        n_bytes = sizes.parse(text)
        return text if n_bytes is None else n_bytes


class SuggestionEditor(Editor):
    """A line of text with suggestions."""

    def __init__(self, option: Option) -> None:
        self.box = QComboBox()
        super().__init__(option, self.box)
        self.box.setEditable(True)
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        for word, shown in option.choices:
            self.box.addItem(word)
            self.box.setItemData(self.box.count() - 1, tr(shown), Qt.ItemDataRole.ToolTipRole)
        self.box.setMinimumWidth(_WIDTH)
        self.box.activated.connect(lambda: self._tell())
        line = self.box.lineEdit()
        assert line is not None
        line.editingFinished.connect(self._tell)
        ignore_wheel(self.box)
        self._shown = ""

    def show_value(self, value: object) -> None:
        """See Editor."""
        self._shown = str(value)
        self.box.setEditText(self._shown)

    def _tell(self) -> None:
        text = self.box.currentText().strip()
        if text != self._shown:
            self._shown = text
            self.edited.emit(text)


class ProseEditor(Editor):
    """Several lines of text; told when the focus leaves, so that half a word is never saved."""

    def __init__(self, option: Option) -> None:
        self.box = QPlainTextEdit()
        super().__init__(option, self.box)
        self.box.setTabChangesFocus(True)
        follow_font(
            self.box,
            lambda: self.box.setFixedHeight(self.box.fontMetrics().lineSpacing() * 4 + 20),
        )
        self.box.installEventFilter(self)
        self._shown = ""

    def show_value(self, value: object) -> None:
        """See Editor."""
        self._shown = str(value)
        self.box.setPlainText(self._shown)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        """Tell the text when the focus leaves."""
        leaves = event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide)
        if leaves and self.box.toPlainText() != self._shown:
            self._shown = self.box.toPlainText()
            self.edited.emit(self._shown)
        return False


class _IgnoreWheel(QObject):
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802, Qt's name
        if event.type() == QEvent.Type.Wheel:
            event.ignore()
            return True
        return False


def ignore_wheel(widget: QWidget) -> None:
    """A page that is scrolled must not change what happens to come under the pointer."""
    widget.installEventFilter(_IgnoreWheel(widget))


def show_number(box: QSpinBox | QDoubleSpinBox, value: float, decimals: int) -> None:
    """Show it as it is, also where it is larger or has more digits than people choose.

    `decimals`: at least; of a number that is not whole.
    """
    if isinstance(box, QSpinBox):
        whole = min(round(value), _MOST)
        box.setMaximum(max(box.maximum(), whole))
        box.setValue(whole)
    else:
        digits = f"{value:.{_MOST_DECIMALS}f}".rstrip("0").partition(".")[2]
        box.setDecimals(max(decimals, len(digits)))
        box.setMaximum(max(box.maximum(), value))
        box.setValue(value)


def editor_of(option: Option) -> Editor:
    """The editor of an option on the page."""
    match option.kind:
        case "choice":
            return ChoiceEditor(option)
        case "switch":
            return SwitchEditor(option)
        case "whole" | "number":
            return NumberEditor(option)
        case "share":
            return ShareEditor(option)
        case "bytes":
            return SizeEditor(option)
        case "text":
            return SuggestionEditor(option) if option.choices else LineEditor(option)
        case "prose":
            return ProseEditor(option)
    raise ValueError(f"{option.name} has no editor: the page shows it in a way of its own")
