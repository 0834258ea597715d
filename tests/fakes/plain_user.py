"""Temporarily drops root privileges, so that unreadable files are unreadable."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def plain_user(reachable: Path) -> Iterator[None]:
    """``reachable`` stays readable for the plain user; no effect without root."""
    if os.geteuid() != 0:
        yield
        return
    top = Path(tempfile.gettempdir())
    for directory in (reachable, *reachable.parents):
        if directory.is_relative_to(top) and directory != top:
            directory.chmod(directory.stat().st_mode | 0o055)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
