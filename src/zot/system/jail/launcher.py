"""Starts commands in a policy: Landlock and seccomp (reduced) or bubblewrap (full).
All start from one thread of the jail, because Landlock and seccomp bind a thread, and a child with a parent-death
signal dies with the thread that started it."""

from __future__ import annotations

import os
import re
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock, Thread

from zot.system.jail import landlock, seccomp, syscalls
from zot.system.jail.git_repositories import RepositoryScanner
from zot.system.jail.policy import JailLimits, Policy
from zot.system.jail.private_dirs import PrivateDirs
from zot.system.jail.protected_paths import ProtectedMounts, hold_protected_paths
from zot.system.jail.system_paths import (
    SYSTEM,
    chosen_programs,
    etc_directories,
    etc_files,
    outermost,
    program_folders,
    system_without_programs,
    toolchains,
)
from zot.system.process_table import tasks_of
from zot.system.temp_files import scratch_directory

Streams = tuple[int, int, int]


class JailLauncher:
    """``bubblewrap`` is the program at the full level, empty at the reduced one. ``close`` removes private directories
    it owns."""

    def __init__(self, policy: Policy, bubblewrap: str, home: str, private: PrivateDirs | None = None) -> None:
        self._policy = policy
        self._bubblewrap = bubblewrap
        self._home = home
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # permanent, also for zot itself
        covered = policy.protected if bubblewrap or sys.platform == "darwin" else ()
        self.repositories = RepositoryScanner(policy.protected_roots, covered)
        self._stack = ExitStack()
        self.private = private or PrivateDirs(str(self._stack.enter_context(scratch_directory("jail"))), home)
        self._has_room = False
        # The kernel counts all processes of the user, and here these include a browser and an editor.
        self._tasks_before = 0 if bubblewrap else tasks_of(os.getuid())
        self._filter = _filter(policy, full=bool(bubblewrap)) if sys.platform == "linux" else b""
        self._thread = ThreadPoolExecutor(1, "zot-jail", initializer=self._bind_thread)
        self._lingering = DelayedRelease()

    def close(self) -> None:
        self._lingering.let_go()
        self._thread.shutdown()
        self._stack.close()

    def _bind_thread(self) -> None:
        """Once, in the thread; later children inherit the restrictions."""
        if sys.platform != "linux":
            return
        syscalls.no_new_privileges()
        if not self._bubblewrap:
            readable = (*self._system(), *etc_files(), *etc_directories(), *landlock.MACHINE)
            private = (self.private.home, self.private.tmp)
            _restrict(landlock.ruleset(self._policy, readable, private))
            syscalls.drop_capabilities()
            syscalls.filter_thread(self._filter)
        elif (ruleset := landlock.scopes_only()) is not None:
            _restrict(ruleset)

    def _system(self) -> list[str]:
        """The system and programs that the policy allows."""
        if self._policy.programs is None:
            return [*SYSTEM, *toolchains(os.environ.get("PATH", ""), self._home)]
        chosen = chosen_programs(self._policy.programs, self._home)
        return [*system_without_programs(), *chosen.files, *chosen.places]

    def start(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], JailLease]:
        begin = self._start_full if self._bubblewrap else self._start_reduced
        begin = self._start_on_mac if sys.platform == "darwin" else begin
        return self._thread.submit(begin, argv, cwd, env, streams).result()

    def _own_places(self) -> dict[str, str]:
        """A home, and no git settings of the machine, since git exits if it cannot read them."""
        return {"HOME": self.private.home, "TMPDIR": self.private.tmp, "GIT_CONFIG_NOSYSTEM": "1"}

    def _start_reduced(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], JailLease]:
        self.repositories.begin()
        own = {**env, **self._own_places()}
        with _limiting(self._policy.limits, self._tasks_before) as limit:
            child = _popen(argv, cwd, own, streams)
            limit(child.pid)
        return child, JailLease(self.repositories.end)

    def _start_on_mac(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], JailLease]:
        from zot.system.jail import seatbelt

        self.repositories.begin()
        own = {**env, **self._own_places()}
        readable = toolchains(env.get("PATH", ""), self._home)
        if self._policy.programs is not None:
            readable = chosen_programs(self._policy.programs, self._home).places
        text = seatbelt.profile(self._policy, readable, (self.private.home, self.private.tmp))
        words = [*seatbelt.command(text), *_limited(self._policy.limits), *argv]
        return _popen(words, cwd, own, streams), JailLease(self.repositories.end)

    def _start_full(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], JailLease]:
        own = {**env, "HOME": self._home}
        own.pop("TMPDIR", None)
        # once, and only now: files for a command exist by then
        if not self._has_room:
            policy, self._has_room = self._policy, True
            allowed = (*policy.readable, *policy.read_files, *policy.write_files)
            self.private.create_mount_points((path for path in allowed if os.path.exists(path)), self._home)
        with ExitStack() as files, ExitStack() as kept:
            nested = self.repositories.begin()
            covers = kept.enter_context(hold_protected_paths(self._policy, nested, self.repositories.files))
            info_fd, info_writer = os.pipe()
            kept.callback(os.close, info_fd)
            files.callback(os.close, info_writer)
            options = arguments(self._policy, covers, self.private, own, cwd, self._home)
            filter = _readable(self._filter, files)
            options += ["--seccomp", str(filter), "--json-status-fd", str(info_writer)]
            listed = _readable(b"".join(os.fsencode(word) + b"\0" for word in options), files)
            command = [self._bubblewrap, "--args", str(listed), "--", *_limited(self._policy.limits), *argv]
            child = _popen(command, "/", own, streams, (filter, listed, info_writer))
            return child, JailLease(self.repositories.end, kept.pop_all(), info_fd, self._lingering)
        raise AssertionError("unreachable")


