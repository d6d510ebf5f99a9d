"""Who may know whom: app -> engine -> engine._native, and inside native only rooms further left."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = [
    *("base", "trace", "gguf", "store", "cache", "fetch"),
    *("policy", "sched", "model", "exec", "sim", "bind"),
]
QT = {"PySide6", "shiboken6", "pyqtgraph"}


def imports_of(source: str, package: str) -> Iterator[str]:
    """Every module that `source`, a module of `package`, may import, as absolute dotted names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            module = ".".join([*base, node.module or ""]).strip(".") if node.level else node.module
            assert module
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def python_imports(top: str) -> list[tuple[str, str]]:
    """(file, module) of every import below the folder `top`."""
    return [
        (path.relative_to(ROOT).as_posix(), module)
        for path in sorted((ROOT / top).rglob("*.py"))
        for module in imports_of(path.read_text(), ".".join(path.relative_to(ROOT).parent.parts))
    ]


def includes_of(source: str) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', source, re.MULTILINE)


def native_includes() -> list[tuple[str, str, str]]:
    """(file, its room, included path) of every include in native/."""
    return [
        (path.relative_to(ROOT).as_posix(), path.relative_to(ROOT / "native").parts[0], included)
        for path in sorted((ROOT / "native").rglob("*"))
        if path.suffix in {".h", ".cpp"}
        for included in includes_of(path.read_text())
    ]


def room_may_include(room: str, other: str) -> bool:
    """Only rooms to the left; exec and sim are neighbours that do not know each other."""
    if {room, other} == {"exec", "sim"}:
        return False
    return ROOMS.index(other) <= ROOMS.index(room)


def test_the_engine_knows_neither_the_app_nor_qt() -> None:
    assert any((ROOT / "engine").rglob("*.py"))
    found = python_imports("engine")
    assert [(f, m) for f, m in found if m.split(".")[0] in {*QT, "app"}] == []


def test_the_app_reaches_native_code_only_through_the_engine() -> None:
    found = python_imports("app")
    assert [(f, m) for f, m in found if (m + ".").startswith("engine._native.")] == []


def test_native_rooms_include_only_rooms_to_their_left() -> None:
    found = native_includes()
    rooms = {path.name for path in (ROOT / "native").iterdir() if path.is_dir()}
    assert rooms <= set(ROOMS), "a room without a place in the order"
    wrong = [
        f"{file} includes {included}"
        for file, room, included in found
        if (other := included.split("/")[0]) in rooms and not room_may_include(room, other)
    ]
    assert found
    assert wrong == []


def test_only_bind_knows_python() -> None:
    python = re.compile(r"^(Python\.h$|nanobind/|pybind11/|numpy/)")
    found = [(file, i) for file, room, i in native_includes() if room != "bind" and python.match(i)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import engine._native as n", ["engine._native"]),
        ("from engine import _native", ["engine", "engine._native"]),
        ("from . import _native", ["engine", "engine._native"]),
        ("from ._native import Engine", ["engine._native", "engine._native.Engine"]),
        ("def f():\n    import PySide6.QtCore", ["PySide6.QtCore"]),
    ],
)
def test_imports_are_seen_however_they_are_written(source: str, expected: list[str]) -> None:
    assert list(imports_of(source, "engine")) == expected


def test_relative_imports_reach_upwards() -> None:
    assert list(imports_of("from ..host import Host", "engine.cli")) == [
        "engine.host",
        "engine.host.Host",
    ]


def test_includes_are_seen_however_they_are_written() -> None:
    assert includes_of('#include "sched/scheduler.h"\n  # include <ggml.h>\n// #include "x.h"') == [
        "sched/scheduler.h",
        "ggml.h",
    ]


def test_the_order_of_rooms_is_the_one_designed() -> None:
    assert room_may_include("sched", "cache")
    assert not room_may_include("cache", "sched")
    assert room_may_include("bind", "sim")
    assert not room_may_include("exec", "sim")
    assert not room_may_include("sim", "exec")
