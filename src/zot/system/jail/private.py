"""What a jail has for itself, as long as it lives: an empty home, a temporary directory, and a small ``/etc``.

They stay from one command to the next, so that a cache is warm and a file in ``/tmp`` is still there. Of the user's own
home there is one thing: the name and address that git writes into commits.
"""

from __future__ import annotations

import os
from contextlib import suppress

from zot.system.jail.system_paths import etc_directories, etc_files
from zot.system.opening import create, read_whole

_LARGEST = 1 << 20  # of a file in /etc
_IDENTITY = ("name", "email")


class Private:
    """``empty`` covers what is not to be there."""

    def __init__(self, directory: str, home: str) -> None:
        self.home = os.path.join(directory, "home")
        self.tmp = os.path.join(directory, "tmp")
        self.etc = os.path.join(directory, "etc")
        self.empty = os.path.join(directory, "empty")
        for path in (self.home, self.tmp, self.etc, self.empty):
            os.mkdir(path, 0o700)
        for path in etc_directories():
            os.makedirs(f"{self.etc}{path.removeprefix('/etc')}")
        for path in etc_files():
            with suppress(OSError):  # what cannot be read is not there
                copy = f"{self.etc}{path.removeprefix('/etc')}"
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                _write(copy, read_whole(path, _LARGEST))
        _write(os.path.join(self.home, ".gitconfig"), git_identity(home).encode())
        os.chmod(self.empty, 0o555)


def git_identity(home: str) -> str:
    """A git configuration with the user's name and address and nothing else of theirs."""
    lines = ["[safe]", "\tdirectory = *", "[user]"]
    section = ""
    for path in (f"{home}/.config/git/config", f"{home}/.gitconfig"):
        with suppress(OSError, UnicodeError):
            for line in read_whole(path, _LARGEST).decode().splitlines():
                text = line.strip()
                section = text.lower() if text.startswith("[") else section
                if section == "[user]" and text.partition("=")[0].strip().lower() in _IDENTITY:
                    lines.append(f"\t{text}")
    return "\n".join(lines) + "\n"


def _write(path: str, content: bytes) -> None:
    fd = create(path, 0o644, os.O_WRONLY)
    try:
        os.write(fd, content)
    finally:
        os.close(fd)
