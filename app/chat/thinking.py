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
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_FENCE_HEAD = 6  # characters of a line that it looks at


class Part(msgspec.Struct, frozen=True):
    """A stretch of a reply; `is_open`: thinking that has not ended."""

    is_thinking: bool
    text: str
    is_open: bool = False


class _Place:
    """A place in an answer, which goes on: all that says whether a marker there is one.

    What was read is not looked at again, however many markers there are.
    """

    def __init__(self) -> None:
        self._n_fences = 0  # before this line
        self._new_line()

    def _new_line(self) -> None:
        self._head = ""  # so much of the line as shows a fence
        self._is_blank = True
        self._n_ticks = 0

    def read(self, text: str) -> None:
        """What follows."""
        for n, piece in enumerate(text.split("\n")):
            if n:
                self._n_fences += self._is_fence()
                self._new_line()
            self._head += piece[: _FENCE_HEAD - len(self._head)]
            self._is_blank = self._is_blank and not piece.strip()
            self._n_ticks += piece.count("`")

    def counts(self, marker: str) -> bool:
        """Whether `marker` here is one, and not a text that speaks of it."""
        if (self._n_fences + self._is_fence()) % 2:
            return False
        known = _OPENS.get(marker) or _CLOSES.get(marker)
        if known is None or known.is_token or marker in NOISE:
            return True
        if marker in _OPENS:
            return self._is_blank
        return known.may_be_implied and self._n_ticks % 2 == 0

    def _is_fence(self) -> bool:
        return _FENCE.match(self._head) is not None


def split_thinking(reply: str, *, is_final: bool = True) -> list[Part]:
    """The parts of `reply` in order, without markers and without empty parts.

    While the reply still grows (not `is_final`), an end that may become a marker is left out.
    """
    parts: list[tuple[bool, list[str]]] = []  # whether it is thinking, and its texts
    inside: Markers | None = None
    begin = 0  # of what has not been put into a part yet
    place = _Place()  # in the answer since the last thinking, as far as `seen`
    seen = 0

    def add(text: str, *, is_thinking: bool) -> None:
        if not parts or parts[-1][0] != is_thinking:
            parts.append((is_thinking, []))
        parts[-1][1].append(text)

    for match in _ANY.finditer(reply):
        marker = match.group()
        if inside is not None:
            if marker not in inside.closes:
                continue
            add(reply[begin : match.start()], is_thinking=True)
            inside, place = None, _Place()
        else:
            place.read(reply[seen : match.start()])
            seen = match.start()
            if not place.counts(marker):
                continue
            if marker in _OPENS:
                add(reply[begin : match.start()], is_thinking=False)
                inside = _OPENS[marker]
            elif marker in NOISE:
                add(reply[begin : match.start()], is_thinking=False)
            elif any(is_thinking for is_thinking, _ in parts[:2]):
                continue  # a second end is text
            else:
                add(reply[begin : match.start()], is_thinking=False)
                parts[:] = [(True, parts[0][1])]
                place = _Place()
        begin = seen = match.end()
    end = len(reply) if is_final else len(reply) - _unfinished(reply[begin:])
    add(reply[begin:end], is_thinking=inside is not None)
    made = [Part(is_thinking, "".join(texts)) for is_thinking, texts in parts]
    if inside is not None:
        made[-1] = Part(True, made[-1].text, is_open=True)
    trimmed = [Part(each.is_thinking, _trim(each, i), each.is_open) for i, each in enumerate(made)]
    return [each for each in trimmed if each.text.strip() or each.is_open]


def answer_of(reply: str) -> str:
    """The reply without its thinking: what later turns tell the model it has said."""
    answer = [each.text for each in split_thinking(reply) if not each.is_thinking]
    return "\n\n".join(answer).strip()


def _trim(part: Part, index: int) -> str:
    if part.is_thinking:
        return part.text.strip("\n") if not part.is_open else part.text.lstrip("\n")
    return part.text.lstrip("\n") if index else part.text


def _unfinished(text: str) -> int:
    """Length of the longest end of `text` that is the beginning of a marker."""
    for n in range(min(len(text), _LONGEST - 1), 0, -1):
        end = text[-n:]
        if end[0] in "<[◁" and any(each.startswith(end) for each in _ALL):
            return n
    return 0
