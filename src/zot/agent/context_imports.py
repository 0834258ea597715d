"""Files that ``@path`` imports into a CLAUDE.md: paths are relative to the file, imports may import, up to 4 levels.
A project imports files of the project and Markdown below ``~/.claude``; your own file imports any file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.context_files import LIMIT, ContextFile
from zot.system.files import user_home
from zot.system.text_files import read_text, reason_of

if TYPE_CHECKING:
    from zot.system.jail.jailed_files import JailedFiles

DEEPEST = 4
MOST = 32  # files imported by one CLAUDE.md
_CODE = re.compile(r"(?ms)^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z)|(?P<tick>`+)[^`].*?(?P=tick)")
_IMPORT = re.compile(r"(?<!\S)@((?:[^\s\\]|\\ )+)")
_TRAILING = ".,;:!?)"


def imported_files(
    file: ContextFile, within: Path | None, beneath: JailedFiles | None, problems: list[str]
) -> list[ContextFile]:
    """The files that one imports, each once, before those that it imports itself."""
    seen = {os.path.realpath(file.path)}
    found: list[ContextFile] = []

    def add(source: ContextFile, depth: int) -> None:
        for name, path in _named(source):
            if os.path.realpath(path) in seen:
                continue
            if depth > DEEPEST or len(found) >= MOST:
                problems.append(f"{source.path}: skipped @{name}: more than {DEEPEST} levels or {MOST} files")
                continue
            seen.add(os.path.realpath(path))
            try:
                text = read_text(path, LIMIT, _root_of(path, within), beneath)
            except OSError as error:
                problems.append(f"{source.path}: skipped @{name}: {reason_of(error)}")
                continue
            cut = f"\n\n[cut: the first {LIMIT >> 10} KiB of {path.name}]" if text.cut else ""
            found.append(ContextFile(path, text.text.strip() + cut))
            add(found[-1], depth + 1)

    add(file, 1)
    return found


def _named(source: ContextFile) -> Iterator[tuple[str, Path]]:
    """Existing files that a text names outside of code; other words with ``@`` are not imports."""
    for match in _IMPORT.finditer(_CODE.sub(" ", source.text)):
        for name in dict.fromkeys((match[1], match[1].rstrip(_TRAILING))):
            try:
                path = Path(os.path.normpath(source.path.parent / os.path.expanduser(name.replace("\\ ", " "))))
                if name and path.is_file():
                    yield name, path
                    break
            except (OSError, ValueError):
                continue


def _root_of(path: Path, within: Path | None) -> Path | None:
    """The directory that a link must not leave; None for any."""
    claude = user_home() / ".claude"
    if within is None or (path.suffix == ".md" and path.is_relative_to(claude) and not within.is_relative_to(claude)):
        return claude if within is not None else None
    return within
