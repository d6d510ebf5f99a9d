"""ModelActions: what a person can do with a model, with the questions that come before it."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.background import sentence
from app.engine_service import EngineService
from app.language import tr
from app.models import disposal, words
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.loading import Loading
from app.models.packing import Packing
from app.models.shards import check_files, is_folder, is_link
from app.settings.settings import Settings
from app.short import short
from app.widgets.ask import ask
from app.widgets.ask_file import ask_files
from engine import sizes
from engine.errors import EngineError
from engine.model_info import ModelInfo

GGUF_FILTER = "GGUF (*.gguf)"


class ModelActions(Loading):
    """Loading, and what can be done with the list and with files.

    Signals:
        told: Something went wrong. args: title, text.
        removed: A model was taken from the list; the function takes it back. args: title, function.
    """

    told = Signal(str, str)
    removed = Signal(str, object)

    def __init__(
        self,
        service: EngineService,
        library: ModelLibrary,
        packing: Packing,
        settings: Settings,
        window: QWidget,
    ) -> None:
        super().__init__(service, settings, window)
        self._library = library
        self._packing = packing
        self._locating: dict[int, str] = {}  # job -> model
        service.job_done.connect(self._on_job_done)
        service.job_failed.connect(self._on_job_failed)

    # The list.

    def remove(self, model: KnownModel) -> None:
        """Take it from the list; files stay, and it can be undone."""
        self._leave(model)
        self._library.remove(model.id)
        self.removed.emit(
            tr(
                "{title} is no longer in the list. Its files are where they were.",
                title=short(model.title),
            ),
            lambda: self._library.restore(model),
        )

    def locate(self, model: KnownModel) -> None:
        """Ask where the file of a missing model is now."""
        ask_files(
            self._window,
            self._settings,
            tr("Where is {title}?", title=short(model.title)),
            lambda paths: self.locate_at(model.id, paths[0]),
            place="models",
            name_filter=GGUF_FILTER,
            begin=_existing_folder(model.path),
            one=True,
        )

    def locate_at(self, id: str, path: Path) -> None:
        """The model's file is here now: taken over when it is that model."""
        try:
            first = check_files(path)
        except EngineError as error:
            self.told.emit(tr("The model was not found there"), str(error))
            return
        self._locating[self._service.inspect(first)] = id

    def _on_job_done(self, job: int, result: object) -> None:
        id = self._locating.pop(job, None)
        if id is None or not isinstance(result, ModelInfo):
            return
        if all(model.id != id for model in self._library.all()):
            return  # removed meanwhile
        try:
            self._library.locate(id, result)
        except EngineError as error:
            self.told.emit(tr("The model was not found there"), str(error))

    def _on_job_failed(self, job: int, message: str, hint: str, cancelled: bool) -> None:
        if self._locating.pop(job, None) is not None and not cancelled:
            self.told.emit(tr("The file cannot be read"), str(EngineError(message, hint)))

    # Files.

    def show_folder(self, model: KnownModel) -> None:
        """Open the model's folder in the file manager."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(_existing_folder(model.path))))

    def delete_pack(self, model: KnownModel) -> None:
        """Ask, then delete its expert pack."""
        pack = self._library.state(model.id).pack
        if pack.kind == "none":
            return
        ask(
            self._window,
            tr("Delete the expert pack of {title}?", title=short(model.title)),
            tr(
                "This frees {size}. The model itself stays, and the pack can be built again.",
                size=sizes.show(pack.n_bytes),
            ),
            tr("Delete pack"),
            lambda _: self._work(model, lambda: disposal.delete(Path(pack.path))),
            danger=True,
        )

    def trash(self, model: KnownModel) -> None:
        """Ask, then move its files to the trash and take it from the list."""
        pack = self._library.state(model.id).pack
        files, size = model.files, sizes.show(model.info.file_bytes)
        what = (
            tr("{name} ({size}) is moved to the trash.", name=files[0].name, size=size)
            if len(files) == 1
            else tr("{n} files ({size}) are moved to the trash.", n=len(files), size=size)
        )
        pack_too = tr("Also delete its expert pack, {size}", size=sizes.show(pack.n_bytes))
        ask(
            self._window,
            tr("Delete {title}?", title=short(model.title)),
            f"{what} {_what_that_frees(files)}",
            tr("Move to trash"),
            lambda with_pack: self._trash(model, Path(pack.path) if with_pack else None),
            option=pack_too if pack.kind != "none" else "",
            danger=True,
        )

    def _trash(self, model: KnownModel, pack: Path | None) -> None:
        def work() -> None:
            disposal.move_to_trash(model.files)
            if pack:
                disposal.delete(pack)

        self._leave(model)
        self._work(model, work, lambda: self._library.remove(model.id))

    def _leave(self, model: KnownModel) -> None:
        self._packing.cancel(model.id)
        if words.is_open(model, self._service.state):
            self._service.unload()

    def _work(
        self, model: KnownModel, work: Callable[[], None], then: Callable[[], None] | None = None
    ) -> None:
        def done(_: None) -> None:
            if then:
                then()
            else:
                self._library.look_at(model.id)

        def failed(error: Exception) -> None:
            self.told.emit(tr("It was not deleted"), sentence(error))
            self._library.look_at(model.id)

        self._library.work(lambda _: work(), done, failed)


def _what_that_frees(files: list[Path]) -> str:
    link = next((path for path in files if is_link(path)), None)
    if link is None:
        return tr("Their space is free again when the trash is emptied.")
    return tr(
        "{name} is a link: the file that it leads to stays where it is, and keeps its space.",
        name=link.name,
    )


def _existing_folder(path: Path) -> Path:
    """The nearest folder above that exists."""
    return next((each for each in path.parents if is_folder(each)), path.parent)
