"""What every source file keeps to: one noun per file, and nothing left for later."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 400
SOURCE_SUFFIXES = {".py", ".pyi", ".h", ".cpp", ".sh", ".qss"}


def sources() -> list[Path]:
    """Every source file that is, or would be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    paths = [ROOT / name for name in listed if Path(name).suffix in SOURCE_SUFFIXES]
    return [path for path in paths if path.is_file()]


def test_no_source_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {p.relative_to(ROOT).as_posix(): len(p.read_text().splitlines()) for p in sources()}
    assert lengths
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_every_header_is_included_once() -> None:
    headers = [path for path in sources() if path.suffix == ".h"]
    assert headers
    bare = [p.name for p in headers if "\n#pragma once\n" not in "\n" + p.read_text()]
    assert bare == []


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    left = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marks.search(line)
    ]
    assert left == []


def test_the_kernels_are_built_with_the_version_they_run_with() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = [
        next(r for r in requirements if r.startswith("llama-cpp-python"))
        for requirements in (
            project["build-system"]["requires"],
            project["project"]["dependencies"],
        )
    ]
    assert pins[0] == pins[1]
    assert "==" in pins[0]
