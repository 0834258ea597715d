"""The process table and the members of a process tree in it.
A member has the tree's mark in its environment, belongs to its session, or descends from a member. Linux reads
``/proc``; elsewhere ``ps``, which has no marks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

MARK_VARIABLE = "ZOT_PROCESS_TREE"

_PROC = "/proc"
# Fields of /proc/<pid>/stat, counted from the state; see proc(5), 9, 20 and 22.
_FLAGS_FIELD, _THREADS_FIELD, _STARTED_FIELD = 6, 17, 19
_EXITING = 0x4  # PF_EXITING: its files are closed, and it becomes a zombie


class Process(NamedTuple):
    """One row. ``started`` is in kernel ticks or 0; ``command`` is set where it is free; ``zombie``: ended."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    zombie: bool
    command: str = ""


def snapshot() -> dict[int, Process]:
    rows = _from_proc() if os.path.exists(f"{_PROC}/self/stat") else _from_ps()
    return {row.pid: row for row in rows}


def started(pid: int) -> int:
    """Start time of a process in kernel ticks; 0 if there is none, or it is unknown."""
    row = _parse_stat(pid, _read(f"{_PROC}/{pid}/stat"))
    return row.started if row is not None and not row.zombie else 0


def tasks_of(user: int) -> int:
    """Number of a user's threads as counted for the kernel's limit; 0 if unknown."""
    names = os.listdir(_PROC) if os.path.exists(f"{_PROC}/self/status") else []
    owned = f"\nUid:\t{user}\t".encode()
    statuses = (_read(f"{_PROC}/{name}/status") for name in names if name.isdigit())
    return sum(int(status.partition(b"\nThreads:")[2].split(None, 1)[0]) for status in statuses if owned in status)


def is_running(pid: int, began: int) -> bool:
    """True if the process with this start time still runs; without start times, if the pid exists."""
    if began:
        return started(pid) == began
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def members(
    marks: Collection[str],
    sessions: Collection[int],
    adopted: Callable[[dict[int, Process]], Collection[int]] | None = None,
) -> list[Process]:
    """Living processes of the trees with these marks and sessions, without ourselves. ``adopted`` selects orphans."""
    table = snapshot()
    me = table.get(os.getpid())
    since = me.started if me else 0
    # Our descendants are not older than this process: this avoids reading most environments.
    young = [row for row in table.values() if row.started >= since and not row.zombie]
    own_sessions = set(sessions)
    found = {row.pid for row in young if row.session in own_sessions or row.group in own_sessions}
    found |= marked([row.pid for row in young if row.pid not in found], marks)
    if adopted is not None:
        found.update(adopted(table))
    add_descendants(found, young)
    return [row for row in young if row.pid in found and row.pid != os.getpid()]


def add_descendants(found: set[int], rows: Iterable[Process]) -> None:
    children: dict[int, list[int]] = {}
    for row in rows:
        children.setdefault(row.parent, []).append(row.pid)
    waiting = list(found)
    while waiting:
        fresh = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(fresh)
        waiting.extend(fresh)


def marked(pids: Collection[int], marks: Collection[str]) -> set[int]:
    """Processes with one of the marks, or below a zot that has one."""
    found: set[int] = set()
    for last_look in (False, True):
        environments = {pid: _read(f"{_PROC}/{pid}/environ") for pid in pids}
        found.update(pid for pid, environment in environments.items() if _carries(environment, marks))
        pids = [pid for pid, environment in environments.items() if not environment]
        if last_look or not pids:
            break
        time.sleep(0.001)  # between exec and its first instruction a process seems to have no environment
    return found


def _carries(environment: bytes, marks: Collection[str]) -> bool:
    prefix = f"{MARK_VARIABLE}=".encode()
    if prefix not in environment:
        return False
    values = [entry[len(prefix) :] for entry in environment.split(b"\0") if entry.startswith(prefix)]
    return any(f"{value.decode('utf-8', 'replace')}/".startswith(f"{mark}/") for value in values for mark in marks)


def command_of(process: Process) -> str:
    """Its command in one line of at most 80 characters; the pid alone if it has ended."""
    raw = _read(f"{_PROC}/{process.pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    line = " ".join((raw.decode("utf-8", "replace") or process.command).split())
    line = "".join(c for c in line if c.isprintable())
    return f"{line[:79]}…" if len(line) > 80 else line


def _from_proc() -> Iterable[Process]:
    for name in os.listdir(_PROC):
        if name.isdigit() and (row := _parse_stat(int(name), _read(f"{_PROC}/{name}/stat"))):
            yield row


def _parse_stat(pid: int, stat: bytes) -> Process | None:
    # The name in parentheses may contain spaces and parentheses: the fields start after the last one.
    fields = stat[stat.rfind(b")") + 1 :].split()
    if len(fields) <= _STARTED_FIELD:
        return None
    state, parent, group, session = fields[:4]
    over = state in (b"Z", b"X") or bool(int(fields[_FLAGS_FIELD]) & _EXITING)
    # The first thread may have ended while others run.
    over = over and int(fields[_THREADS_FIELD]) <= 1
    return Process(pid, int(parent), int(group), int(session), int(fields[_STARTED_FIELD]), zombie=over)


def _from_ps() -> Iterable[Process]:
    import subprocess

    from zot.system.files import find_program

    columns = ["pid=", "ppid=", "pgid=", "stat=", "args="]
    options = [part for column in columns for part in ("-o", column)]
    try:
        answer = subprocess.run(
            [find_program("ps") or "/bin/ps", "-A", *options],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError:
        return
    for line in answer.stdout.splitlines():
        pid, parent, group, state, *command = line.split(None, 4)
        yield Process(
            int(pid),
            int(parent),
            int(group),
            int(group),
            0,
            zombie=state.startswith("Z"),
            command=" ".join(command),
        )


def _read(path: str) -> bytes:
    """A small file of /proc as a whole; empty if the process has ended or is not accessible."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts: list[bytes] = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)
