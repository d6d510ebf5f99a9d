"""engine/_native.pyi tells the truth about the built module, and the fake keeps to it too."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import _native, trace
from tests.helpers import fake_native

# name -> (its kind, its default) in order
Parameters = dict[str, tuple[str, object]]
NO_DEFAULT = object()

STUB = ast.parse((Path(engine.__file__).parent / "_native.pyi").read_text())
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
(ENGINE,) = [node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == "Engine"]
METHODS = {node.name: node for node in ENGINE.body if isinstance(node, ast.FunctionDef)}


def parameters(node: ast.FunctionDef) -> Parameters:
    arguments = node.args
    positional = arguments.posonlyargs + arguments.args
    found: Parameters = {each.arg: ("positional", NO_DEFAULT) for each in positional}
    for each, default in zip(positional[::-1], arguments.defaults[::-1], strict=False):
        found[each.arg] = ("positional", _value(default))
    for each, maybe in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[each.arg] = ("keyword", NO_DEFAULT if maybe is None else _value(maybe))
    return found


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Constant) and node.value is ...:
        return []  # how a stub writes an empty list
    return ast.literal_eval(node)


def built_parameters(function: Any) -> Parameters:
    """From nanobind's own record of a signature, in which \\0 stands for the first default."""
    ((text, _, defaults),) = function.__nb_signature__
    text = re.sub(r"\\([0-9]+)", lambda match: repr(defaults[int(match[1])]), text)
    (node,) = ast.parse(text + ": ...").body
    assert isinstance(node, ast.FunctionDef)
    return parameters(node)


def python_parameters(function: Any) -> Parameters:
    found: Parameters = {}
    for name, each in inspect.signature(function).parameters.items():
        kind = "keyword" if each.kind is each.KEYWORD_ONLY else "positional"
        found[name] = (kind, NO_DEFAULT if each.default is each.empty else each.default)
    return found


def assert_same(stub: Parameters, other: Parameters) -> None:
    assert list(stub) == list(other)
    for name, (kind, default) in stub.items():
        other_kind, other_default = other[name]
        assert kind == other_kind, name
        if isinstance(default, float):  # C++ keeps some as single precision
            assert other_default == pytest.approx(default, rel=1e-6), name
        else:
            assert other_default == default, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_as_the_stub_says(name: str) -> None:
    if name == "quantize":  # its array types are nanobind's own syntax
        assert callable(_native.quantize)
        return
    assert_same(parameters(FUNCTIONS[name]), built_parameters(getattr(_native, name)))


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_as_the_stub_says(name: str) -> None:
    if name == "take_logits":
        assert callable(_native.Engine.take_logits)
        return
    assert_same(parameters(METHODS[name]), built_parameters(getattr(_native.Engine, name)))


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
    assert_same(parameters(FUNCTIONS[name]), python_parameters(getattr(fake_native, name)))


@pytest.mark.parametrize("name", METHODS)
def test_the_fake_engine_has_the_stubs_methods(name: str) -> None:
    found = python_parameters(getattr(fake_native.Engine, name))
    assert_same(parameters(METHODS[name]), found)
