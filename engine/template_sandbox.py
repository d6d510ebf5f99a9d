"""TemplateSandbox: runs a model file's chat template without trusting it.

Jinja's immutable sandbox keeps templates from Python's internals (CVE-2024-34359 was a template
run without it). On top of that, here: only the filters that chat templates use; a bound on loop
turns and calls, on time, on the size of every string, number and list with all that is in it;
nothing of the world but the date. What is too large or takes too long is refused before it is made,
as nothing stops what runs in C.
"""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from engine.template_tree import EXTENSIONS, bounded, branching

MAX_SOURCE = 1 << 17  # characters of a template; real ones have at most some ten thousand
MAX_BRANCHING = 1 << 20  # names times branches of a template
MAX_TEXT = 1 << 24  # characters of any string
MAX_ITEMS = 1 << 17  # of any list, and characters of a text that is taken for one
MAX_DEPTH = 200  # of lists in lists: what runs in C calls itself for each
MAX_NUMBER_BITS = 60  # larger ones can be chosen to have equal hashes
MAX_PARTS = 10  # of an attribute, as in `sort(attribute="a.b,c")`
MAX_SEARCH = 1 << 28  # characters times those that are searched, where each may meet each
MAX_WIDTH = 1000  # of padding, indents and the like, and digits that are rounded to
PART = 16  # characters of a number and the like, about, and what a list adds to each
MAX_TURNS = 200_000  # loop turns, calls, and the size of what they give, together
MAX_SECONDS = 2.0

_FILTERS = frozenset([
    "abs", "capitalize", "count", "d", "default", "dictsort", "escape", "e", "first", "float",
    "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower", "map",
    "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select",
    "selectattr", "sort", "string", "sum", "title", "tojson", "trim", "unique", "upper",
])  # fmt: skip

# Of these, what takes a text apart into characters or words.
_OF_ITEMS = frozenset([
    "dictsort", "groupby", "items", "join", "list", "map", "max", "min", "reject", "rejectattr",
    "select", "selectattr", "sort", "sum", "title", "unique",
])  # fmt: skip
_BY_ATTRIBUTE = ("groupby", "join", "max", "min", "sort", "sum")  # of all items in one go
_SEARCHES = ("rfind", "rindex", "rpartition", "rsplit", "strip", "lstrip", "rstrip", "trim")
_NO_METHODS = ("encode", "fromkeys", "maketrans", "striptags", "to_bytes", "translate")

# What padding may take the place of, or begin after.
_PLACES = "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
# What jinja adds to the arguments of a call, for itself.
_LOCALS = ("_loop_vars", "_block_vars")


class TemplateFailedError(Exception):
    """The template cannot be used; the text says why."""


class _RefusedError(SecurityError):
    """The template asked for more than a chat template needs."""


class TemplateSandbox:
    """One use of one template; `now` is the date that it may ask for."""

    def __init__(self, now: datetime):
        self._environment = _Environment(now)

    def render(self, source: str, **variables: Any) -> str:
        """The template's text. Raises TemplateFailedError, whatever goes wrong."""
        if len(source) > MAX_SOURCE:
            raise TemplateFailedError(f"it has {len(source)} characters, over {MAX_SOURCE}")
        try:
            text = self._environment.from_string(source).render(**variables)
            text.encode()  # fails for half a surrogate pair, which nobody could read on
            return text
        except SecurityError as error:
            raise TemplateFailedError(
                f"it tried something that is not allowed ({error})"
            ) from error
        except TemplateError as error:
            raise TemplateFailedError(
                f"it failed ({error.message or type(error).__name__})"
            ) from error
        except UnicodeEncodeError as error:
            raise TemplateFailedError("it gave what is no character") from error
        except RecursionError as error:
            raise TemplateFailedError("it is nested too deeply") from error
        except Exception as error:  # a template can raise anything; a person is told
            raise TemplateFailedError(f"it failed ({type(error).__name__}: {error})") from error


