"""Reads the tables and forms in data/.

A table has a header and one row per line, cells parted by ` | `; a cell with `;` is a list.
Forms are sections, `## name` or `## name *3` for one spoken of three times as often, of lines
that open with one of
    ?  a question that names what it is about
    ~  the same asked about what was just spoken of
    !  what is asked as a clause, which data/frames.forms makes questions of
    >  the same asked about another one
    =  an answer, which stands alone
    +  a sentence that adds to an answer, about "they" or "it"
Lines that open with `#` and a space are remarks.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from recipe.corpus.grammar import Value, expand

DATA = Path(__file__).parent / "data"
Row = dict[str, Value]
# Between cells; inside of a choice, [one|another], the bar has no space around it.
_BAR = re.compile(r"\s\|(?=\s|$)")


@dataclass
class Section:
    """The forms of one thing that can be asked."""

    name: str
    questions: list[str] = field(default_factory=list)
    follow_ups: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    additions: list[str] = field(default_factory=list)
    # How many times as often as others it is spoken of.
    weight: int = 1

    def list_for(self, mark: str) -> list[str]:
        """The list that lines opening with `mark` belong to."""
        return {
            "?": self.questions,
            "~": self.follow_ups,
            "!": self.clauses,
            ">": self.others,
            "=": self.answers,
            "+": self.additions,
        }[mark]


def _lines(name: str) -> list[str]:
    text = (DATA / name).read_text(encoding="ascii")
    return [line.strip() for line in text.splitlines() if line.strip() and line[:2] != "# "]


@cache
def table(name: str) -> tuple[Row, ...]:
    """The rows of data/`name`; empty cells are left out. Raises ValueError if one is ragged."""
    header, *lines = ([cell.strip() for cell in _BAR.split(line)] for line in _lines(name))
    rows = []
    for cells in lines:
        if len(cells) != len(header):
            raise ValueError(f"{name}: {len(cells)} cells, not {len(header)}: {cells[0]}")
        rows.append({k: _value(cell) for k, cell in zip(header, cells, strict=True) if cell})
    return tuple(rows)


def _value(cell: str) -> Value:
    if ";" not in cell:
        return cell
    return tuple(part.strip() for part in cell.split(";") if part.strip())


@cache
def names(group: str) -> tuple[str, ...]:
    """The names of `group` in data/names.table. Raises StopIteration if there is none."""
    items = next(row["items"] for row in table("names.table") if row["name"] == group)
    assert isinstance(items, tuple)
    return items


@cache
def sections(name: str) -> tuple[Section, ...]:
    """The sections of data/`name`. Raises ValueError at a line that opens with no mark."""
    found: list[Section] = []
    for line in _lines(name):
        mark, _, rest = line.partition(" ")
        if mark == "##":
            called, _, weight = rest.partition("*")
            found.append(Section(called.strip(), weight=int(weight or 1)))
        elif mark in {"?", "~", "!", ">", "=", "+"} and found:
            found[-1].list_for(mark).append(rest.strip())
        else:
            raise ValueError(f"{name}: no mark: {line}")
    return tuple(found)


def section_of(name: str, section: str) -> Section:
    """The section called `section` of data/`name`. Raises StopIteration if there is none."""
    return next(s for s in sections(name) if s.name == section)


def items(value: Value) -> tuple[str, ...]:
    """The values of a cell, be it a list or not."""
    return value if isinstance(value, tuple) else (value,)


def text(value: Value) -> str:
    """The value of a cell that is no list."""
    assert isinstance(value, str)
    return value


def framed(clause: str, rng: Random, brief: bool = True) -> str:
    """A question or wish that has `clause` in it; `brief` if it may ask for one sentence."""
    forms = section_of("frames.forms", "plain").questions
    if brief and rng.random() < 0.15:
        forms = section_of("frames.forms", "brief").questions
    return expand(rng.choice(forms), rng, {"clause": clause})


def quoted(question: str, rng: Random) -> str:
    """`question` as one who hands it on from somebody may ask it."""
    form = rng.choice(section_of("frames.forms", "quoted").questions)
    lower = question[0].lower() + question[1:]
    return expand(form, rng, {"question": question if question.startswith("I ") else lower})


def is_brief(question: str) -> bool:
    """Whether one sentence is asked for."""
    return any(words in question for words in ("one sentence", "briefly", "in short", "Briefly"))


def one_sentence(forms: list[str]) -> list[str]:
    """Those of `forms` that are one sentence, or where none is, the first sentences of all."""
    short = [form for form in forms if not any(end in form for end in (". ", "! ", "? "))]
    return short or [_first(form) for form in forms]


def _first(form: str) -> str:
    """The first sentence of `form`, or all of it where a choice holds the end of that."""
    first = form.partition(". ")[0]
    ends = first == form or first.count("[") != first.count("]")
    return form if ends else f"{first}."
