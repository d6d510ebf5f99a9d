"""Lists of items in whatever form people and models give them: lines, Markdown, CSV, JSON."""

import codecs
import csv
import json
import re
from collections.abc import Iterable
from typing import Any

from app.chat.thinking import answer_of

MOST_ITEMS = 2000

_BULLET = re.compile(r"^\s*(?:[-*+•–·]|\(?\d{1,4}[.):]|\(?[a-zA-Z][.)])\s+(?:\[[ xX]\]\s+)?")
_DELIMITERS = "\t;,|"
_NUMBER = re.compile(r"[-+]?[\d.,' ]*\d[%]?$")
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)


def text_of(data: bytes) -> str:
    """What a file says: UTF-8, UTF-16 where it begins so, else as spreadsheets write in Europe."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def items_of_lines(text: str) -> list[str]:
    """One item per line; empty lines are none."""
    return _tidy(text.splitlines())


def items_of_paste(text: str) -> list[str]:
    """The items of pasted or imported text: a Markdown list, a table, a JSON list, or lines."""
    if (found := _json_list(text.strip())) is not None:
        return found
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and (rows := _table(text, lines)):
        return _tidy(_row_items(rows))
    bullets = [line for line in lines if _BULLET.match(line)]
    if bullets and len(bullets) * 2 >= len(lines):
        return _tidy(_joined_bullets(lines))
    return _tidy(lines)


def items_of_reply(reply: str) -> list[str]:
    """The parts that a model has named, whatever it has put around them; [] when there are none."""
    text = answer_of(reply).strip()
    for candidate in (*_FENCED.findall(text), text):
        found = _json_list(candidate.strip())
        if found is None:
            start, end = candidate.find("["), candidate.rfind("]")
            found = _json_list(candidate[start : end + 1]) if 0 <= start < end else None
        if found:
            return found
    lines = [line for line in text.splitlines() if line.strip()]
    bullets = [line for line in lines if _BULLET.match(line)]
    if len(bullets) >= 2:
        first = lines.index(bullets[0])
        return _tidy(_strip_marks(line) for line in _joined_bullets(lines[first:]))
    quoted = re.findall(r'"((?:[^"\\\n]|\\.)+)"', text)  # a list that was cut off
    if text.lstrip("`jsonJSON \n").startswith("[") and quoted:
        return _tidy(quoted)
    return _tidy(lines) if len(lines) >= 2 else []


def _json_list(text: str) -> list[str] | None:
    if not text.startswith(("[", "{")):
        return None
    try:
        value: Any = json.loads(text)
        if isinstance(value, dict):  # {"parts": [...]}
            lists = [each for each in value.values() if isinstance(each, list)]
            value = lists[0] if len(lists) == 1 else None
        if not isinstance(value, list):
            return None
        return _tidy(_json_item(each) for each in value)
    except (ValueError, RecursionError):  # a model that goes on with "[" for ever
        return None


def _json_item(value: Any) -> str:
    if isinstance(value, dict):
        texts = [str(each) for each in value.values() if isinstance(each, str | int | float)]
        return ": ".join(texts)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(text: str, lines: list[str]) -> list[list[str]] | None:
    """The cells, when every line has the same number of them, more than one."""
    if all(line.strip().startswith("|") for line in lines):  # Markdown
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        return [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    for delimiter in _DELIMITERS:
        if delimiter not in lines[0]:
            continue
        try:
            rows = [row for row in csv.reader(text.splitlines(True), delimiter=delimiter) if row]
        except csv.Error:
            continue
        same = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
        # "Paris, France" is a line of text: a comma of CSV has no space after it.
        is_prose = delimiter in ",;" and any(cell.startswith(" ") for row in rows for cell in row)
        if same and not is_prose:
            return [[cell.strip() for cell in row] for row in rows]
    return None


def _row_items(rows: list[list[str]]) -> list[str]:
    """With a header, "name: Rome; founded: 753"; else "Rome — 753"."""
    if _has_header(rows):
        names = rows[0]
        pairs = ((zip(names, row, strict=False)) for row in rows[1:])
        return ["; ".join(f"{name}: {cell}" for name, cell in pair if cell) for pair in pairs]
    return [" — ".join(cell for cell in row if cell) for row in rows]


def _has_header(rows: list[list[str]]) -> bool:
    """Names above numbers, or names as programs write them above something else."""
    names, body = rows[0], rows[1:]
    if not body or not all(names) or len(set(names)) < len(names):
        return False
    if any(_NUMBER.match(name) for name in names):
        return False
    columns = list(zip(*body, strict=False))
    if any(all(_NUMBER.match(cell) for cell in column if cell) for column in columns):
        return True
    plain = re.compile(r"[a-z][a-z0-9_]*$")
    return all(plain.match(name) for name in names) and not all(
        plain.match(cell) for row in body for cell in row
    )


def _joined_bullets(lines: Iterable[str]) -> list[str]:
    """Bullets without their marks; an indented line goes on with the one above it."""
    items: list[str] = []
    for line in lines:
        if _BULLET.match(line):
            items.append(_BULLET.sub("", line))
        elif items and line.startswith((" ", "\t")):
            items[-1] += " " + line.strip()
    return items


def _strip_marks(line: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"\1", line)


def _tidy(lines: Iterable[str]) -> list[str]:
    """Items are single lines without outer spaces."""
    items = (" ".join(str(line).split()) for line in lines)
    return [item for item in items if item][:MOST_ITEMS]
