"""AboutTabs: what a model's file holds: the facts, its metadata, and its tensors by type."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTabWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.language import tr
from app.models import words
from app.models.known_model import KnownModel
from app.theme.theme import SPACE_S, Theme
from app.widgets.labels import label
from app.widgets.plain import plain
from app.widgets.search_field import SearchField
from engine import sizes
from engine.model_info import ModelInfo


class AboutTabs(QTabWidget):
    """The facts are there at once; the rest when the file has been read again."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setDocumentMode(True)
        self.facts = _tree([tr("What"), tr("Value")], 230)
        self.facts.setHeaderHidden(True)
        self.metadata = _tree([tr("Key"), tr("Value")], 330)
        self.tensors = _tree([tr("Tensor"), tr("Type"), tr("Shape"), tr("Size")], 330, 80, 180)
        self.tensors.setRootIsDecorated(True)
        self.search = SearchField(theme, tr("Search metadata"))
        self.search.searched.connect(self._on_searched)
        self.status = label(role="muted", wrap=True)
        metadata = QWidget()
        column = QVBoxLayout(metadata)
        column.setContentsMargins(0, SPACE_S, 0, 0)
        column.addWidget(self.search)
        column.addWidget(self.status)
        column.addWidget(self.metadata, 1)
        self.addTab(self.facts, tr("About"))
        self.addTab(metadata, tr("Metadata"))
        self.addTab(self.tensors, tr("Tensors"))
        self.setMinimumHeight(260)

    def show_model(self, model: KnownModel, info: ModelInfo | None, error: str) -> None:
        """Show the facts, and what was read of the file; `error`: why it could not be."""
        _fill(self.facts, facts_of(model))
        self.status.setText(error or tr("Reading the file…"))
        self.status.setVisible(info is None)
        _fill(self.metadata, info.metadata if info else [])
        self.tensors.clear()
        if info:
            self.tensors.addTopLevelItems(_tensor_items(info))
        self._on_searched(self.search.text().strip())

    def _on_searched(self, text: str) -> None:
        wanted = text.casefold()
        for n in range(self.metadata.topLevelItemCount()):
            item = self.metadata.topLevelItem(n)
            if item is not None:
                line = f"{item.text(0)} {item.text(1)}".casefold()
                item.setHidden(wanted not in line)


def facts_of(model: KnownModel) -> list[tuple[str, str]]:
    """(what, value), in the order in which a person asks."""
    info = model.info
    each = " / ".join(sizes.show(n) for n in info.expert_bytes)
    files = len(info.files)
    size = sizes.show(info.file_bytes)
    kv = model.kv_bytes_per_token
    rows = [
        (tr("Family"), info.architecture),
        (tr("Quantisation"), model.quantisation),
        (tr("File"), size if files == 1 else tr("{size} in {n} files", size=size, n=files)),
        (tr("Layers"), _layers(info)),
        (tr("Experts"), words.shape_line(model).split(" · ", 1)[-1]),
        (tr("One expert"), each),
        (tr("All experts"), sizes.show(info.experts_total_bytes) if info.n_expert else ""),
        (tr("Always in memory"), sizes.show(info.other_bytes)),
        (tr("Context"), tr("trained for {n:,} tokens", n=info.context_length)),
        (tr("KV cache"), tr("{size} per token", size=sizes.show(kv)) if kv else ""),
        (tr("Vocabulary"), tr("{n:,} tokens", n=info.n_vocab)),
        (tr("Chat template"), tr("in the file") if model.has_template else tr("none: plain text")),
    ]
    return [(what, value) for what, value in rows if value]


def _layers(info: ModelInfo) -> str:
    if info.n_moe_layer in (0, info.n_layer):
        return str(info.n_layer)
    return tr("{n}, {moe} with experts", n=info.n_layer, moe=info.n_moe_layer)


def _tree(columns: list[str], *widths: int) -> QTreeWidget:
    tree = QTreeWidget()
    tree.setHeaderLabels(columns)
    tree.setRootIsDecorated(False)
    tree.setUniformRowHeights(True)
    tree.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    tree.setTextElideMode(Qt.TextElideMode.ElideRight)
    header = tree.header()
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
    header.setStretchLastSection(True)
    for column, width in enumerate(widths):
        header.resizeSection(column, width)
    return tree


def _fill(tree: QTreeWidget, rows: list[tuple[str, str]]) -> None:
    tree.clear()
    items = []
    for row in rows:
        item = QTreeWidgetItem(list(row))
        item.setToolTip(1, plain(row[1][:1000]))
        items.append(item)
    tree.addTopLevelItems(items)


def _tensor_items(info: ModelInfo) -> list[QTreeWidgetItem]:
    """One item per type, the heaviest first, with its tensors inside."""
    by_type: dict[str, list[QTreeWidgetItem]] = {}
    n_bytes: dict[str, int] = {}
    for name, kind, shape, size in info.tensors:
        row = [name, kind, " x ".join(map(str, shape)), sizes.show(size)]
        by_type.setdefault(kind, []).append(QTreeWidgetItem(row))
        n_bytes[kind] = n_bytes.get(kind, 0) + size
    items = []
    for kind in sorted(n_bytes, key=lambda kind: -n_bytes[kind]):
        count = tr("{n} tensors", n=len(by_type[kind]))
        item = QTreeWidgetItem([kind.upper(), "", count, sizes.show(n_bytes[kind])])
        item.addChildren(by_type[kind])
        items.append(item)
    return items
