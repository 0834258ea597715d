"""Where programs are: looked up on PATH, and never in the current directory."""

from __future__ import annotations

import os


def find_program(name: str) -> str | None:
    """The absolute path of a program on PATH; entries that are not absolute are passed over."""
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        candidate = os.path.join(directory, name)
        if os.path.isabs(directory) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
