"""Results as text for other programs: Markdown, CSV, JSONL."""

import csv
import io
import json
import re
from collections.abc import Sequence

import msgspec

from app.chat.export import ended
from app.data.task import Task


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an item; `text` is the answer without thinking."""

    item: str
    state: str
    text: str
    detail: str = ""
    n_tokens: int = 0
    tokens_per_s: float = 0.0
    model: str = ""


_HEADING = re.compile(r"^#{1,6}(?=\s)")

FORMATS = {
    "md": "Markdown",
    "csv": "CSV",
    "jsonl": "JSONL",
}


def exported(suffix: str, task: Task, results: Sequence[Result], summary: str = "") -> str:
    """The results in one of FORMATS; a summary only has a place in Markdown."""
    if suffix == "csv":
        return as_csv(results)
    if suffix == "jsonl":
        return as_jsonl(results)
    return as_markdown(task, results, summary)


def as_markdown(task: Task, results: Sequence[Result], summary: str = "") -> str:
    """A document with a heading per item; headings inside results sink below them."""
    parts = [f"# {task.title}", "\n".join(f"> {line}" for line in task.prompt.splitlines())]
    if summary:
        parts += ["## Summary", ended(sunk(summary))]
    for result in results:
        text, note = ended(sunk(result.text)), note_of(result.state, result.text, result.detail)
        parts += [f"## {result.item}", *(part for part in (text, note) if part)]
    return "\n\n".join(parts) + "\n"


def as_csv(results: Sequence[Result]) -> str:
    """A line per item, with a header; spreadsheets take it for UTF-8 by its first character."""
    out = io.StringIO()
    writer = csv.writer(out)
    fields = [field.name for field in msgspec.structs.fields(Result)]
    writer.writerow(fields)
    for result in results:
        writer.writerow([_inert(value) for value in msgspec.structs.astuple(result)])
    return "\ufeff" + out.getvalue()


def as_jsonl(results: Sequence[Result]) -> str:
    """A JSON object per line and item."""
    lines = (json.dumps(msgspec.structs.asdict(each), ensure_ascii=False) for each in results)
    return "".join(f"{line}\n" for line in lines)


def sunk(text: str) -> str:
    """Markdown with its headings two levels lower, outside of code."""
    lines, in_code = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        lines.append(line if in_code else _HEADING.sub(_lower, line))
    return "\n".join(lines)


def note_of(state: str, text: str, detail: str) -> str:
    """Why there is no answer, or not all of it, as Markdown."""
    shown = "" if state == "done" and text else state
    text = ". ".join(word.rstrip(".") for word in (shown, detail) if word)
    return f"*{text[0].upper()}{text[1:]}.*" if text else ""


def _lower(heading: re.Match[str]) -> str:
    return "#" * min(6, len(heading.group()) + 2)


def _inert(value: object) -> object:
    """A cell that a spreadsheet does not take for a formula; what a model says may be hostile."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t"):
        return f"'{value}"
    return value