def _filter(policy: Policy, *, full: bool) -> bytes:
    families = seccomp.families(full=full, network=policy.network)
    return seccomp.program(sockets=families, connections=full or policy.network)


def _popen(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams, fds: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, pass_fds=fds
    )


def _memory(limits: JailLimits) -> int:
    return limits.memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def _limited(limits: JailLimits) -> list[str]:
    """A shell that sets limits and execs the command: inside, because bubblewrap forks first."""
    processes = f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}"  # the option's name in dash
    script = f'ulimit -c 0; {processes}; ulimit -d {_memory(limits) // 1024}; exec "$@"'
    return ["/bin/sh", "-c", script, "sh"]


@contextmanager
def _limiting(limits: JailLimits, tasks: int) -> Generator[Callable[[int], None]]:
    """Children started in the block inherit zot's temporary limits; the yielded function makes them final for a
    process. ``tasks`` are threads that existed before."""
    wanted = {resource.RLIMIT_NPROC: tasks + limits.processes, resource.RLIMIT_DATA: _memory(limits)}
    before = {kind: resource.getrlimit(kind) for kind in wanted}
    lower = {kind: value for kind, value in wanted.items() if not 0 <= before[kind][0] <= value}

    def finally_limit(pid: int) -> None:
        for kind, value in wanted.items():
            with suppress(OSError, ValueError):  # it has ended, or the limit is already lower
                resource.prlimit(pid, kind, (value, value))

    try:
        for kind, value in lower.items():
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (value, before[kind][1]))
        yield finally_limit
    finally:
        for kind in lower:
            resource.setrlimit(kind, before[kind])


def _restrict(ruleset: int) -> None:
    """Restrict this thread; afterwards the descriptor is not needed."""
    try:
        syscalls.restrict_thread(ruleset)
    finally:
        os.close(ruleset)


def _readable(content: bytes, files: ExitStack) -> int:
    """A file without a name, at its beginning."""
    fd = os.memfd_create("jail", os.MFD_CLOEXEC)
    files.callback(os.close, fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


# The policy as arguments of bubblewrap. Order matters: a later mount covers an earlier one.

_ALWAYS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--die-with-parent", "--cap-drop", "ALL"),
)
# What root may write in any namespace; bubblewrap itself covers irq, bus and sysrq-trigger.
_OF_PROC = ("/proc/sys", "/proc/fs")
# For names that must not be created. It costs a fifth of a read-only bind, for which bubblewrap reads the whole
# mount table; a process that makes it writable writes into memory that ends with the command.
_NOTHING = ("--perms", "0555", "--size", "4096", "--tmpfs")


