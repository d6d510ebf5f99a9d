"""ModelState: what of a known model is on the disk right now."""

import msgspec

from app.models.known_model import KnownModel, stamps_of
from app.models.pack_state import PackState, pack_state
from app.models.shards import is_file


class ModelState(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes:
    missing: Files that are not there.
    changed: The file is another than the one that was read.
    pack: Its expert pack.
    """

    missing: tuple[str, ...] = ()
    changed: bool = False
    pack: PackState = PackState()


def state_of(model: KnownModel) -> ModelState:
    """Look; may take long when a disk sleeps or a network is gone."""
    missing = tuple(str(path) for path in model.files if not is_file(path))
    stamps = None if missing else stamps_of(model.files)
    return ModelState(
        missing=missing,
        changed=stamps is not None and stamps != model.stamps,
        pack=pack_state(model.info, model.earlier_packs),
    )
