"""``python as_plain_user.py DIRECTORY… -- COMMAND…``: root runs a command as an ordinary user who owns the directories.

Where the interpreter lies in a directory that is root's alone, the command sees it all the same: in a mount namespace
of its own, where that directory holds nothing else.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

NOBODY = 65534
_NEW_MOUNTS, _BIND, _RECURSIVE, _PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


def run(directories: list[str], command: list[str]) -> None:
    for directory in directories:
        _give(Path(directory))
    _show([sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])])
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.execv(command[0], command)


def _give(directory: Path) -> None:
    for path in (directory, *directory.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _show(paths: list[str]) -> None:
    """Mounts unreachable paths under their names, without neighbours."""
    hidden = {path: closed for path in dict.fromkeys(map(os.path.realpath, paths)) if (closed := _closed(path))}
    if not hidden:
        return
    if _libc.unshare(_NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "root cannot make a mount namespace here")
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    opened = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in hidden}
    for closed in set(hidden.values()):
        _mount("tmpfs", closed, "tmpfs", 0)
        os.chmod(closed, 0o755)
    for path, fd in opened.items():
        os.makedirs(path, mode=0o755, exist_ok=True)
        _mount(f"/proc/self/fd/{fd}", path, "", _BIND | _RECURSIVE)
        os.close(fd)


def _closed(path: str) -> str:
    """The outermost directory above it that others cannot enter; empty when they can reach it."""
    above = [str(directory) for directory in reversed(Path(path).parents)]
    return next((directory for directory in above if not os.stat(directory).st_mode & 0o001), "")


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


if __name__ == "__main__":
    at = sys.argv.index("--")
    run(sys.argv[1:at], sys.argv[at + 1 :])
