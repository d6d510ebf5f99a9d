"""ChatStyle: how a conversation is set: fonts, colours, measures."""

from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF

from app.theme.theme import Theme

COLUMN = 760  # widest text column, pixels
MARGIN = 24  # least space beside it
BUBBLE_SHARE = 0.8  # of the column, for what the user wrote
BUBBLE_PADDING = (16, 11)
BUBBLE_RADIUS = 14
PIECE_GAP = 10  # between blocks of a message
FOOTER = 30  # height of the row with actions and figures
MESSAGE_GAP = 10

# Colours of code, by the beginning of pygments' token names; the longest that fits counts.
_LIGHT_CODE = {
    "Keyword": "#a0309c",
    "Keyword.Constant": "#0b62a4",
    "Name.Builtin": "#0b62a4",
    "Name.Class": "#8a5a00",
    "Name.Decorator": "#8a5a00",
    "Name.Exception": "#8a5a00",
    "Name.Function": "#2c56c4",
    "Name.Tag": "#a0309c",
    "Name.Attribute": "#8a5a00",
    "Literal.String": "#2a7a3b",
    "Literal.String.Escape": "#0b62a4",
    "Literal.Number": "#b3501e",
    "Operator.Word": "#a0309c",
    "Comment": "#6b7685",
    "Generic.Deleted": "#b3261e",
    "Generic.Inserted": "#2a7a3b",
    "Generic.Heading": "#2c56c4",
}
_DARK_CODE = {
    "Keyword": "#d9a0f2",
    "Keyword.Constant": "#7cc4f5",
    "Name.Builtin": "#7cc4f5",
    "Name.Class": "#e9c078",
    "Name.Decorator": "#e9c078",
    "Name.Exception": "#e9c078",
    "Name.Function": "#8fb2ff",
    "Name.Tag": "#d9a0f2",
    "Name.Attribute": "#e9c078",
    "Literal.String": "#9ad49a",
    "Literal.String.Escape": "#7cc4f5",
    "Literal.Number": "#f0a57b",
    "Operator.Word": "#d9a0f2",
    "Comment": "#808b9c",
    "Generic.Deleted": "#ff8d85",
    "Generic.Inserted": "#9ad49a",
    "Generic.Heading": "#8fb2ff",
}


class ChatStyle:
    """Read-only, made anew when the theme changes."""

    def __init__(self, theme: Theme):
        self.theme = theme
        self.palette = theme.palette
        size = float(theme.font_size)
        self.text_font = theme.text_font()
        self.text_font.setPointSizeF(size + 0.5)
        self.small_font = theme.text_font()
        self.small_font.setPointSizeF(max(7.0, size - 1.5))
        self.code_font = theme.monospace()
        metrics = QFontMetricsF(self.text_font)
        self.line_height = metrics.lineSpacing() * 1.3
        self.char_width = metrics.averageCharWidth()
        code = QFontMetricsF(self.code_font)
        self.code_line_height = code.lineSpacing() * 1.2
        self.code_char_width = code.averageCharWidth()
        self.small_height = QFontMetricsF(self.small_font).lineSpacing()
        self.css = self._css(size)
        self._code_colours = _DARK_CODE if theme.is_dark else _LIGHT_CODE
        self._found: dict[str, QColor | None] = {}

    def colour(self, name: str) -> QColor:
        """A colour of the palette."""
        return QColor(getattr(self.palette, name))

    def code_colour(self, token: str) -> QColor | None:
        """The colour of a kind of token ("Keyword.Type"); None for plain text."""
        if token not in self._found:
            name = token
            while name and name not in self._code_colours:
                name = name.rpartition(".")[0]
            self._found[token] = QColor(self._code_colours[name]) if name else None
        return self._found[token]

    def _css(self, size: float) -> str:
        p = self.palette
        code = QFontInfo(self.code_font).family()
        heading = f"font-weight:600; margin-top:6px; margin-bottom:0px; color:{p.text};"
        return f"""
            p {{ margin:0px; line-height:130%; }}
            li {{ margin-top:3px; margin-bottom:3px; line-height:130%; }}
            ul, ol {{ margin:0px; }}
            h1 {{ {heading} font-size:{size + 5}pt; }}
            h2 {{ {heading} font-size:{size + 3}pt; }}
            h3 {{ {heading} font-size:{size + 1.5}pt; }}
            h4, h5, h6 {{ {heading} font-size:{size + 0.5}pt; }}
            a {{ color:{p.accent}; text-decoration:none; }}
            code {{ font-family:'{code}'; font-size:{size - 0.5}pt;
                    background-color:{p.code_background}; }}
            pre {{ font-family:'{code}'; font-size:{size - 0.5}pt; margin:4px 0px;
                   background-color:{p.code_background}; }}
            table {{ border-collapse:collapse; border:1px solid {p.border}; }}
            th {{ font-weight:600; background-color:{p.code_background};
                  border:1px solid {p.border}; padding:6px 10px; }}
            td {{ border:1px solid {p.border}; padding:6px 10px; }}
            blockquote {{ margin:4px 0px 4px 16px; color:{p.muted}; }}
            """
