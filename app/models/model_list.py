"""ModelListModel: the library as rows of a list."""

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

from app.engine_service import EngineService
from app.language import tr
from app.models import words
from app.models.known_model import KnownModel
from app.models.library import ModelLibrary
from app.models.packing import Packing
from app.short import short
from app.widgets.plain import plain

Index = QModelIndex | QPersistentModelIndex

MODEL_ROLE = Qt.ItemDataRole.UserRole
BADGE_ROLE = Qt.ItemDataRole.UserRole + 1
PACK_ROLE = Qt.ItemDataRole.UserRole + 2

SORTS = ("Name", "Size", "Added")


class ModelListModel(QAbstractListModel):
    """Rows in the library's order; they change with library, engine and packing."""

    def __init__(
        self,
        library: ModelLibrary,
        service: EngineService,
        packing: Packing,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._service = service
        self._packing = packing
        self._ids = [model.id for model in library.all()]
        library.added.connect(self._on_added)
        library.changed.connect(lambda model: self._touch(model.id))
        library.removed.connect(self._on_removed)
        packing.changed.connect(self._touch)
        service.state_changed.connect(self._on_state_changed)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802
        """How many models."""
        return 0 if parent.isValid() else len(self._ids)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The title; the KnownModel, Badge and PackState under their own roles."""
        model = self._library.get(self._ids[index.row()])
        state = self._library.state(model.id)
        if role == Qt.ItemDataRole.DisplayRole:
            return model.title
        if role == MODEL_ROLE:
            return model
        if role == PACK_ROLE:
            return state.pack
        badge = words.badge(model, state, self._service.state, self._packing.progress(model.id))
        if role == BADGE_ROLE:
            return badge
        if role == Qt.ItemDataRole.ToolTipRole:
            is_long = short(model.title) != model.title
            return plain(f"{model.title}\n{model.path}" if is_long else str(model.path))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            parts = [model.title, words.family_line(model), badge.text if badge else ""]
            return ", ".join(part for part in parts if part)
        return None

    def row_of(self, id: str) -> int:
        """-1: not there."""
        return self._ids.index(id) if id in self._ids else -1

    def _on_added(self, model: KnownModel) -> None:
        row = len(self._ids)
        self.beginInsertRows(QModelIndex(), row, row)
        self._ids.append(model.id)
        self.endInsertRows()

    def _on_removed(self, id: str) -> None:
        row = self._ids.index(id)
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._ids[row]
        self.endRemoveRows()

    def _touch(self, id: str) -> None:
        if (row := self.row_of(id)) >= 0:
            self.dataChanged.emit(self.index(row), self.index(row))

    def _on_state_changed(self) -> None:
        if self._ids:
            self.dataChanged.emit(self.index(0), self.index(len(self._ids) - 1))


class SortedModels(QSortFilterProxyModel):
    """Those that a search finds, in the order that was chosen."""

    def __init__(self, source: ModelListModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self._by = "Name"
        self.setSourceModel(source)
        self.sort(0)

    def search(self, text: str) -> None:
        """Show models whose name, family, type or path has every word."""
        self.beginFilterChange()
        self._words = text.casefold().split()
        self.endFilterChange(QSortFilterProxyModel.Direction.Rows)

    def sort_by(self, by: str) -> None:
        """One of SORTS."""
        self._by = by
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:  # noqa: N802
        """Every word of the search is somewhere."""
        model: KnownModel = self.sourceModel().index(row, 0, parent).data(MODEL_ROLE)
        text = f"{model.title} {words.family_line(model)} {model.path}".casefold()
        return all(word in text for word in self._words)

    def lessThan(self, left: Index, right: Index) -> bool:  # noqa: N802
        """Names from A on; the largest and the newest first."""
        one: KnownModel = left.data(MODEL_ROLE)
        other: KnownModel = right.data(MODEL_ROLE)
        if self._by == "Size":
            return one.info.file_bytes > other.info.file_bytes
        if self._by == "Added":
            return one.added > other.added
        return (one.title.casefold(), one.added) < (other.title.casefold(), other.added)


def sort_labels() -> list[tuple[str, str]]:
    """(what to sort by, its label)."""
    return list(zip(SORTS, (tr("Name"), tr("Size"), tr("Newest")), strict=True))
