"""What Runahead is made of: versions and licences of the packages that it needs to run."""

import platform
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import msgspec

PROGRAM = "runahead"
_LICENCE_FILES = ("LICENCE", "LICENSE", "COPYING", "NOTICE")
_CLASSIFIER = "License :: OSI Approved :: "


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One package. `text` are its licence files, "" when it brings none."""

    name: str
    version: str
    licence: str
    text: str = ""


def parts() -> list[Part]:
    """Runahead, Python, then all it needs, by name. Reads some hundred small files."""
    found: dict[str, Distribution] = {}
    _collect(PROGRAM, found)
    made = [_part(each) for each in found.values()]
    first = [part for part in made if part.name.lower() == PROGRAM]
    others = [part for part in made if part.name.lower() != PROGRAM]
    python = Part(name="Python", version=platform.python_version(), licence="PSF-2.0")
    # Compiled into the engine; at run time they have no package.
    linked = [
        Part(name="nanobind", version="", licence="BSD-3-Clause"),
        Part(name="xxHash", version="", licence="BSD-2-Clause"),
    ]
    return [*first, python, *sorted(others + linked, key=lambda part: part.name.lower())]


def _collect(name: str, found: dict[str, Distribution]) -> None:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    try:
        found[key] = distribution(name)
    except PackageNotFoundError:
        return  # only needed elsewhere, on another system or an older Python
    for requirement in found[key].requires or []:
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        if match and "extra ==" not in requirement:
            _collect(match[0], found)


def _part(package: Distribution) -> Part:
    name = package.metadata["Name"]
    return Part(name=name, version=package.version, licence=_licence(package), text=_text(package))


def _licence(package: Distribution) -> str:
    """Its short name; packages say it in one of three ways."""
    said = package.metadata
    if "License-Expression" in said:
        return said["License-Expression"]
    classifiers = [
        line.removeprefix(_CLASSIFIER)
        for line in said.get_all("Classifier") or []
        if line.startswith(_CLASSIFIER)
    ]
    text = "".join(said.get_all("License") or []).strip()
    is_name = bool(text) and "\n" not in text and len(text) < 60
    return text if is_name else ", ".join(classifiers) or "see its text"


def _text(package: Distribution) -> str:
    texts = []
    for file in package.files or []:
        if ".dist-info" in file.parts[0] and file.name.upper().startswith(_LICENCE_FILES):
            try:
                texts.append(file.read_text(encoding="utf-8").strip())
            except (OSError, UnicodeDecodeError):
                continue  # its name is shown all the same
    return "\n\n\n".join(texts)
