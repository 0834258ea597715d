"""Child processes: each runs in its own session and ends with zot.
A ``ProcessTree`` is a child and its descendants; it ends, is stopped (SIGTERM, then SIGKILL), or stays in the
background until zot ends. ``kill_all`` runs at exit and a watching shell after a kill. No ``preexec_fn``, to use
vfork."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Protocol

from zot.system import process_setup
from zot.system.process_mark import create_mark, limits_line, marked_children
from zot.system.process_table import MARK_VARIABLE, Process, add_descendants, members, snapshot

STOP_GRACE = 3.0
EXIT_GRACE = 0.3
WATCH_DELAY = 0.02

_ROUNDS = 20
_LOOK_AGAIN = 1.0


class CommandLease(Protocol):
    """Resources of one jailed command. ``release`` may be called twice; ``remarks`` are available after it."""

    remarks: list[str]

    def began(self) -> bool: ...

    def is_empty(self, session: int) -> bool:
        """After the builder ended: True if no process of the command is left. False if that needs a scan."""
        ...

    def release(self) -> None: ...


class SandboxLauncher(Protocol):
    """Starts commands in a sandbox; see ``zot.system.jail``."""

    def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> tuple[subprocess.Popen[bytes], CommandLease]: ...

    def cleanup_command(self) -> str:
        """A shell command that cleans up after a killed zot; empty if not needed."""
        ...


class ProcessTree:
    """A child in its own session. The caller of ``spawn`` waits for it, stops it or leaves it."""

    def __init__(
        self, child: subprocess.Popen[bytes], mark: str, started: int, cell: CommandLease | None = None
    ) -> None:
        self.started = started
        self._child = child
        self._mark = mark
        self._cell = cell

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """The first process's code, negative for a signal; None while it runs."""
        return self._child.poll()

    @property
    def is_jailed(self) -> bool:
        return self._cell is not None

    @property
    def jail_failed(self) -> bool:
        """After the end: True if the jail failed, so that the output is its error message."""
        return self._cell is not None and not self._cell.began()

    @property
    def jail_messages(self) -> list[str]:
        """After stop or leave: messages of its jail."""
        return self._cell.remarks if self._cell is not None else []

    def forget(self) -> None:
        """Forget a tree that has ended."""
        _children().forget(self)

    def release(self) -> None:
        """Release everything: no process is left, or none will be checked again."""
        if self._cell is not None:
            self._cell.release()

    async def wait(self) -> int:
        if self._child.poll() is None:
            await _ended(self._child)
        return self._child.wait()

    def members(self) -> list[Process]:
        sessions = [self.pid] if self.owns_session() else []
        return members([self._mark], sessions, lambda table: _children().adopted(table, self))

    @property
    def has_ended(self) -> bool:
        return self.exit_code is not None and not self.members()

    @property
    def group_is_empty(self) -> bool:
        """Two system calls: True if the child's own group is empty (some may have moved elsewhere)."""
        return self.exit_code is not None and (_has_no_process(os.killpg, self.pid) or not self.owns_session())

    def send(self, number: int) -> list[Process]:
        return _signal_all(self.members, number)

    async def stop(self, grace: float = STOP_GRACE) -> None:
        """Stop the whole tree: SIGTERM, and SIGKILL after ``grace``. Cancelling it kills at once."""
        try:
            self.send(signal.SIGTERM)
            pause = 0.005
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.wait()
                    while self.members():
                        await asyncio.sleep(pause)
                        pause = min(pause * 2, 0.1)
        finally:
            self.kill()
            _children().forget(self)

    def kill(self) -> None:
        """SIGKILL, repeated until no process of the tree is left, even if it forks quickly."""
        _kill_until_gone(self.members)
        with suppress(ProcessLookupError, PermissionError):
            if self._child.returncode is None:  # no process table here
                os.killpg(self.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=0.5)

    def detach(self, *, suspicious: bool = False) -> list[Process]:
        """Leave remaining processes in the background until zot ends, and return them; none in a jail.
        Scanning is slow, so an empty group counts as ended unless ``suspicious`` or zot has an unknown child."""
        left: list[Process] = []
        over = self._cell is not None and self.exit_code is not None and self._cell.is_empty(self.pid)
        if not over and (suspicious or not self.group_is_empty or _children().has_orphans()):
            left = self._end_what_is_left() if self._cell is not None else self.members()
        if not left:
            _children().forget(self)
        return left

    def _end_what_is_left(self) -> list[Process]:
        """Two scans must find nothing: one may fall between the end of a parent and the start of its child."""
        empty = 0
        for _ in range(_ROUNDS):
            self.kill()
            empty = 0 if self.members() else empty + 1
            if empty == 2:
                break
        return []

    def owns_session(self) -> bool:
        """The pid is ours until the child is reaped, and then until it is reused."""
        return self._child.returncode is None or _has_no_process(os.kill, self.pid)


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    jail: SandboxLauncher | None = None,
    pass_fds: tuple[int, ...] = (),
) -> ProcessTree:
    """Start ``argv`` (absolute program) in its own session, in ``jail`` if given.
    OSError if program or directory is missing. The caller closes the descriptors and ends the tree by ``stop``, or
    by ``wait`` and ``leave``."""
    return _children().spawn(argv, cwd, env, stdin, stdout, stderr, jail, pass_fds)


