"""Paths as people type them: below the working directory, or outside it as ``/…``, ``~/…`` and ``../…``.

What is listed is always one directory; a thread does it, because a slow disk or a dead mount must not hold the keys.
"""

from __future__ import annotations

import os
from pathlib import Path

from zot.agent.tools.ignore import listed
from zot.frontends.terminal.editor.chips import Chip
from zot.tui.sanitize import one_line


def is_outside(typed: str) -> bool:
    return typed.startswith(("/", "~/")) or typed == "~" or ".." in typed.split("/")


def absolute(root: Path, typed: str) -> str:
    """Where it leads, without a slash at its end."""
    return os.path.normpath(os.path.join(root, os.path.expanduser(typed)))


def parted(typed: str) -> tuple[str, str]:
    """The directory with its slash, as typed, and the beginning of a name in it."""
    name = typed.rpartition("/")[2]
    return typed[: len(typed) - len(name)], name


def name_of(path: str) -> str:
    """The last part of it; a directory keeps its slash."""
    return path[path.rfind("/", 0, -1) + 1 :]


def entries_of(root: Path, directory: str, *, ignored_too: bool) -> list[str]:
    """What a directory holds, each as one would type it; ``directory`` ends with a slash or is empty."""
    if not is_outside(directory):
        return listed(str(root), directory, ignored_too=ignored_too)
    return [directory + name for name in listed(absolute(root, directory), "", ignored_too=ignored_too)]


def without_hidden(paths: list[str], name: str) -> list[str]:
    """Names that begin with a dot are for those who type it: a home is full of them."""
    if name.startswith("."):
        return paths
    return [path for path in paths if not name_of(path).startswith(".")]


def chip_outside(root: Path, typed: str, *, content: bool) -> Chip:
    """Somebody named a place outside with their own hands: unlike what a link in a clone leads to, it may be sent."""
    path = Path(absolute(root, typed))
    if content:
        return Chip(f"[content:{one_line(path.name)}]", str(path), content=path)
    return Chip(f"[{'dir' if typed.endswith('/') else 'file'}:{one_line(typed)}]", str(path))
