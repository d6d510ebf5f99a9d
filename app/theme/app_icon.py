"""The app's own icon: three requests, one of which has run ahead."""

from functools import cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.resource_folder import resource_folder


def app_pixmap(size: int, scale: float = 1.0) -> QPixmap:
    """The icon as a picture of `size` logical pixels."""
    pixmap = QPixmap(round(size * scale), round(size * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(str(resource_folder() / "runahead.svg")).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


@cache
def app_icon() -> QIcon:
    """For windows and task bars."""
    icon = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        icon.addPixmap(app_pixmap(size))
    return icon
