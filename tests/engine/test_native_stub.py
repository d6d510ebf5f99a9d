"""engine/_native.pyi tells the truth about the built module, and the fake keeps to it too."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import engine
from engine import _native, trace
from tests.helpers import fake_native

NO_DEFAULT = object()

STUB = ast.parse((Path(engine.__file__).parent / "_native.pyi").read_text())
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
(ENGINE,) = [node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == "Engine"]
METHODS = {node.name: node for node in ENGINE.body if isinstance(node, ast.FunctionDef)}


class Parameter(NamedTuple):
    kind: str
    default: object
    type: ast.expr | None = None


Signature = dict[str, Parameter]  # in order


def signature(node: ast.FunctionDef) -> Signature:
    arguments = node.args
    assert not arguments.posonlyargs and not arguments.vararg and not arguments.kwarg
    n_required = len(arguments.args) - len(arguments.defaults)
    found: Signature = {}
    for at, each in enumerate(arguments.args):
        default = arguments.defaults[at - n_required] if at >= n_required else None
        found[each.arg] = Parameter("positional", _value(default), each.annotation)
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[each.arg] = Parameter("keyword", _value(default), each.annotation)
    return found


def _value(node: ast.expr | None) -> object:
    if node is None:
        return NO_DEFAULT
    if isinstance(node, ast.Constant) and node.value is ...:
        return []  # how a stub writes an empty list
    return ast.literal_eval(node)


def built(function: Any) -> ast.FunctionDef:
    """From nanobind's own record of a signature, in which \\0 stands for the first default."""
    ((text, _, defaults),) = function.__nb_signature__
    text = re.sub(r"\\([0-9]+)", lambda match: repr(defaults[int(match[1])]), text)
    text = re.sub(r"(?:numpy\.)?ndarray\[dtype=(\w+)[^\]]*\]", r"NDArray[np.\1]", text)
    text = text.replace("collections.abc.Sequence[", "list[")  # lists are what we promise to take
    (node,) = ast.parse(text + ": ...").body
    assert isinstance(node, ast.FunctionDef)
    return node


def refines(stub: ast.expr | None, native: ast.expr | None) -> bool:
    """Whether the stub's type is the native one, or says more of it: dict[str, Any] of dict."""
    assert stub is not None and native is not None
    if ast.unparse(native) == "object":
        return True
    if isinstance(native, ast.BinOp):
        return (
            isinstance(stub, ast.BinOp)
            and refines(stub.left, native.left)
            and refines(stub.right, native.right)
        )
    if isinstance(native, ast.Name) and isinstance(stub, ast.Subscript):
        return ast.dump(native) == ast.dump(stub.value)
    return ast.dump(native) == ast.dump(stub)


def assert_same(stub: Signature, other: Signature) -> None:
    assert list(stub) == list(other)
    for name, (kind, default, _) in stub.items():
        assert kind == other[name].kind, name
        if isinstance(default, float):  # C++ keeps some as single precision
            assert other[name].default == pytest.approx(default, rel=1e-6), name
        else:
            assert other[name].default == default, name
            assert type(other[name].default) is type(default), name


def assert_built_as(stub: ast.FunctionDef, function: Any) -> None:
    node = built(function)
    promised, found = signature(stub), signature(node)
    assert_same(promised, found)
    for name, parameter in promised.items():
        if name != "self":
            assert refines(parameter.type, found[name].type), name
    assert refines(stub.returns, node.returns)


def of_python(function: Any) -> Signature:
    found: Signature = {}
    for name, each in inspect.signature(function).parameters.items():
        kind = "keyword" if each.kind is each.KEYWORD_ONLY else "positional"
        found[name] = Parameter(kind, NO_DEFAULT if each.default is each.empty else each.default)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_as_the_stub_says(name: str) -> None:
    assert_built_as(FUNCTIONS[name], getattr(_native, name))


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_as_the_stub_says(name: str) -> None:
    assert_built_as(METHODS[name], getattr(_native.Engine, name))


@pytest.mark.parametrize(
    ("stub", "function"),
    [
        ("def info(self) -> list: ...", "info"),
        ("def close_session(self, number: int) -> None: ...", "close_session"),
        ("def cancel(self, request: str) -> None: ...", "cancel"),
        ("def cancel(self, *, request: int) -> None: ...", "cancel"),
        ("def set_policy(self, policy: str, cold: bool = True) -> None: ...", "set_policy"),
        ("def set_policy(self, policy: str, cold: bool) -> None: ...", "set_policy"),
        ("def take_logits(self, request: int) -> NDArray[np.float64]: ...", "take_logits"),
    ],
)
def test_a_stub_that_is_wrong_is_found(stub: str, function: str) -> None:
    (node,) = ast.parse(stub).body
    assert isinstance(node, ast.FunctionDef)
    with pytest.raises(AssertionError):
        assert_built_as(node, getattr(_native.Engine, function))


def test_the_module_has_what_the_stub_names_and_nothing_else() -> None:
    assigned = {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    classes = {node.name for node in STUB.body if isinstance(node, ast.ClassDef)}
    built = {name for name in dir(_native) if not name.startswith("_")}
    assert built == assigned | classes | set(FUNCTIONS)
    methods = {name for name in dir(_native.Engine) if not name.startswith("_")}
    assert methods | {"__init__"} == set(METHODS)


def test_trace_records_are_those_that_python_reads() -> None:
    assert np.dtype(_native.RECORD_DTYPE) == trace.RECORD_DTYPE
    assert list(_native.EVENTS) == trace.EVENT_NAMES


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_fake_has_the_stubs_functions(name: str) -> None:
    assert_same(signature(FUNCTIONS[name]), of_python(getattr(fake_native, name)))


@pytest.mark.parametrize("name", METHODS)
def test_the_fake_engine_has_the_stubs_methods(name: str) -> None:
    assert_same(signature(METHODS[name]), of_python(getattr(fake_native.Engine, name)))
