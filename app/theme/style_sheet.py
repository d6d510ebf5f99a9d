"""The style sheet: our .qss files with the palette's colours in their places."""

from functools import cache
from string import Template

import msgspec

from app.resource_folder import resource_folder
from app.theme.palette import Palette

_LINE = 1.62  # pixels of a line's height per point, where 96 of them are an inch
FILES = ("base", "buttons", "inputs", "views", "shell")


def style_sheet(palette: Palette, font_size: float, *, dark: bool) -> str:
    """All .qss files, filled.

    Places are `$accent` and so on, `$small`, `$heading`, `$title` (font sizes in pt), `$line` (the
    height of one), `$theme` (the folder of the sheet's own pictures). Raises KeyError for a place
    that has no value.
    """
    values: dict[str, object] = {
        name: value
        for name, value in msgspec.structs.asdict(palette).items()
        if isinstance(value, str)
    }
    values["theme"] = (resource_folder() / "theme").as_posix()
    values["check"] = "check-dark" if dark else "check-light"
    values["small"] = f"{font_size * 0.9:.3g}pt"
    values["heading"] = f"{font_size * 1.18:.3g}pt"
    # What a sheet says of a height holds even where the text would need more.
    values["line"] = f"{max(20, round(font_size * _LINE))}px"
    values["title"] = f"{font_size * 1.6:.3g}pt"
    return "\n".join(Template(_template(name)).substitute(values) for name in FILES)


@cache
def _template(name: str) -> str:
    return (resource_folder() / "theme" / f"{name}.qss").read_text(encoding="utf-8")
