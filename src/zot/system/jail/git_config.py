"""Paths inside a project that the user's effective git configuration names: git runs or includes them outside the jail,
so commands in the jail must not change them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator

_TIMEOUT_S = 5.0
_NAMING = re.compile(
    r"core\.(hookspath|fsmonitor|attributesfile|excludesfile|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)"
    r"|(filter|diff|merge)\..*\.(clean|smudge|process|command|textconv|driver)"
    r"|diff\.(external|orderfile)|interactive\.difffilter|sequence\.editor|gpg\.(.*\.)?program|credential\.(.*\.)?helper"
    r"|alias\..*|init\.templatedir|commit\.template|uploadpack\.packobjectshook|(diff|merge)tool\..*\.(cmd|path)"
    r"|pager\..*|web\.browser|browser\..*|trailer\..*\.(command|cmd)|submodule\..*\.update|remote\..*\.(uploadpack|receivepack|vcs)"
    r"|tar\..*\.command|sendemail\..*cmd|hook\..*\.command|gc\..*hook",
    re.IGNORECASE,
)


def named_paths(root: str) -> tuple[str, ...]:
    """Relative to ``root``, without duplicates; empty if ``root`` is in no repository or has no git."""
    if not _is_in_repository(root):
        return ()
    found: dict[str, None] = {}
    for origin, key, value in _entries(root):
        candidates = [origin] if origin else []
        if key.lower().startswith("include"):  # relative to the file that includes it
            candidates.append(os.path.join(os.path.dirname(os.path.join(root, origin)), os.path.expanduser(value)))
        elif _NAMING.fullmatch(key):
            candidates += _words(value)
        for word in candidates:
            path = os.path.normpath(os.path.join(root, os.path.expanduser(word)))
            for each in {path, os.path.realpath(path)}:
                if each.startswith(f"{root}/") and not _is_in_git_dir(inside := os.path.relpath(each, root)):
                    found[inside] = None
    return tuple(found)


def _is_in_repository(root: str) -> bool:
    place = root
    while not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return False
        place = above
    return True


def _entries(root: str) -> Iterator[tuple[str, str, str]]:
    """The file, key and value of every setting that applies in ``root``."""
    command = ["git", "-C", root, "config", "--list", "--includes", "--show-origin", "-z"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    parts = os.fsdecode(done.stdout).split("\0")
    for origin, setting in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = setting.partition("\n")
        yield origin.removeprefix("file:") if origin.startswith("file:") else "", key, value


def _words(value: str) -> list[str]:
    """A path or a command; a leading exclamation mark is a shell's."""
    text = value.removeprefix("!")
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return [text, *(word.split("=", 1)[-1] for word in words)]


def _is_in_git_dir(inside: str) -> bool:
    """The jail protects a repository's own configuration and hooks."""
    return inside.split("/")[0] == ".git"
