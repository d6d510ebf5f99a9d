"""The theme: complete in both modes, readable, and told to whoever draws."""

import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.resource_folder import resource_folder
from app.theme.palette import DARK, LIGHT, Palette
from app.theme.style_sheet import style_sheet
from app.theme.theme import Theme

ICONS = sorted(path.stem for path in (resource_folder() / "icons").glob("*.svg"))


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_background(palette: Palette) -> None:
    for background in ("window", "panel", "page", "raised", "selection", "code_background"):
        for text in ("text", "muted"):
            found = contrast(getattr(palette, text), getattr(palette, background))
            assert found >= 4.4, f"{text} on {background}: {found:.2f}"
    for role in ("success", "warning", "danger", "accent"):
        assert contrast(getattr(palette, role), palette.page) >= 4.4, role
    assert contrast(palette.accent_text, palette.accent) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_requests_can_be_told_apart(palette: Palette) -> None:
    assert len(set(palette.request_colours)) == 16
    assert palette.request_colour(17) == palette.request_colours[1]
    for colour in palette.request_colours:
        assert contrast(colour, palette.page) >= 2.5


@pytest.mark.parametrize("dark", [False, True])
def test_the_style_sheet_has_no_open_places_and_its_pictures_exist(dark: bool) -> None:
    sheet = style_sheet(DARK if dark else LIGHT, 11, dark=dark)
    assert "$" not in sheet
    pictures = re.findall(r'url\("([^"]+)"\)', sheet)
    assert pictures
    assert [p for p in pictures if not Path(p).is_file()] == []
    assert sheet.count("{") == sheet.count("}")


@pytest.mark.parametrize("name", ICONS)
def test_every_icon_draws_in_the_colour_asked_for(theme: Theme, name: str) -> None:
    image = theme.icon(name, "danger").pixmap(24, 24).toImage()
    strongest = max(
        (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())),
        key=QColor.alpha,
    )
    assert strongest.alpha() > 150, "nothing is drawn"
    wanted = QColor(theme.palette.danger)
    assert abs(strongest.red() - wanted.red()) < 12
    assert abs(strongest.blue() - wanted.blue()) < 12


def test_an_unknown_icon_or_role_is_an_error(theme: Theme) -> None:
    with pytest.raises(FileNotFoundError):
        theme.icon("no such icon")
    with pytest.raises(ValueError, match="no role"):
        theme.icon("chat", "window")


def test_changes_of_mode_and_size_are_told_and_icons_follow(qtbot: QtBot, theme: Theme) -> None:
    light = theme.icon("chat").pixmap(24, 24).toImage()
    with qtbot.waitSignal(theme.changed):
        theme.set_mode("dark")
    assert theme.is_dark
    assert theme.icon("chat").pixmap(24, 24).toImage() != light
    with qtbot.waitSignal(theme.changed):
        theme.set_font_size(14)
    with qtbot.assertNotEmitted(theme.changed):
        theme.set_mode("dark")
        theme.set_font_size(14)


def test_a_dressed_application_takes_every_change(qapp: QApplication, qtbot: QtBot) -> None:
    before = qapp.styleSheet(), qapp.font(), qapp.palette(), qapp.style().name()
    theme = Theme("light")
    try:
        theme.dress(qapp)
        assert LIGHT.accent in qapp.styleSheet()
        theme.set_mode("dark")
        assert DARK.accent in qapp.styleSheet()
        assert qapp.palette().text().color().name() == DARK.text
        theme.set_font_size(15)
        assert qapp.font().pointSizeF() == 15
    finally:
        sheet, font, palette, style = before
        qapp.styleHints().unsetColorScheme()
        qapp.setStyleSheet(sheet)
        qapp.setFont(font)
        qapp.setStyle(style)
        qapp.setPalette(palette)
