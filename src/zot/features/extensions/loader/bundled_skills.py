"""Skills that come with extensions: found from the manifests alone, without starting anything.

Each entry must lie inside the extension's directory; a bad one is reported and costs nothing but itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from zot.features.extensions.loader.discovery import Entry
from zot.features.skills.discovery import FILE_NAME, SkillFile


def skill_files(entries: Iterable[Entry]) -> tuple[list[SkillFile], list[str]]:
    """The SKILL.md files of all extensions in load order, and what is wrong with the manifests' entries."""
    found: list[SkillFile] = []
    problems: list[str] = []
    for entry in entries:
        name = entry.manifest.name
        for item in entry.manifest.skills:
            try:
                files = _files(entry.manifest.directory, item)
            except ValueError as error:
                problems.append(f"extension {name}: skills entry {item!r} {error}; it was skipped")
            else:
                label, directory = f"extension {name}", entry.manifest.directory
                found += [SkillFile(file, label, f"{_kebab(name)}:", directory) for file in files]
    return found, problems


def _files(directory: Path, item: str) -> list[Path]:
    path = directory / item
    if ".." in Path(item).parts or not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory)):
        raise ValueError("leads out of the extension's directory")
    if path.is_dir():
        return sorted(path.rglob(FILE_NAME))
    if path.name == FILE_NAME and path.is_file():
        return [path]
    raise ValueError(f"is neither a directory nor a {FILE_NAME}")


def _kebab(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name)
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "extension"
