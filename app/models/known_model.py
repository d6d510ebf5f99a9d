"""KnownModel: one model of the library, as it was when its file was last read."""

from pathlib import Path

import msgspec

from app.models.choices import ModelChoices, first_choices
from app.models.kv_size import kv_bytes_per_token
from engine.model_info import ModelInfo

_MOST_NAME, _MOST_REASON = 200, 1000  # characters


class FileStamp(msgspec.Struct, frozen=True):
    """What tells that a file was replaced, without reading it."""

    n_bytes: int
    modified_ns: int


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """Saved in the library.

    Attributes:
        id: Stays when the file moves.
        added: Seconds since 1970.
        info: Without its metadata, tensors and template, which are long: they are read again for
            whoever looks at them.
        has_template: The file brings a chat template.
        kv_bytes_per_token: Of one session, over all layers; None when the file does not say.
        stamps: Of the files of `info`, in their order; empty when they could not be had.
        earlier_packs: Paths of packs that were built before the file was replaced.
        choices: How it is opened where that differs from the settings.
    """

    id: str
    added: float
    info: ModelInfo
    has_template: bool
    kv_bytes_per_token: int | None
    stamps: tuple[FileStamp, ...] = ()
    earlier_packs: tuple[str, ...] = ()
    choices: ModelChoices = ModelChoices()

    @property
    def path(self) -> Path:
        """Its file, or its first shard."""
        return Path(self.info.path)

    @property
    def files(self) -> list[Path]:
        """All its files."""
        return [Path(part.path) for part in self.info.files]

    @property
    def title(self) -> str:
        """The model's own name, or the file's."""
        return self.info.title

    @property
    def quantisation(self) -> str:
        """The type that most of its bytes have, for example "Q4_K"; "" when there are none."""
        types = self.info.types
        return max(types, key=lambda name: types[name]).upper() if types else ""


def bare(info: ModelInfo) -> ModelInfo:
    """The description without its long parts; what a file calls itself may be of any length."""
    return msgspec.structs.replace(
        info,
        name=_cut(info.name, _MOST_NAME),
        architecture=_cut(info.architecture, _MOST_NAME),
        reason=_cut(info.reason, _MOST_REASON),
        chat_template=None,
        metadata=[],
        tensors=[],
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def known_model(id: str, added: float, info: ModelInfo) -> KnownModel:
    """What is kept of a file that was just read."""
    return KnownModel(
        id=id,
        added=added,
        info=bare(info),
        has_template=bool(info.chat_template),
        kv_bytes_per_token=kv_bytes_per_token(info),
        stamps=stamps_of([Path(part.path) for part in info.files]) or (),
        choices=first_choices(info),
    )


def stamps_of(files: list[Path]) -> tuple[FileStamp, ...] | None:
    """None when one of them cannot be had."""
    try:
        found = [path.stat() for path in files]
    except OSError:
        return None
    return tuple(FileStamp(each.st_size, each.st_mtime_ns) for each in found)
