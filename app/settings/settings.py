"""Settings: the values of all options, kept in one file."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.settings import options, settings_file
from app.settings.option import OptionError
from app.settings.sampling_preset import BUILT_IN, SamplingPreset
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions, within_training

# A slider that is dragged sets many values a second; they become one write.
SAVE_AFTER_MS = 250


class Settings(QObject):
    """The truth about all options; whoever shows one listens to `changed`.

    Values are checked when they are set. They reach the disk soon after, by a thread that lives
    only while it writes; `close` waits for it.

    Signals:
        changed: A value is another. arg: the option's name.
        failed: Values could not be saved. arg: a sentence.

    Attributes:
        path: The file.
        notices: Sentences about what was wrong with the file when it was read.
    """

    changed = Signal(str)
    failed = Signal(str)

    def __init__(self, path: Path, parent: QObject | None = None):
        super().__init__(parent)
        self.path = path
        loaded = settings_file.load(path)
        self._unknown = {k: v for k, v in loaded.values.items() if k not in options.BY_NAME}
        self._values = options.defaults()
        wrong = self._take(loaded.values)
        self._keep_as = loaded.keep_as
        if wrong and self._keep_as is None:  # what somebody has written is not lost for a slip
            self._keep_as = settings_file.beside(path, "with-errors")
            wrong = [f"{each} The file will be kept as {self._keep_as.name}." for each in wrong]
        self.notices = (*loaded.notices, *wrong)
        self._saving: threading.Thread | None = None
        self._unsaved = False  # set when a save failed, by its thread
        self._timer = QTimer(self, singleShot=True, interval=SAVE_AFTER_MS)
        self._timer.timeout.connect(self._on_timeout)

    # Any option.

    def get(self, name: str) -> Any:
        """Its value; KeyError for an unknown name. For "presets": built-in ones and the user's."""
        return self.presets if name == "presets" else self._values[name]

    def set(self, name: str, value: object) -> None:
        """Change it. Raises OptionError when it cannot be that; KeyError for an unknown name."""
        value = _checked(name, value)
        if value == self._values[name]:
            return
        self._values[name] = value
        self._timer.start()
        self.changed.emit(name)

    def reset(self, name: str) -> None:
        """Back to its default."""
        self.set(name, options.BY_NAME[name].default)

    def is_default(self, name: str) -> bool:
        """Whether it is what it would be in a new installation."""
        return bool(self._values[name] == options.BY_NAME[name].default)

    # In their own types.

    @property
    def presets(self) -> tuple[SamplingPreset, ...]:
        """Built-in ones, then the user's."""
        return (*BUILT_IN, *self._values["presets"])

    def preset(self, name: str) -> SamplingPreset:
        """The preset of that name, or once of it; where it is gone, the one for new chats."""
        by_name = {preset.name: preset for preset in self.presets}
        renamed = (preset for preset in self.presets if name in preset.formerly)
        found = by_name.get(name) or next(renamed, None)
        return found or by_name.get(self._values["preset"]) or BUILT_IN[0]

    @property
    def cache(self) -> CacheSize:
        """Memory for experts."""
        fraction: float = self._values["cache_fraction"]
        return CacheSize() if fraction >= 1 else CacheSize(fraction=fraction)

    @property
    def link(self) -> LinkSpeed:
        """How fast experts may arrive."""
        return LinkSpeed.parse(self._values["link"])

    def engine_options(self, *, trained_context: int = 0) -> EngineOptions:
        """How to open a model; `trained_context` is the most tokens it knows, 0 if unknown."""
        same = (
            *("store", "policy", "n_threads", "n_readers", "max_requests", "verify_reads"),
            *("run_log", "keep_runs", "keep_runs_bytes"),
        )
        return EngineOptions(
            cache=self.cache,
            link=self.link,
            context=within_training(self._values["context"], trained_context),
            **{name: self._values[name] for name in same},
        )

    # The file.

    def flush(self) -> bool:
        """Write what has not been written yet, and wait for it; whether all is on the disk."""
        if self._saving is not None:
            self._saving.join()
        if self._timer.isActive() or self._unsaved:
            self._timer.stop()
            self._start_saving()
        if self._saving is not None:
            self._saving.join()
            self._saving = None
        return not self._unsaved

    def close(self) -> None:
        """Flush; nothing of this object runs afterwards."""
        self.flush()

    def _on_timeout(self) -> None:
        if self._saving is not None and self._saving.is_alive():
            self._timer.start()  # the disk is slow: what changes meanwhile is written next
        else:
            self._start_saving()

    def _start_saving(self) -> None:
        values = self._unknown | {
            name: value
            for name, value in self._values.items()
            if value != options.BY_NAME[name].default
        }
        keep_as, self._keep_as = self._keep_as, None
        self._unsaved = False
        self._saving = threading.Thread(
            target=self._save, args=(values, keep_as), name="settings-save"
        )
        self._saving.start()

    def _save(self, values: dict[str, Any], keep_as: Path | None) -> None:
        try:
            settings_file.save(self.path, values, keep_as)
        except OSError as error:
            self._keep_as = keep_as
            self._unsaved = True
            self.failed.emit(
                f"The settings cannot be saved in {self.path}: {error.strerror or error}."
            )

    def _take(self, values: dict[str, Any]) -> list[str]:
        """Take over what is valid; returns sentences about what is not."""
        wrong = []
        for name in values.keys() & options.BY_NAME.keys():
            try:
                self._values[name] = _checked(name, values[name])
            except OptionError as error:
                used = "Its default is used"
                if name == "presets":
                    self._values[name], used = _sound_presets(values[name]), "The others are used"
                wrong.append(f"{error}. {used}.")
        return sorted(wrong)


def _checked(name: str, value: object) -> Any:
    return _user_presets(value) if name == "presets" else options.BY_NAME[name].checked(value)


def _sound_presets(value: object) -> tuple[SamplingPreset, ...]:
    """Those of a list that can be; of two with the same name the first."""
    sound: tuple[SamplingPreset, ...] = ()
    for each in value if isinstance(value, list) else ():
        with suppress(OptionError):
            sound = _user_presets((*sound, each))
    return sound


def _user_presets(value: object) -> tuple[SamplingPreset, ...]:
    """Presets without the built-in ones. Raises OptionError for anything that is none."""
    try:
        presets = msgspec.convert(value, tuple[SamplingPreset, ...])
    except Exception as error:  # msgspec passes on what the struct's own check raises
        raise OptionError(f"A sampling preset is not understood: {error}") from error
    built_in = {preset.name for preset in BUILT_IN}
    users = tuple(p for p in presets if p.name.strip() and p.name not in built_in)
    if len({preset.name for preset in users}) < len(users):
        raise OptionError("Two sampling presets have the same name")
    return users
