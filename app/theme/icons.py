"""Icons: drawn from our SVGs in any colour, sharp at any scale of the screen."""

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.resource_folder import resource_folder

SIZES = (16, 20, 24, 32, 48)
SCALES = (1, 2)
DISABLED_OPACITY = 0.5


def draw_icon(name: str, colour: str, disabled: str, selected: str = "") -> QIcon:
    """The icon resources/icons/NAME.svg; `selected` colours it where it is checked or chosen."""
    icon = QIcon()
    for size in SIZES:
        for scale in SCALES:
            icon.addPixmap(draw_pixmap(name, colour, size, scale))
            faint = draw_pixmap(name, disabled, size, scale, opacity=DISABLED_OPACITY)
            icon.addPixmap(faint, QIcon.Mode.Disabled)
            if selected:
                on = draw_pixmap(name, selected, size, scale)
                icon.addPixmap(on, QIcon.Mode.Normal, QIcon.State.On)
                icon.addPixmap(on, QIcon.Mode.Selected)
    return icon


def draw_pixmap(
    name: str, colour: str, size: int, scale: float, *, opacity: float = 1.0
) -> QPixmap:
    """One picture of `size` logical pixels."""
    pixmap = QPixmap(round(size * scale), round(size * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    svg = _source(name).replace(b"currentColor", colour.encode())
    painter = QPainter(pixmap)
    painter.setOpacity(opacity)
    QSvgRenderer(QByteArray(svg)).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


@cache
def _source(name: str) -> bytes:
    return icon_path(name).read_bytes()


def icon_path(name: str) -> Path:
    """Where an icon's SVG lies."""
    return resource_folder() / "icons" / f"{name}.svg"
