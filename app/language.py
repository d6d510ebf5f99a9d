"""tr(): every text of the window goes through here, so that a translation has one place to go."""

from collections.abc import Mapping

_translations: Mapping[str, str] = {}


def use_translations(translations: Mapping[str, str]) -> None:
    """Show these texts instead of the English ones; {} for English."""
    global _translations
    _translations = translations


def tr(text: str, **values: object) -> str:
    """The text in the window's language, with `{name}` places filled from `values`."""
    shown = _translations.get(text, text)
    return shown.format_map(values) if values else shown