def arguments(
    policy: Policy, covers: ProtectedMounts, private: PrivateDirs, environment: Mapping[str, str], cwd: str, home: str
) -> list[str]:
    made = [*_ALWAYS, *(() if policy.network else ("--unshare-net",))]
    for path in SYSTEM:
        if os.path.islink(path):
            made += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            made += ["--ro-bind", path, path]
    made += ["--ro-bind", private.etc, "/etc"]
    for path in etc_directories():
        made += ["--ro-bind", os.path.realpath(path), path]
    made += ["--proc", "/proc"]
    for path in _OF_PROC:
        made += ["--ro-bind", path, path] if os.path.exists(path) else []
    made += ["--dev", "/dev", "--bind", private.tmp, "/tmp", "--bind", private.tmp, "/var/tmp"]
    made += ["--dir", "/run", "--bind", private.home, home]
    programs = _programs(policy, environment.get("PATH", ""), home, made)
    made += _binds("--ro-bind", outermost((*programs, *policy.read)))
    made += _binds("--ro-bind-try", policy.read_files)  # a path deleted meanwhile is missing inside also
    made += _binds("--bind", policy.writable) + _binds("--bind-try", policy.write_files)
    made += _binds("--bind", covers.pinned) + _binds("--ro-bind", covers.kept)
    for path in covers.empty:
        made += [*_NOTHING, path]
    return [*made, "--remount-ro", "/", "--chdir", cwd]


def _programs(policy: Policy, path: str, home: str, made: list[str]) -> list[str]:
    """Installations to show; if only some programs are allowed, the system directories contain only these."""
    if policy.programs is None:
        return toolchains(path, home)
    chosen = chosen_programs(policy.programs, home)
    folders = program_folders()
    for folder in folders:
        made += ["--tmpfs", folder]
    for file in chosen.files:
        made += ["--ro-bind", file, file]
    for link, target in chosen.links:
        made += ["--symlink", target, link]
    for folder in folders:
        made += ["--remount-ro", folder]
    return list(chosen.places)


def _binds(option: str, paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in (option, path, path)]


# Resources of one jailed command, and their release.

_LINGER_S = 1.0
_DYING_S = 1.0
_FIRST = re.compile(rb'"child-pid": *([0-9]+)')


class DelayedRelease:
    """Releases protected names after a delay: the next command often follows at once, and protecting is slow."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: ExitStack | None = None
        self._until = 0.0
        self._waits = False

    def take(self, kept: ExitStack) -> None:
        with self._lock:
            before, self._kept = self._kept, kept
            self._until = time.monotonic() + _LINGER_S
            waits, self._waits = self._waits, True
        if not waits:
            Thread(target=self._wait, name="zot-jail-names", daemon=True).start()
        if before is not None:
            before.close()

    def let_go(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def _wait(self) -> None:
        """One thread for a series of commands, since starting one for each is expensive."""
        while True:
            with self._lock:
                left = self._until - time.monotonic()
                if left <= 0:
                    self._waits = False
                    break
            time.sleep(left)
        self.let_go()


class JailLease:
    """Protected names and bubblewrap's status pipe. ``remarks`` are messages for the user, after the release."""

    def __init__(
        self,
        end: Callable[[], list[str]],
        kept: ExitStack | None = None,
        info_fd: int = -1,
        lingering: DelayedRelease | None = None,
    ) -> None:
        self.remarks: list[str] = []
        self._end: Callable[[], list[str]] | None = end
        self._kept = kept
        self._told = info_fd
        self._lingering = lingering
        self._own_processes = kept is not None  # only its own processes are visible, and they end together
        self._first: int | None = None  # 0 if there was none

    def began(self) -> bool:
        """After the command: True if it ran."""
        if self._own_processes and self._first is None:
            self._first = _first_process(self._told)
        return self._first != 0

    def is_empty(self, session: int) -> bool:
        if not self.began() or self._first is None:
            return False
        try:
            # The pid of an ended process may be reused.
            return os.getsid(self._first) != session or _is_over(self._first)
        except ProcessLookupError:
            return True
        except (AttributeError, OSError):
            return False

    def release(self) -> None:
        if self._kept is not None:
            self.began()
            kept, self._kept = self._kept, None
            kept.close() if self._lingering is None else self._lingering.take(kept)
        if self._end is not None:
            end, self._end = self._end, None
            self.remarks = end()


def _first_process(info_fd: int) -> int:
    os.set_blocking(info_fd, False)
    with suppress(BlockingIOError):
        if found := _FIRST.search(os.read(info_fd, 4096)):
            return int(found[1])
    return 0


def _is_over(pid: int) -> bool:
    fd = os.pidfd_open(pid)
    try:
        waiting = select.poll()
        waiting.register(fd, select.POLLIN)
        ended = bool(waiting.poll(_DYING_S * 1000))
    finally:
        os.close(fd)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # where orphans become zot's children, it is one
    return ended
