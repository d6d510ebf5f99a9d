"""What llama.cpp's own tests read: vocabularies with the tokens of texts, and chat templates.

They lie in the source archive of llama-cpp-python. `python -m tests.helpers.llama_sources` has pip
fetch that of the version Runahead is built with (77 MB) and keeps this part of it in build/, once.
"""

import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "/vendor/llama.cpp/models/"


def _requirement() -> str:
    """llama-cpp-python with its version, as pyproject.toml pins it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requires: list[str] = project["build-system"]["requires"]
    return next(r for r in requires if r.startswith("llama-cpp-python=="))


MODELS = ROOT / "build" / _requirement().replace("==", "-") / "models"
without_sources = pytest.mark.skipif(
    not MODELS.is_dir(),
    reason="llama.cpp's vocabularies and templates are not in build/: `make test-python` fetches "
    "them unless the computer is offline, and says why it could not",
)


def fetch() -> str:
    """Make MODELS. Why it cannot be made; "" when it is there."""
    if MODELS.is_dir():
        return ""
    MODELS.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODELS.parent) as name:
        folder = Path(name)
        # Without isolation: pip asks an archive for its metadata, by the build tools that are here.
        options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", name]
        options += ["--quiet", "--retries", "1", "--timeout", "20", _requirement()]
        command = [sys.executable, "-m", "pip", "download", *options]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            errors = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")]
            return (errors or ran.stderr.splitlines() or ["pip failed"])[-1]
        try:
            _unpack(next(folder.glob("*.tar.gz")), folder / "models")
            (folder / "models").rename(MODELS)
        except (OSError, StopIteration, tarfile.TarError) as error:
            return f"{type(error).__name__}: {error}"
    return ""


def _unpack(archive: Path, folder: Path) -> None:
    """Every file below INSIDE in the archive, to the same place below `folder`."""
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            _, found, name = member.name.partition(INSIDE)
            data = members.extractfile(member) if found and ".." not in name else None
            if data is not None:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data.read())


if __name__ == "__main__":
    if reason := fetch():
        print("llama.cpp's vocabularies and chat templates cannot be fetched, so their tests are")
        print(f"skipped: {reason}")
