"""Changes of the ``zot`` command to its own process; embedding programs skip them.
Orphans become its children (Linux), and secrets are wiped from the memory that ``/proc/PID/environ`` shows."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # imported at every start, also by `--version`
if TYPE_CHECKING:
    from collections.abc import Collection

ours = False
helpers: set[int] = set()  # children started outside ``processes``, each with its own session

_PR_SET_CHILD_SUBREAPER = 36
_ENV_START, _ENV_END = 47, 48  # fields of /proc/<pid>/stat, counted from the state; see proc(5), 50 and 51
_shown: dict[str, tuple[int, int]] | None = None
_listed: tuple[int, int] | None = None  # parent pid, and the open file that lists its children


def open_missing_streams(flags: int = os.O_RDWR) -> None:
    """Open the null device for closed standard streams, before another file gets their numbers. Writes to it fail."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, flags)


def harden_process() -> None:
    """Mark this process as the ``zot`` command.
    Core dumps are off because memory contains keys; PR_SET_DUMPABLE would prevent wiping the environment."""
    global ours
    ours = True
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (ImportError, OSError, ValueError):
        pass


def become_subreaper() -> bool:
    """True if orphaned descendants become our children from now on."""
    if not ours or sys.platform != "linux":
        return False
    try:
        import _ctypes  # the small half: importing ctypes takes several times as long

        prctl = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
        return _ctypes.call_function(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
    except (ImportError, AttributeError, OSError):
        return False


def children() -> list[int]:
    """Pids of our children, adopted ones and zombies included; empty if the kernel does not list them. The file stays
    open, since this runs after every command."""
    global _listed
    pid = os.getpid()
    try:
        if _listed is None or _listed[0] != pid:  # a fork has its own
            _listed = (pid, os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY | os.O_CLOEXEC))
        return [int(word) for word in os.pread(_listed[1], 65536, 0).split()]
    except (OSError, ValueError):
        return []


def wipe_environment(seen: Collection[str]) -> None:
    """Wipe all inherited variables except those in ``seen``."""
    if not ours or sys.platform != "linux":
        return
    global _shown
    if _shown is None:
        _shown = _values()
    hidden = [name for name in _shown if name not in seen]
    if not hidden:
        return
    try:
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            for name in hidden:
                address, size = _shown.pop(name)
                os.pwrite(memory, b"\0" * size, address)
        finally:
            os.close(memory)
    except OSError:
        return


def _values() -> dict[str, tuple[int, int]]:
    """Address and size of each variable's value in memory."""
    found: dict[str, tuple[int, int]] = {}
    try:
        stat, block = (_read(f"/proc/self/{name}") for name in ("stat", "environ"))
        fields = stat[stat.rfind(b")") + 1 :].split()
        at, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    except (OSError, ValueError, IndexError):
        return found
    if len(block) != end - at:
        return found
    for entry in block.split(b"\0"):
        name, separator, value = entry.partition(b"=")
        if separator:
            found[os.fsdecode(name)] = (at + len(name) + 1, len(value))
        at += len(entry) + 1
    return found


def _read(path: str) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
        return file.read()


def pause_gc() -> None:
    gc.disable()


def resume_gc() -> None:
    """Freeze the objects that exist now, so that later collections skip them."""
    gc.freeze()
    gc.enable()