def prestart_reaper() -> None:
    """Start the watching shell before several long-running children compete with it."""
    _children().notify_watch()


def reap_orphans() -> None:
    """Reap adopted orphans that have ended; call it regularly in long-running processes."""
    _children().has_orphans()


def live_processes() -> list[ProcessTree]:
    """The trees still alive: running, or left in the background."""
    return _children().living()


def kill_all() -> None:
    """Kill all children of this process before it exits. Quick; safe to call twice."""
    if _state and _state.owner == os.getpid():
        _state.kill_all()


class _Children:
    """All children of one process. A forked copy of zot begins with none."""

    def __init__(self) -> None:
        outer = os.environ.get(MARK_VARIABLE)
        run = os.urandom(6).hex()
        self.owner = os.getpid()
        self._mark = f"{outer}/{run}" if outer else run
        self._trees: dict[int, ProcessTree] = {}
        self._inherited_mark = create_mark()
        self._watch = _ChildWatch(f"{MARK_VARIABLE}={self._mark}", self._inherited_mark)
        self._count = 0
        self._adopts = process_setup.become_subreaper()
        self._strayed: set[int] = set()
        self._orphans: set[int] = set()  # our unknown children at the last scan
        self._looking: asyncio.AbstractEventLoop | None = None  # scans in a second
        self._notifying: asyncio.AbstractEventLoop | None = None  # notifies the watch shortly
        atexit.register(kill_all)

    def spawn(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        jail: SandboxLauncher | None,
        pass_fds: tuple[int, ...] = (),
    ) -> ProcessTree:
        if jail is not None:
            self._watch.cleans(jail.cleanup_command())
        if not self._watch.runs:  # before the first child: zot may be killed any time after it
            self.notify_watch()
        process_setup.wipe_environment(env)
        self._count += 1
        mark = f"{self._mark}/{self._count}"
        # now, as in the process table
        started = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) if self._adopts else 0
        own, cell = {**env, MARK_VARIABLE: mark}, None
        with marked_children(self._inherited_mark) if self._inherited_mark else nullcontext():
            if jail is not None:
                child, cell = jail.start(argv, cwd, own, stdin, stdout, stderr)
            else:
                child = subprocess.Popen(
                    argv,
                    cwd=cwd,
                    env=own,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                    pass_fds=pass_fds,
                )
        tree = self._trees[child.pid] = ProcessTree(child, mark, started, cell)
        self._notify_watch_soon()
        return tree

    def forget(self, tree: ProcessTree) -> None:
        self._trees.pop(tree.pid, None)
        tree.release()
        self._notify_watch_soon()

    def living(self) -> list[ProcessTree]:
        self._trees = {pid: tree for pid, tree in self._trees.copy().items() if not tree.has_ended}
        return list(self._trees.values())

    def kill_all(self) -> None:
        deadline = time.monotonic() + EXIT_GRACE
        left = _signal_all(self._members, signal.SIGTERM)
        while left and time.monotonic() < deadline:
            time.sleep(0.005)
            left = self._members()
        if left:
            _kill_until_gone(self._members)
        for tree in self._trees.values():
            tree.release()
        self._trees.clear()
        self._watch.stop()

    def _members(self) -> list[Process]:
        # Polling the exit code reaps a child that was just killed.
        sessions = [t.pid for t in self._trees.values() if t.exit_code is None or t.owns_session()]
        return members([self._mark], sessions, self.adopted)

    def has_orphans(self) -> bool:
        """One small read: True if we have a child that we did not start. Ended ones are reaped."""
        if not self._adopts:
            return False
        for _ in range(_ROUNDS):
            orphans = self._orphan_pids()
            if any(not _reaped(pid) and not _is_let_go(pid) for pid in orphans):
                return True
            if not orphans:
                return False
        return True  # they end and follow each other: scan soon

    def _orphan_pids(self) -> list[int]:
        known = self._known()
        return [pid for pid in process_setup.children() if pid not in known]

    def adopted(self, table: dict[int, Process], tree: ProcessTree | None = None) -> list[int]:
        """Orphans that became our children; with ``tree``, those of it, the last tree started before them."""
        if not self._adopts:
            return []
        known, me, not_theirs = self._known(), os.getpid(), {os.getsid(0), *process_setup.helpers}
        orphans = [
            row for row in table.values() if row.parent == me and row.session not in not_theirs and row.pid not in known
        ]
        if tree is None:
            return [row.pid for row in orphans]
        later = [other.started for other in self._trees.copy().values() if other.started > tree.started]
        return [row.pid for row in orphans if row.started >= tree.started and not any(row.started >= t for t in later)]

    def _known(self) -> set[int]:
        return {*self._trees.copy(), *process_setup.helpers, self._watch.pid}

    def _notify_watch_soon(self) -> None:
        """Delayed, so that short commands end first and several are sent together."""
        with suppress(RuntimeError):  # without a running loop kill_all does the work
            loop = asyncio.get_running_loop()
            if self._notifying is not loop:
                self._notifying = loop
                loop.call_later(WATCH_DELAY, self._notify_watch_now)

    def _notify_watch_now(self) -> None:
        self._notifying = None
        self.notify_watch()

    def notify_watch(self) -> None:
        trees = self._trees.copy()  # several event loops may share one process
        if not trees:
            self._strayed.clear()  # their pids may be reused
        self._publish([pid for pid, tree in trees.items() if not tree.group_is_empty])
        if self._adopts and (trees or self._orphan_pids()):
            self._look_later()

    def _publish(self, groups: list[int]) -> None:
        self._watch.publish(sorted({*groups, *self._strayed} - {os.getpgrp()}))

    def _look_later(self) -> None:
        with suppress(RuntimeError):  # without a running loop kill_all does the work
            loop = asyncio.get_running_loop()
            if self._looking is not loop:  # a closed loop scans no more
                self._looking = loop
                loop.call_later(_LOOK_AGAIN, self._look)

    def _look(self) -> None:
        """While something runs: send the groups of processes that left their command's group to the watch."""
        self._looking = None
        if self.owner != os.getpid():
            return
        # Reap ended ones: if every command is jailed nothing else does, and leftovers of jailed servers
        # would accumulate. A process missing at the last scan may just have been started, and be waited for
        orphans = set(self._orphan_pids())
        self._orphans = {pid for pid in orphans if pid not in self._orphans or not _reaped(pid)}
        if self._trees or any(map(_is_nobodys, self._orphans)):
            # Ended background processes: their pid may be reused by a process that must not end with
            # zot. Those in a jail are released by their owner
            for tree in self._trees.copy().values():
                if not tree.is_jailed and tree.group_is_empty and tree.has_ended:
                    self.forget(tree)
            table = snapshot()
            found = {*self._trees, *self.adopted(table)} & table.keys()
            add_descendants(found, table.values())
            self._strayed = {table[pid].group for pid in found}
            self._publish([])
            self._look_later()


