"""What a build folder was made of, so that nothing of another recipe passes for today's."""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

RECIPE = Path(__file__).parent
# Neither data nor training depend on these; the files that they make are made anew each time.
_LATER = ("card.py", "card.md", "convert.py", "evaluate.py", "expert_use.py", "ngrams.py")
_NOTE = "made_of.json"
_MADE = ("tokenizer.json", "short.npz", "long.npz", "checkpoint.pt", "final.pt")


class StaleFolderError(Exception):
    """The folder holds what was made by another recipe. Says which folder to delete."""


def claim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Note what will be made in `folder`; raises StaleFolderError when something else was."""
    made_of = {"recipe": digest(), "settings": dict(settings)}
    if any((folder / name).exists() for name in _MADE):
        known = _noted(folder)
        if known["recipe"] != made_of["recipe"]:
            raise _stale(folder)
        if known["settings"] != made_of["settings"]:
            raise StaleFolderError(
                f"What lies in {folder} was made with other settings of training. Delete that"
                " folder, or train with those."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _NOTE).write_text(json.dumps(made_of, indent=1) + "\n", encoding="utf-8")


def check(folder: Path) -> None:
    """Raises StaleFolderError when `folder` was not made by the recipe as it is."""
    if _noted(folder)["recipe"] != digest():
        raise _stale(folder)


def digest(recipe: Path = RECIPE) -> str:
    """Of everything that the data or the training depend on."""
    found = blake2b(digest_size=16)
    for path in _parts(recipe):
        content = path.read_bytes()
        found.update(f"{path.relative_to(recipe).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def _parts(recipe: Path) -> Iterator[Path]:
    for path in sorted(recipe.rglob("*")):
        is_source = path.suffix in (".py", ".forms", ".table", ".txt")
        if is_source and path.relative_to(recipe).as_posix() not in _LATER:
            yield path


def _noted(folder: Path) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _stale(folder) from None
    return noted


def _stale(folder: Path) -> StaleFolderError:
    return StaleFolderError(
        f"What lies in {folder} was made by another recipe than this one. Delete that folder, and"
        " everything is made again."
    )
