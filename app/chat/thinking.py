"""What of a reply is the model's thinking, and what is its answer.

Every family marks its thinking in its own way; all the ways are in `engine.thinking_markers`. A
marker counts only where a model would write it: not inside fenced code, and, when it looks like
ordinary text, only at the beginning of a line.
"""

import re

import msgspec

from engine.thinking_markers import MARKERS, Markers

# Tokens around an answer that say nothing to a reader.
NOISE = (
    *("<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>"),
    *("<|return|>", "<|end|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)

_OPENS = {each.opens: each for each in MARKERS}
_CLOSES = {text: each for each in MARKERS for text in each.closes}
_ALL = sorted({*_OPENS, *_CLOSES, *NOISE}, key=len, reverse=True)
_LONGEST = len(_ALL[0])
_ANY = re.compile(r"(?=[<\[◁])(?:" + "|".join(map(re.escape, _ALL)) + ")")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class Part(msgspec.Struct, frozen=True):
    """A stretch of a reply; `is_open`: thinking that has not ended."""

    is_thinking: bool
    text: str
    is_open: bool = False


def split_thinking(reply: str, *, is_final: bool = True) -> list[Part]:
    """The parts of `reply` in order, without markers and without empty parts.

    While the reply still grows (not `is_final`), an end that may become a marker is left out.
    """
    parts: list[Part] = []
    inside: Markers | None = None
    begin = 0  # of what has not been put into a part yet
    shown = ""  # answer since the last thinking, for fences and implied beginnings

    def add(text: str, *, is_thinking: bool, is_open: bool = False) -> None:
        if parts and parts[-1].is_thinking == is_thinking:
            text = parts.pop().text + text
        parts.append(Part(is_thinking, text, is_open))

    for match in _ANY.finditer(reply):
        marker = match.group()
        if match.start() < begin:
            continue
        text = reply[begin : match.start()]
        if inside is not None:
            if marker not in inside.closes:
                continue
            add(text, is_thinking=True)
            inside, shown = None, ""
        elif not _counts(marker, shown + text):
            continue
        elif marker in _OPENS:
            add(text, is_thinking=False)
            inside = _OPENS[marker]
        elif marker in NOISE:
            add(text, is_thinking=False)
            shown += text
        elif parts and any(each.is_thinking for each in parts):
            continue  # a second end is text
        else:
            before = "".join(each.text for each in parts) + text
            parts[:] = [Part(True, before)]
            shown = ""
        begin = match.end()
    end = len(reply) if is_final else len(reply) - _unfinished(reply[begin:])
    add(reply[begin:end], is_thinking=inside is not None, is_open=inside is not None)
    trimmed = [Part(each.is_thinking, _trim(each, i), each.is_open) for i, each in enumerate(parts)]
    return [each for each in trimmed if each.text.strip() or each.is_open]


def answer_of(reply: str) -> str:
    """The reply without its thinking: what later turns tell the model it has said."""
    answer = [each.text for each in split_thinking(reply) if not each.is_thinking]
    return "\n\n".join(answer).strip()


def _trim(part: Part, index: int) -> str:
    if part.is_thinking:
        return part.text.strip("\n") if not part.is_open else part.text.lstrip("\n")
    return part.text.lstrip("\n") if index else part.text


def _counts(marker: str, before: str) -> bool:
    """Whether `marker` after `before` is one, and not a text that speaks of it."""
    if len(_FENCE.findall(before)) % 2:
        return False
    known = _OPENS.get(marker) or _CLOSES.get(marker)
    if known is None or known.is_token or marker in NOISE:
        return True
    line = before[before.rfind("\n") + 1 :]
    if marker in _OPENS:
        return not line.strip()
    return known.may_be_implied and line.count("`") % 2 == 0


def _unfinished(text: str) -> int:
    """Length of the longest end of `text` that is the beginning of a marker."""
    for n in range(min(len(text), _LONGEST - 1), 0, -1):
        end = text[-n:]
        if end[0] in "<[◁" and any(each.startswith(end) for each in _ALL):
            return n
    return 0
