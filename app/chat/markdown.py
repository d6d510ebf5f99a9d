"""Markdown of a reply, as blocks that can be laid out, and frozen, one by one.

A reply is split into its top-level blocks when it is read; the text inside a block is only parsed
when the block is rendered, so a long reply costs what is seen of it. While a reply streams, only
its open end is split again: a block is frozen once a complete line of a later one stands below.

Raw HTML stays text, images become links, and links lead to http, https and mailto only.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["text", "quote", "code", "rule"]
# A longer paragraph stays plain: marks that never close would take seconds, again with each token.
MOST_INLINE = 6_000
SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s]+\Z", re.IGNORECASE)
_BARE_LINK = re.compile(r"\bhttps?://[^\s<>\"'`*]*[^\s<>\"'`*.,;:!?)\]}]")


class Block:
    """One block of a reply.

    Attributes:
        kind: How it is drawn.
        source: Its Markdown.
        code, language: Of a block of code.
        indent: How many lists it is inside of, where a list had to be divided around code.
    """

    __slots__ = ("_env", "_tokens", "code", "indent", "kind", "language", "source")

    def __init__(
        self,
        kind: Kind,
        source: str,
        tokens: Sequence[Token] = (),
        env: MutableMapping[str, Any] | None = None,
        *,
        code: str = "",
        language: str = "",
        indent: int = 0,
    ):
        self.kind = kind
        self.source = source
        self.code = code
        self.language = language
        self.indent = indent
        self._tokens = tokens
        self._env = env if env is not None else {}

    def html(self) -> str:
        """The block's text as HTML, from plain tags only."""
        for token in self._tokens:
            if token.type == "inline" and not token.children:
                token.children = []
                if len(token.content) > MOST_INLINE:
                    token.children = list(_plain(token.content))
                    continue
                _MARKDOWN.inline.parse(token.content, _MARKDOWN, self._env, token.children)
                for child in token.children:
                    if (
                        child.type == "text_special"
                    ):  # an escape or entity; a whole parse joins them
                        child.type = "text"
                token.children = list(_with_bare_links(token.children))
        return str(_MARKDOWN.renderer.render(self._tokens, _MARKDOWN.options, self._env)).strip()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Block)
            and (self.kind, self.source, self.indent, self.code, self.language)
            == (other.kind, other.source, other.indent, other.code, other.language)
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]


