"""Commands started inside a policy: bound by Landlock and seccomp (reduced), or by bubblewrap (full).

Everything is started from one thread that belongs to the jail. Landlock and seccomp bind a thread and what it starts,
so the rest of zot stays free; and a child that is to die with its parent dies with the thread that made it, so the
thread lives as long as the jail.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

from zot.system.jail import landlock, seccomp, syscalls
from zot.system.jail.allowed_programs import chosen_programs, system_without_programs
from zot.system.jail.bubblewrap import arguments
from zot.system.jail.git_repositories import Repositories
from zot.system.jail.lease import Cell, Lingering
from zot.system.jail.policy import Limits, Policy
from zot.system.jail.private_dirs import Private
from zot.system.jail.protected_paths import held
from zot.system.jail.system_paths import SYSTEM, etc_directories, etc_files, toolchains
from zot.system.process_table import tasks_of
from zot.system.temp_files import scratch_directory

Streams = tuple[int, int, int]


class Starter:
    """``bubblewrap`` is its program at the full level, empty at the reduced one; ``close`` removes what is private,
    unless that is somebody else's, who gave it."""

    def __init__(self, policy: Policy, bubblewrap: str, home: str, private: Private | None = None) -> None:
        self._policy = policy
        self._bubblewrap = bubblewrap
        self._home = home
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # for good, and of zot itself: what is inside has no way back
        self.repositories = Repositories(policy.guarded)
        self._stack = ExitStack()
        self.private = private or Private(str(self._stack.enter_context(scratch_directory("jail"))), home)
        self._has_room = False
        # The kernel counts all that a user has, and here commands are the user's own like a browser and an editor.
        self._tasks_before = 0 if bubblewrap else tasks_of(os.getuid())
        self._filter = _filter(policy, full=bool(bubblewrap)) if sys.platform == "linux" else b""
        self._thread = ThreadPoolExecutor(1, "zot-jail", initializer=self._bind_thread)
        self._lingering = Lingering()

    def close(self) -> None:
        self._lingering.let_go()
        self._thread.shutdown()
        self._stack.close()

    def _bind_thread(self) -> None:
        """Once, in the thread. What follows is started with these restrictions."""
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
        """The system and the programs, as much of them as the policy allows."""
        if self._policy.programs is None:
            return [*SYSTEM, *toolchains(os.environ.get("PATH", ""), self._home)]
        chosen = chosen_programs(self._policy.programs, self._home)
        return [*system_without_programs(), *chosen.files, *chosen.places]

    def start(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        begin = self._start_full if self._bubblewrap else self._start_reduced
        begin = self._start_on_mac if sys.platform == "darwin" else begin
        return self._thread.submit(begin, argv, cwd, env, streams).result()

    def _own_places(self) -> dict[str, str]:
        """Where files are the machine's own: a home, and no settings of its git, which dies when it is refused them."""
        return {"HOME": self.private.home, "TMPDIR": self.private.tmp, "GIT_CONFIG_NOSYSTEM": "1"}

    def _start_reduced(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        self.repositories.begin()
        own = {**env, **self._own_places()}
        with _limiting(self._policy.limits, self._tasks_before) as limit:
            child = _popen(argv, cwd, own, streams)
            limit(child.pid)
        return child, Cell(self.repositories.end)

    def _start_on_mac(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        from zot.system.jail import seatbelt

        self.repositories.begin()
        own = {**env, **self._own_places()}
        readable = toolchains(env.get("PATH", ""), self._home)
        if self._policy.programs is not None:
            readable = chosen_programs(self._policy.programs, self._home).places
        text = seatbelt.profile(self._policy, readable, (self.private.home, self.private.tmp))
        words = [*seatbelt.command(text), *_limited(self._policy.limits), *argv]
        return _popen(words, cwd, own, streams), Cell(self.repositories.end)

    def _start_full(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: Streams
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        own = {**env, "HOME": self._home}
        own.pop("TMPDIR", None)
        self._make_room()
        with ExitStack() as files, ExitStack() as kept:
            covers = kept.enter_context(held(self._policy, self.repositories.begin()))
            told, telling = os.pipe()
            kept.callback(os.close, told)
            files.callback(os.close, telling)
            options = arguments(self._policy, covers, self.private, own, cwd, self._home)
            filter = _readable(self._filter, files)
            options += ["--seccomp", str(filter), "--json-status-fd", str(telling)]
            listed = _readable(b"".join(os.fsencode(word) + b"\0" for word in options), files)
            command = [self._bubblewrap, "--args", str(listed), "--", *_limited(self._policy.limits), *argv]
            child = _popen(command, "/", own, streams, (filter, listed, telling))
            return child, Cell(self.repositories.end, kept.pop_all(), told, self._lingering)
        raise AssertionError("unreachable")

    def _make_room(self) -> None:
        """Once, and only now: what is to be made for a command is there by then."""
        if not self._has_room:
            policy, self._has_room = self._policy, True
            allowed = (*policy.readable, *policy.read_files, *policy.write_files)
            self.private.make_room((path for path in allowed if os.path.exists(path)), self._home)


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


def _memory(limits: Limits) -> int:
    return limits.memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def _limited(limits: Limits) -> list[str]:
    """A shell that sets limits and becomes the command: inside, because bubblewrap forks before anybody could."""
    processes = f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}"  # dash calls it so
    script = f'ulimit -c 0; {processes}; ulimit -d {_memory(limits) // 1024}; exec "$@"'
    return ["/bin/sh", "-c", script, "sh"]


@contextmanager
def _limiting(limits: Limits, tasks: int) -> Generator[Callable[[int], None]]:
    """What is started in the block begins with the limits, for they are zot's own that long; and what the block gets
    makes them final for a process, a moment after its start. ``tasks`` are there already and not meant."""
    wanted = {resource.RLIMIT_NPROC: tasks + limits.processes, resource.RLIMIT_DATA: _memory(limits)}
    before = {kind: resource.getrlimit(kind) for kind in wanted}
    lower = {kind: value for kind, value in wanted.items() if not 0 <= before[kind][0] <= value}

    def finally_limit(pid: int) -> None:
        for kind, value in wanted.items():
            with suppress(OSError, ValueError):  # it is over already, or the limit is lower by now
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
    """This thread; the rules are the kernel's from then on, and their descriptor is of no more use."""
    try:
        syscalls.restrict_thread(ruleset)
    finally:
        os.close(ruleset)


def _readable(content: bytes, files: ExitStack) -> int:
    """A file that has no name, at its beginning."""
    fd = os.memfd_create("jail", os.MFD_CLOEXEC)
    files.callback(os.close, fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