def _is_nobodys(pid: int) -> bool:
    """True if it belongs neither to our session nor to a helper's; False if it has ended."""
    try:
        return os.getsid(pid) not in (os.getsid(0), *process_setup.helpers)
    except OSError:
        return False


def _is_let_go(pid: int) -> bool:
    """True if it belongs to a helper's session, such as a newly started browser."""
    try:
        return os.getsid(pid) in process_setup.helpers
    except OSError:
        return True


_state: _Children | None = None


def _children() -> _Children:
    global _state
    if _state is None or _state.owner != os.getpid():
        _state = _Children()
    return _state


_WATCH_SCRIPT = """
trap '' INT TERM HUP QUIT PIPE
groups= clean=
while IFS= read -r line; do
  case $line in
    clean:*) clean="$clean${line#clean:}; " ;;
    *) groups=$line ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for round in 1 2 3 4 5 6 7 8; do
  found=$(grep -lsF "$1" /proc/[0-9]*/environ; grep -lsF "$2" /proc/[0-9]*/limits)
  [ -n "$found" ] || [ $round = 1 ] || break
  for file in $found; do
    pid=${file#/proc/}
    pid=${pid%/*}
    [ "$pid" = "$3" ] || kill -s KILL "$pid"
  done
  sleep 0.02
done
eval "$clean"
"""
_MOST_GROUPS = 400  # keeps a line below PIPE_BUF, so that a list is never torn


