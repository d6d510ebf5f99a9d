"""TemplateSandbox: runs a model file's chat template without trusting it.

Jinja's immutable sandbox keeps templates from Python's internals (CVE-2024-34359 was a template
run without it). On top of that, here: only the filters that chat templates use; a bound on loop
turns and calls, on time, on the size of every string and number; nothing of the world but the date.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_SOURCE = 1 << 20  # characters of a template; real ones have at most some ten thousand
MAX_TEXT = 1 << 24  # characters of any string
MAX_ITEMS = 1 << 20  # of any list
MAX_NUMBER_BITS = 128
MAX_WIDTH = 1000  # of padding, indents and the like
MAX_TURNS = 200_000  # loop turns, calls, and the size of what they give, together
MAX_SECONDS = 2.0

_FILTERS = frozenset(
    [
        "abs",
        "capitalize",
        "count",
        "d",
        "default",
        "dictsort",
        "escape",
        "e",
        "first",
        "float",
        "groupby",
        "indent",
        "int",
        "items",
        "join",
        "last",
        "length",
        "list",
        "lower",
        "map",
        "max",
        "min",
        "reject",
        "rejectattr",
        "replace",
        "reverse",
        "round",
        "safe",
        "select",
        "selectattr",
        "sort",
        "string",
        "sum",
        "title",
        "tojson",
        "trim",
        "unique",
        "upper",
    ]
)


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


class _Generation(Extension):
    """`{% generation %}` marks the assistant's text for training; here it is only its body."""

    tags = {"generation"}  # noqa: RUF012, as jinja declares it

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Bounded(NodeTransformer):
    """Sends what the sandbox does not see, loops and `~`, through the environment."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.iter = _call("turns", node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("joined", *node.nodes)


def _call(name: str, *arguments: nodes.Node) -> nodes.Expr:
    return nodes.Call(nodes.EnvironmentAttribute(name), list(arguments), [], None, None)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(("+", "*", "**", "%", "//", "/", "-"))

    def __init__(self, now: datetime):
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[loopcontrols, _Generation],
            cache_size=0,
        )
        self._turns = 0
        self._ends_at = time.monotonic() + MAX_SECONDS
        # Macros, blocks and {% set %} bodies join their parts with `concat`.
        self.concat = self._concat  # type: ignore[method-assign]
        self.globals = {
            "range": self.globals["range"],
            "dict": dict,
            "namespace": self.globals["namespace"],
            "raise_exception": _raise_exception,
            "strftime_now": lambda form: now.strftime(_width_checked(str(form))),
        }
        kept = {name: self.filters[name] for name in self.filters if name in _FILTERS}
        kept["tojson"] = _tojson
        self.filters = {name: self._bounded(name, run) for name, run in kept.items()}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        bounded: nodes.Template = _Bounded().visit(tree)
        return bounded

    # Loops and calls.

    def tick(self, n: int = 1) -> None:
        self._turns += n
        if self._turns > MAX_TURNS:
            raise _RefusedError(f"more than {MAX_TURNS} loop turns and calls")
        if time.monotonic() > self._ends_at:
            raise _RefusedError(f"more than {MAX_SECONDS:g} s of work")

    def turns(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.tick()
            yield item

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.tick()
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, str):
            _sized(name, (owner, *args), kwargs)
        return self._weighed(super().call(context, obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Any:
        wrapped = super().wrap_str_format(value)  # None unless value is a string's format method
        if wrapped is not None:
            _width_checked(str(value.__self__))
        return wrapped

    # Values.

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(times, int):
                    _at_most(len(text) * times * (1 if isinstance(text, str) else 16))
        if operator == "**" and not (abs(left) <= 2**32 and abs(right) <= 32):
            raise _RefusedError("a power that is too large")
        if operator == "%" and isinstance(left, str):
            _width_checked(left)
            _at_most(len(left) + _length(right))
        return self._weighed(super().call_binop(context, operator, left, right))

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
            if len(value) > MAX_ITEMS:
                raise _RefusedError(f"a list of {len(value)} items, over {MAX_ITEMS}")
            self.tick(len(value) >> 6)
        elif isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise _RefusedError("a number that is too large")
        return value

    def _bounded(self, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        passes = getattr(run, "jinja_pass_arg", None)  # context, environment or nothing comes first

        def bounded(*args: Any, **kwargs: Any) -> Any:
            self.tick()
            values = args[1:] if passes is not None else args
            if values and isinstance(values[0], str):
                _sized(name, values, kwargs)
            elif name == "join" and values:
                items = list(values[0])
                separator = str(values[1]) if len(values) > 1 else str(kwargs.get("d", ""))
                _at_most(_length(items) + len(separator) * len(items))
                args = (*args[: len(args) - len(values)], items, *values[1:])
            return self._weighed(run(*args, **kwargs))

        if passes is not None:
            bounded.jinja_pass_arg = passes  # type: ignore[attr-defined]
        return bounded


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
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: Any = "") -> None:
    raise TemplateError(str(message)[:500])


def _width_checked(form: str) -> str:
    """A format text, unless a width or precision in it is absurd or comes from a value."""
    bare = form.replace("%%", "").replace("{{", "").replace("}}", "")
    if re.search(r"%[^a-zA-Z%]*(\*|[0-9]{4})|\{[^{}]*(\{|[0-9]{4})", bare):
        raise _RefusedError("a format with a huge width")
    return form


def _sized(name: str, values: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse a string operation, values[0] being the string, whose result could be huge."""
    text = values[0]
    others = [*values[1:], *kwargs.values()]
    if name == "replace" and len(values) >= 3:
        _at_most(len(text) + text.count(str(values[1])) * len(str(values[2])))
    elif name == "join" and len(values) >= 2:
        _at_most(_length(values[1]) + len(text) * len(values[1]))
    elif name in ("center", "ljust", "rjust", "zfill", "expandtabs", "indent"):
        if any(isinstance(each, int) and each > MAX_WIDTH for each in others):
            raise _RefusedError(f"{name} wider than {MAX_WIDTH}")
        if any(isinstance(each, str) and len(each) > MAX_WIDTH for each in others):
            raise _RefusedError(f"{name} with more than {MAX_WIDTH} characters")
    elif name in ("translate", "maketrans"):
        raise _RefusedError(f"the method {name}")


def _length(value: Any) -> int:
    """Characters of a value, or of the values in a list or dict, as far as they are strings."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_length(each) for each in value.values())
    if isinstance(value, list | tuple):
        return sum(_length(each) for each in value)
    return 32


def _at_most(size: int) -> None:
    if size > MAX_TEXT:
        raise _RefusedError(f"a text of {size} characters, over {MAX_TEXT}")
