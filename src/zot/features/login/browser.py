"""Opens a browser if there is one. Failure is harmless, since the address is also shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from zot.system import process_setup
from zot.system.files import find_program, is_missing
from zot.system.process_mark import marked_children
from zot.system.safe_open import read_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_CONTAINERS = (b"docker", b"kubepods", b"containerd")


def has_browser(environ: Mapping[str, str]) -> bool:
    """``$BROWSER`` first; none in a container; always on macOS; elsewhere only with a display."""
    if environ.get("ZOT_NO_BROWSER"):
        return False
    if environ.get("ZOT_FORCE_BROWSER"):
        return True
    if _in_container():
        return False
    if sys.platform == "darwin":
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _in_container() -> bool:
    from pathlib import Path

    if not is_missing(Path("/.dockerenv")):
        return True
    try:
        groups = read_prefix("/proc/1/cgroup", 64 * 1024)
    except OSError:
        return False
    return any(name in groups for name in _CONTAINERS)


def open_in_browser(url: str, environment: Mapping[str, str], cwd: Path | None = None) -> bool:
    """Open the address with the system; ``environment`` has no credentials. True if a program was started."""
    import subprocess

    argv = _opening(url, environment)
    if not argv:
        return False
    quiet = subprocess.DEVNULL
    with suppress(OSError):
        with marked_children(0):  # it outlives this zot, and a zot around it
            opener = subprocess.Popen(
                argv,
                stdin=quiet,
                stdout=quiet,
                stderr=quiet,
                env=dict(environment),
                cwd=cwd,
                start_new_session=True,
            )
        process_setup.helpers.add(opener.pid)  # the browser must outlive zot
        return True
    return False


def _opening(url: str, environment: Mapping[str, str]) -> list[str]:
    """The system's opener, or the first program of ``$BROWSER``; empty if none exists."""
    program = find_program("open" if sys.platform == "darwin" else "xdg-open")
    if program is not None:
        return [program, url]
    import shlex

    for command in environment.get("BROWSER", "").split(os.pathsep):
        with suppress(ValueError):  # an unclosed quote
            name, *words = shlex.split(command) or [""]
            program = name if os.path.isabs(name) else find_program(name)
            if program is not None:
                argv = [word.replace("%s", url) for word in words]
                return [program, *argv] if argv != words else [program, *argv, url]
    return []
