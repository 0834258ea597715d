"""Two directories trade places in one step where the system can do that: nobody sees either of them missing.

Elsewhere it takes three renames, and a failure puts back what was moved.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE, _RENAME_SWAP = -100, 2, 2


def swap(one: Path, other: Path) -> None:
    """Both exist, on one file system. OSError: everything is as it was."""
    if _swapped_at_once(os.fsencode(one), os.fsencode(other)):
        return
    aside = one.with_name(f"{one.name}.{os.urandom(4).hex()}")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)


def _swapped_at_once(one: bytes, other: bytes) -> bool:
    try:
        libc = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return libc.renamex_np(one, other, _RENAME_SWAP) == 0
        return libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE) == 0
    except (OSError, AttributeError):
        return False
