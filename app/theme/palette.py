"""Palette: the app's colours in one mode. Text on its background has a contrast of 4.5 or more."""

import msgspec


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    """Colours as "#rrggbb".

    Attributes:
        window: Behind everything: rail, status strip.
        panel: Side lists and headers.
        page: What a page is written on.
        raised: Cards, inputs, menus.
        hover: A list row or quiet button under the pointer.
        border: Lines between things.
        text: Ordinary text.
        muted: Text of less weight.
        accent: The one colour that says "this" or "do this"; `accent_text` is on it.
        accent_hover: The accent under the pointer.
        selection: Behind selected rows and text.
        user_bubble: Behind what the user wrote.
        code_background: Behind code.
        request_colours: 16 that differ well side by side; of request n: n % 16.
    """

    window: str
    panel: str
    page: str
    raised: str
    hover: str
    border: str
    text: str
    muted: str
    accent: str
    accent_hover: str
    accent_text: str
    success: str
    warning: str
    danger: str
    selection: str
    user_bubble: str
    code_background: str
    chart_grid: str
    request_colours: tuple[str, ...]

    def request_colour(self, request: int) -> str:
        """The colour of a request."""
        return self.request_colours[request % len(self.request_colours)]


LIGHT = Palette(
    window="#eff1f5",
    panel="#f7f8fa",
    page="#ffffff",
    raised="#ffffff",
    hover="#e6e9ef",
    border="#dde1e8",
    text="#1a1f29",
    muted="#5d6778",
    accent="#3f5bd8",
    accent_hover="#344ec4",
    accent_text="#ffffff",
    success="#18794e",
    warning="#9a5b00",
    danger="#c62f2a",
    selection="#dce3fb",
    user_bubble="#eef1fb",
    code_background="#f3f5f8",
    chart_grid="#e4e8ee",
    request_colours=(
        *("#537bd9", "#c65d26", "#009a60", "#b05baa", "#a97600", "#0096b1", "#c95463", "#6c8e03"),
        *("#5645a6", "#8c4000", "#00705e", "#922961", "#635b00", "#00629c", "#992d06", "#006d1b"),
    ),
)

DARK = Palette(
    window="#101216",
    panel="#14171c",
    page="#181b21",
    raised="#20242c",
    hover="#282d37",
    border="#2d333e",
    text="#e6e9ef",
    muted="#98a2b3",
    accent="#7f9bff",
    accent_hover="#96adff",
    accent_text="#0b1020",
    success="#4cc38a",
    warning="#f0a54b",
    danger="#ff7a70",
    selection="#293563",
    user_bubble="#232a3f",
    code_background="#12151a",
    chart_grid="#2a303a",
    request_colours=(
        *("#82a8fd", "#ee8f63", "#53c48e", "#d98cd2", "#d0a43a", "#00c0d8", "#f18790", "#98b958"),
        *("#766cc3", "#ac6800", "#009280", "#b35682", "#847e00", "#0086b9", "#ba5b3f", "#3c8e4a"),
    ),
)