class BlockSplitter:
    """The blocks of a growing Markdown text."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.n_frozen = 0
        self._env: dict[str, Any] = {}  # of all blocks: a link's address may come after it
        self._frozen_env: dict[str, Any] = {"references": {}}
        self._frozen_end = 0  # characters of the text that frozen blocks cover

    def feed(self, text: str, *, is_final: bool = False) -> int:
        """Take the whole text so far, which begins with what it was; the index of the first block
        that may have changed.
        """
        first = self.n_frozen
        tail = text[self._frozen_end :]
        lines = _Lines(tail)
        self._env["references"] = dict(self._frozen_env["references"])
        tokens: list[Token] = _BLOCKS_ONLY.parse(tail, self._env)
        del self.blocks[first:]
        frozen_line = 0
        complete = len(lines) - 1  # the last line may still grow
        for group in _top_level(tokens):
            start, end = group[0].map or [0, len(lines)]
            if not is_final and start < complete and start > frozen_line:
                self.n_frozen = len(self.blocks)
                frozen_line = start
            self.blocks.extend(_blocks(group, lines.between(start, end), self._env))
        if is_final:
            self.n_frozen = len(self.blocks)
            self._frozen_end = len(text)
        elif frozen_line:
            end = lines.offset(frozen_line)
            _BLOCKS_ONLY.parse(tail[:end], self._frozen_env)  # for the addresses in it
            self._frozen_end += end
        return first


class _Lines:
    """Where the lines of a text begin."""

    def __init__(self, text: str):
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\r\n|\n|\r", text))]

    def __len__(self) -> int:
        return len(self._starts)

    def offset(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self._text)

    def between(self, start: int, end: int) -> str:
        return self._text[self.offset(start) : self.offset(end)]


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: bool(SAFE_LINK.match(url))  # type: ignore[method-assign]

    def image(_: object, tokens: Sequence[Token], at: int, *__: object) -> str:
        # An image from elsewhere would tell its server that it was looked at, so it stays a link.
        token = tokens[at]
        url = _escape(str(token.attrs.get("src", "")))
        return f'<a href="{url}">[{_escape(token.content) or url}]</a>'

    parser.add_render_rule("image", image)
    parser.add_render_rule("softbreak", lambda *_: "<br>")
    return parser


_MARKDOWN = _make_parser()
_BLOCKS_ONLY = _make_parser()
_BLOCKS_ONLY.disable(["inline", "text_join"])


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    group: list[Token] = []
    depth = 0
    for token in tokens:
        group.append(token)
        depth += token.nesting
        if depth == 0:
            yield group
            group = []


def _blocks(group: list[Token], source: str, env: dict[str, Any]) -> Iterator[Block]:
    first = group[0]
    if _is_code(first):
        yield _code(first, source)
    elif first.type == "hr":
        yield Block("rule", source)
    elif first.type == "blockquote_open":
        yield Block("quote", source, _aligned(group[1:-1]), env)
    elif _is_list(first) and any(map(_is_code, group)):
        yield from _divided(group, env, depth=1)
    else:
        yield Block("text", source, _aligned(group), env)


def _divided(group: list[Token], env: dict[str, Any], depth: int) -> Iterator[Block]:
    """A list with code in it, as the text between and the code, so that code can be copied."""
    opening, closing = group[0], group[-1]
    number = int(opening.attrs.get("start", 1))
    for index, item in enumerate(_top_level(group[1:-1])):
        is_first = True
        run: list[Token] = []

        def flush(run: list[Token], is_first: bool, index: int, item: list[Token]) -> Block:
            source = "".join(each.content for each in run)
            if not is_first:
                return Block("text", source, run, env, indent=depth)
            opens = opening.copy(attrs={"start": number + index})
            return Block(
                "text", source, [opens, item[0], *run, item[-1], closing], env, indent=depth - 1
            )

        for child in _top_level(item[1:-1]):
            is_list = _is_list(child[0]) and any(map(_is_code, child))
            if not is_list and not _is_code(child[0]):
                run.extend(child)
                continue
            if run or is_first:
                yield flush(run, is_first, index, item)
            is_first, run = False, []
            if is_list:
                yield from _divided(child, env, depth + 1)
            else:
                yield _code(child[0], child[0].content, indent=depth)
        if run or is_first:
            yield flush(run, is_first, index, item)


def _is_code(token: Token) -> bool:
    return token.type in ("fence", "code_block")


def _is_list(token: Token) -> bool:
    return token.type in ("bullet_list_open", "ordered_list_open")


def _code(token: Token, source: str, indent: int = 0) -> Block:
    language = token.info.split()[0] if token.info.strip() else ""
    code = token.content.removesuffix("\n")
    return Block("code", source, code=code, language=language, indent=indent)


def _aligned(tokens: list[Token]) -> list[Token]:
    """Cells of tables say where they are aligned in a way that rich text understands."""
    for token in tokens:
        if token.type in ("th_open", "td_open") and (style := str(token.attrs.pop("style", ""))):
            token.attrs["align"] = style.removeprefix("text-align:")
    return tokens


def _plain(text: str) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n")):
        if number:
            yield Token("softbreak", "br", 0)
        yield Token("text", "", 0, content=line)


def _with_bare_links(tokens: Sequence[Token]) -> Iterator[Token]:
    """Addresses that are written out become links."""
    n_links = 0
    for token in tokens:
        n_links += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type != "text" or n_links or "://" not in token.content:
            yield token
            continue
        begin = 0
        for match in _BARE_LINK.finditer(token.content):
            yield Token("text", "", 0, content=token.content[begin : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": match.group()})
            yield Token("text", "", 0, content=match.group())
            yield Token("link_close", "a", -1)
            begin = match.end()
        yield Token("text", "", 0, content=token.content[begin:])


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
