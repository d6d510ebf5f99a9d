"""What an installed package holds, by the rules that the build goes by."""

import subprocess
import tomllib
from pathlib import Path

import pathspec

from engine import demo_model

ROOT = Path(__file__).resolve().parents[2]


def shipped() -> dict[str, str]:
    """Each file of the wheel, and where it lies in the repository."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]
    excluded = pathspec.GitIgnoreSpec.from_lines(wheel["exclude"])
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {
        f"{package}/{name}": path
        for package, source in wheel["packages"].items()
        for path in listed.splitlines()
        if path.startswith(f"{source}/")
        if not excluded.match_file(name := path.removeprefix(f"{source}/"))
    }


def test_the_demo_model_and_its_card_lie_where_the_engine_looks_for_them() -> None:
    found = {name: path for name, path in shipped().items() if name.startswith("engine/demo/")}
    assert found == {
        "engine/demo/demo.gguf": "resources/demo/demo.gguf",
        "engine/demo/README.md": "resources/demo/README.md",
    }
    places = [place.relative_to(ROOT).as_posix() for place in demo_model._PLACES]
    assert places == ["engine/demo/demo.gguf", "resources/demo/demo.gguf"]


def test_the_demo_model_ships_once_and_its_recipe_not_at_all() -> None:
    paths = list(shipped().values())
    assert paths.count("resources/demo/demo.gguf") == 1
    assert [path for path in paths if "recipe/" in path] == []
