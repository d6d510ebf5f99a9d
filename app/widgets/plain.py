"""Plain text where Qt guesses whether it is markup: in tool tips and message boxes."""

from PySide6.QtGui import Qt


def plain(text: str) -> str:
    """What makes Qt show `text` as it is, also when it looks like markup, as names may."""
    return Qt.convertFromPlainText(text) if Qt.mightBeRichText(text) else text