class _OpaqueNamespace(Namespace):
    """Shown without what is in it: that may grow afterwards, and hold the namespace itself."""

    def __repr__(self) -> str:
        return "<Namespace>"


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(("+", "*", "**", "%", "//", "/", "-"))

    def __init__(self, now: datetime):
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=EXTENSIONS,
            cache_size=0,
            optimized=False,  # it begins anew at each level of what is nested
            finalize=self._shown,
        )
        # What the template's lists hold, and how deep; with them, so that no other gets their id.
        self._sizes: dict[int, tuple[Any, int, int]] = {}
        self._turns = 0
        # Of this thread: how busy the computer is makes no template a bad one.
        self._ends_at = time.thread_time() + MAX_SECONDS
        # Macros, blocks and {% set %} bodies join their parts with `concat`.
        self.concat = self._concat  # type: ignore[method-assign]
        self.globals = {
            "range": self.globals["range"],
            "dict": self._dict,
            "namespace": _OpaqueNamespace,
            "raise_exception": _raise_exception,
            "strftime_now": lambda form: now.strftime(_form_checked(str(form))),
        }
        kept = {name: self.filters[name] for name in self.filters if name in _FILTERS}
        kept["tojson"] = _tojson
        self.filters = {name: self._bounded(name, run) for name, run in kept.items()}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        if branching(tree) > MAX_BRANCHING:
            raise _RefusedError("more names and branches than can be compiled soon")
        return bounded(tree)

    # Loops and calls.

    def tick(self, n: int = 1) -> None:
        self._turns += n
        if self._turns > MAX_TURNS:
            raise _RefusedError(f"more than {MAX_TURNS} loop turns and calls")
        if time.thread_time() > self._ends_at:
            raise _RefusedError(f"more than {MAX_SECONDS:g} s of work")

    def turns(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.tick()
            yield item

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if owner is self and name == "checked":
            return self.checked(*args)
        self.tick()
        given = {key: value for key, value in kwargs.items() if key not in _LOCALS}
        # What a macro gets becomes a list there, which nobody else weighs.
        _at_most(sum(self._size(each) for each in (*args, *given.values())))
        if name in _NO_METHODS:
            raise _RefusedError(f"the method {name}")
        if isinstance(owner, str):
            self._check_text(name, (owner, *args), given)
        return self._weighed(super().call(context, obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Any:
        wrapped = super().wrap_str_format(value)  # None unless value is a string's format method
        if wrapped is None:
            return None

        def bounded(*args: Any, **kwargs: Any) -> str:
            _form_checked(value.__self__, self._size((*args, *kwargs.values())))
            text: str = wrapped(*args, **kwargs)
            return text

        return bounded

    # Values.

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self.tick(0)
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(times, int):
                    _at_most(self._size(text) * times)
        if operator == "**" and not (abs(left) <= 2**32 and abs(right) <= 32):
            raise _RefusedError("a power that is too large")
        if operator == "%" and isinstance(left, str):
            _form_checked(left, self._size(right))
        return self._weighed(super().call_binop(context, operator, left, right))

    def checked(self, value: Any) -> Any:
        """`value`, unless it is too large, or came too late."""
        self.tick(0)
        return self._weighed(value)

    def _shown(self, value: Any) -> Any:
        if not isinstance(value, str):  # text is made of it now
            self.tick(self._size(value) >> 12)
        return value

    def joined(self, *parts: Any) -> str:
        return self._concat(str(part) for part in parts)

    def _concat(self, parts: Iterable[str]) -> str:
        parts = list(parts)
        _at_most(sum(map(len, parts)))
        text: str = self._weighed("".join(parts))
        return text

    def _weighed(self, value: Any) -> Any:
        """`value`, unless it is too large; large ones count as several turns."""
        if isinstance(value, str):
            _at_most(len(value))
            self.tick(len(value) >> 12)
        elif isinstance(value, list | tuple | dict):
            self._size(value)
        elif isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise _RefusedError("a number that is too large")
        return value

    def _size(self, value: Any) -> int:
        """Characters of `value` as text, about. What it names twice counts twice.

        A few levels of a hundred times the one below are quickly made, and take forever to walk.
        """
        if isinstance(value, str):
            return len(value)
        if isinstance(value, range) or not isinstance(value, Collection):
            return PART
        if id(value) in self._sizes:
            return self._sizes[id(value)][1]
        _at_most_items(len(value))
        self.tick(len(value) >> 6)
        size, depth = PART, 1
        for part in (*value, *value.values()) if isinstance(value, Mapping) else value:
            if isinstance(part, Namespace | LoopContext):  # what it holds can change
                raise _RefusedError("a namespace in a list")
            size += PART + self._size(part)
            depth = max(depth, 1 + self._sizes.get(id(part), (part, 0, 0))[2])
        _at_most(size)
        if depth > MAX_DEPTH:
            raise _RefusedError(f"lists nested more than {MAX_DEPTH} deep")
        self._sizes[id(value)] = (value, size, depth)
        return size

    def _dict(self, *given: Any, **named: Any) -> dict[Any, Any]:
        """As dict(), but in time: keys may have been chosen to be slow to tell apart."""
        made: dict[Any, Any] = {}
        for each in given:
            for key, value in each.items() if isinstance(each, Mapping) else each:
                self.tick(0)
                made[key] = value
        return {**made, **named}

    def _taken(self, items: Iterator[Any]) -> list[Any]:
        """All that a filter gives one by one, in time."""
        taken: list[Any] = []
        for item in items:
            self.tick(0)
            taken.append(item)
            _at_most_items(len(taken))
        return taken

    def _bounded(self, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        passes = getattr(run, "jinja_pass_arg", None)  # context, environment or nothing comes first

        def bounded(*args: Any, **kwargs: Any) -> Any:
            self.tick()
            values = args[1:] if passes is not None else args
            if name in _BY_ATTRIBUTE:
                _check_attribute([kwargs.get("attribute"), *values[2 if name == "join" else 1 :]])
            if values and isinstance(values[0], str):
                if name in _OF_ITEMS:
                    _at_most_items(len(values[0]))
                self._check_text(name, values, kwargs)
            elif name == "join" and values:
                items = list(values[0])
                separator = str(values[1]) if len(values) > 1 else str(kwargs.get("d", ""))
                _at_most(self._size(items) + len(separator) * len(items))
                args = (*args[: len(args) - len(values)], items, *values[1:])
            elif name == "replace" and values:
                self._check_text(name, (str(values[0]), *values[1:]), kwargs)
            elif name == "round":
                _check_width(name, [*values[1:], *kwargs.values()])
            elif name == "sum" and not isinstance(
                kwargs.get("start", (*values, 0, 0)[2]), int | float
            ):
                raise _RefusedError("a sum of lists")  # copies all again for each
            made = run(*args, **kwargs)
            one_by_one = name in (*_OF_ITEMS, "reverse") and isinstance(made, Iterator)
            return self._weighed(self._taken(made) if one_by_one else made)

        if passes is not None:
            bounded.jinja_pass_arg = passes  # type: ignore[attr-defined]
        return bounded

    def _check_text(self, name: str, values: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse a string operation, values[0] being the string, whose result could be huge."""
        text = values[0]
        others = ["", *values[1:], *kwargs.values()]
        if name == "replace":
            given = {**dict(zip(("old", "new"), values[1:], strict=False)), **kwargs}
            old, new = str(given.get("old", "")), str(given.get("new", ""))
            _at_most(len(text) + text.count(old) * len(new))
        elif name == "join" and len(values) >= 2:
            _at_most(self._size(values[1]) + len(text) * len(values[1]))
        elif name in _SEARCHES:
            if len(text) * max(len(each) for each in others if isinstance(each, str)) > MAX_SEARCH:
                raise _RefusedError("a search for a long text")
        elif name in ("center", "ljust", "rjust", "zfill", "expandtabs", "indent"):
            places = 1 + sum(map(text.count, _PLACES))
            _at_most(len(text) + places * _check_width(name, others))


@pass_context
def _tojson(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if isinstance(value, Undefined):
        raise _RefusedError("tojson of something undefined")
    if indent is not None and not 0 <= int(indent) <= MAX_WIDTH:
        raise _RefusedError(f"an indent of {indent}")
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    parts, size = [], 0
    for part in encoder.iterencode(value):
        parts.append(part)
        size += len(part)
        _at_most(size)
        context.environment.tick(0)  # type: ignore[attr-defined]
    return "".join(parts)


def _raise_exception(message: Any = "") -> None:
    raise TemplateError(str(message)[:500])


def _form_checked(form: str, values: int = 0) -> str:
    """A format text, unless it, with values of that size, could give a huge one.

    A width or precision in it must not be absurd or come from a value.
    """
    bare = form.replace("%%", "").replace("{{", "").replace("}}", "")
    places = bare.count("%") + bare.count("{")
    _at_most(len(form) + places * (2 * MAX_WIDTH + values))
    wide = r"%(\([^()]*\))?[^a-zA-Z%(]*(\*|[0-9]{4})|%\([^()]*\(|\{[^{}]*(\{|[0-9]{4})"
    if re.search(wide, bare):
        raise _RefusedError("a format with a huge width")
    return form


def _check_width(name: str, given: Sequence[Any]) -> int:
    """The largest of the widths or texts that are given; refuses one over MAX_WIDTH."""
    numbers = [abs(each) for each in given if isinstance(each, int)]
    width = max([8, *numbers, *(len(each) for each in given if isinstance(each, str))])
    if width > MAX_WIDTH:
        raise _RefusedError(f"{name} wider than {MAX_WIDTH}")
    return width


def _check_attribute(given: Sequence[Any]) -> None:
    """A filter takes each part of an attribute of each item."""
    for each in given:
        if isinstance(each, str) and each.count(".") + each.count(",") > MAX_PARTS:
            raise _RefusedError("an attribute of many parts")


def _at_most_items(n: int) -> None:
    if n > MAX_ITEMS:
        raise _RefusedError(f"a list of {n} items, over {MAX_ITEMS}")


def _at_most(size: int) -> None:
    if size > MAX_TEXT:
        raise _RefusedError(f"a text of {size} characters, over {MAX_TEXT}")
