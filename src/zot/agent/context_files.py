"""Loads AGENTS.md: the global file and ``~/.claude/CLAUDE.md`` first, then one per directory from the root to the
working directory; CLAUDE.md only where AGENTS.md is missing. Truncated, damaged, unreadable or foreign files are
reported once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISVTX, S_IWOTH
from typing import TYPE_CHECKING

import msgspec

from zot.system.files import user_home
from zot.system.text_files import project_of, read_text, reason_of

if TYPE_CHECKING:
    from zot.system.jail.jailed_files import JailedFiles

NAMES = ("AGENTS.md", "AGENTS.MD", "CLAUDE.md")
LIMIT = 64 << 10
_WITH_IMPORTS = "CLAUDE.md"


class ContextFile(msgspec.Struct, frozen=True):
    """One file in the prompt."""

    path: Path
    text: str

    def section(self) -> str:
        return f"# {self.path}\n\n{self.text}"


class ContextFiles(msgspec.Struct, frozen=True):
    """``parts`` in prompt order; ``problems`` are lines for the user."""

    parts: list[ContextFile] = []
    problems: list[str] = []


def load(cwd: Path, home: Path, beneath: JailedFiles | None = None) -> ContextFiles:
    """Read the global file of ``home`` and those of every directory from the root to ``cwd``."""
    loaded = ContextFiles([], [])
    home = home.absolute()
    for path, info in _standing(cwd.absolute(), home, loaded.problems):
        # The user's own file may link anywhere; a project's file must not include files outside the project.
        within = None if path.parent in (home, _claude_home()) else project_of(path.parent)
        try:
            # In a directory like /tmp any user could create a file for others working below it.
            shared = S_ISVTX | S_IWOTH
            owners = {info.st_uid, os.lstat(path).st_uid}  # of the file, and of a link to it
            if not owners <= {0, os.geteuid()} and os.stat(path.parent).st_mode & shared == shared:
                loaded.problems.append(f"{path}: skipped: created by another user in a world-writable directory")
            else:
                file = read_text(path, LIMIT, within, beneath)
                cut = (
                    (f"truncated: only the first {LIMIT >> 10} KiB of {file.size >> 10} KiB are used")
                    if file.cut
                    else ""
                )
                damaged = "not valid UTF-8; bad bytes are replaced" if file.damaged else ""
                if complaint := "; ".join(filter(None, (cut, damaged))):
                    loaded.problems.append(f"{path}: {complaint}")
                if text := file.text.strip():
                    mark = f"\n\n[cut: the first {LIMIT >> 10} KiB of {path.name}]" if file.cut else ""
                    loaded.parts.append(ContextFile(path, text + mark))
                    if "@" in text and path.name == _WITH_IMPORTS:
                        from zot.agent.context_imports import imported_files  # few have any

                        loaded.parts.extend(imported_files(loaded.parts[-1], within, beneath, loaded.problems))
        except OSError as error:
            loaded.problems.append(_skipped(path, error))
    return loaded


def _claude_home() -> Path:
    return user_home() / ".claude"


def _skipped(path: Path, error: OSError) -> str:
    return f"{path}: {reason_of(error)}; skipped"


def _standing(cwd: Path, home: Path, problems: list[str]) -> Iterator[tuple[Path, os.stat_result]]:
    """The file of each directory; a file that several directories link to appears once."""
    seen: set[tuple[int, int]] = set()
    for directory in [home, _claude_home(), *reversed(cwd.parents), cwd]:
        found = _file_in(directory, problems)
        if found is not None and (key := (found[1].st_dev, found[1].st_ino)) not in seen:
            seen.add(key)
            yield found


def _file_in(directory: Path, problems: list[str]) -> tuple[Path, os.stat_result] | None:
    for name in NAMES:
        try:
            info = os.stat(f"{directory}/{name}")
        except (
            FileNotFoundError,
            NotADirectoryError,
            PermissionError,
        ):  # missing, or not accessible
            continue
        except OSError as error:
            problems.append(_skipped(directory / name, error))
            return None
        if not S_ISDIR(info.st_mode):
            return directory / name, info
    return None