class _ChildWatch:
    """A small shell that kills remaining processes after zot has ended.
    It blocks on a pipe that only zot has open, so that even SIGKILL wakes it; each line lists the living process
    groups. On Linux it also kills processes with ``mark`` in their environment, or with the inherited mark, but never
    zot itself, which has that mark while it starts a child."""

    def __init__(self, mark: str, inherited_mark: int) -> None:
        self._marks = (mark, limits_line(inherited_mark) if inherited_mark else mark)
        self._pipe: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None
        self._sent: list[int] | None = None
        self._cleaning: set[str] = {""}

    @property
    def runs(self) -> bool:
        return self._pipe is not None

    @property
    def pid(self) -> int:
        return self._shell.pid if self._shell is not None else 0

    def cleans(self, command: str) -> None:
        """Also run this shell command (without line breaks) when zot has ended."""
        if self._pipe is None:
            self._start()
        if self._pipe is not None and command not in self._cleaning:
            with suppress(OSError):
                os.write(self._pipe, f"clean:{command}\n".encode(errors="surrogateescape"))
                self._cleaning.add(command)

    def publish(self, groups: list[int]) -> None:
        """Send the living groups to the shell, starting it the first time."""
        if self._pipe is None:
            self._start()
        if self._pipe is None or groups == self._sent:
            return
        line = " ".join(str(group) for group in groups[:_MOST_GROUPS])
        try:
            os.write(self._pipe, f"{line}\n".encode())
            self._sent = groups
        except OSError:
            self.stop()  # it was killed; the next command starts another

    def stop(self) -> None:
        """Close the shell; it kills the processes in its last list and those with our mark."""
        if self._pipe is not None:
            os.close(self._pipe)
        if self._shell is not None and self._shell.poll() is None:
            self._shell.returncode = 0  # it ends shortly by itself; do not warn that it still runs
        self._pipe = self._shell = self._sent = None
        self._cleaning = {""}

    def _start(self) -> None:
        """Without a shell, zot still kills its children when it ends by itself."""
        read_end, write_end = os.pipe()
        try:
            with marked_children(0):  # a zot around this one must not kill it before its work is done
                self._shell = subprocess.Popen(
                    ["/bin/sh", "-c", _WATCH_SCRIPT, "zot-watch", *self._marks, str(os.getpid())],
                    stdin=read_end,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.environ.get("PATH", os.defpath)},
                    cwd="/",
                    start_new_session=True,
                )
            self._pipe = write_end
        except OSError:
            os.close(write_end)
        finally:
            os.close(read_end)


def _signal_all(find: Callable[[], list[Process]], number: int) -> list[Process]:
    """Stop all members until no new ones appear, then signal and continue them. A stopped tree cannot fork, and its
    pids are not reused."""
    found: dict[int, Process] = {}
    for _ in range(_ROUNDS):
        fresh = [process for process in find() if process.pid not in found]
        if not fresh:
            break
        for process in fresh:
            found[process.pid] = process
            _send(process.pid, signal.SIGSTOP)
    for pid in found:
        _send(pid, number)
        _send(pid, signal.SIGCONT)
    return list(found.values())


def _kill_until_gone(find: Callable[[], list[Process]]) -> None:
    for _ in range(_ROUNDS):
        if not _signal_all(find, signal.SIGKILL):
            return
        time.sleep(0.002)


def _reaped(pid: int) -> bool:
    """Reap an ended child; False while it runs. Children in our own session are waited for by their owner."""
    try:
        return os.getsid(pid) == os.getsid(0) or os.waitpid(pid, os.WNOHANG)[0] == pid
    except (ProcessLookupError, ChildProcessError):
        return True


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _has_no_process(send: Callable[[int, int], None], number: int) -> bool:
    """True if no process would receive a signal to that process or group."""
    with suppress(PermissionError):
        try:
            send(number, 0)
        except ProcessLookupError:
            return True
    return False


async def _ended(child: subprocess.Popen[bytes]) -> None:
    """Wait without polling: a pidfd where the kernel has them, else a thread."""
    try:
        fd = os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        await asyncio.to_thread(child.wait)
        return
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: ended.done() or ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(fd)
        os.close(fd)
