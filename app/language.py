"""tr(): every text of the window goes through here, so that a translation has one place to go."""


def tr(text: str, **values: object) -> str:
    """The text in the window's language, with `{name}` places filled from `values`."""
    return text.format_map(values) if values else text
