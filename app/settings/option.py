"""Option: what one setting is called, what it may be, and how it is explained."""

import math
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from engine import sizes
from engine.errors import EngineError

Number = Literal["whole", "number", "share", "bytes"]
Kind = Literal[Number, "choice", "switch", "text", "prose", "lines", "presets"]
Section = Literal[
    "Appearance", "Chats", "Engine", "Storage", "Privacy & reports", "Shortcuts", "About", ""
]
Effect = Literal["live", "reload", "restart"]


class OptionError(ValueError):
    """A value that an option cannot have; str() is a sentence for a person."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One setting, as data.

    Attributes:
        name: Its key in the file and in code.
        kind: What a value is. choice: one of `choices`; switch: bool; whole: int; number: float;
            share: float, shown as %; bytes: int, shown as a size; text: str; prose: str of several
            lines; lines: list of str; presets: list of what a SamplingPreset is made of.
        default: What it is until someone changes it.
        low, high: Both allowed; for numbers.
        step: Of the arrows beside a number.
        unit: Shown behind a number, for example " pt".
        choices: Value and label, in order; for text: suggestions.
        zero: What 0 means, when it means something of its own ("all cores").
        label, help: In the words of the person who sets it.
        section: Where the page shows it; "" keeps it off the page (what the window remembers).
        effect: live: at once; reload: with the next load of a model; restart: of Runahead.
        check: Raises EngineError for what a range cannot say.
    """

    name: str
    kind: Kind
    default: Any
    low: float = 0
    high: float = math.inf
    step: float = 1
    unit: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    zero: str = ""
    label: str = ""
    help: str = ""
    section: Section = ""
    effect: Effect = "live"
    check: Callable[[str], object] | None = None

    def checked(self, value: object) -> Any:
        """`value` in its own type. Raises OptionError when it cannot be."""
        typed = self._typed(value)
        if self.kind in ("whole", "number", "share", "bytes"):
            self._check_range(typed)
        if self.kind == "choice" and typed not in (word for word, _ in self.choices):
            allowed = ", ".join(word for word, _ in self.choices)
            raise self._error(typed, f"must be one of {allowed}")
        if self.check is not None:
            try:
                self.check(typed)
            except EngineError as error:
                raise self._error(typed, f"is not understood ({error})") from error
        return typed

    def _typed(self, value: object) -> Any:
        match self.kind:
            case "switch":
                if isinstance(value, bool):
                    return value
                raise self._error(value, "must be true or false")
            case "whole" | "bytes":
                if isinstance(value, int) and not isinstance(value, bool):
                    return value
                raise self._error(value, "must be a whole number")
            case "number" | "share":
                if isinstance(value, int | float) and not isinstance(value, bool):
                    return _float(value)
                raise self._error(value, "must be a number")
            case "choice" | "text" | "prose":
                if isinstance(value, str):
                    return value
                raise self._error(value, "must be text")
            case "lines":
                if isinstance(value, list | tuple) and all(isinstance(x, str) for x in value):
                    return tuple(value)
                raise self._error(value, "must be a list of texts")
            case "presets":
                return value  # read by app/settings/presets.py

    def _check_range(self, value: float) -> None:
        if not self.low <= value <= self.high:  # also for NaN
            raise self._error(
                value, f"must be from {self._end(self.low)} to {self._end(self.high)}"
            )

    def _end(self, number: float) -> str:
        if self.kind == "bytes":
            return sizes.show_exactly(int(number))
        return f"{number:.0f}" if self.kind == "whole" else f"{number:g}"

    def _error(self, value: object, what: str) -> OptionError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return OptionError(f"{self.label or self.name} is {shown}; it {what}")


def _float(number: float) -> float:
    """An int may be larger than any float: it is out of every range then, too."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
